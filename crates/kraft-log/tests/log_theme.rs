//! Theme LOG of the scenarios: appending, reading, cutting and cleaning the log. The ids are those of the list that
//! docs/scenarios.md shows.

use bytes::Bytes;
use kraft_core::{BatchInfo, Epoch, Instant, LogOffsetMetadata, LogView, SnapshotId, Ticket};
use kraft_fs::{FileSystem, MemFs};
use kraft_log::{
    LogOptions, OpenError, Opened, ReadError, Retention, StorageError, StorageOp, batch_info, open,
};
use kraft_snapshot::{SnapshotHeader, SnapshotReader, SnapshotWriter, deleted_name, frozen_name};
use kraft_wire::batch::{BatchBuilder, BatchView, Batches};
use std::{collections::VecDeque, path::Path};
use uuid::Uuid;

const DIR: &str = "/__cluster_metadata-0";

struct Log {
    fs: MemFs,
    opened: Opened<MemFs>,
    ticket: u64,
}

fn log(options: LogOptions) -> Log {
    let fs = MemFs::new();
    let opened = open(fs.clone(), Path::new(DIR), options).expect("opened");
    Log {
        fs,
        opened,
        ticket: 0,
    }
}

/// A batch of so many records, each of `size` bytes.
fn batch(base: i64, records: usize, epoch: i32, size: usize) -> Bytes {
    stamped(base, records, epoch, size, 1000)
}

fn stamped(base: i64, records: usize, epoch: i32, size: usize, timestamp: i64) -> Bytes {
    let mut builder = BatchBuilder::data(timestamp);
    for _ in 0..records {
        builder.push(&vec![7; size]).expect("it fits");
    }
    builder.build(base, epoch)
}

fn info(bytes: &Bytes) -> BatchInfo {
    batch_info(&BatchView::parse(bytes.clone()).expect("a batch")).expect("a valid one")
}

impl Log {
    fn run(&mut self, op: StorageOp) -> Result<(), StorageError> {
        self.ticket += 1;
        let ticket = Ticket(self.ticket);
        self.opened.index.submit(ticket, &op, Instant(0));
        let round = self
            .opened
            .writer
            .run_round(&mut VecDeque::from([(ticket, op)]))?;
        if let Some(cleaned) = round.cleaned {
            self.opened.index.cleaned(cleaned);
        }
        self.opened.index.complete(round.up_to);
        Ok(())
    }

    fn append(&mut self, bytes: Bytes) {
        let infos = vec![info(&bytes)];
        self.run(StorageOp::Append {
            batches: bytes,
            infos,
        })
        .expect("appended");
    }

    fn end(&self) -> i64 {
        self.opened.index.end().last_offset
    }

    fn start(&self) -> i64 {
        self.opened.index.start()
    }

    /// Base offsets and last offsets of what a read gives.
    fn read(&self, from: i64, max_bytes: usize, up_to: i64) -> Result<Vec<(i64, i64)>, ReadError> {
        let bytes = self.opened.reader.read(from, max_bytes, up_to)?;
        Ok(Batches::collect_all(bytes)
            .expect("whole batches")
            .iter()
            .map(|batch| (batch.base_offset(), batch.last_offset()))
            .collect())
    }

    fn snapshot(&mut self, end_offset: i64, epoch: i32, records: usize, timestamp: i64) -> SnapshotId {
        let id = SnapshotId {
            end_offset,
            epoch: Epoch(epoch),
        };
        let header = SnapshotHeader {
            last_contained_log_timestamp: timestamp,
            kraft_version: 0,
            voters: None,
        };
        let mut writer =
            SnapshotWriter::create(&self.fs, Path::new(DIR), id, &header, || timestamp).expect("created");
        for _ in 0..records {
            writer.append(&[7; 20]).expect("appended");
        }
        let size = writer.freeze().expect("frozen");
        self.opened.index.snapshot_stored(id, size);
        id
    }

    fn snapshots(&self) -> Vec<SnapshotId> {
        self.opened.index.snapshots().map(|(id, _)| id).collect()
    }

    fn clean(&mut self, high_watermark: i64, now_ms: i64) {
        self.run(StorageOp::Clean {
            high_watermark,
            now_ms,
        })
        .expect("cleaned");
    }

    fn names(&self, suffix: &str) -> Vec<String> {
        let entries = self.fs.list(Path::new(DIR)).expect("listed").into_iter();
        entries
            .map(|entry| entry.name)
            .filter(|name| name.ends_with(suffix))
            .collect()
    }
}

