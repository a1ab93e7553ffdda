//! Blocks that are ready before they are needed: what they save, and that they are never in the way.

use bytes::Bytes;
use kraft_core::{ElectionState, Epoch, Instant, LogView, Ticket};
use kraft_fs::{DirEntry, Fault, FaultyFs, FileSystem, MemFs, RealFs, Unsynced};
use kraft_log::{LogOptions, Opened, Preparer, StorageError, StorageOp, batch_info, open, verify};
use kraft_wire::batch::{BatchBuilder, BatchView, Batches};
use proptest::prelude::*;
use std::{
    collections::VecDeque,
    path::Path,
    thread,
    time::{self, Duration},
};

const DIR: &str = "/log";
const SPARE: &str = "kraft-spare";

fn options() -> LogOptions {
    LogOptions {
        segment_bytes: 8000,
        prepare_bytes: 4000,
        ..LogOptions::default()
    }
}

/// A log under test, and what has been appended to it.
struct Log<F: FileSystem> {
    opened: Opened<F>,
    tickets: u64,
    appended: Vec<Bytes>,
}

impl<F: FileSystem> Log<F> {
    fn new(fs: &F, dir: &Path, options: LogOptions) -> Self {
        let opened = open(fs.clone(), dir, options).expect("opened");
        let mut log = Self {
            opened,
            tickets: 0,
            appended: Vec::new(),
        };
        log.run(StorageOp::StoreElection(ElectionState {
            epoch: Epoch(1),
            leader: None,
            voted: None,
            voters: Vec::new(),
            kraft_version: 1,
        }))
        .expect("stored");
        log
    }

    fn run(&mut self, op: StorageOp) -> Result<(), StorageError> {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.opened.index.submit(ticket, &op, Instant(self.tickets));
        let round = self
            .opened
            .writer
            .run_round(&mut VecDeque::from([(ticket, op)]))?;
        self.opened.index.complete(round.up_to);
        Ok(())
    }

    /// One batch with a record of `size` bytes, none of them zero.
    fn append(&mut self, size: usize) -> Result<(), StorageError> {
        let base = self.opened.index.end().last_offset;
        let mut builder = BatchBuilder::data(1000 + base);
        builder.push(&vec![base as u8 | 1; size]).expect("it fits");
        let batches = builder.build(base, 1);
        let info = batch_info(&BatchView::parse(batches.clone()).expect("a batch")).expect("a valid one");
        self.appended.push(batches.clone());
        self.run(StorageOp::Append {
            batches,
            infos: vec![info],
        })
    }

    fn prepare(&mut self) {
        while self.opened.preparer.step().expect("prepared") {}
    }

    fn batches(&self) -> Vec<Bytes> {
        let end = self.opened.index.end().last_offset;
        let mut found = Vec::new();
        let mut next = 0;
        while next < end {
            let bytes = self.opened.reader.read(next, 1 << 20, end).expect("readable");
            for batch in Batches::collect_all(bytes).expect("whole batches") {
                next = batch.last_offset() + 1;
                found.push(batch.bytes().clone());
            }
        }
        found
    }
}

fn segments(fs: &MemFs) -> Vec<DirEntry> {
    let entries = fs.list(Path::new(DIR)).expect("listed").into_iter();
    entries.filter(|entry| entry.name.ends_with(".log")).collect()
}

fn is_there(fs: &impl FileSystem, name: &str) -> bool {
    let found = fs.metadata(&Path::new(DIR).join(name)).expect("readable");
    found.is_some()
}

#[test]
fn a_segment_begins_in_the_spare_file_and_only_the_last_one_ends_in_zeros() {
    let fs = MemFs::new();
    let mut log = Log::new(&fs, Path::new(DIR), options());
    let mut from_spare = 0;
    for _ in 0..60 {
        let before = segments(&fs).len();
        log.append(700).expect("appended");
        if segments(&fs).len() > before {
            // It is larger than its one batch.
            from_spare += usize::from(segments(&fs).pop().is_some_and(|last| last.metadata.len == 4000));
        }
        let full = segments(&fs);
        let lengths: u64 = full[..full.len() - 1]
            .iter()
            .map(|segment| segment.metadata.len)
            .sum();
        let batches: usize = log.appended.iter().map(Bytes::len).sum();
        let last = full.last().expect("there is one").metadata.len;
        assert!(lengths <= batches as u64 && batches as u64 <= lengths + last);
        let whole: Vec<u64> = log
            .appended
            .iter()
            .scan(0, |end, batch| {
                *end += batch.len() as u64;
                Some(*end)
            })
            .collect();
        assert!(
            lengths == 0 || whole.contains(&lengths),
            "no zeros behind a segment that is not the last"
        );
        log.prepare();
    }
    assert!(from_spare >= 4, "{from_spare} segments began in the spare file");
    assert_eq!(log.batches(), log.appended);
}

