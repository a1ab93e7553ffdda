//! `kraft features version-mapping`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use kraft_metadata::feature::{Feature, METADATA_VERSION, MetadataVersion};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::Outcome;
use crate::out::Out;

/// Print the levels of all features that belong to a release
#[derive(clap::Args)]
#[command(after_help = "Example:\n  kraft features version-mapping --release-version 4.1")]
pub(crate) struct Arguments {
    /// The release, such as 4.1 or 4.1-IV1; the newest for production unless given
    #[arg(long, value_name = "VERSION")]
    release_version: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// There is no such release.
#[derive(Debug, PartialEq, Eq, Error)]
#[error(
    "--release-version {given}: no such release of Kafka up to 4.4; give one such as 4.4, or a level such as 4.4-IV2"
)]
struct UnknownRelease {
    given: String,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let latest = MetadataVersion::LATEST_PRODUCTION.name();
    let given = arguments.release_version.as_deref().unwrap_or(latest);
    let text = if arguments.json {
        json(given)?
    } else {
        text(given)?
    };
    Out::listing().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// The release stands there as it was given.
fn text(given: &str) -> Result<String, UnknownRelease> {
    let mut text = String::new();
    for (name, level) in levels(given)? {
        let release = if name == METADATA_VERSION {
            format!(" ({given})")
        } else {
            String::new()
        };
        writeln!(text, "{name}={level}{release}").expect("a string takes what is written");
    }
    Ok(text)
}

fn json(given: &str) -> Result<String, UnknownRelease> {
    let object: Map<String, Value> = levels(given)?
        .map(|(name, level)| (name.to_owned(), level.into()))
        .collect();
    Ok(format!("{}\n", Value::from(object)))
}

fn levels(given: &str) -> Result<impl Iterator<Item = (&'static str, i16)>, UnknownRelease> {
    let version = MetadataVersion::from_name(given).ok_or_else(|| UnknownRelease {
        given: given.to_owned(),
    })?;
    let others = Feature::ALL
        .iter()
        .map(move |feature| (feature.name, feature.default_level(version)));
    Ok(std::iter::once((METADATA_VERSION, version.level())).chain(others))
}
