//! What `kafka-features` prints: scripts match on its labels and sentences.

use kraft_metadata::feature::{METADATA_VERSION, MetadataVersion};
use serde_json::{Value, json};

use crate::client::{FeatureOutcome, Features};
use crate::printable::printable;

/// What is done with levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Upgrade,
    Downgrade,
    Disable,
}

/// A line for each feature that the node supports.
pub(super) fn features(features: &Features) -> String {
    let epoch = features.epoch.map_or("-".to_owned(), |epoch| epoch.to_string());
    let line = |(name, (min, max)): (&String, &(i16, i16))| {
        let finalized = features.finalized.get(name).copied().unwrap_or(0);
        format!(
            "Feature: {:<40}  SupportedMinVersion: {:<15}  SupportedMaxVersion: {:<15}  \
             FinalizedVersionLevel: {:<15}  Epoch: {epoch}\n",
            printable(name),
            shown(name, *min),
            shown(name, *max),
            shown(name, finalized),
        )
    };
    features.supported.iter().map(line).collect()
}

/// `--json`: all that the answer holds of features, with the names of the wire.
pub(super) fn features_json(features: &Features) -> String {
    let supported: Vec<Value> = features
        .supported
        .iter()
        .map(|(name, (min, max))| json!({ "name": name, "minVersion": min, "maxVersion": max }))
        .collect();
    let finalized: Vec<Value> = features
        .finalized
        .iter()
        .map(|(name, level)| json!({ "name": name, "maxVersionLevel": level }))
        .collect();
    let object = json!({
        "supportedFeatures": supported,
        "finalizedFeaturesEpoch": features.epoch,
        "finalizedFeatures": finalized,
    });
    format!("{object}\n")
}

/// A line for each feature that was asked for.
pub(super) fn outcomes(outcomes: &[FeatureOutcome], operation: Operation, dry_run: bool) -> String {
    let line = |outcome: &FeatureOutcome| {
        let (name, level) = (printable(&outcome.feature), outcome.level);
        if outcome.code.is_error() {
            let failed = if dry_run { "Can not" } else { "Could not" };
            let wanted = match operation {
                Operation::Upgrade => format!("upgrade {name} to {level}"),
                Operation::Downgrade => format!("downgrade {name} to {level}"),
                Operation::Disable => format!("disable {name}"),
            };
            let reason = outcome.message.as_deref().unwrap_or(outcome.code.name());
            return format!("{failed} {wanted}. {}\n", printable(reason));
        }
        let done = match operation {
            Operation::Upgrade => format!("upgraded to {level}"),
            Operation::Downgrade => format!("downgraded to {level}"),
            Operation::Disable => "disabled".to_owned(),
        };
        let is = if dry_run { "can be" } else { "was" };
        format!("{name} {is} {done}.\n")
    };
    outcomes.iter().map(line).collect()
}

/// `--json`: what was asked for and what became of it, with the names of the wire.
pub(super) fn outcomes_json(outcomes: &[FeatureOutcome], dry_run: bool) -> String {
    let one = |outcome: &FeatureOutcome| {
        json!({
            "feature": outcome.feature,
            "maxVersionLevel": outcome.level,
            "errorCode": outcome.code.code(),
            "errorMessage": outcome.message,
        })
    };
    let results: Vec<Value> = outcomes.iter().map(one).collect();
    let object = json!({ "validateOnly": dry_run, "results": results });
    format!("{object}\n")
}

fn shown(name: &str, level: i16) -> String {
    if name != METADATA_VERSION {
        return level.to_string();
    }
    match MetadataVersion::from_level(level) {
        Some(version) => version.name().to_owned(),
        None => format!("UNKNOWN {level}"),
    }
}

#[cfg(test)]
#[path = "output_test.rs"]
mod tests;