#[test]
fn a_clean_stop_leaves_neither_zeros_nor_the_spare_file_and_a_kill_is_no_damage() {
    for clean in [true, false] {
        let fs = MemFs::new();
        let mut log = Log::new(&fs, Path::new(DIR), options());
        for _ in 0..8 {
            log.append(700).expect("appended");
            log.prepare();
        }
        assert!(is_there(&fs, SPARE));
        let used: usize = log.appended.iter().map(Bytes::len).sum();
        let Log { opened, appended, .. } = log;
        if clean {
            opened.writer.close().expect("closed");
        } else {
            drop(opened);
        }
        assert_eq!(is_there(&fs, SPARE), !clean);
        let size = segments(&fs)[0].metadata.len;
        assert_eq!(size == used as u64, clean, "{size} bytes, {used} used");

        let verified = verify(&fs, Path::new(DIR)).expect("nothing is damaged");
        assert_eq!(verified.repairs.is_empty(), clean, "{:?}", verified.repairs);
        let again = Log::new(&fs, Path::new(DIR), options());
        assert!(!is_there(&fs, SPARE));
        assert_eq!(segments(&fs)[0].metadata.len, used as u64);
        assert_eq!(again.batches(), appended);
    }
}

/// Whoever tidies up does not know the file, and nothing in it is needed.
#[test]
fn a_spare_file_that_somebody_has_removed_is_not_missed() {
    let fs = MemFs::new();
    let mut log = Log::new(&fs, Path::new(DIR), options());
    let mut removed = 0;
    for _ in 0..40 {
        if is_there(&fs, SPARE) {
            fs.remove(&Path::new(DIR).join(SPARE)).expect("removed");
            removed += 1;
        }
        log.append(700).expect("appended");
        log.prepare();
    }
    assert!(removed >= 3, "the spare file was there {removed} times");
    assert_eq!(log.batches(), log.appended);
}

#[test]
fn a_large_write_extends_the_file_and_asks_for_nothing() {
    let fs = MemFs::new();
    let options = LogOptions {
        prepare_bytes: 1 << 20,
        ..LogOptions::default()
    };
    let mut log = Log::new(&fs, Path::new(DIR), options);
    log.append(300 << 10).expect("appended");
    assert!(!log.opened.preparer.step().expect("nothing to do"));
    log.append(100).expect("appended");
    assert!(log.opened.preparer.step().expect("prepared"));
}

#[test]
fn zeros_come_in_small_pieces_while_there_are_enough() {
    let fs = MemFs::new();
    let mut log = Log::new(&fs, Path::new(DIR), LogOptions::default());
    log.append(100).expect("appended");
    let mut pieces = Vec::new();
    loop {
        let before = log.opened.preparer.prepared().bytes;
        if !log.opened.preparer.step().expect("prepared") {
            break;
        }
        pieces.push(log.opened.preparer.prepared().bytes - before);
    }
    let (first, rest) = pieces.split_first().expect("there was something to do");
    assert!(*first > 1_000_000, "{first} bytes at once when there was nothing");
    assert!(rest.iter().all(|bytes| *bytes <= 128 << 10), "{rest:?}");
    assert_eq!(pieces.iter().sum::<u64>(), 4 << 20);
}

#[test]
fn a_full_disk_ends_the_preparer_alone_and_another_fault_the_log() {
    let faults = [
        (Fault::NoSpace, true),
        (Fault::ShortWrite, true),
        (Fault::Io, false),
    ];
    for (fault, goes_on) in faults {
        for call in 0..5 {
            let fs = FaultyFs::new(MemFs::new());
            let mut log = Log::new(&fs, Path::new(DIR), options());
            for _ in 0..6 {
                log.append(700).expect("appended");
            }
            // Zeros, their sync, the spare file, its zeros, their sync.
            fs.arm(call, fault);
            let failed = (0..10).any(|_| log.opened.preparer.step().is_err());
            assert!(failed, "call {call}");
            assert!(!is_there(&fs, SPARE));
            if goes_on {
                // What was taken is left to whoever has to write.
                let last = segments(fs.inner()).pop().expect("there is one");
                let batches: usize = log.appended.iter().map(Bytes::len).sum();
                assert_eq!(last.metadata.len, batches as u64, "call {call}");
            }
            let next = log.append(5000);
            assert_eq!(next.is_ok(), goes_on, "call {call}: {next:?}");
            if goes_on {
                assert_eq!(log.batches(), log.appended);
                // The log is in the next segment. A crash may bring back what was not cut durably, and not in the middle.
                let crashed = fs.inner().crash_image(Unsynced::Lost);
                verify(&crashed, Path::new(DIR)).expect("a start opens it");
            }
        }
    }
}

