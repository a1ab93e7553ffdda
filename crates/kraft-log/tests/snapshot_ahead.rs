//! Snapshots that were to take the place of the log when the node stopped.

use bytes::Bytes;
use kraft_core::{ControlRecord, ElectionState, Epoch, Instant, LogEnd, LogView, NodeId, SnapshotId, Ticket};
use kraft_fs::{Fault, FaultyFs, File, FileSystem, MemFs, Open, Unsynced};
use kraft_log::{LogOptions, OpenError, Opened, StorageError, StorageOp, batch_info, open, verify};
use kraft_snapshot::{SnapshotHeader, SnapshotWriter, control::to_wire, frozen_name};
use kraft_wire::{
    batch::{BatchBuilder, BatchView},
    control::control_batch,
};
use std::{collections::VecDeque, path::Path};

const DIR: &str = "/__cluster_metadata-0";

fn id(end_offset: i64, epoch: i32) -> SnapshotId {
    SnapshotId {
        end_offset,
        epoch: Epoch(epoch),
    }
}

fn append(batches: Bytes) -> StorageOp {
    let infos = vec![batch_info(&BatchView::parse(batches.clone()).expect("a batch")).expect("valid")];
    StorageOp::Append { batches, infos }
}

fn leader_change(base: i64, epoch: i32) -> StorageOp {
    let record = ControlRecord::LeaderChange {
        leader: NodeId(2),
        voters: vec![NodeId(1), NodeId(2), NodeId(3)],
        granting: vec![NodeId(2), NodeId(3)],
    };
    append(control_batch(&[to_wire(&record)], base, epoch, 0).expect("it fits"))
}

fn data(base: i64, epoch: i32) -> StorageOp {
    let mut batch = BatchBuilder::data(0);
    batch.push(b"a record").expect("it fits");
    append(batch.build(base, epoch))
}

fn election(epoch: i32) -> StorageOp {
    StorageOp::StoreElection(ElectionState {
        epoch: Epoch(epoch),
        leader: Some(NodeId(3)),
        voted: None,
        voters: Vec::new(),
        kraft_version: 1,
    })
}

fn run<F: FileSystem>(opened: &mut Opened<F>, ops: Vec<StorageOp>) -> Result<(), StorageError> {
    let mut queue = VecDeque::new();
    for (ticket, op) in (1..).map(Ticket).zip(ops) {
        opened.index.submit(ticket, &op, Instant(0));
        queue.push_back((ticket, op));
    }
    while !queue.is_empty() {
        let round = opened.writer.run_round(&mut queue)?;
        assert!(round.rejected.is_none(), "the snapshot is good");
        opened.index.complete(round.up_to);
    }
    Ok(())
}

/// A node that has followed the leaders of epochs 5 and 7 up to offset 10, the second of which never committed anything.
fn follower() -> MemFs {
    let fs = MemFs::new();
    let mut opened = open(fs.clone(), Path::new(DIR), LogOptions::default()).expect("opened");
    let mut ops = vec![election(5), leader_change(0, 5)];
    ops.extend((1..6).map(|base| data(base, 5)));
    ops.extend([election(7), leader_change(6, 7)]);
    ops.extend((7..10).map(|base| data(base, 7)));
    // The leader of epoch 8, which sends the snapshot.
    ops.push(election(8));
    run(&mut opened, ops).expect("written");
    fs.crash_image(Unsynced::Lost)
}

fn snapshot(id: SnapshotId) -> Bytes {
    let fs = MemFs::new();
    let header = SnapshotHeader {
        last_contained_log_timestamp: 0,
        kraft_version: 0,
        voters: None,
    };
    let mut writer = SnapshotWriter::create(&fs, Path::new("/"), id, &header, || 0).expect("created");
    writer.append(b"a value").expect("appended");
    writer.freeze().expect("frozen");
    let bytes = fs.read_bounded(&Path::new("/").join(frozen_name(id)), 1 << 20);
    bytes.expect("readable").expect("it is there").into()
}

fn fetched(snapshot_id: SnapshotId) -> StorageOp {
    StorageOp::SnapshotChunk {
        snapshot: snapshot_id,
        position: 0,
        bytes: snapshot(snapshot_id),
        last: true,
    }
}

fn end_of(opened: &Opened<impl FileSystem>) -> (i64, LogEnd) {
    (opened.index.start(), opened.index.end())
}

