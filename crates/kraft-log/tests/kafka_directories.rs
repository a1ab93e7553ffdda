//! Directories that Kafka left behind, running, stopped or killed, are opened with the facts that Kafka's own dump tool
//! reports of them.

mod common;

use common::{VECTORS, files, unpack};
use kraft_core::{ControlRecord, ElectionState, Epoch, LogView, NodeId, SnapshotId, Ticket};
use kraft_fs::{Fault, FaultyFs, File, FileSystem, MemFs, Open, Unsynced};
use kraft_log::{LogOptions, OpenError, Opened, StorageOp, batch_info, epoch_checkpoint, open, quorum_state};
use kraft_snapshot::control::to_wire;
use kraft_wire::{
    batch::{BatchView, Batches},
    control::control_batch,
};
use serde_json::Value;
use std::{collections::VecDeque, path::Path};

fn names() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(format!("{VECTORS}/dirs"))
        .expect("the vectors are there")
        .filter_map(|entry| {
            let name = entry.expect("readable").file_name().into_string().expect("ascii");
            name.strip_suffix(".json").map(str::to_owned)
        })
        .collect();
    names.sort();
    names
}

fn facts(name: &str) -> Value {
    let text = std::fs::read(format!("{VECTORS}/dirs/{name}.json")).expect("readable");
    serde_json::from_slice(&text).expect("JSON")
}

fn opened(fs: &MemFs, dir: &Path) -> Opened<MemFs> {
    open(fs.clone(), dir, LogOptions::default()).expect("a good directory")
}

fn expected_batches(facts: &Value) -> Vec<(i64, i64, i64, i64, String)> {
    let segments = facts["segments"].as_array().into_iter().flatten();
    segments
        .flat_map(|segment| segment["batches"].as_array().expect("batches"))
        .map(|batch| {
            let number = |field: &str| batch[field].as_i64().expect("a number");
            let crc = batch["crc"].as_str().expect("hex").to_owned();
            (
                number("base"),
                number("last"),
                number("epoch"),
                number("size"),
                crc,
            )
        })
        .collect()
}

fn read_batches(opened: &Opened<MemFs>) -> Vec<(i64, i64, i64, i64, String)> {
    let mut batches = Vec::new();
    let mut next = opened.index.start();
    let end = opened.index.end().last_offset;
    while next < end {
        let bytes = opened.reader.read(next, 4000, end).expect("readable");
        for batch in Batches::collect_all(bytes).expect("valid") {
            next = batch.last_offset() + 1;
            batches.push((
                batch.base_offset(),
                batch.last_offset(),
                i64::from(batch.leader_epoch()),
                batch.size() as i64,
                format!("{:08x}", batch.header().crc),
            ));
        }
    }
    batches
}

fn snapshot_ids(facts: &Value) -> Vec<(i64, i64, u64)> {
    let mut ids: Vec<_> = facts["snapshots"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|snapshot| {
            let number = |field: &str| snapshot[field].as_i64().expect("a number");
            (number("epoch"), number("offset"), number("size") as u64)
        })
        .collect();
    ids.sort_unstable();
    ids
}

#[test]
fn every_directory_opens_with_the_facts_that_kafka_reports() {
    for name in names() {
        let (fs, dir) = unpack(&name);
        let facts = facts(&name);
        let opened = opened(&fs, &dir);

        assert_eq!(
            opened.index.start(),
            facts["log_start"].as_i64().unwrap_or(0),
            "{name}: start"
        );
        assert_eq!(
            opened.index.end().last_offset,
            facts["log_end"].as_i64().unwrap_or(0),
            "{name}: end"
        );
        assert_eq!(
            opened.index.flushed_end(),
            opened.index.end().last_offset,
            "{name}: flushed"
        );
        assert_eq!(read_batches(&opened), expected_batches(&facts), "{name}: batches");
        let snapshots: Vec<_> = opened
            .index
            .snapshots()
            .map(|(id, size)| (i64::from(id.epoch.0), id.end_offset, size))
            .collect();
        assert_eq!(snapshots, snapshot_ids(&facts), "{name}: snapshots");

        let epochs = epoch_checkpoint::load(&fs, &dir)
            .expect("readable")
            .expect("there");
        let epochs: Vec<_> = epochs
            .iter()
            .map(|entry| (i64::from(entry.epoch.0), entry.start_offset))
            .collect();
        let expected: Vec<(i64, i64)> =
            serde_json::from_value(facts["leader_epochs"].clone()).unwrap_or_default();
        assert_eq!(epochs, expected, "{name}: epochs");

        let election = opened.recovered.election.as_ref();
        let stored = &facts["quorum_state"];
        assert_eq!(
            election.map(|state| i64::from(state.epoch.0)),
            stored["leaderEpoch"].as_i64(),
            "{name}"
        );
        opened.writer.close().expect("closed");
    }
}

