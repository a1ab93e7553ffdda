//! What a round takes, what it costs, and what index and reader say meanwhile.

use bytes::Bytes;
use kraft_core::{BatchInfo, ElectionState, Epoch, Instant, LogView, NodeId, SnapshotId, Ticket};
use kraft_fs::{Fault, FaultyFs, File, FileSystem, MemFs, Open, RealFs};
use kraft_log::{
    LogIndex, LogOptions, LogReader, Opened, ReadError, StorageError, StorageOp, batch_info, open,
};
use kraft_wire::batch::{BatchBuilder, BatchView};
use std::{collections::VecDeque, path::Path};

const DIR: &str = "/log";

fn opened<F: FileSystem>(fs: &F, options: LogOptions) -> Opened<F> {
    open(fs.clone(), Path::new(DIR), options).expect("opened")
}

fn small_segments() -> LogOptions {
    LogOptions {
        segment_bytes: 3000,
        prepare_bytes: 500,
        ..LogOptions::default()
    }
}

/// A batch of one record of `size` bytes.
fn batch(base: i64, epoch: i32, size: usize) -> (Bytes, BatchInfo) {
    let mut builder = BatchBuilder::data(1000 + base);
    builder
        .push_record(None, Some(&vec![1; size]), 0, &[])
        .expect("it fits");
    let bytes = builder.build(base, epoch);
    let info = batch_info(&BatchView::parse(bytes.clone()).expect("a batch")).expect("a valid one");
    (bytes, info)
}

fn append(batches: &[(Bytes, BatchInfo)]) -> StorageOp {
    StorageOp::Append {
        batches: batches
            .iter()
            .map(|(bytes, _)| bytes.as_ref())
            .collect::<Vec<_>>()
            .concat()
            .into(),
        infos: batches.iter().map(|(_, info)| info.clone()).collect(),
    }
}

fn vote(epoch: i32) -> StorageOp {
    StorageOp::StoreElection(ElectionState {
        epoch: Epoch(epoch),
        leader: Some(NodeId(1)),
        voted: None,
        voters: Vec::new(),
        kraft_version: 1,
    })
}

/// Submits operations with tickets from `first` on.
fn submit(index: &mut LogIndex, first: u64, ops: Vec<StorageOp>) -> VecDeque<(Ticket, StorageOp)> {
    let mut queue = VecDeque::new();
    for (ticket, op) in (first..).map(Ticket).zip(ops) {
        index.submit(ticket, &op, Instant(ticket.0 * 10));
        queue.push_back((ticket, op));
    }
    queue
}

/// Runs all rounds; returns the ticket of each.
fn rounds<F: FileSystem>(opened: &mut Opened<F>, mut queue: VecDeque<(Ticket, StorageOp)>) -> Vec<u64> {
    let mut tickets = Vec::new();
    while !queue.is_empty() {
        let done = opened.writer.run_round(&mut queue).expect("written").up_to;
        opened.index.complete(done);
        tickets.push(done.0);
    }
    tickets
}

fn first_offsets<F: FileSystem>(reader: &LogReader<F>, from: i64, max_bytes: usize, up_to: i64) -> Vec<i64> {
    let bytes = reader.read(from, max_bytes, up_to).expect("readable");
    kraft_wire::batch::Batches::collect_all(bytes)
        .expect("whole batches")
        .iter()
        .map(BatchView::base_offset)
        .collect()
}

#[test]
fn appends_of_one_epoch_share_a_round_of_one_sync() {
    let fs = MemFs::new();
    let mut opened = opened(&fs, LogOptions::default());
    let start = submit(&mut opened.index, 1, vec![vote(1), append(&[batch(0, 1, 10)])]);
    assert_eq!(rounds(&mut opened, start), [1, 2]);

    let ops = (1..50).map(|n| append(&[batch(n, 1, 100)])).collect();
    let queue = submit(&mut opened.index, 3, ops);
    assert_eq!(opened.index.flushed_end(), 1);
    assert_eq!(opened.index.oldest_unfinished(), Some(Instant(30)));
    let before = fs.syncs();
    assert_eq!(rounds(&mut opened, queue), [51]);
    assert_eq!(fs.syncs() - before, 1);
    assert_eq!(opened.index.flushed_end(), 50);
    assert_eq!(opened.index.oldest_unfinished(), None);
}

