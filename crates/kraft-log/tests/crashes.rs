//! Random histories on a disk that forgets what was not synced: whatever a round reported as durable is there after a
//! crash, and what is there is a beginning of what was asked for.

use bytes::Bytes;
use kraft_core::{
    BatchInfo, ControlRecord, ElectionState, Epoch, Instant, LogView, NodeId, ReplicaKey, SnapshotId, Ticket,
};
use kraft_fs::{Fault, FaultyFs, FileSystem, MemFs, Unsynced};
use kraft_log::{LogOptions, OpenError, Opened, StorageError, StorageOp, batch_info, open};
use kraft_snapshot::{SnapshotHeader, SnapshotWriter, control::to_wire};
use kraft_wire::{
    batch::{BatchBuilder, BatchView, Batches},
    control::control_batch,
};
use proptest::prelude::*;
use std::{collections::VecDeque, path::Path};

type Fs = FaultyFs<MemFs>;

const DIR: &str = "/data/log";

fn dir() -> &'static Path {
    Path::new(DIR)
}

/// What a history does next.
#[derive(Debug, Clone)]
enum Step {
    /// Append batches of these record sizes, one record each but for the first, which gets as many as its size says. One
    /// that begins an epoch has the record of its leader instead.
    Append { sizes: Vec<u16>, next_epochs: u8 },
    /// Cut the log at the batch boundary that lies this far (in 256ths) into it.
    Truncate { at: u8 },
    /// Become leader: an epoch without a record yet.
    StartEpoch,
    /// Vote.
    StoreElection,
    /// Fetch a snapshot that is ahead of the log, and begin anew behind it.
    Snapshot { ahead: u8 },
    /// Run one round.
    Round,
    /// Run all rounds.
    Settle,
    /// Crash; what was not synced is lost, kept or torn. With a countdown the crash comes in the middle of a round.
    Crash { unsynced: Unsynced, within: Option<u8> },
    /// Stop in order.
    Close,
}

fn step() -> impl Strategy<Value = Step> {
    let unsynced = prop_oneof![
        Just(Unsynced::Lost),
        Just(Unsynced::Kept),
        any::<u64>().prop_map(|seed| Unsynced::Torn { seed }),
        any::<u64>().prop_map(|seed| Unsynced::Torn { seed }),
    ];
    prop_oneof![
        8 => (prop::collection::vec(1_u16..1500, 1..6), prop_oneof![4 => Just(0_u8), 1 => 1_u8..3])
            .prop_map(|(sizes, next_epochs)| Step::Append { sizes, next_epochs }),
        2 => any::<u8>().prop_map(|at| Step::Truncate { at }),
        1 => Just(Step::StartEpoch),
        1 => Just(Step::StoreElection),
        1 => (0_u8..20).prop_map(|ahead| Step::Snapshot { ahead }),
        5 => Just(Step::Round),
        2 => Just(Step::Settle),
        4 => (unsynced, prop::option::of(0_u8..12))
            .prop_map(|(unsynced, within)| Step::Crash { unsynced, within }),
        1 => Just(Step::Close),
    ]
}

/// The log as it has to be after some operations.
#[derive(Debug, Clone, PartialEq)]
struct Model {
    start: i64,
    batches: Vec<Batch>,
    election: Option<ElectionState>,
    snapshot: Option<SnapshotId>,
}

#[derive(Debug, Clone, PartialEq)]
struct Batch {
    info: BatchInfo,
    bytes: Bytes,
}

impl Model {
    fn end(&self) -> i64 {
        self.batches
            .last()
            .map_or(self.start, |batch| batch.info.last + 1)
    }

    fn last_epoch(&self) -> Epoch {
        let in_snapshot = self.snapshot.map_or(Epoch(0), |id| id.epoch);
        self.batches.last().map_or(in_snapshot, |batch| batch.info.epoch)
    }

    fn apply(&mut self, op: &StorageOp) {
        match op {
            StorageOp::Append { batches, infos } => {
                let views = Batches::collect_all(batches.clone()).expect("our own batches");
                for (view, info) in views.into_iter().zip(infos) {
                    self.batches.push(Batch {
                        info: info.clone(),
                        bytes: view.bytes().clone(),
                    });
                }
            }
            StorageOp::Truncate { to } => self.batches.retain(|batch| batch.info.last < *to),
            StorageOp::TruncateFully { snapshot } => {
                self.start = snapshot.end_offset;
                self.batches.clear();
            }
            StorageOp::AbandonSnapshot { .. } | StorageOp::Clean { .. } | StorageOp::ResumeVoting => {}
            StorageOp::SnapshotChunk { snapshot, .. } => self.snapshot = Some(*snapshot),
            StorageOp::StoreElection(election) => self.election = Some(election.clone()),
            StorageOp::StartEpoch { .. } => {}
        }
    }
}

