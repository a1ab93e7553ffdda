//! `kraft features feature-dependencies`.

use std::io::Write as _;
use std::process::ExitCode;

use kraft_metadata::feature::{Feature, METADATA_VERSION, MetadataVersion};
use serde_json::{Value, json};
use thiserror::Error;

use super::feature_level::FeatureLevel;
use crate::Outcome;
use crate::out::Out;

/// Print which levels of other features a level needs
#[derive(clap::Args)]
#[command(after_help = "Example:\n  \
    kraft features feature-dependencies --feature eligible.leader.replicas.version=1")]
pub(crate) struct Arguments {
    /// A feature and its level
    #[arg(long, value_name = "NAME=LEVEL", required = true)]
    feature: Vec<FeatureLevel>,
    /// Print a JSON object for each
    #[arg(long)]
    json: bool,
}

/// What this program knows nothing about.
#[derive(Debug, PartialEq, Eq, Error)]
enum DependencyError {
    #[error(
        "{name}: no such feature of Kafka up to 4.4; there are {METADATA_VERSION}, {}",
        names()
    )]
    Feature { name: String },
    #[error("{name}={level}: no such level; those of {name} are {min} to {max}")]
    Level {
        name: String,
        level: i16,
        min: i16,
        max: i16,
    },
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let mut out = Out::listing();
    for given in &arguments.feature {
        let level = Level::of(given)?;
        let text = if arguments.json {
            level.json()
        } else {
            level.text()
        };
        out.write_all(text.as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A level of a feature that there is.
#[derive(Debug)]
struct Level<'a> {
    given: &'a FeatureLevel,
    /// Of metadata.version.
    release: Option<MetadataVersion>,
    needs: Option<MetadataVersion>,
}

impl Level<'_> {
    fn of(given: &FeatureLevel) -> Result<Level<'_>, DependencyError> {
        let FeatureLevel { name, level } = given;
        let no_level = |min, max| DependencyError::Level {
            name: name.clone(),
            level: *level,
            min,
            max,
        };
        if name == METADATA_VERSION {
            let highest = MetadataVersion::all()
                .last()
                .unwrap_or(MetadataVersion::LATEST_PRODUCTION);
            let release = MetadataVersion::from_level(*level)
                .ok_or_else(|| no_level(MetadataVersion::MINIMUM.level(), highest.level()))?;
            return Ok(Level {
                given,
                release: Some(release),
                needs: None,
            });
        }
        let feature = Feature::named(name).ok_or_else(|| DependencyError::Feature { name: name.clone() })?;
        if !feature.has_level(*level) {
            return Err(no_level(0, feature.level_max));
        }
        Ok(Level {
            given,
            release: None,
            // Every cluster is at the lowest version at least.
            needs: feature
                .needs(*level)
                .filter(|needs| *needs > MetadataVersion::MINIMUM),
        })
    }

    fn text(&self) -> String {
        let FeatureLevel { name, level } = self.given;
        let release = self
            .release
            .map_or(String::new(), |release| format!(" ({release})"));
        match self.needs {
            None => format!("{name}={level}{release} has no dependencies.\n"),
            Some(needs) => {
                let needed = needs.level();
                format!("{name}={level}{release} requires:\n    {METADATA_VERSION}={needed} ({needs})\n")
            }
        }
    }

    fn json(&self) -> String {
        let requires: Value = match self.needs {
            None => json!({}),
            Some(needs) => json!({ METADATA_VERSION: needs.level() }),
        };
        let FeatureLevel { name, level } = self.given;
        let object = json!({ "feature": name, "level": level, "requires": requires });
        format!("{object}\n")
    }
}

fn names() -> String {
    let names: Vec<_> = Feature::ALL.iter().map(|feature| feature.name).collect();
    names.join(", ")
}
