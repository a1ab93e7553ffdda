//! Levels and bootstrap records against those of Kafka's tools.

use crate::support;

use kraft_metadata::{
    bootstrap::{BootstrapError, ScramCredential, ScramMechanism, bootstrap_records},
    feature::{Feature, MetadataVersion},
    record::MetadataRecord,
};
use std::collections::BTreeMap;

fn given(levels: &[(&str, i16)]) -> BTreeMap<String, i16> {
    levels
        .iter()
        .map(|&(name, level)| (name.to_owned(), level))
        .collect()
}

#[test]
fn levels_and_defaults_are_kafkas() {
    let levels: serde_json::Value = serde_json::from_str(&support::read("levels.json")).unwrap();
    let levels = levels.as_array().unwrap();
    assert_eq!(levels.len(), MetadataVersion::all().count());
    for (expected, version) in levels.iter().zip(MetadataVersion::all()) {
        assert_eq!(expected["level"], version.level());
        assert_eq!(expected["name"], version.name());
        assert_eq!(expected["production"], version.is_production(), "{version}");
        assert_eq!(
            expected["changes_metadata"],
            version.changes_metadata(),
            "{version}"
        );
        for feature in Feature::ALL {
            let expected = &expected["default_features"][feature.name];
            assert_eq!(
                *expected,
                feature.default_level(version),
                "{} at {version}",
                feature.name
            );
        }
    }
}

#[test]
fn releases_have_levels() {
    let cases = [
        ("3.3", Some(7)),
        ("3.4", Some(8)),
        ("3.5", Some(11)),
        ("3.6", Some(14)),
        ("3.7", Some(19)),
        ("3.8", Some(20)),
        ("3.9", Some(21)),
        ("4.0", Some(25)),
        ("4.1", Some(27)),
        ("4.2", Some(29)),
        ("4.3", Some(30)),
        ("4.4", Some(33)),
        ("4.4.0", Some(33)),
        ("4.1.2", Some(27)),
        ("4.1-IV0", Some(26)),
        ("3.3-IV3", Some(7)),
        ("4.5-IV0", Some(34)),
        ("4.5", None),
        ("3.3-IV2", None),
        ("3.2", None),
        ("4", None),
        ("", None),
        ("33", None),
    ];
    for (name, level) in cases {
        assert_eq!(
            MetadataVersion::from_name(name).map(MetadataVersion::level),
            level,
            "{name}"
        );
    }
}

#[test]
fn a_formatted_directory_holds_these_records() {
    let formatted: serde_json::Value = serde_json::from_str(&support::read("formatted.json")).unwrap();
    for directory in formatted.as_array().unwrap() {
        let made = directory["made"].as_str().unwrap();
        let values: Vec<Vec<u8>> = directory["values"]
            .as_array()
            .unwrap()
            .iter()
            .map(|value| support::hex(value.as_str().unwrap()))
            .collect();
        let release = made
            .split_once("--release-version ")
            .map(|(_, rest)| rest.split(' ').next());
        let version = release.map_or(MetadataVersion::LATEST_PRODUCTION, |name| {
            MetadataVersion::from_name(name.unwrap()).unwrap()
        });
        let features = given(if made.contains("group.version=0") {
            &[("group.version", 0)]
        } else {
            &[]
        });
        // The salt is random, so the credential is taken from the directory itself.
        let scram: Vec<ScramCredential> = values
            .iter()
            .filter_map(|value| match MetadataRecord::decode(value).unwrap() {
                MetadataRecord::UserScramCredential(record) => Some(ScramCredential {
                    name: record.name,
                    mechanism: ScramMechanism::Sha256,
                    salt: record.salt.to_vec(),
                    stored_key: record.stored_key.to_vec(),
                    server_key: record.server_key.to_vec(),
                    iterations: record.iterations,
                }),
                _ => None,
            })
            .collect();
        assert_eq!(scram.len(), usize::from(made.contains("--add-scram")), "{made}");
        assert_eq!(
            bootstrap_records(version, &features, &scram),
            Ok(values),
            "{made}"
        );
    }
}

#[test]
fn impossible_clusters_are_refused() {
    let version = |name| MetadataVersion::from_name(name).unwrap();
    let refused =
        |name, levels: &[(&str, i16)]| bootstrap_records(version(name), &given(levels), &[]).unwrap_err();
    assert_eq!(
        refused("4.4", &[("group.versions", 1)]).to_string(),
        "there is no feature group.versions"
    );
    assert_eq!(
        refused("4.4", &[("group.version", 2)]).to_string(),
        "group.version has no level 2, only 0 to 1"
    );
    assert_eq!(
        refused("4.4", &[("kraft.version", -1)]).to_string(),
        "kraft.version has no level -1, only 0 to 1"
    );
    assert_eq!(
        refused("3.9", &[("eligible.leader.replicas.version", 1)]).to_string(),
        "eligible.leader.replicas.version=1 needs metadata.version=23 (4.0-IV1)"
    );
    let credential = ScramCredential {
        name: "admin".to_owned(),
        mechanism: ScramMechanism::Sha512,
        salt: vec![1],
        stored_key: vec![2],
        server_key: vec![3],
        iterations: 4096,
    };
    assert!(!format!("{credential:?}").contains("key"));
    assert_eq!(
        bootstrap_records(version("3.5-IV1"), &given(&[]), &[credential]),
        Err(BootstrapError::Scram)
    );
}