fn keep(bytes: Option<u64>, age_ms: Option<i64>) -> LogOptions {
    LogOptions {
        segment_bytes: 3000,
        retention: Retention { bytes, age_ms },
        ..LogOptions::default()
    }
}

#[test]
fn log_001_no_bytes_are_no_batches() {
    assert!(
        Batches::collect_all(Bytes::new())
            .expect("nothing is wrong")
            .is_empty()
    );
    assert_eq!(
        log(LogOptions::default())
            .read(0, 1000, i64::MAX)
            .expect("in the log"),
        []
    );
}

#[test]
fn log_002_a_wrong_checksum_is_seen_by_whoever_validates() {
    let good = batch(0, 3, 1, 10);
    let mut bad = good.to_vec();
    bad[20] = bad[20].wrapping_add(1);
    let bad = BatchView::parse(bad.into()).expect("its length is right");
    assert!(bad.validate().is_err());
    assert!(batch_info(&bad).is_err());
    assert!(BatchView::parse(good).expect("a batch").validate().is_ok());
}

#[test]
fn log_005_an_append_continues_the_log() {
    let mut log = log(LogOptions::default());
    log.append(batch(0, 1, 3, 10));
    let again = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| log.append(batch(0, 1, 3, 10))));
    assert!(again.is_err(), "the core never asks for this");
}

#[test]
fn log_007_bytes_that_are_no_batch_are_never_described() {
    let good = batch(0, 1, 1, 10);
    let mut cases: Vec<Vec<u8>> = vec![
        good[..10].to_vec(),
        good[..16].to_vec(),
        good[..good.len() - 1].to_vec(),
    ];
    for magic in [0xff, 3] {
        let mut bytes = good.to_vec();
        bytes[16] = magic;
        cases.push(bytes);
    }
    let mut small = good.to_vec();
    small[8..12].copy_from_slice(&13_i32.to_be_bytes());
    cases.push(small);
    let mut state = 1_u64;
    for length in 1..=100 {
        let random = (0..length).map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        });
        cases.push(random.collect());
    }
    for bytes in cases {
        let taken = BatchView::parse(bytes.clone().into()).is_ok_and(|view| batch_info(&view).is_ok());
        assert!(!taken, "{bytes:?}");
    }
}

#[test]
fn log_008_a_snapshot_at_the_end_is_there_and_can_be_read() {
    let mut log = log(LogOptions::default());
    log.append(batch(0, 10, 1, 10));
    let id = log.snapshot(10, 1, 0, 5);
    let mut reader = SnapshotReader::open(&log.fs, Path::new(DIR), id)
        .expect("readable")
        .expect("there");
    assert!(
        reader.next_batch().expect("whole").is_none(),
        "there is no record in it"
    );
    assert_eq!(log.opened.index.latest_snapshot(), Some(id));
}

#[test]
fn log_015_a_new_log_names_the_metadata_topic() {
    let log = log(LogOptions::default());
    let file = log
        .fs
        .read_bounded(&Path::new(DIR).join("partition.metadata"), 1000);
    let text = String::from_utf8(file.expect("readable").expect("there")).expect("text");
    assert_eq!(text, "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ");
}

#[test]
fn a_log_of_another_topic_names_that_one_and_is_opened_as_no_other() {
    let options = LogOptions {
        topic_id: Uuid::from_u128(2),
        ..LogOptions::default()
    };
    let Log { fs, opened, .. } = log(options.clone());
    drop(opened);
    let file = fs.read_bounded(&Path::new(DIR).join("partition.metadata"), 1000);
    let text = String::from_utf8(file.expect("readable").expect("there")).expect("text");
    assert_eq!(text, "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAg");

    drop(open(fs.clone(), Path::new(DIR), options).expect("opened again"));
    let refusal = open(fs, Path::new(DIR), LogOptions::default()).expect_err("another topic");
    let expected = Uuid::from_u128(2);
    assert!(
        matches!(*refusal.cause, OpenError::WrongTopic { found, .. } if found == expected),
        "{refusal}"
    );
}

#[test]
fn log_016_a_snapshot_that_is_not_there_is_nothing() {
    let mut log = log(LogOptions::default());
    let id = SnapshotId {
        end_offset: 10,
        epoch: Epoch(0),
    };
    assert!(
        SnapshotReader::open(&log.fs, Path::new(DIR), id)
            .expect("no error")
            .is_none()
    );
    log.append(batch(0, 10, 0, 10));
    let id = log.snapshot(10, 0, 1, 5);
    log.fs
        .remove(&Path::new(DIR).join(frozen_name(id)))
        .expect("removed");
    assert!(
        SnapshotReader::open(&log.fs, Path::new(DIR), id)
            .expect("no error")
            .is_none()
    );
    assert!(matches!(
        log.opened.reader.snapshot_window(id, 0, 100),
        Err(ReadError::NoSnapshot { .. })
    ));
}

