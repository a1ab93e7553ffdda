//! The small files of a log directory against the ones that Kafka wrote, and against anything else.

use std::{fs, path::PathBuf};

use kraft_core::{ElectionState, Epoch, NodeId, ReplicaKey};
use kraft_log::{
    epoch_checkpoint::{self, EpochCheckpointError, EpochStart},
    java_properties,
    meta_properties::{MetaProperties, MetaPropertiesError, MetaPropertiesVersion},
    partition_metadata::{self, PartitionMetadataError},
    quorum_state::{self, QuorumStateError},
};
use kraft_wire::uuid_text;
use proptest::prelude::*;
use serde_json::Value;
use uuid::Uuid;

fn vectors(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/vectors")
        .join(path)
}

#[test]
fn recorded_quorum_states_are_read_and_written_again() {
    let index: Value =
        serde_json::from_slice(&fs::read(vectors("quorum-state/index.json")).unwrap()).unwrap();
    let entries = index.as_array().unwrap();
    assert_eq!(entries.len(), 13);
    for entry in entries {
        let name = entry["file"].as_str().unwrap();
        let bytes = fs::read(vectors("quorum-state").join(name)).unwrap();
        let state = quorum_state::parse(&bytes).unwrap();
        assert_eq!(i64::from(state.kraft_version), entry["data_version"], "{name}");
        assert_eq!(quorum_state::format(&state), bytes, "{name}");
    }
    let voted = fs::read(vectors("quorum-state/v1-follower-that-voted-for-leader.json")).unwrap();
    assert_eq!(
        quorum_state::parse(&voted).unwrap(),
        ElectionState {
            epoch: Epoch(4),
            leader: Some(NodeId(1)),
            voted: Some(ReplicaKey::new(
                NodeId(1),
                uuid_text::parse("EOxurBla2zthI4qeIINh6g").unwrap()
            )),
            voters: Vec::new(),
            kraft_version: 1,
        }
    );
}

/// Where Kafka refuses to start, the file is refused; where it starts, the file is read.
#[test]
fn damaged_quorum_states_end_as_kafka_ends() {
    let cases: Value =
        serde_json::from_slice(&fs::read(vectors("quorum-state/damaged.json")).unwrap()).unwrap();
    let mut seen = 0;
    for case in cases.as_array().unwrap() {
        let Some(content) = case["content"].as_str() else {
            continue;
        };
        let id = case["id"].as_str().unwrap();
        let read = quorum_state::parse(content.as_bytes());
        assert_eq!(read.is_ok(), case["outcome"] == "starts", "{id}: {read:?}");
        seen += 1;
    }
    assert_eq!(seen, 27);
}

