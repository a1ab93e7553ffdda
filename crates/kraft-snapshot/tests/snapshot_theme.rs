//! Theme SNAPSHOT of the scenarios, as far as it speaks of files. The ids are those of the list that docs/scenarios.md
//! shows.

// A failing unwrap is how a test fails, in its helpers too.
#![allow(clippy::unwrap_used)]

use kraft_core::{Epoch, NodeId, ReplicaKey, SnapshotId, SupportedVersions, VoterNode, VoterSet};
use kraft_fs::{FileSystem, MemFs};
use kraft_snapshot::{SnapshotHeader, SnapshotReader, SnapshotWriter, frozen_name, parse_name};
use kraft_wire::{
    batch::Batches,
    control::{ControlRecord, control_records},
};
use std::path::Path;

const ID: SnapshotId = SnapshotId {
    end_offset: 10,
    epoch: Epoch(3),
};

fn header() -> SnapshotHeader {
    SnapshotHeader {
        last_contained_log_timestamp: 5,
        kraft_version: 0,
        voters: None,
    }
}

fn writer(fs: &MemFs, header: &SnapshotHeader) -> SnapshotWriter<MemFs, fn() -> i64> {
    SnapshotWriter::create(fs, Path::new("/"), ID, header, (|| 7) as fn() -> i64).unwrap()
}

fn names(fs: &MemFs) -> Vec<String> {
    fs.list(Path::new("/"))
        .unwrap()
        .into_iter()
        .map(|entry| entry.name)
        .collect()
}

fn written(fs: &MemFs, header: &SnapshotHeader, values: &[Vec<u8>]) -> u64 {
    let mut writer = writer(fs, header);
    for value in values {
        writer.append(value).unwrap();
    }
    writer.freeze().unwrap()
}

fn values(fs: &MemFs) -> Vec<Vec<u8>> {
    let mut reader = SnapshotReader::open(fs, Path::new("/"), ID).unwrap().unwrap();
    let mut values = Vec::new();
    while let Some(batch) = reader.next_batch().unwrap() {
        values.extend(batch.values().map(|value| value.to_vec()));
    }
    values
}

fn thirty() -> Vec<Vec<u8>> {
    (0..30).map(|n| vec![n; 256]).collect()
}

#[test]
#[should_panic(expected = "voters are recorded from kraft.version 1 on")]
fn snapshot_022_voters_below_kraft_version_1_are_refused() {
    let voters_too_early = SnapshotHeader {
        voters: Some(VoterSet::default()),
        ..header()
    };
    writer(&MemFs::new(), &voters_too_early);
}

#[test]
fn snapshot_023_a_frozen_snapshot_has_its_name_and_the_size_that_was_told() {
    let fs = MemFs::new();
    let size = written(&fs, &header(), &thirty());
    assert_eq!(names(&fs), [frozen_name(ID)]);
    let file = fs
        .metadata(&Path::new("/").join(frozen_name(ID)))
        .unwrap()
        .unwrap();
    assert_eq!(file.len, size);
}

#[test]
fn snapshot_024_what_was_written_is_read_back() {
    let fs = MemFs::new();
    written(&fs, &header(), &thirty());
    assert_eq!(values(&fs), thirty());
}

#[test]
fn snapshot_025_a_snapshot_that_is_never_frozen_leaves_nothing() {
    let fs = MemFs::new();
    let mut unfinished = writer(&fs, &header());
    unfinished.append(b"a value").unwrap();
    assert_eq!(names(&fs).len(), 1, "the part file");
    drop(unfinished);
    assert_eq!(names(&fs), [""; 0]);
    assert!(SnapshotReader::open(&fs, Path::new("/"), ID).unwrap().is_none());
}

#[test]
fn snapshot_027_the_same_snapshot_twice_is_no_error() {
    let fs = MemFs::new();
    written(&fs, &header(), &thirty());
    written(&fs, &header(), &thirty());
    assert_eq!(names(&fs), [frozen_name(ID)]);
    assert_eq!(values(&fs), thirty());
}

#[test]
fn snapshot_028_other_files_are_no_snapshots() {
    for name in [
        "00000000000000000000.log",
        "00000000000000000000.snapshot",
        "00000000000000000000.index",
        "00000000000000000000.timeindex",
        "leader-epoch-checkpoint",
        "partition.metadata",
    ] {
        assert!(parse_name(name).unwrap().is_none(), "{name}");
    }
}

#[test]
fn snapshot_031_the_content_stands_between_header_and_footer() {
    let fs = MemFs::new();
    let nine: Vec<_> = (0..9).map(|n| vec![n; 10]).collect();
    written(&fs, &header(), &nine);
    let reader = SnapshotReader::open(&fs, Path::new("/"), ID).unwrap().unwrap();
    assert_eq!(reader.header().last_contained_log_timestamp, 5);
    assert_eq!(values(&fs), nine);
    let batches = batches(&fs);
    let records: usize = batches.iter().map(|batch| batch.records().count()).sum();
    assert_eq!(records, 11);
}

fn batches(fs: &MemFs) -> Vec<kraft_wire::batch::BatchView> {
    let bytes = fs
        .read_bounded(&Path::new("/").join(frozen_name(ID)), 1 << 20)
        .unwrap();
    Batches::collect_all(bytes.unwrap().into()).unwrap()
}

#[test]
fn log_003_the_control_records_of_a_snapshot_follow_the_kraft_version() {
    let voter = VoterNode {
        key: ReplicaKey::new(NodeId(1), uuid::Uuid::from_u128(7)),
        endpoints: kraft_core::Endpoints::empty(),
        kraft_versions: SupportedVersions { min: 0, max: 1 },
    };
    let with_voters = SnapshotHeader {
        kraft_version: 1,
        voters: Some(VoterSet::from_iter([voter])),
        ..header()
    };
    for (header, first) in [(header(), 1), (with_voters, 3)] {
        let fs = MemFs::new();
        written(&fs, &header, &thirty());
        let batches = batches(&fs);
        let kinds = |at: usize| -> Vec<ControlRecord> {
            let records = control_records(&batches[at]).unwrap();
            records.into_iter().map(|(_, record)| record).collect()
        };
        let begin = kinds(0);
        assert_eq!(begin.len(), first);
        assert!(matches!(begin[0], ControlRecord::SnapshotHeader(_)));
        if first == 3 {
            assert!(matches!(begin[1], ControlRecord::KRaftVersion(_)));
            assert!(matches!(begin[2], ControlRecord::KRaftVoters(_)));
        }
        let end = kinds(batches.len() - 1);
        assert!(matches!(end[..], [ControlRecord::SnapshotFooter(_)]));
    }
}
