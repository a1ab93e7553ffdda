//! Failures of other logs that were reported in public: they do not happen here.

use bytes::Bytes;
use kraft_core::{ElectionState, Epoch, Instant, LogView, SnapshotId, Ticket};
use kraft_fs::{File, FileSystem, MemFs, Open, Unsynced};
use kraft_log::{
    LogOptions, OpenError, Opened, Retention, SmallFileError, StorageOp, batch_info, epoch_checkpoint, open,
    quorum_state::{self, QuorumStateError},
};
use kraft_snapshot::{SnapshotHeader, SnapshotReader, SnapshotWriter, frozen_name};
use kraft_wire::batch::{BATCH_SIZE_MAX, BatchBuilder, BatchView};
use std::{collections::VecDeque, path::Path};

fn dir() -> &'static Path {
    Path::new("/__cluster_metadata-0")
}

/// A log in memory, and what has been submitted to it.
struct Log {
    fs: MemFs,
    opened: Opened<MemFs>,
    queue: VecDeque<(Ticket, StorageOp)>,
    tickets: u64,
}

impl Log {
    fn open(fs: MemFs) -> Self {
        let options = LogOptions {
            segment_bytes: 2000,
            retention: Retention {
                bytes: Some(0),
                age_ms: None,
            },
            ..LogOptions::default()
        };
        let opened = open(fs.clone(), dir(), options).expect("a good directory");
        Self {
            fs,
            opened,
            queue: VecDeque::new(),
            tickets: 0,
        }
    }

    /// One that has voted, so that its directory counts as used.
    fn new() -> Self {
        let mut log = Self::open(MemFs::new());
        log.submit(StorageOp::StoreElection(election()));
        log.settle();
        log
    }

    fn submit(&mut self, op: StorageOp) {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.opened.index.submit(ticket, &op, Instant(0));
        self.queue.push_back((ticket, op));
    }

    fn append(&mut self, value: &[u8]) {
        let mut batch = BatchBuilder::data(1000);
        batch.push(value).expect("it fits");
        let batches = batch.build(self.end(), 1);
        let infos = vec![batch_info(&BatchView::parse(batches.clone()).expect("a batch")).expect("valid")];
        self.submit(StorageOp::Append { batches, infos });
    }

    fn settle(&mut self) {
        while !self.queue.is_empty() {
            let round = self
                .opened
                .writer
                .run_round(&mut self.queue)
                .expect("memory does not fail");
            if let Some(cleaned) = round.cleaned {
                self.opened.index.cleaned(cleaned);
            }
            self.opened.index.complete(round.up_to);
        }
    }

    fn end(&self) -> i64 {
        self.opened.index.end().last_offset
    }

    /// A snapshot of everything.
    fn snapshot(&mut self) -> SnapshotId {
        let id = SnapshotId {
            end_offset: self.end(),
            epoch: Epoch(1),
        };
        let header = SnapshotHeader {
            last_contained_log_timestamp: 1000,
            kraft_version: 0,
            voters: None,
        };
        let mut writer = SnapshotWriter::create(&self.fs, dir(), id, &header, || 1000).expect("created");
        writer.append(b"the state").expect("appended");
        let size = writer.freeze().expect("frozen");
        self.opened.index.snapshot_stored(id, size);
        id
    }
}

fn election() -> ElectionState {
    ElectionState {
        epoch: Epoch(1),
        leader: None,
        voted: None,
        voters: Vec::new(),
        kraft_version: 1,
    }
}

fn write(fs: &MemFs, name: &str, bytes: &[u8]) {
    let path = dir().join(name);
    let file = fs.open(&path, Open::Create).expect("opened");
    file.set_len(0).expect("emptied");
    file.write_all_at(bytes, 0).expect("written");
}

#[test]
fn field_h02_what_counts_as_flushed_survives_a_crash_and_what_does_not_count_may_be_lost() {
    let mut log = Log::new();
    for value in [b"first", b"other"] {
        log.append(value);
        log.settle();
    }
    log.append(b"not yet");
    assert_eq!((log.end(), log.opened.index.flushed_end()), (3, 2));
    let lost = Log::open(log.fs.crash_image(Unsynced::Lost));
    assert_eq!(lost.end(), 2);
    // Written, but its sync has not been reported.
    let round = log
        .opened
        .writer
        .run_round(&mut log.queue)
        .expect("memory does not fail");
    assert_eq!(log.opened.index.flushed_end(), 2);
    log.opened.index.complete(round.up_to);
    assert_eq!(log.opened.index.flushed_end(), 3);
    assert_eq!(Log::open(log.fs.crash_image(Unsynced::Lost)).end(), 3);
}