#[test]
fn everything_else_closes_the_round_before_it() {
    let fs = MemFs::new();
    let mut opened = opened(&fs, small_segments());
    let ops = vec![
        vote(1),
        append(&[batch(0, 1, 10)]),
        append(&[batch(1, 1, 10)]),
        append(&[batch(2, 1, 10)]),
        vote(2),
        StorageOp::StartEpoch {
            epoch: Epoch(2),
            start: 3,
        },
        append(&[batch(3, 2, 10)]),
        append(&[batch(4, 2, 2500)]),
        append(&[batch(5, 2, 2500)]),
        append(&[batch(6, 2, 10)]),
        StorageOp::Truncate { to: 4 },
        append(&[batch(4, 3, 10)]),
    ];
    let queue = submit(&mut opened.index, 1, ops);
    // 2 starts an epoch and 9 a segment; 11 truncates; 12 starts an epoch.
    assert_eq!(rounds(&mut opened, queue), [1, 2, 4, 5, 6, 8, 9, 10, 11, 12]);
}

#[test]
fn a_round_writes_four_mebibytes_at_most_unless_a_batch_is_larger() {
    let fs = MemFs::new();
    let mut opened = opened(&fs, LogOptions::default());
    let mebibyte = 1 << 20;
    let mut ops = vec![vote(1), append(&[batch(0, 1, 1)])];
    ops.extend((1..=6).map(|n| append(&[batch(n, 1, mebibyte)])));
    ops.push(append(&[batch(7, 1, 5 * mebibyte)]));
    let queue = submit(&mut opened.index, 1, ops);
    assert_eq!(rounds(&mut opened, queue), [1, 2, 5, 8, 9]);
}

#[test]
fn an_append_of_several_epochs_and_segments_is_taken_as_a_whole() {
    let fs = MemFs::new();
    let mut opened = opened(&fs, small_segments());
    let batches = [
        batch(0, 1, 10),
        batch(1, 2, 2500),
        batch(2, 2, 2500),
        batch(3, 4, 10),
    ];
    let queue = submit(&mut opened.index, 1, vec![vote(4), append(&batches)]);
    assert_eq!(rounds(&mut opened, queue), [1, 2]);

    drop(opened);
    let opened = self::opened(&fs, small_segments());
    assert_eq!(opened.index.end().last_offset, 4);
    let names: Vec<_> = fs
        .list(Path::new(DIR))
        .expect("listed")
        .into_iter()
        .map(|entry| entry.name)
        .collect();
    assert!(
        names.contains(&"00000000000000000002.log".to_owned()),
        "{names:?}"
    );
    let epochs = fs
        .read_bounded(&Path::new(DIR).join("leader-epoch-checkpoint"), 100)
        .expect("readable");
    assert_eq!(epochs.as_deref(), Some(b"0\n3\n1 0\n2 1\n4 3\n".as_slice()));
}