/// The state that a restart finds.
fn found(opened: &Opened<Fs>) -> Model {
    let mut batches = Vec::new();
    let end = opened.index.end().last_offset;
    let mut next = opened.index.start();
    while next < end {
        let bytes = opened.reader.read(next, 3000, end).expect("readable");
        for view in Batches::collect_all(bytes).expect("valid batches") {
            next = view.last_offset() + 1;
            batches.push(Batch {
                info: batch_info(&view).expect("a valid batch"),
                bytes: view.bytes().clone(),
            });
        }
    }
    Model {
        start: opened.index.start(),
        batches,
        election: opened.recovered.election.clone(),
        snapshot: opened.index.latest_snapshot(),
    }
}

/// The batch that every epoch begins with.
fn leader_change(base: i64, epoch: Epoch, timestamp: i64) -> Bytes {
    let record = ControlRecord::LeaderChange {
        leader: NodeId(1),
        voters: vec![NodeId(1), NodeId(3)],
        granting: vec![NodeId(1), NodeId(3)],
    };
    control_batch(&[to_wire(&record)], base, epoch.0, timestamp).expect("it fits")
}

struct History {
    fs: Fs,
    opened: Opened<Fs>,
    queue: VecDeque<(Ticket, StorageOp)>,
    /// What is durable.
    durable: Model,
    /// What has been submitted.
    submitted: Model,
    epoch: Epoch,
    tickets: u64,
    stamp: i64,
}

fn options() -> LogOptions {
    LogOptions {
        segment_bytes: 6000,
        prepare_bytes: 1500,
        recent_bytes: 4000,
        ..LogOptions::default()
    }
}

fn reopen(fs: &Fs) -> Opened<Fs> {
    open(fs.clone(), dir(), options()).expect("a crash leaves nothing that recovery refuses")
}

impl History {
    fn new() -> Self {
        let disk = MemFs::new();
        disk.create_dir_all(Path::new("/data")).expect("created");
        disk.sync_dir(Path::new("/")).expect("synced");
        let fs = FaultyFs::new(disk);
        let opened = reopen(&fs);
        let durable = found(&opened);
        let mut history = Self {
            fs,
            opened,
            queue: VecDeque::new(),
            submitted: durable.clone(),
            durable,
            epoch: Epoch(1),
            tickets: 0,
            stamp: 0,
        };
        // A node stores an election before anything else, and so proves that the directory has been used.
        history.vote();
        history.settle();
        history
    }

    fn submit(&mut self, op: StorageOp) {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.opened.index.submit(ticket, &op, Instant(self.tickets));
        self.submitted.apply(&op);
        self.queue.push_back((ticket, op));
        assert_eq!(self.opened.index.end().last_offset, self.submitted.end());
        assert_eq!(self.opened.index.start(), self.submitted.start);
    }

    fn vote(&mut self) {
        let voted = Some(ReplicaKey::without_directory(NodeId(3)));
        self.submit(StorageOp::StoreElection(ElectionState {
            epoch: self.epoch,
            leader: None,
            voted,
            voters: vec![NodeId(1), NodeId(3)],
            kraft_version: 0,
        }));
    }

    /// A log is cut only in an epoch later than any that it holds.
    fn new_epoch(&mut self) {
        self.epoch = Epoch(self.epoch.0 + 1);
        self.vote();
    }

    fn append(&mut self, sizes: &[u16], next_epochs: u8) {
        let mut bytes = Vec::new();
        let mut infos = Vec::new();
        let mut next = self.submitted.end();
        let mut before = self.submitted.last_epoch();
        for (n, size) in sizes.iter().enumerate() {
            if n > 0 && n <= usize::from(next_epochs) {
                self.epoch = Epoch(self.epoch.0 + 1);
            }
            self.stamp += 1;
            let batch = if before == self.epoch {
                self.data_batch(next, *size, n == 0)
            } else {
                leader_change(next, self.epoch, self.stamp)
            };
            before = self.epoch;
            let view = BatchView::parse(batch.clone()).expect("our own batch");
            next = view.last_offset() + 1;
            infos.push(batch_info(&view).expect("our own batch"));
            bytes.extend_from_slice(&batch);
        }
        self.submit(StorageOp::Append {
            batches: bytes.into(),
            infos,
        });
    }