#[test]
fn errors_of_quorum_state_say_what_is_wrong() {
    let error = |text: &str| quorum_state::parse(text.as_bytes()).unwrap_err();
    assert_eq!(error(""), QuorumStateError::Empty);
    assert_eq!(error("[1]"), QuorumStateError::NotAnObject);
    assert_eq!(
        error("{}"),
        QuorumStateError::MissingField {
            field: "data_version"
        }
    );
    assert_eq!(
        error(r#"{"data_version":7}"#),
        QuorumStateError::UnknownVersion { version: 7 }
    );
    let far = r#"{"leaderId":1,"leaderEpoch":4294967297,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}"#;
    assert!(matches!(
        error(far),
        QuorumStateError::WrongField {
            field: "leaderEpoch",
            ..
        }
    ));
}

#[test]
fn recorded_meta_properties_are_read_and_written_again() {
    let mut seen = 0;
    for entry in fs::read_dir(vectors("formatted")).unwrap() {
        let path = entry.unwrap().path().join("meta.properties");
        let Ok(bytes) = fs::read(&path) else { continue };
        let properties = MetaProperties::parse(&bytes).unwrap();
        assert_eq!(properties.version, MetaPropertiesVersion::V1);
        assert_eq!(properties.cluster_id.as_deref(), Some("6PMpHYL9QkeyXRj9Nrp4KA"));
        let date = String::from_utf8(bytes.clone())
            .unwrap()
            .lines()
            .nth(1)
            .unwrap()
            .to_owned();
        // All of them were written within one minute, of which the date line gives the second.
        let second: i64 = date[18..20].parse().unwrap();
        let written_at_ms = 1_795_963_380_000 + second * 1000;
        assert_eq!(properties.format(written_at_ms), bytes, "{}", path.display());
        seen += 1;
    }
    assert_eq!(seen, 7);
}

#[test]
fn version_0_of_meta_properties() {
    let properties = MetaProperties::parse(b"broker.id: 5\r\ncluster.id = a\\u0062c\n").unwrap();
    assert_eq!(
        properties,
        MetaProperties {
            version: MetaPropertiesVersion::V0,
            cluster_id: Some("abc".to_owned()),
            node_id: Some(5),
            directory_id: None,
        }
    );
    assert_eq!(
        String::from_utf8(properties.format(0)).unwrap(),
        "#\n#Thu Jan 01 00:00:00 UTC 1970\nbroker.id=5\nversion=0\ncluster.id=abc\n"
    );
}

#[test]
fn errors_of_meta_properties_say_what_is_wrong() {
    let error = |text: &str| MetaProperties::parse(text.as_bytes()).unwrap_err();
    let unknown = |version: &str| MetaPropertiesError::UnknownVersion {
        version: version.to_owned(),
    };
    assert_eq!(error("version=2"), unknown("2"));
    assert_eq!(error("version=one"), unknown("one"));
    assert_eq!(
        error("version=1\nnode.id=1"),
        MetaPropertiesError::MissingKey { key: "cluster.id" }
    );
    assert_eq!(
        error("version=1\ncluster.id=c\nbroker.id=1"),
        MetaPropertiesError::MissingKey { key: "node.id" }
    );
    assert_eq!(
        error("a=\\u00"),
        MetaPropertiesError::Syntax(java_properties::parse(b"a=\\u00").unwrap_err())
    );
    assert!(matches!(
        error("version=1\ncluster.id=c\nnode.id=x"),
        MetaPropertiesError::NotAnInteger { key: "node.id", .. }
    ));
    assert!(matches!(
        error("version=1\ncluster.id=c\nnode.id=1\ndirectory.id=abc"),
        MetaPropertiesError::NotADirectoryId { .. }
    ));
}

/// What `Properties.load` of Java makes of the odd corners of its format.
#[test]
fn properties_syntax() {
    let text = b"# comment \\\n! too\n\n  a = 1\nb:2\nc 3\nd\ne = \nf\\ g=h\\:i\\tj\nk=l\\\n   m\\\\\nn=\xe9\\u20ac\n\\=o==p\nq=r\\\n# no comment\na=last\ns=\\";
    let read: Vec<(String, String)> = java_properties::parse(text)
        .unwrap()
        .into_iter()
        .map(|property| (property.key, property.value))
        .collect();
    let expected = [
        ("a", "1"),
        ("b", "2"),
        ("c", "3"),
        ("d", ""),
        ("e", ""),
        ("f g", "h:i\tj"),
        ("k", "lm\\"),
        ("n", "\u{e9}\u{20ac}"),
        ("=o", "=p"),
        ("q", "r# no comment"),
        ("a", "last"),
        ("s", ""),
    ];
    let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(read, expected);
    let properties = java_properties::parse(text).unwrap();
    assert_eq!(java_properties::value_of(&properties, "a"), Some("last"));
    assert_eq!(properties[6].line, 10);
}

#[test]
fn epoch_checkpoints() {
    let start = |epoch, start_offset| EpochStart {
        epoch: Epoch(epoch),
        start_offset,
    };
    let entries = vec![start(1, 0), start(3, 57)];
    assert_eq!(epoch_checkpoint::format(&entries), b"0\n2\n1 0\n3 57\n");
    assert_eq!(epoch_checkpoint::parse(b"0\n2\n1 0\n3 \t57"), Ok(entries));
    assert_eq!(epoch_checkpoint::format(&[]), b"0\n0\n");
    for empty in ["", "0", "0\n", "0\n0\n"] {
        assert_eq!(
            epoch_checkpoint::parse(empty.as_bytes()),
            Ok(Vec::new()),
            "{empty:?}"
        );
    }
    assert_eq!(
        epoch_checkpoint::parse(b"0\n2\n3 57\n1 0\n"),
        Ok(vec![start(3, 57), start(1, 0)])
    );

    let error = |text: &str| epoch_checkpoint::parse(text.as_bytes()).unwrap_err();
    assert_eq!(error("1\n0\n"), EpochCheckpointError::UnknownVersion);
    assert_eq!(error("\n"), EpochCheckpointError::UnknownVersion);
    assert_eq!(error("0\nx\n"), EpochCheckpointError::NoCount);
    assert_eq!(
        error("0\n3\n1 0\n"),
        EpochCheckpointError::WrongCount {
            announced: 3,
            found: 1
        }
    );
    for line in ["", " 1 0", "1", "1 0 2", "-1 0", "1 -1", "1 x", "4294967296 0"] {
        let text = format!("0\n2\n1 0\n{line}\n");
        assert_eq!(
            error(&text),
            EpochCheckpointError::MalformedEntry { line: 4 },
            "{line:?}"
        );
    }
}

#[test]
fn partition_metadata_files() {
    let text = b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ";
    assert_eq!(partition_metadata::format(&uuid_text::METADATA_TOPIC_ID), text);
    assert_eq!(partition_metadata::parse(text), Ok(uuid_text::METADATA_TOPIC_ID));
    let later = b"version: 3\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n";
    assert_eq!(partition_metadata::parse(later), Ok(uuid_text::METADATA_TOPIC_ID));
    assert_eq!(partition_metadata::parse(b""), Err(PartitionMetadataError::Empty));
    assert_eq!(
        partition_metadata::parse(b"version: -1\n"),
        Err(PartitionMetadataError::NoVersion)
    );
    for second in [
        "",
        "topic_id: AAAAAAAAAAAAAAAAAAAAAA",
        "topic_id:AAAAAAAAAAAAAAAAAAAAAQ",
        "topic: x",
    ] {
        let text = format!("version: 0\n{second}");
        assert_eq!(
            partition_metadata::parse(text.as_bytes()),
            Err(PartitionMetadataError::NoTopicId)
        );
    }
}

fn election_states() -> impl Strategy<Value = ElectionState> {
    let id = || prop::option::of(0..=i32::MAX);
    (
        any::<i32>(),
        id(),
        id(),
        any::<u128>(),
        prop::collection::vec(any::<i32>(), 0..5),
        0_i16..2,
    )
        .prop_map(
            |(epoch, leader, voted, directory, voters, kraft_version)| ElectionState {
                epoch: Epoch(epoch),
                leader: leader.map(NodeId),
                voted: voted.map(|id| match kraft_version {
                    0 => ReplicaKey::without_directory(NodeId(id)),
                    _ => ReplicaKey::new(NodeId(id), Uuid::from_u128(directory)),
                }),
                voters: match kraft_version {
                    0 => voters.into_iter().map(NodeId).collect(),
                    _ => Vec::new(),
                },
                kraft_version,
            },
        )
}

proptest! {
    #[test]
    fn quorum_state_round_trip(state in election_states()) {
        prop_assert_eq!(quorum_state::parse(&quorum_state::format(&state)), Ok(state));
    }

    #[test]
    fn meta_properties_round_trip(
        cluster in ".*",
        node in any::<i32>(),
        directory in prop::option::of(any::<u128>()),
        old in any::<bool>(),
        at in -1_000_000_000_000_000_i64..1_000_000_000_000_000,
    ) {
        let version = if old { MetaPropertiesVersion::V0 } else { MetaPropertiesVersion::V1 };
        let properties = MetaProperties {
            version,
            cluster_id: Some(cluster),
            node_id: Some(node),
            directory_id: directory.map(Uuid::from_u128),
        };
        let bytes = properties.format(at);
        prop_assert!(bytes.is_ascii());
        prop_assert_eq!(MetaProperties::parse(&bytes), Ok(properties));
    }

    #[test]
    fn properties_round_trip(key in ".+", value in ".*") {
        let mut text = String::new();
        java_properties::write_entry(&mut text, &key, &value);
        let read = java_properties::parse(text.as_bytes()).unwrap();
        prop_assert_eq!(read.len(), 1);
        prop_assert_eq!(&read[0].key, &key);
        prop_assert_eq!(&read[0].value, &value);
    }

    #[test]
    fn epoch_checkpoint_round_trip(entries in prop::collection::vec((0..=i32::MAX, 0..=i64::MAX), 0..8)) {
        let entries: Vec<EpochStart> = entries
            .into_iter()
            .map(|(epoch, start_offset)| EpochStart { epoch: Epoch(epoch), start_offset })
            .collect();
        prop_assert_eq!(epoch_checkpoint::parse(&epoch_checkpoint::format(&entries)), Ok(entries));
    }

    #[test]
    fn partition_metadata_round_trip(id in 1..=u128::MAX) {
        let id = Uuid::from_u128(id);
        prop_assert_eq!(partition_metadata::parse(&partition_metadata::format(&id)), Ok(id));
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = quorum_state::parse(&bytes);
        let _ = MetaProperties::parse(&bytes);
        let _ = epoch_checkpoint::parse(&bytes);
        let _ = partition_metadata::parse(&bytes);
    }

    #[test]
    fn no_text_close_to_the_format_panics(text in "[0-9 \\-\\\\u=:#!\n\r\t{}\"a-f]{0,80}") {
        let _ = quorum_state::parse(text.as_bytes());
        let _ = MetaProperties::parse(text.as_bytes());
        let _ = epoch_checkpoint::parse(text.as_bytes());
        let _ = partition_metadata::parse(text.as_bytes());
    }
}