#[test]
fn log_017_the_log_starts_where_the_oldest_snapshot_that_is_kept_ends() {
    let mut log = log(keep(Some(0), None));
    log.append(batch(0, 10, 0, 10));
    log.snapshot(5, 0, 1, 5);
    log.clean(10, 0);
    assert_eq!(
        log.start(),
        0,
        "the only snapshot says nothing of the log before it"
    );
    let ten = log.snapshot(10, 0, 1, 5);
    log.append(batch(10, 10, 0, 10));
    log.clean(20, 0);
    assert_eq!((log.start(), log.snapshots()), (10, vec![ten]));
    let twenty = log.snapshot(20, 0, 1, 5);
    log.clean(20, 0);
    assert_eq!((log.start(), log.snapshots()), (20, vec![twenty]));
    assert_eq!(log.names(".checkpoint"), [frozen_name(twenty)]);
}

#[test]
fn log_018_the_log_start_does_not_pass_the_high_watermark() {
    let mut log = log(keep(Some(0), None));
    log.append(batch(0, 30, 0, 10));
    log.snapshot(5, 0, 1, 5);
    log.snapshot(20, 0, 1, 5);
    log.clean(10, 0);
    assert_eq!(log.start(), 0);
    assert_eq!(log.snapshots().len(), 2);
    log.clean(20, 0);
    assert_eq!(log.start(), 20);
}

#[test]
fn log_019_a_full_truncation_leaves_the_snapshot() {
    let mut log = log(LogOptions::default());
    log.append(batch(0, 10, 0, 10));
    for (end, epoch) in [(20, 0), (40, 1)] {
        let id = log.snapshot(end, epoch, 1, 5);
        log.run(StorageOp::TruncateFully { snapshot: id })
            .expect("replaced");
        assert_eq!((log.start(), log.end()), (end, end));
        assert_eq!(log.opened.index.flushed_end(), end);
        assert_eq!(log.opened.index.end().last_epoch, Epoch(epoch));
        assert_eq!(log.snapshots(), [id]);
        log.append(batch(end, 10, epoch, 10));
    }
}

#[test]
fn log_020_a_start_replaces_no_log_by_a_snapshot_that_is_not_ahead_of_it() {
    for snapshot in [(10, 0), (10, 1)] {
        let mut log = log(LogOptions::default());
        log.append(batch(0, 20, 1, 5));
        log.run(StorageOp::StoreElection(kraft_core::ElectionState {
            epoch: Epoch(1),
            leader: None,
            voted: None,
            voters: Vec::new(),
            kraft_version: 1,
        }))
        .expect("stored");
        log.snapshot(snapshot.0, snapshot.1, 1, 5);
        let again = open(log.fs.clone(), Path::new(DIR), LogOptions::default()).expect("opened");
        assert_eq!((again.index.start(), again.index.end().last_offset), (0, 20));
    }
}

#[test]
fn log_024_a_new_epoch_without_records() {
    let mut log = log(LogOptions::default());
    log.append(batch(0, 5, 1, 10));
    let at = |epoch, offset| LogOffsetMetadata {
        epoch: Epoch(epoch),
        offset,
    };
    let start = |epoch| StorageOp::StartEpoch {
        epoch: Epoch(epoch),
        start: 5,
    };
    log.run(start(2)).expect("stored");
    assert_eq!(log.opened.index.end().last_epoch, Epoch(2));
    assert_eq!(log.opened.index.end_for_epoch(Epoch(1)), at(1, 5));
    assert_eq!(log.opened.index.end_for_epoch(Epoch(2)), at(2, 5));
    log.run(start(3)).expect("stored");
    assert_eq!(log.opened.index.end_for_epoch(Epoch(2)), at(1, 5));
    assert_eq!(log.opened.index.end_for_epoch(Epoch(3)), at(3, 5));
}

#[test]
fn log_025_what_a_leader_appends_comes_back() {
    let mut log = log(LogOptions::default());
    log.append(batch(0, 1, 2, 10));
    assert_eq!(log.opened.index.end_for_epoch(Epoch(2)).offset, 1);
    log.append(batch(1, 2, 2, 10));
    assert_eq!(log.opened.index.end_for_epoch(Epoch(2)).offset, 3);
    assert_eq!(log.opened.index.end().last_epoch, Epoch(2));
    assert_eq!(log.read(0, 1000, i64::MAX).expect("in the log"), [(0, 0), (1, 2)]);
}

