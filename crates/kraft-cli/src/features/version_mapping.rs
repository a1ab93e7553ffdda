//! `kraft features version-mapping`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use kraft_metadata::feature::{METADATA_VERSION, MetadataVersion};
use serde_json::{Map, Value};

use super::release::{levels, release};
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

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let latest = MetadataVersion::LATEST_PRODUCTION.name();
    let given = arguments.release_version.as_deref().unwrap_or(latest);
    let version = release("--release-version", given)?;
    let text = if arguments.json {
        json(version)
    } else {
        text(version, given)
    };
    Out::listing().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// The release stands there as it was given.
fn text(version: MetadataVersion, given: &str) -> String {
    let mut text = String::new();
    for (name, level) in levels(version) {
        let release = if name == METADATA_VERSION {
            format!(" ({given})")
        } else {
            String::new()
        };
        writeln!(text, "{name}={level}{release}").expect("a string takes what is written");
    }
    text
}

fn json(version: MetadataVersion) -> String {
    let object: Map<String, Value> = levels(version)
        .map(|(name, level)| (name.to_owned(), level.into()))
        .collect();
    format!("{}\n", Value::from(object))
}
