use std::fs;

use bytes::Bytes;
use kraft_wire::batch::BatchBuilder;
use kraft_wire::control::{ControlRecord, KRaftVersionRecord, control_batch};

use super::*;

fn no_op_batch(base_offset: i64) -> Bytes {
    let mut builder = BatchBuilder::data(1_000);
    builder.push(&[1, 20, 0, 0]).unwrap();
    builder.build(base_offset, 3)
}

fn dump(name: &str, content: &[u8], json: bool) -> (Vec<String>, usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    let mut dump = Dump {
        out: Vec::new(),
        records: true,
        json,
        damaged: 0,
    };
    dump.path(&path).unwrap();
    let text = String::from_utf8(dump.out)
        .unwrap()
        .replace(path.to_str().unwrap(), "FILE");
    (text.lines().map(str::to_owned).collect(), dump.damaged)
}

const SEGMENT: &str = "00000000000000000000.log";

#[test]
fn batches_and_records_in_kafkas_words() {
    let version = ControlRecord::KRaftVersion(KRaftVersionRecord {
        kraft_version: 1,
        ..KRaftVersionRecord::default()
    });
    let control = control_batch(&[version], 0, 3, 900).unwrap();
    let (lines, damaged) = dump(SEGMENT, &[control, no_op_batch(1)].concat(), false);
    assert_eq!(damaged, 0);
    assert_eq!(lines.len(), 6, "{lines:#?}");
    assert_eq!(lines[..2], ["Dumping FILE", "Log starting offset: 0"]);
    assert!(lines[2].starts_with("baseOffset: 0 lastOffset: 0 count: 1 baseSequence: -1 lastSequence: -1 "));
    assert!(
        lines[2]
            .contains(" isControl: true deleteHorizonMs: OptionalLong.empty position: 0 CreateTime: 900 ")
    );
    assert!(lines[2].ends_with(" isvalid: true"));
    assert_eq!(
        lines[3],
        "| offset: 0 CreateTime: 900 keySize: 4 valueSize: 5 sequence: -1 headerKeys: [] \
         KRaftVersion {\"version\":0,\"kRaftVersion\":1}"
    );
    assert_eq!(
        lines[5],
        "| offset: 1 CreateTime: 1000 keySize: -1 valueSize: 4 sequence: -1 headerKeys: [] \
         payload: {\"type\":\"NO_OP_RECORD\",\"version\":0,\"data\":{}}"
    );
}

#[test]
fn json_lines() {
    let (lines, _) = dump(SEGMENT, &no_op_batch(7), true);
    let object: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!(object["baseOffset"], 7);
    assert_eq!(object["records"][0]["type"], "NO_OP_RECORD");
}

#[test]
fn damage_is_named_and_the_rest_goes_on() {
    let batches: Vec<_> = (0..4).map(no_op_batch).collect();
    let size = batches[0].len();
    let flipped = |at: usize, bit: u8| {
        let mut bytes = batches.concat();
        bytes[size + at] ^= bit;
        bytes
    };
    let cases = [
        // A value byte: the batch is shown, its checksum is wrong.
        (
            flipped(size - 2, 1),
            4,
            format!("! FILE at byte {size}, {size} bytes: checksum"),
        ),
        // The length: nothing tells where the batch ends, so the next good one is searched for.
        (
            flipped(8, 0x40),
            3,
            format!("! FILE at byte {size}, {size} bytes: a batch length"),
        ),
        (flipped(11, 1), 3, format!("! FILE at byte {size}, ")),
        // A torn end.
        (
            batches.concat()[..4 * size - 1].to_vec(),
            3,
            format!("! FILE at byte {}, {} bytes: ", 3 * size, size - 1),
        ),
    ];
    for (content, shown, note) in cases {
        let (lines, damaged) = dump(SEGMENT, &content, false);
        let batch_lines = lines.iter().filter(|line| line.starts_with("baseOffset")).count();
        assert!(damaged >= 1, "{lines:#?}");
        assert!(batch_lines >= shown, "{lines:#?}");
        assert!(
            lines.iter().any(|line| line.starts_with(&note)),
            "{note} in {lines:#?}"
        );
    }
}

#[test]
fn kept_space_is_no_damage() {
    let (lines, damaged) = dump(SEGMENT, &[&no_op_batch(0)[..], &[0; 3000]].concat(), false);
    assert_eq!(damaged, 0);
    assert!(
        lines.last().unwrap().contains("3000 bytes: zeros up to the end"),
        "{lines:#?}"
    );
}

#[test]
fn a_record_that_cannot_be_read_does_not_end_the_dump() {
    let mut builder = BatchBuilder::data(1_000);
    builder.push(&[9, 9]).unwrap();
    builder.push(&[1, 12, 0, 1, 2, 3]).unwrap();
    builder.push(&[1, 117, 0, 0xab]).unwrap();
    builder.push(&[1, 20, 0, 0]).unwrap();
    let (lines, _) = dump(SEGMENT, &builder.build(0, 1), false);
    let marked = lines.iter().filter(|line| line.contains(" ! offset ")).count();
    assert_eq!(marked, 2, "{lines:#?}");
    assert!(
        lines[5].contains("\"type\":\"RECORD_TYPE_117\",\"version\":0,\"data\":\"qw==\""),
        "{lines:#?}"
    );
    assert!(lines[6].contains("NO_OP_RECORD"));
}

#[test]
fn small_files() {
    let state = "{\"leaderId\":1,\"leaderEpoch\":5,\"votedId\":-1,\
                 \"votedDirectoryId\":\"AAAAAAAAAAAAAAAAAAAAAA\",\"data_version\":1}";
    let cases = [
        ("quorum-state", state.to_owned(), state.to_owned()),
        (
            "leader-epoch-checkpoint",
            "0\n1\n3 57\n".to_owned(),
            "epoch: 3 startOffset: 57".to_owned(),
        ),
        (
            "meta.properties",
            "version=1\nnode.id=4\ncluster.id=c\n".to_owned(),
            "cluster.id=c".to_owned(),
        ),
        (
            "partition.metadata",
            "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ".to_owned(),
            "topicId: AAAAAAAAAAAAAAAAAAAAAQ".to_owned(),
        ),
    ];
    for (name, content, expected) in cases {
        let (lines, damaged) = dump(name, content.as_bytes(), false);
        assert_eq!((lines[1].as_str(), damaged), (expected.as_str(), 0), "{name}");
        let (lines, damaged) = dump(name, b"version=9", false);
        assert!(
            damaged == 1 && lines[1].starts_with("! FILE: "),
            "{name}: {lines:?}"
        );
    }
}

/// A whole log of Kafka's, with brokers and topics.
#[test]
fn every_record_that_kafka_writes_is_read() {
    let log = include_bytes!("../../tests/vectors/shell/main.log");
    let (lines, damaged) = dump(SEGMENT, log, false);
    assert_eq!(damaged, 0);
    let records: Vec<_> = lines.iter().filter(|line| line.starts_with("| ")).collect();
    let payloads: Vec<_> = records
        .iter()
        .filter_map(|line| line.split_once(" payload: "))
        .collect();
    assert_eq!((records.len(), payloads.len()), (463, 457));
    for (_, payload) in &payloads {
        let payload: serde_json::Value = serde_json::from_str(payload).unwrap();
        assert!(payload["data"].is_object(), "{payload}");
    }
    let partition = payloads
        .iter()
        .find(|(_, payload)| payload.contains("\"PARTITION_RECORD\""));
    let (_, partition) = partition.unwrap();
    assert!(
        partition.contains("\"partitionEpoch\":0,\"directories\":[\""),
        "{partition}"
    );
}