/// Batches 0..19, 20..29, 30..59.
fn three_batches() -> Log {
    let mut log = log(LogOptions::default());
    for (base, records) in [(0, 20), (20, 10), (30, 30)] {
        log.append(batch(base, records, 1, 5));
    }
    log
}

#[test]
fn log_026_a_read_starts_at_the_batch_that_holds_the_offset() {
    let mut log = three_batches();
    for (from, first) in [(0, 0), (10, 0), (20, 20), (25, 20), (30, 30), (33, 30)] {
        let read = log.read(from, 100_000, i64::MAX).expect("in the log");
        assert_eq!((read[0].0, read[read.len() - 1].1), (first, 59), "from {from}");
    }
    assert_eq!(log.read(60, 1000, i64::MAX).expect("the end is in the log"), []);
    assert!(matches!(
        log.read(61, 1000, i64::MAX),
        Err(ReadError::OutOfRange { .. })
    ));
    log.run(StorageOp::Truncate { to: 20 }).expect("cut");
    assert!(matches!(
        log.read(21, 1000, i64::MAX),
        Err(ReadError::OutOfRange { .. })
    ));
}

#[test]
fn log_027_a_read_of_what_is_committed_stops_there() {
    let log = three_batches();
    for (high_watermark, last) in [(20, 19), (30, 29), (60, 59)] {
        let read = log.read(0, 100_000, high_watermark).expect("in the log");
        assert_eq!(read[read.len() - 1].1, last);
        assert_eq!(
            log.read(high_watermark, 1000, high_watermark)
                .expect("in the log"),
            []
        );
    }
    assert_eq!(log.read(0, 1000, 0).expect("in the log"), []);
    assert!(matches!(
        log.read(61, 1000, 60),
        Err(ReadError::OutOfRange { .. })
    ));
}

#[test]
fn log_028_there_is_nothing_outside_of_the_log() {
    let mut log = log(LogOptions::default());
    let id = log.snapshot(5, 1, 1, 5);
    log.run(StorageOp::TruncateFully { snapshot: id })
        .expect("replaced");
    log.append(batch(5, 1, 1, 10));
    for offset in [4, 7] {
        assert!(matches!(
            log.read(offset, 1000, i64::MAX),
            Err(ReadError::OutOfRange { start: 5, end: 6, .. })
        ));
    }
}

#[test]
fn log_029_cleaning_keeps_the_newest_snapshot() {
    let mut log = log(keep(Some(1024), None));
    for base in 0..1000 {
        log.append(batch(base, 1, 1, 10));
    }
    for end in [100, 200, 300, 400, 500, 600] {
        log.snapshot(end, 1, 10, 5);
    }
    log.clean(1000, 0);
    assert_eq!(log.start(), 600);
    assert_eq!(log.snapshots().len(), 1);
    assert_eq!(log.names(".checkpoint").len(), 1);
    let first = log.names(".log").into_iter().min().expect("a segment");
    assert!(*first > *"00000000000000000500.log", "{first}");
    assert!(log.read(600, 1000, i64::MAX).is_ok());
    let epochs = log
        .fs
        .read_bounded(&Path::new(DIR).join("leader-epoch-checkpoint"), 1000);
    assert_eq!(epochs.expect("readable").expect("there"), b"0\n1\n1 600\n");
}

#[test]
fn log_030_retention_is_a_soft_limit() {
    let mut log = log(LogOptions {
        segment_bytes: 10240,
        retention: Retention {
            bytes: Some(10240),
            age_ms: None,
        },
        ..LogOptions::default()
    });
    for base in 0..2000 {
        log.append(batch(base, 1, 1, 10));
    }
    log.snapshot(1000, 1, 500, 5);
    let newest = log.snapshot(2000, 1, 500, 5);
    log.clean(2000, 0);
    assert_eq!(log.snapshots(), [newest]);
    let size = log.opened.index.snapshot_size(newest).expect("there");
    assert!(
        size > 10240,
        "the newest one alone is larger than what is to be kept"
    );
}