/// The control records of latest snapshot and log, as lines of text.
fn control_lines(opened: &Opened<MemFs>) -> Vec<String> {
    let snapshot = opened.recovered.snapshot.iter().flat_map(|(_, records)| records);
    let log = opened.recovered.log.iter();
    snapshot
        .map(|record| format!("snapshot {record:?}"))
        .chain(log.map(|(offset, record)| format!("{offset} {record:?}")))
        .collect()
}

#[test]
fn the_core_is_told_the_control_records_of_snapshot_and_log() {
    let (fs, dir) = unpack("voter-changes-n1");
    let opened = opened(&fs, &dir);
    let facts = facts("voter-changes-n1");
    let expected: usize = facts["segments"]
        .as_array()
        .expect("segments")
        .iter()
        .flat_map(|segment| segment["batches"].as_array().expect("batches"))
        .filter(|batch| batch["control"].as_bool() == Some(true))
        .map(|batch| batch["records"].as_array().expect("records").len())
        .sum();
    assert_eq!(opened.recovered.log.len(), expected);
    let lines = control_lines(&opened);
    assert!(lines[0].starts_with("snapshot KRaftVersion(1)"), "{lines:#?}");
    assert!(
        lines.iter().any(|line| line.starts_with("0 LeaderChange")),
        "{lines:#?}"
    );

    let (fs, dir) = unpack("pruned-killed");
    let opened = self::opened(&fs, &dir);
    let snapshot = opened.recovered.snapshot.expect("a snapshot");
    assert_eq!((snapshot.0.end_offset, snapshot.0.epoch.0), (33, 2));
    assert_eq!(snapshot.1.len(), 2);
    assert!(opened.recovered.log.is_empty());
}

#[test]
fn opening_twice_changes_nothing_more() {
    for name in ["small-killed", "pruned-killed", "formatted-standalone"] {
        let (fs, dir) = unpack(name);
        opened(&fs, &dir).writer.close().expect("closed");
        let before = files(&fs, &dir);
        opened(&fs, &dir).writer.close().expect("closed");
        assert_eq!(files(&fs, &dir), before, "{name}");
    }
}

#[test]
fn a_directory_of_kafka_is_continued_by_a_full_truncation_to_a_snapshot() {
    let (fs, dir) = unpack("pruned-killed");
    let source = opened(&fs, &dir);
    let latest = source.index.latest_snapshot().expect("a snapshot");
    let bytes = source
        .reader
        .snapshot_window(latest, 0, 1 << 20)
        .expect("readable");

    let (fs, dir) = unpack("small-killed");
    let mut opened = opened(&fs, &dir);
    let ops = [
        StorageOp::SnapshotChunk {
            snapshot: latest,
            position: 0,
            bytes: bytes.slice(..1000),
            last: false,
        },
        StorageOp::SnapshotChunk {
            snapshot: latest,
            position: 1000,
            bytes: bytes.slice(1000..),
            last: true,
        },
        StorageOp::TruncateFully { snapshot: latest },
    ];
    let mut queue = std::collections::VecDeque::new();
    for (n, op) in ops.into_iter().enumerate() {
        let ticket = kraft_core::Ticket(n as u64 + 1);
        opened.index.submit(ticket, &op, kraft_core::Instant(0));
        queue.push_back((ticket, op));
    }
    while !queue.is_empty() {
        let done = opened.writer.run_round(&mut queue).expect("stored").up_to;
        opened.index.complete(done);
    }
    for index in [&opened.index, &self::opened(&fs, &dir).index] {
        assert_eq!(index.start(), 33);
        assert_eq!(index.end().last_offset, 33);
        assert_eq!(index.end().last_epoch, latest.epoch);
        assert_eq!(index.flushed_end(), 33);
        assert_eq!(index.earliest_snapshot(), Some(latest));
        assert_eq!(index.snapshot_size(latest), Some(bytes.len() as u64));
        assert_eq!(index.snapshot_size(SnapshotId::BOOTSTRAP), None);
    }
}

