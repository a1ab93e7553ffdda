use std::collections::BTreeMap;

use kraft_wire::ErrorCode;

use super::*;

fn known(supported: &[(&str, i16, i16)], finalized: &[(&str, i16)], epoch: Option<i64>) -> Features {
    Features {
        supported: supported
            .iter()
            .map(|(name, min, max)| ((*name).to_owned(), (*min, *max)))
            .collect(),
        finalized: finalized
            .iter()
            .map(|(name, level)| ((*name).to_owned(), *level))
            .collect::<BTreeMap<_, _>>(),
        epoch,
    }
}

fn outcome(feature: &str, level: i16, code: ErrorCode, message: Option<&str>) -> FeatureOutcome {
    FeatureOutcome {
        feature: feature.to_owned(),
        level,
        code,
        message: message.map(str::to_owned),
    }
}

#[test]
fn a_line_for_each_supported_feature() {
    // The first two lines are those of Apache Kafka 4.4.0.
    let described = known(
        &[
            ("metadata.version", 7, 33),
            ("eligible.leader.replicas.version", 0, 1),
        ],
        &[("metadata.version", 25), ("unheard.of", 3)],
        Some(5),
    );
    assert_eq!(
        features(&described),
        "Feature: eligible.leader.replicas.version          SupportedMinVersion: 0                \
         SupportedMaxVersion: 1                FinalizedVersionLevel: 0                Epoch: 5\n\
         Feature: metadata.version                          SupportedMinVersion: 3.3-IV3          \
         SupportedMaxVersion: 4.4-IV2          FinalizedVersionLevel: 4.0-IV3          Epoch: 5\n"
    );
}

#[test]
fn what_is_not_known() {
    let described = known(&[("metadata.version", 1, 99)], &[], None);
    assert_eq!(
        features(&described),
        "Feature: metadata.version                          SupportedMinVersion: UNKNOWN 1        \
         SupportedMaxVersion: UNKNOWN 99       FinalizedVersionLevel: UNKNOWN 0        Epoch: -\n"
    );
    assert_eq!(features(&known(&[], &[("a", 1)], Some(0))), "");
}

#[test]
fn features_as_json() {
    let described = known(&[("a", 0, 2)], &[("b", 3)], Some(5));
    assert_eq!(
        features_json(&described),
        "{\"finalizedFeatures\":[{\"maxVersionLevel\":3,\"name\":\"b\"}],\"finalizedFeaturesEpoch\":5,\
         \"supportedFeatures\":[{\"maxVersion\":2,\"minVersion\":0,\"name\":\"a\"}]}\n"
    );
    let unknown = features_json(&known(&[], &[], None));
    assert!(unknown.contains("\"finalizedFeaturesEpoch\":null"), "{unknown}");
}

#[test]
fn what_became_of_it() {
    let refused = ErrorCode::InvalidUpdateVersion;
    let all = [
        outcome("a", 2, ErrorCode::None, None),
        outcome("b", 0, refused, Some("No.")),
        outcome("c", 1, refused, None),
    ];
    for (operation, dry_run, expected) in [
        (
            Operation::Upgrade,
            false,
            "a was upgraded to 2.\nCould not upgrade b to 0. No.\nCould not upgrade c to 1. INVALID_UPDATE_VERSION\n",
        ),
        (
            Operation::Downgrade,
            true,
            "a can be downgraded to 2.\nCan not downgrade b to 0. No.\nCan not downgrade c to 1. INVALID_UPDATE_VERSION\n",
        ),
        (
            Operation::Disable,
            false,
            "a was disabled.\nCould not disable b. No.\nCould not disable c. INVALID_UPDATE_VERSION\n",
        ),
        (
            Operation::Disable,
            true,
            "a can be disabled.\nCan not disable b. No.\nCan not disable c. INVALID_UPDATE_VERSION\n",
        ),
    ] {
        assert_eq!(outcomes(&all, operation, dry_run), expected);
    }
    assert_eq!(
        outcomes_json(&all[1..2], true),
        "{\"results\":[{\"errorCode\":95,\"errorMessage\":\"No.\",\"feature\":\"b\",\"maxVersionLevel\":0}],\
         \"validateOnly\":true}\n"
    );
}

#[test]
fn a_text_from_elsewhere_stays_on_its_line() {
    let refused = outcome("a\u{1b}[2J", 1, ErrorCode::InvalidRequest, Some("one\r\ntwo"));
    assert_eq!(
        outcomes(&[refused], Operation::Upgrade, false),
        "Could not upgrade a\\u001b[2J to 1. one\\r\\ntwo\n"
    );
    let described = known(&[("a\nb", 0, 1)], &[], None);
    assert_eq!(features(&described).lines().count(), 1);
}