#[test]
fn log_030_old_snapshots_go_by_the_age_of_their_last_record() {
    let mut log = log(keep(None, Some(1000)));
    log.append(batch(0, 30, 1, 10));
    for (end, timestamp) in [(10, 1000), (20, 2000), (30, 3000)] {
        log.snapshot(end, 1, 1, timestamp);
    }
    log.clean(30, 2000);
    assert_eq!(log.start(), 0, "no snapshot is older than a second");
    log.clean(30, 2001);
    assert_eq!(log.start(), 20);
    log.clean(30, i64::MAX);
    assert_eq!(log.start(), 30);
    log.clean(30, i64::MAX);
    assert_eq!(log.snapshots().len(), 1, "the newest one stays, however old");
}

#[test]
fn log_031_a_segment_that_is_old_is_followed_by_a_new_one() {
    let mut log = log(LogOptions {
        segment_age_ms: 10_000,
        ..LogOptions::default()
    });
    for (base, timestamp) in [(0, 1000), (1, 11_000), (2, 11_001), (3, 21_001), (4, 21_002)] {
        log.append(stamped(base, 1, 1, 10, timestamp));
    }
    assert_eq!(
        log.names(".log"),
        [
            "00000000000000000000.log",
            "00000000000000000002.log",
            "00000000000000000004.log"
        ]
    );
    assert_eq!(log.read(0, 1000, i64::MAX).expect("in the log"), [(0, 0), (1, 1)]);
}

/// Four batches of 5 records and the same size.
fn four_batches() -> (Log, usize) {
    let mut log = log(LogOptions::default());
    let size = batch(0, 5, 1, 2).len();
    for n in 0..4 {
        log.append(batch(n * 5, 5, 1, 2));
    }
    (log, size)
}

#[test]
fn log_032_a_read_takes_as_many_whole_batches_as_fit() {
    let (log, size) = four_batches();
    for n in 1..=3 {
        let read = log.opened.reader.read(0, n * size, i64::MAX).expect("in the log");
        assert_eq!(read.len(), n * size);
    }
}

#[test]
fn log_033_a_limit_between_batches_gives_whole_ones() {
    let (log, size) = four_batches();
    let read = log
        .opened
        .reader
        .read(0, 2 * size - 1, i64::MAX)
        .expect("in the log");
    assert_eq!(
        read.len(),
        size,
        "Kafka would send a part of the second, which nobody can use"
    );
}

#[test]
fn log_034_a_read_gives_at_least_one_batch() {
    let (log, size) = four_batches();
    for (max_bytes, batches) in [(1, 1), (i32::MAX as usize, 4)] {
        let read = log
            .opened
            .reader
            .read(0, max_bytes, i64::MAX)
            .expect("in the log");
        assert_eq!(read.len(), batches * size);
    }
}

#[test]
fn snapshot_029_a_snapshot_that_is_deleted_has_another_name_until_it_is_removed() {
    let mut log = log(keep(Some(0), None));
    log.run(StorageOp::StoreElection(kraft_core::ElectionState {
        epoch: Epoch(1),
        leader: None,
        voted: None,
        voters: Vec::new(),
        kraft_version: 1,
    }))
    .expect("stored");
    for base in 0..20 {
        log.append(batch(base, 1, 1, 400));
    }
    let older = log.snapshot(8, 1, 1, 1000);
    let newest = log.snapshot(20, 1, 1, 1000);
    log.clean(20, 5000);
    assert_eq!(log.names(".checkpoint"), [frozen_name(newest)]);
    assert_eq!(log.names(".checkpoint.deleted"), [deleted_name(older)]);
    assert!(!log.names(".log.deleted").is_empty(), "and so have segments");
    let missing = log.opened.reader.snapshot_window(older, 0, 100);
    assert!(
        matches!(missing, Err(ReadError::NoSnapshot { .. })),
        "it is as good as gone"
    );
    log.clean(20, 64_999);
    assert_eq!(log.names(".checkpoint.deleted").len(), 1);
    log.clean(20, 65_000);
    assert_eq!(log.names(".deleted"), [""; 0]);
    // A start removes what is left of it.
    let path = Path::new(DIR);
    log.fs
        .rename(&path.join(frozen_name(newest)), &path.join(deleted_name(newest)))
        .expect("renamed");
    log.snapshot(20, 1, 1, 1000);
    let fs = log.fs.crash_image(kraft_fs::Unsynced::Kept);
    open(fs.clone(), path, LogOptions::default()).expect("opened");
    let names: Vec<_> = fs
        .list(path)
        .expect("listed")
        .into_iter()
        .map(|entry| entry.name)
        .collect();
    assert!(!names.iter().any(|name| name.ends_with(".deleted")), "{names:?}");
}