const SMALL_LOG: &str = "00000000000000000000.log";
const LAST_BATCH: u64 = 8667;

#[test]
fn a_last_batch_cut_at_any_byte_is_torn() {
    let (good, dir) = unpack("small-killed");
    for size in LAST_BATCH..=8874 {
        let fs = good.crash_image(Unsynced::Kept);
        let file = fs.open(&dir.join(SMALL_LOG), Open::ReadWrite).expect("opened");
        file.set_len(size).expect("cut");
        let end = opened(&fs, &dir).index.end().last_offset;
        assert_eq!(end, if size == 8874 { 33 } else { 32 }, "cut at byte {size}");
        assert_eq!(
            file.len().expect("a size"),
            if size == 8874 { size } else { LAST_BATCH }
        );
    }
}

#[test]
fn a_flipped_bit_never_costs_a_batch_in_silence() {
    let (good, dir) = unpack("small-killed");
    let log = good
        .read_bounded(&dir.join(SMALL_LOG), 1 << 20)
        .expect("readable")
        .expect("it is there");
    for at in (0..log.len()).step_by(5) {
        let fs = good.crash_image(Unsynced::Kept);
        let file = fs.open(&dir.join(SMALL_LOG), Open::ReadWrite).expect("opened");
        file.write_all_at(&[log[at] ^ (1 << (at % 8))], at as u64)
            .expect("written");
        if let Ok(opened) = open(fs.clone(), &dir, LogOptions::default()) {
            let end = opened.index.end().last_offset;
            // A last batch that announces more bytes than the file has looks torn; Kafka leaves no mark that it was
            // synced. Epochs are covered by no checksum: one that rises at the very end cannot be told.
            let in_last = (at as u64).checked_sub(LAST_BATCH);
            let looks_torn = end == 32 && in_last.is_some_and(|at| (8..12).contains(&at));
            let last_epoch = end == 33 && in_last.is_some_and(|at| (12..16).contains(&at));
            assert!(looks_torn || last_epoch, "byte {at}: opened with end {end}");
        }
    }
}

/// Kafka cuts a log and writes the epoch cache a moment later. It may be killed in between.
#[test]
fn a_cut_that_the_epoch_cache_has_not_heard_of_is_no_loss() {
    let facts = facts("small-killed");
    let batches = facts["segments"][0]["batches"].as_array().expect("batches");
    // Epoch 3 begins at offset 27.
    let cut = batches.iter().find(|batch| batch["base"] == 26);
    let cut = cut.expect("a batch")["position"].as_u64().expect("a position");
    let image = |len: u64, epoch: i32| {
        let (fs, dir) = unpack("small-killed");
        let file = fs.open(&dir.join(SMALL_LOG), Open::ReadWrite).expect("opened");
        file.set_len(len).expect("cut");
        let mut election = quorum_state::load(&fs, &dir).expect("readable").expect("there");
        election.epoch = Epoch(epoch);
        election.leader = Some(NodeId(2));
        quorum_state::store(&fs, &dir, &election).expect("stored");
        (fs, dir)
    };
    let (fs, dir) = image(cut, 4);
    let opened = opened(&fs, &dir);
    assert_eq!(opened.index.end().last_offset, 26);
    let epochs = epoch_checkpoint::load(&fs, &dir)
        .expect("readable")
        .expect("there");
    let last = epochs.last().expect("an epoch");
    assert_eq!((last.epoch, last.start_offset), (Epoch(2), 21));
    // In the epoch itself nobody cuts it; and neither a torn batch nor an empty segment is what a cut leaves.
    for (len, epoch) in [(cut, 3), (cut + 1, 4), (cut - 1, 4), (0, 4)] {
        let (fs, dir) = image(len, epoch);
        let refused = open(fs, &dir, LogOptions::default()).expect_err("records are missing");
        assert!(
            matches!(*refused.cause, OpenError::EpochBeyondEnd { .. }),
            "{len} {epoch}: {refused}"
        );
    }
}