fn ends_at(snapshot: SnapshotId) -> (i64, LogEnd) {
    let end = LogEnd {
        last_epoch: snapshot.epoch,
        last_offset: snapshot.end_offset,
    };
    (snapshot.end_offset, end)
}

const UNTOUCHED: (i64, LogEnd) = (
    0,
    LogEnd {
        last_epoch: Epoch(7),
        last_offset: 10,
    },
);

#[test]
fn a_snapshot_that_stands_beside_the_log_replaces_what_it_is_ahead_of() {
    // Ends behind the log, is of a later epoch, or says that the log's end is not what was committed.
    for ahead in [id(15, 5), id(15, 7), id(11, 5), id(8, 8), id(10, 5)] {
        let fs = follower();
        let mut opened = open(fs.clone(), Path::new(DIR), LogOptions::default()).expect("opened");
        run(&mut opened, vec![fetched(ahead)]).expect("stored");
        let fs = fs.crash_image(Unsynced::Lost);
        let opened = open(fs, Path::new(DIR), LogOptions::default()).expect("opened");
        assert_eq!(end_of(&opened), ends_at(ahead), "{ahead:?}");
        assert_eq!(opened.recovered.snapshot.map(|(id, _)| id), Some(ahead));
    }
    // The log holds these.
    for behind in [id(6, 5), id(9, 7), id(10, 7)] {
        let fs = follower();
        let mut opened = open(fs.clone(), Path::new(DIR), LogOptions::default()).expect("opened");
        run(&mut opened, vec![fetched(behind)]).expect("stored");
        let fs = fs.crash_image(Unsynced::Lost);
        let opened = open(fs, Path::new(DIR), LogOptions::default()).expect("opened");
        assert_eq!(end_of(&opened), UNTOUCHED, "{behind:?}");
    }
}

/// Whatever call is the last one, the next start finds the log as it was or the snapshot in its place; once the snapshot
/// has its name, nothing but the latter.
#[test]
fn a_crash_at_any_call_of_a_replacement_is_completed() {
    let ahead = id(15, 5);
    let good = follower();
    let mut completed = 0;
    for call in 0.. {
        let disk = good.crash_image(Unsynced::Kept);
        let fs = FaultyFs::new(disk.clone());
        let mut opened = open(fs.clone(), Path::new(DIR), LogOptions::default()).expect("opened");
        fs.arm(call, Fault::Io);
        let stored = run(&mut opened, vec![fetched(ahead)]).is_ok();
        let truncate = StorageOp::TruncateFully { snapshot: ahead };
        let done = stored && {
            let mut queue = VecDeque::from([(Ticket(2), truncate)]);
            opened.writer.run_round(&mut queue).is_ok()
        };
        drop(opened);
        let seeds = (0..8).map(|seed| Unsynced::Torn { seed });
        for unsynced in [Unsynced::Lost, Unsynced::Kept].into_iter().chain(seeds) {
            let image = disk.crash_image(unsynced);
            verify(&image, Path::new(DIR)).unwrap_or_else(|error| panic!("call {call}: {error}"));
            let opened = open(image, Path::new(DIR), LogOptions::default()).expect("opened");
            let found = end_of(&opened);
            let untouched = !stored && found == UNTOUCHED;
            assert!(untouched || found == ends_at(ahead), "call {call}: {found:?}");
            completed += u64::from(found == ends_at(ahead));
        }
        if done {
            break;
        }
    }
    assert!(completed > 100, "{completed}");
}

/// The start that completes a replacement may end at any call itself.
fn crash_while_completing(written: Vec<StorageOp>, ahead: SnapshotId) {
    let disk = MemFs::new();
    let mut opened = open(disk.clone(), Path::new(DIR), small_segments()).expect("opened");
    run(&mut opened, written).expect("written");
    run(&mut opened, vec![fetched(ahead)]).expect("stored");
    drop(opened);
    let mut crashes = 0;
    for call in 0.. {
        let good = disk.crash_image(Unsynced::Kept);
        let fs = FaultyFs::new(good.clone());
        fs.arm(call, Fault::Io);
        let done = open(fs, Path::new(DIR), small_segments()).is_ok();
        let seeds = (0..8).map(|seed| Unsynced::Torn { seed });
        for unsynced in [Unsynced::Lost, Unsynced::Kept].into_iter().chain(seeds) {
            let opened = open(good.crash_image(unsynced), Path::new(DIR), small_segments());
            let opened = opened.unwrap_or_else(|error| panic!("call {call}, {unsynced:?}: {error}"));
            assert_eq!(end_of(&opened), ends_at(ahead), "call {call}, {unsynced:?}");
            crashes += 1;
        }
        if done {
            break;
        }
    }
    assert!(crashes > 100, "{crashes}");
}