    /// One record, or several.
    fn data_batch(&self, base: i64, size: u16, several: bool) -> Bytes {
        let mut builder = BatchBuilder::data(self.stamp);
        let records = if several { i64::from(size % 5) + 1 } else { 1 };
        for record in 0..records {
            // Zeros among the rest: a sector of a good batch may be all zeros.
            let filler = if size.is_multiple_of(3) {
                0
            } else {
                (self.stamp + record) as u8
            };
            let value = vec![filler; usize::from(size)];
            builder.push_record(None, Some(&value), 0, &[]).expect("it fits");
        }
        builder.build(base, self.epoch.0)
    }

    fn truncate(&mut self, at: u8) {
        let count = self.submitted.batches.len();
        let kept = count * usize::from(at) / 256;
        let to = match kept.checked_sub(1) {
            Some(last) => self.submitted.batches[last].info.last + 1,
            None => self.submitted.start,
        };
        self.new_epoch();
        self.submit(StorageOp::Truncate { to });
    }

    fn snapshot(&mut self, ahead: u8) {
        // The leader that sends it leads in a later epoch; its snapshot is of that epoch or ahead of our log.
        self.new_epoch();
        let id = SnapshotId {
            end_offset: self.submitted.end() + i64::from(ahead) + 1,
            epoch: self.submitted.last_epoch().max(Epoch(1)),
        };
        let bytes = snapshot_bytes(id);
        self.submit(StorageOp::SnapshotChunk {
            snapshot: id,
            position: 0,
            bytes,
            last: true,
        });
        self.submit(StorageOp::TruncateFully { snapshot: id });
    }

    /// Runs a round, and makes blocks ready as the thread beside it does.
    fn round(&mut self) {
        self.write().expect("nothing fails");
        self.prepare().expect("nothing fails");
    }

    fn prepare(&mut self) -> std::io::Result<()> {
        while self.opened.preparer.step()? {}
        Ok(())
    }

    /// The log thread's part of a round.
    fn write(&mut self) -> Result<(), StorageError> {
        let before = self.queue.clone();
        let done = self.opened.writer.run_round(&mut self.queue)?.up_to;
        self.opened.index.complete(done);
        for (ticket, op) in before {
            if ticket <= done {
                self.durable.apply(&op);
            }
        }
        assert_eq!(
            self.opened.index.oldest_unfinished().is_some(),
            !self.queue.is_empty()
        );
        if self.queue.is_empty() {
            assert_eq!(self.opened.index.flushed_end(), self.durable.end());
        }
        Ok(())
    }

    fn settle(&mut self) {
        while !self.queue.is_empty() {
            self.round();
        }
        assert_eq!(found_live(&self.opened, &self.durable), self.durable);
    }

    /// Crashes, reopens and compares; goes on from what was found. Whether a round was under way.
    fn crash(&mut self, unsynced: Unsynced, within: Option<u8>) -> bool {
        let mut maybe = None;
        if let Some(calls) = within {
            self.fs.arm(u64::from(calls), Fault::Io);
            while !self.queue.is_empty() {
                let before = self.queue.clone();
                if self.write().is_err() {
                    maybe = Some(before);
                    break;
                }
                if self.prepare().is_err() {
                    // The round was over: nothing else is under way.
                    maybe = Some(VecDeque::new());
                    break;
                }
            }
        }
        let image = FaultyFs::new(self.fs.inner().crash_image(unsynced));
        let opened = reopen(&image);
        let found = found(&opened);
        let under_way = maybe.is_some();
        match maybe {
            // Nothing was under way: exactly what was reported is there.
            None => self.check_exact(&found),
            Some(queue) => self.check_between(&found, &queue),
        }
        self.fs = image;
        self.opened = opened;
        self.restart_from(found);
        under_way
    }

    /// After an error nothing is written and nothing is tried again.
    fn check_that_it_has_stopped(&mut self) {
        let calls = self.fs.calls();
        let again = self.opened.writer.run_round(&mut self.queue);
        assert!(matches!(again, Err(StorageError::FailedBefore)), "{again:?}");
        assert_eq!(self.fs.calls(), calls);
    }

    fn restart_from(&mut self, found: Model) {
        self.queue.clear();
        self.durable = found.clone();
        self.submitted = found;
    }