#[test]
fn a_clean_close_leaves_nothing_behind_the_last_batch_and_writes_the_indexes() {
    let fs = MemFs::new();
    let mut opened = opened(&fs, LogOptions::default());
    let mut ops = vec![vote(1)];
    ops.extend((0..100).map(|n| append(&[batch(n, 1, 200)])));
    let queue = submit(&mut opened.index, 1, ops);
    rounds(&mut opened, queue);
    let len = |name: &str| {
        fs.metadata(&Path::new(DIR).join(name))
            .expect("readable")
            .map(|found| found.len)
    };
    let size = batch(0, 1, 200).1.bytes;
    while opened.preparer.step().expect("prepared") {}
    assert!(
        len("00000000000000000000.log") > Some(1 << 20),
        "there are zeros behind the batches"
    );
    opened.writer.close().expect("closed");
    assert_eq!(len("00000000000000000000.log"), Some(100 * u64::from(size)));
    // An entry each time that more than 4096 bytes have been counted.
    let entries = u64::from(100 / (4096 / size + 1) - u32::from(100 % (4096 / size + 1) == 0));
    assert_eq!(len("00000000000000000000.index"), Some(entries * 8));
    assert_eq!(len("00000000000000000000.timeindex"), Some((entries + 1) * 12));
}

#[test]
fn reads_give_whole_batches_of_one_segment_within_their_bounds() {
    let fs = MemFs::new();
    let mut opened = opened(&fs, small_segments());
    let size = batch(0, 1, 600).1.bytes as usize;
    let mut ops = vec![vote(1)];
    ops.extend((0..10).map(|n| append(&[batch(n, 1, 600)])));
    let queue = submit(&mut opened.index, 1, ops);
    rounds(&mut opened, queue);

    let reader = opened.reader.clone();
    assert_eq!(first_offsets(&reader, 0, 1 << 20, i64::MAX), [0, 1, 2, 3]);
    assert_eq!(first_offsets(&reader, 3, 1 << 20, i64::MAX), [3]);
    assert_eq!(first_offsets(&reader, 4, 2 * size, i64::MAX), [4, 5]);
    assert_eq!(first_offsets(&reader, 4, 3 * size - 1, i64::MAX), [4, 5]);
    assert_eq!(first_offsets(&reader, 9, 0, i64::MAX), [9]);
    assert_eq!(first_offsets(&reader, 4, 1 << 20, 6), [4, 5]);
    assert_eq!(first_offsets(&reader, 4, 1 << 20, 4), [0; 0]);
    assert_eq!(first_offsets(&reader, 10, 1 << 20, i64::MAX), [0; 0]);
    assert!(matches!(
        reader.read(11, 1, i64::MAX),
        Err(ReadError::OutOfRange { end: 10, .. })
    ));

    let from_memory = opened.index.recent(4, 2 * size, i64::MAX).expect("it is recent");
    assert_eq!(from_memory, reader.read(4, 2 * size, i64::MAX).expect("readable"));
    assert!(opened.index.recent(10, 1, i64::MAX).is_none());
}

#[test]
fn the_index_is_ahead_of_the_disk_and_a_truncation_lowers_it_at_once() {
    let fs = MemFs::new();
    let mut opened = opened(&fs, LogOptions::default());
    let batches = [batch(0, 1, 10), batch(1, 1, 10), batch(2, 3, 10), batch(3, 3, 10)];
    let ops = [
        vote(3),
        append(&batches),
        StorageOp::Truncate { to: 1 },
        append(&[batch(1, 4, 10)]),
    ];
    let queue = submit(&mut opened.index, 1, ops[..2].to_vec());
    let index = &opened.index;
    assert_eq!(index.end().last_offset, 4);
    assert_eq!(index.end().last_epoch, Epoch(3));
    let ends = [(0, (0, 0)), (1, (1, 2)), (2, (1, 2)), (3, (3, 4)), (9, (3, 4))];
    for (epoch, expected) in ends {
        let end = index.end_for_epoch(Epoch(epoch));
        assert_eq!((end.epoch.0, end.offset), expected, "epoch {epoch}");
    }
    assert_eq!(index.batch_end_at_or_before(3), 3);
    assert_eq!(index.batch_end_at_or_before(100), 4);
    assert_eq!(
        opened.reader.read(0, 1000, i64::MAX).expect("nothing is written"),
        Bytes::new()
    );

    let mut queue = queue;
    queue.extend(submit(&mut opened.index, 3, ops[2..].to_vec()));
    assert_eq!(opened.index.end().last_offset, 2);
    // What the older append made durable counts only as far as it stays.
    opened.index.complete(Ticket(2));
    assert_eq!(opened.index.flushed_end(), 1);
    rounds(&mut opened, queue);
    assert_eq!(opened.index.flushed_end(), 2);
    assert_eq!(first_offsets(&opened.reader, 0, 1000, i64::MAX), [0, 1]);
}

