//! `kraft features upgrade`, `downgrade` and `disable`.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::process::ExitCode;

use kraft_metadata::feature::{METADATA_VERSION, MetadataVersion};
use thiserror::Error;

use super::feature_level::{FeatureLevel, feature_name};
use super::output::{self, Operation};
use super::release::{UnknownRelease, levels, release};
use crate::Outcome;
use crate::client::{Bootstrap, FeatureChange};
use crate::out::Out;
use crate::program::wrong_usage;

/// Raise the levels of features
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    kraft features upgrade --feature kraft.version=1 --dry-run --bootstrap-controller 127.0.0.1:9093\n  \
    kraft features upgrade --release-version 4.4 --bootstrap-server 127.0.0.1:9092")]
pub(crate) struct UpgradeArguments {
    #[command(flatten)]
    wanted: Wanted,
    #[command(flatten)]
    manner: Manner,
}

/// Lower the levels of features
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  kraft features downgrade --feature group.version=0 --bootstrap-server 127.0.0.1:9092"
)]
pub(crate) struct DowngradeArguments {
    #[command(flatten)]
    wanted: Wanted,
    /// Also where metadata is lost
    #[arg(long)]
    r#unsafe: bool,
    #[command(flatten)]
    manner: Manner,
}

/// Turn features off: lower them to level 0
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  kraft features disable --feature group.version --bootstrap-server 127.0.0.1:9092"
)]
pub(crate) struct DisableArguments {
    /// The feature
    #[arg(long, value_name = "NAME", required = true, value_parser = feature_name)]
    feature: Vec<String>,
    /// Also where metadata is lost
    #[arg(long)]
    r#unsafe: bool,
    #[command(flatten)]
    manner: Manner,
}

/// The levels that are asked for.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("levels").required(true).multiple(true).args(["feature", "release_version", "metadata"]))]
struct Wanted {
    /// A feature and its new level
    #[arg(long, value_name = "NAME=LEVEL")]
    feature: Vec<FeatureLevel>,
    /// All features to the levels of a release, such as 4.4 or 4.4-IV2
    #[arg(long, value_name = "VERSION", conflicts_with_all = ["feature", "metadata"])]
    release_version: Option<String>,
    /// Deprecated: metadata.version by the name of its level, such as 4.4-IV2
    #[arg(long, value_name = "VERSION")]
    metadata: Option<String>,
}

/// How it is done and told.
#[derive(clap::Args)]
struct Manner {
    /// Ask whether it can be done, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Not all was done. The outcomes have been printed.
#[derive(Debug, PartialEq, Eq, Error)]
#[error("{failed} out of {all} operation(s) failed.")]
struct Failed {
    failed: usize,
    all: usize,
}

pub(crate) fn upgrade(bootstrap: Bootstrap, arguments: &UpgradeArguments) -> Outcome {
    let change = FeatureChange::Upgrade;
    let levels = arguments.wanted.levels(change)?;
    if let Some((name, _)) = levels.iter().find(|(_, level)| **level == 0) {
        wrong_usage(&format!(
            "level 0 turns {name} off, which is no upgrade: use downgrade or disable"
        ));
    }
    arguments.wanted.warn(&arguments.manner)?;
    update(bootstrap, Operation::Upgrade, change, &levels, &arguments.manner)
}

pub(crate) fn downgrade(bootstrap: Bootstrap, arguments: &DowngradeArguments) -> Outcome {
    let change = downgrade_change(arguments.r#unsafe);
    let levels = arguments.wanted.levels(change)?;
    arguments.wanted.warn(&arguments.manner)?;
    update(
        bootstrap,
        Operation::Downgrade,
        change,
        &levels,
        &arguments.manner,
    )
}

pub(crate) fn disable(bootstrap: Bootstrap, arguments: &DisableArguments) -> Outcome {
    let mut levels = BTreeMap::new();
    for name in &arguments.feature {
        add(&mut levels, name, 0);
    }
    let change = downgrade_change(arguments.r#unsafe);
    update(bootstrap, Operation::Disable, change, &levels, &arguments.manner)
}

fn downgrade_change(is_unsafe: bool) -> FeatureChange {
    if is_unsafe {
        FeatureChange::UnsafeDowngrade
    } else {
        FeatureChange::SafeDowngrade
    }
}

fn update(
    bootstrap: Bootstrap,
    operation: Operation,
    change: FeatureChange,
    levels: &BTreeMap<String, i16>,
    manner: &Manner,
) -> Outcome {
    let outcomes = bootstrap
        .admin()
        .update_features(levels, change, manner.dry_run)?;
    let text = if manner.json {
        output::outcomes_json(&outcomes, manner.dry_run)
    } else {
        output::outcomes(&outcomes, operation, manner.dry_run)
    };
    let told = Out::report().write_all(text.as_bytes());
    let failed = outcomes.iter().filter(|outcome| outcome.code.is_error()).count();
    if failed > 0 {
        let all = outcomes.len();
        return Err(Failed { failed, all }.into());
    }
    told.map_err(|error| {
        let state = if manner.dry_run { "nothing" } else { "all" };
        format!("{state} is done, but {error}")
    })?;
    Ok(ExitCode::SUCCESS)
}

impl Wanted {
    /// As Kafka's tool does, before anything is asked.
    fn warn(&self, manner: &Manner) -> io::Result<()> {
        if self.metadata.is_none() || manner.json {
            return Ok(());
        }
        writeln!(Out::report(), "{DEPRECATED}")
    }

    fn levels(&self, change: FeatureChange) -> Result<BTreeMap<String, i16>, UnknownRelease> {
        if let Some(given) = &self.release_version {
            return Ok(release_levels(release("--release-version", given)?, change));
        }
        let mut levels = BTreeMap::new();
        if let Some(given) = &self.metadata {
            add(
                &mut levels,
                METADATA_VERSION,
                release("--metadata", given)?.level(),
            );
        }
        for FeatureLevel { name, level } in &self.feature {
            add(&mut levels, name, *level);
        }
        Ok(levels)
    }
}

/// What a cluster of a release starts with. An upgrade leaves out what would be off.
fn release_levels(version: MetadataVersion, change: FeatureChange) -> BTreeMap<String, i16> {
    levels(version)
        .filter(|(_, level)| change != FeatureChange::Upgrade || *level > 0)
        .map(|(name, level)| (name.to_owned(), level))
        .collect()
}

fn add(levels: &mut BTreeMap<String, i16>, name: &str, level: i16) {
    if levels.insert(name.to_owned(), level).is_some() {
        wrong_usage(&format!("the feature {name} is given more than once"));
    }
}

const DEPRECATED: &str = " `metadata` flag is deprecated and may be removed in a future release.";

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(release: &str, change: FeatureChange) -> String {
        let version = MetadataVersion::from_name(release).unwrap();
        let levels = release_levels(version, change);
        let one = |(name, level): (&String, &i16)| format!("{name}={level}");
        levels.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn an_upgrade_to_a_release_turns_nothing_off() {
        assert_eq!(
            shown("3.9", FeatureChange::Upgrade),
            "kraft.version=1 metadata.version=21"
        );
        assert_eq!(shown("3.8", FeatureChange::Upgrade), "metadata.version=20");
    }

    #[test]
    fn a_downgrade_to_a_release_turns_off_what_it_does_not_have() {
        assert_eq!(
            shown("4.0", FeatureChange::SafeDowngrade),
            "eligible.leader.replicas.version=0 group.version=1 kraft.version=1 metadata.version=25 \
             share.version=0 streams.version=0 transaction.version=2"
        );
    }
}