    fn check_exact(&self, found: &Model) {
        let mut expected = self.durable.clone();
        if let Some(id) = expected.snapshot.filter(|id| id.end_offset > expected.end()) {
            // A snapshot that is stored completes the truncation to it.
            expected.apply(&StorageOp::TruncateFully { snapshot: id });
        }
        assert_eq!(*found, expected);
    }

    /// A round was under way when the crash came: what is there lies between the state before it and the state after
    /// the operations that it may have touched.
    fn check_between(&self, found: &Model, queue: &VecDeque<(Ticket, StorageOp)>) {
        let mut states = vec![self.durable.clone()];
        for (_, op) in queue {
            let mut next = states.last().expect("there is one").clone();
            next.apply(op);
            states.push(next);
            // A round stops behind the first operation that is no append.
            if !matches!(op, StorageOp::Append { .. }) {
                break;
            }
        }
        let (before, after) = (&states[0], states.last().expect("there is one"));
        assert!(
            found.election == before.election || found.election == after.election,
            "an election is stored or not"
        );
        assert!(found.snapshot == before.snapshot || found.snapshot == after.snapshot);
        let replaced = found
            .snapshot
            .is_some_and(|id| found.start == id.end_offset && found.batches.is_empty());
        if replaced && found.start != before.start {
            return;
        }
        assert_eq!(found.start, before.start);
        let (short, long) = if before.batches.len() <= after.batches.len() {
            (before, after)
        } else {
            (after, before)
        };
        assert!(
            found.batches.len() >= short.batches.len(),
            "what was durable is there"
        );
        assert!(
            long.batches.starts_with(&found.batches),
            "what is there was asked for"
        );
    }

    fn close(&mut self) {
        self.settle();
        let opened = std::mem::replace(&mut self.opened, reopen(&FaultyFs::new(MemFs::new())));
        opened.writer.close().expect("closed");
        let image = FaultyFs::new(self.fs.inner().crash_image(Unsynced::Lost));
        let before = image.inner().list(dir()).expect("listed");
        self.opened = reopen(&image);
        let log_files = |entries: &[kraft_fs::DirEntry]| -> Vec<_> {
            entries
                .iter()
                .filter(|entry| entry.name.ends_with(".log"))
                .cloned()
                .collect()
        };
        let after = image.inner().list(dir()).expect("listed");
        assert_eq!(
            log_files(&before),
            log_files(&after),
            "a clean stop leaves nothing to cut"
        );
        self.fs = image;
        let found = found(&self.opened);
        assert_eq!(found, self.durable);
        self.restart_from(found);
    }

    fn run(&mut self, step: &Step) {
        match step {
            Step::Append { sizes, next_epochs } => self.append(sizes, *next_epochs),
            Step::Truncate { at } => self.truncate(*at),
            Step::StartEpoch => {
                self.new_epoch();
                self.submit(StorageOp::StartEpoch {
                    epoch: self.epoch,
                    start: self.submitted.end(),
                });
            }
            Step::StoreElection => self.vote(),
            Step::Snapshot { ahead } => self.snapshot(*ahead),
            Step::Round => {
                if !self.queue.is_empty() {
                    self.round();
                }
            }
            Step::Settle => self.settle(),
            Step::Crash { unsynced, within } => {
                self.crash(*unsynced, *within);
            }
            Step::Close => self.close(),
        }
    }
}

/// The state of a log that runs: election and snapshots are the model's, they are read only at a start.
fn found_live(opened: &Opened<Fs>, model: &Model) -> Model {
    Model {
        election: model.election.clone(),
        ..found(opened)
    }
}

fn snapshot_bytes(id: SnapshotId) -> Bytes {
    let fs = MemFs::new();
    let header = SnapshotHeader {
        last_contained_log_timestamp: 1,
        kraft_version: 0,
        voters: None,
    };
    let mut writer = SnapshotWriter::create(&fs, Path::new("/"), id, &header, || 1).expect("created");
    writer.append(&[7; 100]).expect("appended");
    writer.freeze().expect("frozen");
    let name = kraft_snapshot::frozen_name(id);
    let bytes = fs
        .read_bounded(&Path::new("/").join(name), 1 << 20)
        .expect("readable");
    bytes.expect("it is there").into()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 800, max_shrink_iters: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_reported_durable_survives_every_crash(steps in prop::collection::vec(step(), 1..40)) {
        let mut history = History::new();
        for step in &steps {
            history.run(step);
        }
        history.crash(Unsynced::Lost, None);
    }
}