/// What a log of one batch takes on the disk, and how much of that disk is left by `free`.
fn nearly_full(free: u64) -> (MemFs, Log<MemFs>) {
    let fs = MemFs::new();
    let mut log = Log::new(&fs, Path::new(DIR), options());
    log.append(700).expect("appended");
    let entries = fs.list(Path::new(DIR)).expect("listed").into_iter();
    let used: u64 = entries
        .map(|entry| entry.metadata.len.next_multiple_of(4096))
        .sum();
    fs.set_capacity(used + free);
    (fs, log)
}

#[test]
fn nothing_is_prepared_on_a_disk_that_is_nearly_full_until_it_has_room() {
    let too_little = 16 * options().prepare_bytes;
    let (fs, mut log) = nearly_full(too_little);
    log.append(700).expect("appended");
    log.prepare();
    assert_eq!(log.opened.preparer.prepared().bytes, 0);

    fs.set_capacity(2 * too_little);
    log.append(700).expect("appended");
    log.prepare();
    assert!(log.opened.preparer.prepared().bytes > 0);
    assert_eq!(log.batches(), log.appended);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Segment, offset index, time index and transaction index are four syncs in Kafka.
    #[test]
    fn a_durable_append_is_one_sync_wherever_its_blocks_come_from(
        appends in prop::collection::vec((1_usize..5000, any::<bool>()), 1..40),
    ) {
        let fs = MemFs::new();
        let options = LogOptions { prepare_bytes: 9000, ..LogOptions::default() };
        let mut log = Log::new(&fs, Path::new(DIR), options);
        // The first one enters its epoch.
        log.append(1).expect("appended");
        for (size, prepares) in appends {
            let before = fs.syncs();
            log.append(size).expect("appended");
            prop_assert_eq!(fs.syncs() - before, 1);
            if prepares {
                log.prepare();
            }
        }
        prop_assert_eq!(log.batches(), log.appended);
    }
}

#[test]
fn a_preparer_on_a_thread_of_its_own_overwrites_nothing() {
    let root = tempfile::tempdir().expect("a directory");
    let dir = root.path().join("log");
    let options = LogOptions {
        segment_bytes: 100_000,
        prepare_bytes: 60_000,
        ..LogOptions::default()
    };
    let deadline = time::Instant::now() + Duration::from_secs(120);
    let (mut expected, mut prepared, mut life) = (Vec::new(), 0, 0);
    // Neither thread waits for the other one, and in some lives the log may be too fast.
    while life < 4 || prepared <= 100_000 {
        assert!(
            time::Instant::now() < deadline,
            "{prepared} bytes were made ready"
        );
        let mut log = Log::new(&RealFs, &dir, options.clone());
        assert_eq!(log.batches(), expected, "life {life}");
        log.appended = expected;
        // The log's own preparer works elsewhere; what is left in its place has nothing to do.
        let preparer = std::mem::replace(&mut log.opened.preparer, idle());
        let preparing = thread::spawn(move || preparer.run());
        for n in 0..150 {
            log.append(1 + n * 37 % 3000).expect("appended");
            // But it begins where the other one is at work.
            while n == 0 && !is_ahead(&dir, &log.appended) && time::Instant::now() < deadline {
                thread::yield_now();
            }
        }
        let Log { opened, appended, .. } = log;
        if life % 2 == 0 {
            opened.writer.close().expect("closed");
        } else {
            drop(opened);
        }
        prepared += preparing.join().expect("no panic").expect("prepared").bytes;
        expected = appended;
        life += 1;
    }
    let log = Log::new(&RealFs, &dir, options);
    assert_eq!(log.batches(), expected);
}

/// Whether the files of a log have room for more than has been appended.
fn is_ahead(dir: &Path, appended: &[Bytes]) -> bool {
    let files = RealFs.list(dir).expect("listed").into_iter();
    let ours = files.filter(|file| file.name.ends_with(".log") || file.name == SPARE);
    let room: u64 = ours.map(|file| file.metadata.len).sum();
    let used: usize = appended.iter().map(Bytes::len).sum();
    room > used as u64
}

fn idle() -> Preparer<RealFs> {
    let root = tempfile::tempdir().expect("a directory");
    open(RealFs, &root.path().join("log"), options())
        .expect("opened")
        .preparer
}