#[test]
fn after_an_error_the_writer_does_nothing_more() {
    let fs = FaultyFs::new(MemFs::new());
    let mut opened = opened(&fs, LogOptions::default());
    let queue = submit(&mut opened.index, 1, vec![vote(1), append(&[batch(0, 1, 10)])]);
    rounds(&mut opened, queue);
    let mut queue = submit(&mut opened.index, 3, vec![append(&[batch(1, 1, 10)])]);
    fs.arm(1, Fault::Io);
    let failed = opened.writer.run_round(&mut queue);
    assert!(
        matches!(failed, Err(StorageError::Io { doing: "syncing", .. })),
        "{failed:?}"
    );
    let calls = fs.calls();
    assert!(matches!(
        opened.writer.run_round(&mut queue),
        Err(StorageError::FailedBefore)
    ));
    assert!(matches!(opened.writer.close(), Err(StorageError::FailedBefore)));
    assert_eq!(fs.calls(), calls);
}

/// A log of ten batches of 700 bytes, killed; the mark says that all of it had been synced.
fn killed(extra: &[StorageOp]) -> MemFs {
    let fs = MemFs::new();
    let mut opened = opened(&fs, LogOptions::default());
    let mut ops = vec![vote(1)];
    ops.extend((0..10).map(|n| append(&[batch(n, 1, 700)])));
    ops.extend_from_slice(extra);
    let queue = submit(&mut opened.index, 1, ops);
    rounds(&mut opened, queue);
    fs
}

fn overwrite(fs: &MemFs, name: &str, offset: u64, bytes: &[u8]) {
    let file = fs
        .open(&Path::new(DIR).join(name), Open::ReadWrite)
        .expect("opened");
    file.write_all_at(bytes, offset).expect("written");
}

#[test]
fn what_is_known_to_have_been_synced_is_never_taken_for_torn() {
    let size = u64::from(batch(0, 1, 700).1.bytes);
    let log = "00000000000000000000.log";
    let zero_sector = (9 * size / 512 + 1) * 512;
    let tear = |fs: &MemFs| overwrite(fs, log, zero_sector, &[0; 512]);
    let end = |fs: &MemFs| {
        open(fs.clone(), Path::new(DIR), LogOptions::default()).map(|log| log.index.end().last_offset)
    };

    let fs = killed(&[]);
    tear(&fs);
    let error = end(&fs).expect_err("it had been durable");
    assert!(error.to_string().contains("had been durable"), "{error}");

    // Without the mark, or in a later epoch, the same bytes are what a crash leaves.
    let fs = killed(&[]);
    tear(&fs);
    fs.remove(&Path::new(DIR).join("kraft-synced")).expect("removed");
    assert_eq!(end(&fs).expect("torn"), 9);
    let fs = killed(&[vote(2)]);
    tear(&fs);
    assert_eq!(end(&fs).expect("torn"), 9);

    // Cut between batches, nothing looks torn, but the mark knows.
    let fs = killed(&[]);
    fs.open(&Path::new(DIR).join(log), Open::ReadWrite)
        .and_then(|file| file.set_len(8 * size))
        .expect("cut");
    assert!(
        end(&fs)
            .expect_err("it had been durable")
            .to_string()
            .contains("had been durable")
    );
}