/// Crashes at every call of the file system while these steps are done, leaves what was not synced in many states, and
/// goes on afterwards. Returns how many crashes there were.
fn crash_everywhere(steps: &[Step]) -> usize {
    let seeds = (0..22).map(|seed| Unsynced::Torn { seed });
    let states: Vec<_> = [Unsynced::Lost, Unsynced::Kept]
        .into_iter()
        .chain(seeds)
        .collect();
    let mut points = 0;
    for call in 0..=u8::MAX {
        for unsynced in &states {
            let mut history = History::new();
            for step in steps {
                history.run(step);
            }
            if !history.crash(*unsynced, Some(call)) {
                return points;
            }
            points += 1;
            history.append(&[100, 900], 0);
            history.settle();
            history.crash(Unsynced::Lost, None);
        }
    }
    panic!("more calls than are counted");
}

/// Lets every call of the file system fail in every way while these steps are done. Returns how many failures there
/// were.
fn fail_everywhere(steps: &[Step]) -> usize {
    let mut points = 0;
    for fault in Fault::ALL {
        let mut call = 0;
        loop {
            let mut history = History::new();
            for step in steps {
                history.run(step);
            }
            history.fs.arm(call, fault);
            let mut failed = None;
            while !history.queue.is_empty() && failed.is_none() {
                let before = history.queue.clone();
                if let Err(error) = history.write() {
                    let text = error.to_string();
                    assert!(text.contains(DIR), "{text}");
                    history.check_that_it_has_stopped();
                    failed = Some(before);
                } else if history.prepare().is_err() {
                    // The round was over: nothing else is under way.
                    failed = Some(VecDeque::new());
                }
            }
            let Some(under_way) = failed else {
                break;
            };
            // It ends; or the power goes with it.
            for unsynced in [Unsynced::Kept, Unsynced::Lost] {
                let image = FaultyFs::new(history.fs.inner().crash_image(unsynced));
                history.check_between(&found(&reopen(&image)), &under_way);
                points += 1;
            }
            // What is left does not depend much on the kind of failure.
            if fault == Fault::ShortWrite {
                points += fail_to_open(&history, &under_way);
            }
            call += 1;
        }
    }
    points
}

/// Lets every call of the start that follows fail, too: the start after that one finds the same.
fn fail_to_open(history: &History, under_way: &VecDeque<(Ticket, StorageOp)>) -> usize {
    let mut points = 0;
    for call in 0..=u64::MAX {
        let image = FaultyFs::new(history.fs.inner().crash_image(Unsynced::Kept));
        image.arm(call, Fault::ALL[call as usize % Fault::ALL.len()]);
        match open(image.clone(), dir(), options()) {
            Ok(_) => break,
            Err(refusal) => {
                assert!(matches!(*refusal.cause, OpenError::Repair(_)), "{refusal}");
                assert!(refusal.to_string().contains(DIR), "{refusal}");
            }
        }
        history.check_between(&found(&reopen(&image)), under_way);
        points += 1;
    }
    points
}

#[test]
fn an_error_at_every_call_of_three_histories_stops_the_log_and_loses_nothing() {
    let points = histories().map(|steps| fail_everywhere(&steps));
    assert!(points.iter().all(|points| *points > 500), "{points:?}");
}

#[test]
fn a_crash_at_every_call_of_three_histories_loses_nothing() {
    let points = histories().map(|steps| crash_everywhere(&steps));
    assert!(points.iter().sum::<usize>() >= 10_000, "{points:?}");
}

/// One that appends, one that is cut again and again, and one whose log a snapshot replaces.
fn histories() -> [Vec<Step>; 3] {
    let append = |sizes: &[u16], next_epochs| Step::Append {
        sizes: sizes.to_vec(),
        next_epochs,
    };
    let appending: Vec<_> = (0..20)
        .map(|n| append(&[400 + 90 * n, 30, 1200], u8::from(n % 5 == 4)))
        .collect();
    let truncating: Vec<_> = (0..3)
        .flat_map(|n| {
            [
                append(&[900, 2500, 700, 3000], 2),
                Step::Truncate { at: 60 * n + 10 },
                append(&[50, 60], 0),
            ]
        })
        .collect();
    let snapshotting: Vec<_> = (0..3)
        .flat_map(|n| {
            [
                append(&[900, 2500, 700], 1),
                Step::Snapshot { ahead: n },
                append(&[50, 2000], 0),
            ]
        })
        .collect();
    [appending, truncating, snapshotting]
}