#[test]
fn field_h07_segments_go_only_with_a_snapshot_that_holds_what_they_held() {
    let mut log = Log::new();
    let mut starts = Vec::new();
    for n in 0..40 {
        log.append(&[7; 300]);
        log.settle();
        if n % 7 == 3 {
            log.snapshot();
        }
        // Whatever may be kept is nothing, at any time.
        log.submit(StorageOp::Clean {
            high_watermark: log.end() - 2,
            now_ms: i64::MAX,
        });
        log.settle();
        let start = log.opened.index.start();
        starts.push(start);
        let covering = |id: &SnapshotId| id.end_offset >= start;
        let snapshots: Vec<_> = log.opened.index.snapshots().map(|(id, _)| id).collect();
        assert!(
            start == 0 || snapshots.iter().any(covering),
            "log start {start}, {snapshots:?}"
        );
        assert!(
            start <= (log.end() - 2).max(0),
            "nothing that is not committed goes"
        );
        // A start finds the same to be true.
        let again = Log::open(log.fs.crash_image(Unsynced::Kept));
        assert_eq!(again.end(), log.end());
        assert!(again.opened.index.start() <= start);
    }
    starts.dedup();
    assert_eq!(
        starts,
        [0, 11, 18, 25, 32],
        "with the second snapshot and each one after it"
    );
}

#[test]
fn field_h08_a_log_that_begins_behind_every_snapshot_is_refused() {
    let mut log = Log::new();
    for _ in 0..4 {
        log.append(&[7; 900]);
        log.settle();
    }
    let first = dir().join("00000000000000000000.log");
    log.snapshot();
    log.append(&[7; 900]);
    log.settle();
    let fs = log.fs.crash_image(Unsynced::Kept);
    for base in [0, 2] {
        fs.remove(&dir().join(format!("{base:020}.log")))
            .expect("it is there");
    }
    assert!(fs.metadata(&first).expect("readable").is_none());
    let error = open(fs, dir(), LogOptions::default()).err();
    assert!(
        error.is_none(),
        "the snapshot ends where the log begins: {error:?}"
    );

    let fs = log.fs.crash_image(Unsynced::Kept);
    for base in [0, 2] {
        fs.remove(&dir().join(format!("{base:020}.log")))
            .expect("it is there");
    }
    let newest = SnapshotId {
        end_offset: 4,
        epoch: Epoch(1),
    };
    let older = SnapshotId {
        end_offset: 2,
        epoch: Epoch(1),
    };
    fs.rename(&dir().join(frozen_name(newest)), &dir().join(frozen_name(older)))
        .expect("renamed");
    let error = open(fs, dir(), LogOptions::default()).expect_err("records 2 and 3 are nowhere");
    let text = error.to_string();
    assert!(
        matches!(
            *error.cause,
            OpenError::NoSnapshot {
                start: 4,
                latest: Some(2),
                ..
            }
        ),
        "{text}"
    );
    assert!(
        text.contains("begins at offset 4") && text.contains("ends at offset 2"),
        "{text}"
    );
}

#[test]
fn field_h10_a_snapshot_of_any_size_is_written_with_one_batch_in_memory() {
    let fs = MemFs::new();
    fs.create_dir_all(dir()).expect("created");
    let id = SnapshotId {
        end_offset: 10,
        epoch: Epoch(1),
    };
    let header = SnapshotHeader {
        last_contained_log_timestamp: 0,
        kraft_version: 0,
        voters: None,
    };
    let mut writer = SnapshotWriter::create(&fs, dir(), id, &header, || 0).expect("created");
    let part = fs.list(dir()).expect("listed").remove(0).name;
    let value = vec![7; 100_000];
    // Six times the largest batch, five of which were once too much.
    let count = 6 * BATCH_SIZE_MAX / value.len();
    for n in 1..=count {
        writer.append(&value).expect("appended");
        let written = fs
            .metadata(&dir().join(&part))
            .expect("readable")
            .expect("it is there")
            .len;
        let held = (n * value.len()) as u64 - written.min((n * value.len()) as u64);
        assert!(held <= 1 << 20, "{held} bytes are held back after {n} records");
    }
    writer.freeze().expect("frozen");
    let mut reader = SnapshotReader::open(&fs, dir(), id)
        .expect("readable")
        .expect("it is there");
    let mut records = 0;
    while let Some(batch) = reader.next_batch().expect("whole") {
        records += batch.values().count();
    }
    assert_eq!(records, count);
}

