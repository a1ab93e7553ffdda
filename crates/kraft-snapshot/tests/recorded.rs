//! Snapshots that Kafka wrote: read, and written again to the same bytes.

// A failing unwrap is how a test fails, in its helpers too.
#![allow(clippy::unwrap_used)]

use std::{fs, path::PathBuf};

use kraft_core::{
    ControlRecord, Endpoint, Endpoints, Epoch, NodeId, ReplicaKey, SnapshotId, SupportedVersions, VoterNode,
};
use kraft_fs::{FileSystem, MemFs, Open, RealFs};
use kraft_snapshot::{SnapshotHeader, SnapshotReader, SnapshotWriter, frozen_name};
use uuid::Uuid;

fn vectors() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}

struct Recorded {
    name: String,
    id: SnapshotId,
    records: usize,
}

fn recorded() -> Vec<Recorded> {
    let index = fs::read_to_string(vectors().join("index.txt")).unwrap();
    let entry = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        Recorded {
            name: words[0].to_owned(),
            id: SnapshotId {
                end_offset: words[1].parse().unwrap(),
                epoch: Epoch(words[2].parse().unwrap()),
            },
            records: words[3].parse().unwrap(),
        }
    };
    index.lines().map(entry).collect()
}

/// Header, the values of each batch, and the timestamp of every batch.
struct Read {
    header: SnapshotHeader,
    batches: Vec<Vec<Vec<u8>>>,
    timestamps: Vec<i64>,
}

fn read(snapshot: &Recorded) -> Read {
    let path = vectors().join(format!("{}.checkpoint", snapshot.name));
    let mut reader = SnapshotReader::open_file(&RealFs, &path, snapshot.id)
        .unwrap()
        .unwrap();
    let bytes = fs::read(&path).unwrap();
    assert_eq!(reader.size(), bytes.len() as u64);
    let timestamp_at =
        |position: usize| i64::from_be_bytes(bytes[position..position + 8].try_into().unwrap());
    let mut timestamps = vec![timestamp_at(27)];
    let mut batches = Vec::new();
    while let Some(batch) = reader.next_batch().unwrap() {
        timestamps.push(batch.timestamp_ms());
        batches.push(batch.values().map(|value| value.to_vec()).collect());
    }
    assert!(reader.next_batch().unwrap().is_none());
    timestamps.push(timestamp_at(bytes.len() - FOOTER_BATCH_SIZE + 27));
    Read {
        header: reader.header().clone(),
        batches,
        timestamps,
    }
}

const FOOTER_BATCH_SIZE: usize = 75;

#[test]
fn every_recorded_snapshot_is_read_whole() {
    let snapshots = recorded();
    assert_eq!(snapshots.len(), 44);
    for snapshot in snapshots {
        let read = read(&snapshot);
        let count: usize = read.batches.iter().map(Vec::len).sum();
        assert_eq!(count, snapshot.records, "{}", snapshot.name);
        assert!(read.header.last_contained_log_timestamp > 1_795_900_000_000);
    }
}

#[test]
fn values_are_those_of_the_dump_tool() {
    let mut seen = 0;
    for snapshot in recorded() {
        let Ok(text) = fs::read_to_string(vectors().join(format!("{}.values", snapshot.name))) else {
            continue;
        };
        let hex = |value: &Vec<u8>| value.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let values: Vec<String> = read(&snapshot).batches.concat().iter().map(hex).collect();
        let expected: Vec<&str> = text.lines().collect();
        assert_eq!(values, expected, "{}", snapshot.name);
        seen += 1;
    }
    assert_eq!(seen, 4);
}

/// The same header, values and times give the bytes that Kafka wrote, wherever Kafka too put all records in one batch.
#[test]
fn what_is_written_is_what_kafka_writes() {
    let (mut seen, mut equal) = (0, 0);
    for snapshot in recorded() {
        let read = read(&snapshot);
        if read.batches.len() != 1 {
            continue;
        }
        let mem = MemFs::new();
        let dir = PathBuf::from("/d");
        mem.create_dir_all(&dir).unwrap();
        let mut times = read.timestamps.iter().copied();
        let clock = || times.next().unwrap();
        let mut writer = SnapshotWriter::create(&mem, &dir, snapshot.id, &read.header, clock).unwrap();
        for value in read.batches.iter().flatten() {
            writer.append(value).unwrap();
        }
        let size = writer.freeze().unwrap();
        let expected = fs::read(vectors().join(format!("{}.checkpoint", snapshot.name))).unwrap();
        let written = mem
            .read_bounded(&dir.join(frozen_name(snapshot.id)), 1 << 20)
            .unwrap()
            .unwrap();
        assert_eq!(size, expected.len() as u64);
        // A JVM writes voters in the order of a hash map, so one of the voter sets comes out in another order here.
        let header_size = 12 + usize::from(u16::from_be_bytes(expected[10..12].try_into().unwrap()));
        assert!(
            written[header_size..] == expected[header_size..],
            "{}",
            snapshot.name
        );
        seen += 1;
        equal += usize::from(written == expected);
    }
    assert_eq!((seen, equal), (44, 38));
}

/// A zero checkpoint whose bytes were computed by hand from the description of the format.
#[test]
fn the_worked_example() {
    let mem = MemFs::new();
    let dir = PathBuf::from("/d");
    mem.create_dir_all(&dir).unwrap();
    let directory = Uuid::from_u128(0x27c6_803d_c7cb_42dd_9baa_cd49_4ffa_cc81);
    let endpoint = Endpoint {
        host: "localhost".into(),
        port: 9093,
    };
    let voter = VoterNode {
        key: ReplicaKey::new(NodeId(1), directory),
        endpoints: Endpoints::single("CONTROLLER", endpoint),
        kraft_versions: SupportedVersions { min: 0, max: 1 },
    };
    let header = SnapshotHeader {
        last_contained_log_timestamp: 1_760_000_000_000,
        kraft_version: 1,
        voters: Some([voter].into_iter().collect()),
    };
    let id = SnapshotId::BOOTSTRAP;
    let mut writer = SnapshotWriter::create(&mem, &dir, id, &header, || 1_760_000_000_000).unwrap();
    writer
        .append(b"\x01\x0c\x00\x11metadata.version\x00\x22\x00")
        .unwrap();
    assert_eq!(writer.freeze().unwrap(), 332);

    let written = mem
        .read_bounded(&dir.join(frozen_name(id)), 1000)
        .unwrap()
        .unwrap();
    let crc = |position: usize| u32::from_be_bytes(written[position..position + 4].try_into().unwrap());
    assert_eq!(
        [crc(17), crc(166 + 17), crc(257 + 17)],
        [0x0a3e_f8f0, 0x45af_0f6c, 0xca02_2e39]
    );

    let mut reader = SnapshotReader::open(&mem, &dir, id).unwrap().unwrap();
    assert_eq!(reader.header(), &header);
    assert!(matches!(
        reader.header().control_records().as_slice(),
        [ControlRecord::KRaftVersion(1), ControlRecord::Voters(_)]
    ));
    reader.verify_rest().unwrap();
    assert!(
        mem.open(
            &dir.join("00000000000000000000-0000000000-0.checkpoint.part"),
            Open::Read
        )
        .is_err()
    );
}