/// The log that goes is of the epoch that the node is still in, and was known to be durable.
#[test]
fn a_start_that_completes_a_replacement_in_one_epoch_may_crash_at_any_call() {
    let mut ops = vec![election(5), leader_change(0, 5)];
    ops.extend((1..10).map(|base| data(base, 5)));
    crash_while_completing(ops, id(15, 5));
}

/// The log that goes has an epoch that begins behind the end of the snapshot.
#[test]
fn a_start_that_completes_a_replacement_by_a_shorter_log_may_crash_at_any_call() {
    let mut ops = vec![election(5), leader_change(0, 5)];
    ops.extend((1..6).map(|base| data(base, 5)));
    ops.extend([election(7), leader_change(6, 7), data(7, 7), election(8)]);
    crash_while_completing(ops, id(5, 8));
}

/// Several segments for ten batches.
fn small_segments() -> LogOptions {
    LogOptions {
        segment_bytes: 300,
        ..LogOptions::default()
    }
}

/// Kafka removes the segments and writes the epoch cache a moment later; it may be killed in between.
#[test]
fn an_epoch_that_a_later_snapshot_has_replaced_is_not_missing() {
    let fs = follower();
    let mut opened = open(fs.clone(), Path::new(DIR), LogOptions::default()).expect("opened");
    run(&mut opened, vec![fetched(id(5, 8))]).expect("stored");
    drop(opened);
    for name in ["00000000000000000000.log", "kraft-synced"] {
        fs.remove(&Path::new(DIR).join(name)).expect("removed");
    }
    let segment = Path::new(DIR).join("00000000000000000005.log");
    fs.open(&segment, Open::CreateNew).expect("created");
    let opened = open(fs, Path::new(DIR), LogOptions::default()).expect("opened");
    assert_eq!(end_of(&opened), ends_at(id(5, 8)));
}

#[test]
fn a_damaged_snapshot_ahead_of_the_log_is_refused_and_the_log_stays() {
    let ahead = id(15, 5);
    let fs = follower();
    let mut opened = open(fs.clone(), Path::new(DIR), LogOptions::default()).expect("opened");
    run(&mut opened, vec![fetched(ahead)]).expect("stored");
    drop(opened);
    let path = Path::new(DIR).join(frozen_name(ahead));
    let file = fs.open(&path, Open::Read).expect("it is there");
    file.set_mode(0o644).expect("a mode");
    let file = fs.open(&path, Open::ReadWrite).expect("it is there");
    file.set_len(file.len().expect("a size") - 1).expect("cut");
    let error = open(fs.clone(), Path::new(DIR), LogOptions::default()).expect_err("damaged");
    assert!(matches!(*error.cause, OpenError::Snapshot(_)), "{error}");
    assert_eq!(error.place().0, Some(&*path));
    fs.remove(&path).expect("removed");
    let opened = open(fs, Path::new(DIR), LogOptions::default()).expect("opened");
    assert_eq!(end_of(&opened), UNTOUCHED);
}

/// A snapshot does not excuse a log that is shorter than it was known to be.
#[test]
fn a_log_that_is_gone_beside_a_snapshot_is_refused_where_it_was_known_to_be_durable() {
    let fs = follower();
    let mut opened = open(fs.clone(), Path::new(DIR), LogOptions::default()).expect("opened");
    run(
        &mut opened,
        vec![leader_change(10, 8), data(11, 8), fetched(id(6, 5))],
    )
    .expect("written");
    drop(opened);
    let segment = Path::new(DIR).join("00000000000000000000.log");
    fs.remove(&segment).expect("removed");
    fs.remove(&Path::new(DIR).join("leader-epoch-checkpoint"))
        .expect("removed");
    let error = open(fs, Path::new(DIR), LogOptions::default()).expect_err("records are missing");
    assert!(matches!(*error.cause, OpenError::Short { end: 0, .. }), "{error}");
    assert_eq!(error.place().0, Some(&*segment));
}