#[test]
fn the_same_log_on_real_files() {
    let root = tempfile::tempdir().expect("a directory");
    let dir = root.path().join("__cluster_metadata-0");
    let mut opened = open(RealFs, &dir, small_segments()).expect("opened");
    let mut ops = vec![vote(1)];
    ops.extend((0..20).map(|n| append(&[batch(n, 1, 500)])));
    ops.extend([
        vote(2),
        StorageOp::Truncate { to: 7 },
        append(&[batch(7, 2, 500)]),
    ]);
    let queue = submit(&mut opened.index, 1, ops);
    rounds(&mut opened, queue);
    drop(opened);
    let opened = open(RealFs, &dir, small_segments()).expect("opened");
    assert_eq!(opened.index.end().last_offset, 8);
    assert_eq!(opened.index.end().last_epoch, Epoch(2));
    let mut offsets = Vec::new();
    while offsets.len() < 8 {
        offsets.extend(first_offsets(
            &opened.reader,
            offsets.len() as i64,
            1000,
            i64::MAX,
        ));
    }
    assert_eq!(offsets, [0, 1, 2, 3, 4, 5, 6, 7]);
    opened.writer.close().expect("closed");
}

const FETCHED: SnapshotId = SnapshotId {
    end_offset: 40,
    epoch: Epoch(3),
};

fn piece(position: u64, bytes: &'static [u8], last: bool) -> StorageOp {
    StorageOp::SnapshotChunk {
        snapshot: FETCHED,
        position,
        bytes: Bytes::from_static(bytes),
        last,
    }
}

/// Files of snapshots, whole or in part.
fn snapshot_files(fs: &MemFs) -> usize {
    let entries = fs.list(Path::new("/log")).expect("listed");
    let of_snapshot = |name: &str| name.contains("-0000000003");
    entries.iter().filter(|entry| of_snapshot(&entry.name)).count()
}

#[test]
fn a_fetched_snapshot_that_fails_its_checks_is_reported_and_the_writer_goes_on() {
    let fs = MemFs::new();
    let mut opened = opened(&fs, LogOptions::default());
    let ops = vec![
        vote(1),
        piece(0, b"no snapshot", false),
        piece(11, b" at all", true),
    ];
    let mut queue = submit(&mut opened.index, 1, ops);
    let mut rejected = Vec::new();
    while !queue.is_empty() {
        let round = opened.writer.run_round(&mut queue).expect("no disk fails");
        if let Some(found) = round.rejected {
            opened.index.snapshot_rejected(found.snapshot);
            rejected.push((round.up_to, found.snapshot, found.reason.to_string()));
        }
        opened.index.complete(round.up_to);
    }
    let [(Ticket(3), FETCHED, reason)] = &rejected[..] else {
        panic!("{rejected:?}")
    };
    assert!(reason.contains("byte 0"), "{reason}");
    assert_eq!(opened.index.latest_snapshot(), None);
    assert_eq!(snapshot_files(&fs), 0);
    let queue = submit(&mut opened.index, 4, vec![append(&[batch(0, 1, 10)])]);
    rounds(&mut opened, queue);
    assert_eq!(opened.index.flushed_end(), 1);
}

#[test]
fn a_piece_that_continues_nothing_is_rejected_and_an_abandoned_snapshot_deleted() {
    let fs = MemFs::new();
    let mut opened = opened(&fs, LogOptions::default());
    let ops = vec![vote(1), piece(0, b"a part", false)];
    let queue = submit(&mut opened.index, 1, ops);
    rounds(&mut opened, queue);
    assert_eq!(snapshot_files(&fs), 1);
    let mut queue = VecDeque::from([
        (Ticket(2), StorageOp::AbandonSnapshot { snapshot: FETCHED }),
        (Ticket(3), piece(6, b"more", false)),
    ]);
    let round = opened.writer.run_round(&mut queue).expect("done");
    assert_eq!(round.up_to, Ticket(2));
    assert_eq!(snapshot_files(&fs), 0);
    let round = opened.writer.run_round(&mut queue).expect("done");
    assert_eq!(round.rejected.map(|found| found.snapshot), Some(FETCHED));
}