#[test]
fn field_h33_a_quorum_state_of_another_release_is_refused_and_never_taken_for_none() {
    let field = |name: &'static str| QuorumStateError::MissingField { field: name };
    for (text, reason) in [
        (
            r#"{"leaderId":1,"leaderEpoch":3,"votedId":2,"votedDirectoryId":"J8aAPcfLQt2bqs1JT_rMgQ","data_version":2}"#,
            QuorumStateError::UnknownVersion { version: 2 },
        ),
        (
            r#"{"leaderId":1,"leaderEpoch":3,"votedId":2,"data_version":-1}"#,
            QuorumStateError::UnknownVersion { version: -1 },
        ),
        (
            r#"{"leaderId":1,"leaderEpoch":3,"votedId":2}"#,
            field("data_version"),
        ),
        (
            r#"{"leaderId":1,"votedId":2,"data_version":1}"#,
            field("votedDirectoryId"),
        ),
        ("{}", field("data_version")),
        ("", QuorumStateError::Empty),
    ] {
        let fs = MemFs::new();
        fs.create_dir_all(dir()).expect("created");
        write(&fs, quorum_state::FILE_NAME, text.as_bytes());
        let error = open(fs.clone(), dir(), LogOptions::default()).expect_err("not understood");
        let OpenError::QuorumState(SmallFileError::Malformed { reason: found, .. }) = *error.cause else {
            panic!("{text}: {error}");
        };
        assert_eq!(found, reason, "{text}");
        let kept = fs.read_bounded(&dir().join(quorum_state::FILE_NAME), 1000);
        assert_eq!(kept.expect("readable").as_deref(), Some(text.as_bytes()));
    }
}

#[test]
fn field_h34_what_is_reported_durable_keeps_its_name_in_a_crash() {
    let mut log = Log::new();
    for _ in 0..10 {
        log.append(&[7; 900]);
        log.settle();
        // Segments are created along the way, and their names with them.
        let image = log.fs.crash_image(Unsynced::Lost);
        assert_eq!(Log::open(image).end(), log.end());
    }
    let id = log.snapshot();
    let image = log.fs.crash_image(Unsynced::Lost);
    let mut reader = SnapshotReader::open(&image, dir(), id)
        .expect("readable")
        .expect("it has its name");
    reader.verify_rest().expect("whole");
    assert_eq!(
        quorum_state::load(&image, dir()).expect("readable"),
        Some(election())
    );
    assert_eq!(
        epoch_checkpoint::load(&image, dir())
            .expect("readable")
            .map(|entries| entries.len()),
        Some(1)
    );
}

/// What a read gives is the reader's alone: nothing is kept behind it. A start looks for control records and keeps
/// nothing of the others, whose values it does not understand.
#[test]
fn field_h36_nothing_is_kept_of_what_was_read() {
    let mut log = Log::new();
    for _ in 0..20 {
        log.append(&[0xff; 1000]);
        log.settle();
    }
    let log = Log::open(log.fs.crash_image(Unsynced::Kept));
    assert_eq!(log.opened.recovered.log, []);
    assert_eq!(log.opened.index.recent(0, 1 << 20, i64::MAX), None);
    let mut next = 0;
    while next < 20 {
        let bytes: Bytes = log.opened.reader.read(next, 1 << 20, i64::MAX).expect("readable");
        let batches = kraft_wire::batch::Batches::collect_all(bytes.clone()).expect("whole");
        next = batches.last().expect("at least one").last_offset() + 1;
        drop(batches);
        assert!(bytes.try_into_mut().is_ok(), "somebody else holds the bytes");
    }
}