/// The first start on a directory of Kafka, and the first epoch in it, may end at any call.
#[test]
fn a_crash_while_a_directory_changes_hands_loses_nothing() {
    let mut crashes = 0;
    for name in [
        "small-killed",
        "segments-killed",
        "pruned-killed",
        "voter-changes-n2",
    ] {
        let (unpacked, dir) = unpack(name);
        let good = unpacked.crash_image(Unsynced::Kept);
        let found = opened(&good.crash_image(Unsynced::Kept), &dir);
        let (start, end) = (found.index.start(), found.index.end().last_offset);
        drop(found);
        for call in 0.. {
            let disk = good.crash_image(Unsynced::Kept);
            let done = start_and_lead(&FaultyFs::new(disk.clone()), &dir, call);
            let seeds = (0..4).map(|seed| Unsynced::Torn { seed });
            for unsynced in [Unsynced::Lost, Unsynced::Kept].into_iter().chain(seeds) {
                let image = disk.crash_image(unsynced);
                let after = open(image, &dir, LogOptions::default());
                let after =
                    after.unwrap_or_else(|error| panic!("{name}, call {call}, {unsynced:?}: {error}"));
                let least = end + i64::from(done);
                assert_eq!(after.index.start(), start, "{name}, call {call}, {unsynced:?}");
                assert!(
                    after.index.end().last_offset >= least,
                    "{name}, call {call}, {unsynced:?}"
                );
                crashes += 1;
            }
            if done {
                break;
            }
        }
    }
    assert!(crashes > 500, "{crashes}");
}

/// A killed process leaves batches that no sync has seen. The epoch cache that is rebuilt from them promises nothing that
/// a crash can still take.
#[test]
fn an_epoch_cache_is_rebuilt_from_what_is_durable() {
    let facts = facts("small-killed");
    let batches = facts["segments"][0]["batches"].as_array().expect("batches");
    let cut = batches.iter().find(|batch| batch["base"] == 26);
    let cut = cut.expect("a batch")["position"].as_u64().expect("a position");
    let (unpacked, dir) = unpack("small-killed");
    unpacked
        .remove(&dir.join("leader-epoch-checkpoint"))
        .expect("removed");
    for call in 0.. {
        let disk = unpacked.crash_image(Unsynced::Kept);
        let file = disk.open(&dir.join(SMALL_LOG), Open::ReadWrite).expect("opened");
        let mut tail = vec![0; (file.len().expect("a size") - cut) as usize];
        file.read_exact_at(&mut tail, cut).expect("read");
        file.set_len(cut).expect("cut");
        file.sync_all().expect("synced");
        file.write_all_at(&tail, cut).expect("written");
        let fs = FaultyFs::new(disk.clone());
        fs.arm(call, Fault::Io);
        let done = open(fs, &dir, LogOptions::default()).is_ok();
        let after = open(disk.crash_image(Unsynced::Lost), &dir, LogOptions::default());
        let after = after.unwrap_or_else(|error| panic!("call {call}: {error}"));
        assert!(
            after.index.end().last_offset >= if done { 33 } else { 26 },
            "call {call}"
        );
        if done {
            break;
        }
    }
}

/// Opens a log, of whose calls one fails, votes and leads; whether all of it was done.
fn start_and_lead(fs: &FaultyFs<MemFs>, dir: &Path, call: u64) -> bool {
    fs.arm(call, Fault::Io);
    let Ok(mut opened) = open(fs.clone(), dir, LogOptions::default()) else {
        return false;
    };
    let end = opened.index.end();
    let epoch = Epoch(end.last_epoch.0 + 1);
    let leader = ControlRecord::LeaderChange {
        leader: NodeId(1),
        voters: vec![NodeId(1)],
        granting: vec![NodeId(1)],
    };
    let batches = control_batch(&[to_wire(&leader)], end.last_offset, epoch.0, 0).expect("it fits");
    let infos = vec![batch_info(&BatchView::parse(batches.clone()).expect("a batch")).expect("valid")];
    let election = ElectionState {
        epoch,
        leader: Some(NodeId(1)),
        ..opened.recovered.election.clone().expect("it was there")
    };
    let ops = [
        StorageOp::StoreElection(election),
        StorageOp::StartEpoch {
            epoch,
            start: end.last_offset,
        },
        StorageOp::Append { batches, infos },
    ];
    let mut queue: VecDeque<_> = (1..).map(Ticket).zip(ops).collect();
    while !queue.is_empty() {
        if opened.writer.run_round(&mut queue).is_err() {
            return false;
        }
    }
    opened.writer.close().is_ok()
}
