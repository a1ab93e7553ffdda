//! A log that is only its index: what the replica sees of it, and what a crash leaves.

use crate::settings::{dynamic_voters, static_voters};
use kraft_core::{
    BatchInfo, ControlRecord, DiskOp, ElectionState, Epoch, Instant, LogEnd, LogOffsetMetadata, LogView,
    Recovered, SnapshotId, Ticket,
};
use std::collections::{BTreeMap, VecDeque};

/// A snapshot: its size, its control records, and a digest of everything that it contains.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub(crate) size: u64,
    pub(crate) control: Vec<ControlRecord>,
    complete: bool,
}

impl Snapshot {
    pub(crate) fn new(size: u64, control: Vec<ControlRecord>) -> Self {
        Self {
            size,
            control,
            complete: false,
        }
    }
}

/// What a log directory holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Directory {
    pub(crate) start: i64,
    pub(crate) batches: Vec<BatchInfo>,
    epochs: BTreeMap<Epoch, i64>,
    snapshots: BTreeMap<(Epoch, i64), Snapshot>,
    pub(crate) election: Option<ElectionState>,
}

impl Directory {
    pub(crate) fn end_offset(&self) -> i64 {
        self.batches.last().map_or(self.start, |batch| batch.last + 1)
    }

    fn append(&mut self, batch: BatchInfo) {
        assert_eq!(batch.base, self.end_offset(), "an append continues the log");
        assert!(batch.last >= batch.base, "a batch has records");
        self.enter(batch.epoch, batch.base);
        self.batches.push(batch);
    }

    /// Records as an earlier leader wrote them.
    pub(crate) fn append_records(&mut self, base: i64, last: i64, epoch: i32) {
        self.append(BatchInfo {
            base,
            last,
            epoch: Epoch(epoch),
            bytes: 1,
            control: None,
        });
    }

    /// A voters record as an earlier leader wrote it.
    pub(crate) fn append_voters(&mut self, base: i64, epoch: i32, voters: &[i32]) {
        self.append(BatchInfo {
            base,
            last: base,
            epoch: Epoch(epoch),
            bytes: 1,
            control: Some(vec![ControlRecord::Voters(static_voters(voters))]),
        });
    }

    /// The checkpoint that a directory is formatted with for these voters.
    pub(crate) fn bootstrap(&mut self, voters: &[i32]) {
        let control = vec![
            ControlRecord::KRaftVersion(1),
            ControlRecord::Voters(dynamic_voters(voters)),
        ];
        let snapshot = Snapshot {
            size: 100,
            control,
            complete: true,
        };
        self.snapshots.insert((Epoch(0), 0), snapshot);
    }

    fn enter(&mut self, epoch: Epoch, start: i64) {
        let newest = self.epochs.last_key_value().map(|(newest, _)| *newest);
        assert!(
            newest.is_none_or(|newest| newest <= epoch),
            "epochs rise in a log"
        );
        self.epochs.retain(|known, at| *known == epoch || *at < start);
        self.epochs.entry(epoch).or_insert(start);
    }

    fn truncate(&mut self, to: i64) {
        assert!(
            to >= self.start && to <= self.end_offset(),
            "a log is cut within itself"
        );
        self.batches.retain(|batch| batch.last < to);
        self.epochs.retain(|_, start| *start < to);
        assert_eq!(self.end_offset(), to, "a log is cut between batches");
    }

    fn replace(&mut self, id: SnapshotId) {
        assert!(
            self.snapshots.contains_key(&(id.epoch, id.end_offset)),
            "the snapshot is there"
        );
        self.batches.clear();
        self.epochs.clear();
        self.start = id.end_offset;
        self.snapshots = self.snapshots.split_off(&(id.epoch, id.end_offset));
    }

    fn perform(&mut self, op: &DiskOp, sizes: &mut impl FnMut(SnapshotId) -> Snapshot) {
        match op {
            DiskOp::Append { base, batches, .. } => {
                assert_eq!(*base, self.end_offset());
                batches.iter().cloned().for_each(|batch| self.append(batch));
            }
            DiskOp::Truncate { to } => self.truncate(*to),
            DiskOp::SnapshotChunk { snapshot, last, .. } => {
                if *last {
                    let mut stored = sizes(*snapshot);
                    stored.complete = true;
                    self.snapshots
                        .insert((snapshot.epoch, snapshot.end_offset), stored);
                }
            }
            DiskOp::TruncateFully { snapshot } => self.replace(*snapshot),
            DiskOp::StoreElection(state) => self.election = Some(state.clone()),
            DiskOp::StartEpoch { epoch, start } => self.enter(*epoch, *start),
        }
    }

    fn ids(&self) -> impl DoubleEndedIterator<Item = SnapshotId> {
        self.snapshots.keys().map(|(epoch, end_offset)| SnapshotId {
            epoch: *epoch,
            end_offset: *end_offset,
        })
    }

    pub(crate) fn snapshot(&self, id: SnapshotId) -> Option<&Snapshot> {
        self.snapshots.get(&(id.epoch, id.end_offset))
    }

    /// What a start finds here.
    pub(crate) fn recovered(&self) -> Recovered {
        let latest = self.ids().next_back();
        let records = |batch: &BatchInfo| {
            let control = batch.control.clone().unwrap_or_default();
            (batch.base..).zip(control).collect::<Vec<_>>()
        };
        Recovered {
            election: self.election.clone(),
            snapshot: latest.and_then(|id| self.snapshot(id).map(|snapshot| (id, snapshot.control.clone()))),
            log: self.batches.iter().flat_map(records).collect(),
            abstains: false,
        }
    }
}

/// The directory as submitted operations leave it, and as it is durable.
#[derive(Debug, Clone, Default)]
pub(crate) struct Disk {
    pub(crate) seen: Directory,
    pub(crate) durable: Directory,
    pending: VecDeque<(Ticket, Instant, DiskOp)>,
    flushed_end: i64,
}

impl Disk {
    /// Opens a directory. A snapshot ahead of the log is a full truncation that a crash interrupted; it is completed.
    pub(crate) fn open(mut directory: Directory) -> Self {
        let newest = directory.ids().next_back();
        let newest_epoch = directory.epochs.last_key_value().map(|(epoch, _)| *epoch);
        let ahead = |id: &SnapshotId| {
            id.end_offset > directory.end_offset() || id.epoch > newest_epoch.unwrap_or(id.epoch)
        };
        if let Some(id) = newest.filter(ahead) {
            directory.replace(id);
        }
        Self {
            flushed_end: directory.end_offset(),
            durable: directory.clone(),
            seen: directory,
            pending: VecDeque::new(),
        }
    }

    /// Queues an operation. `fetched` says what a snapshot is that becomes complete with it.
    pub(crate) fn submit(
        &mut self,
        ticket: Ticket,
        op: DiskOp,
        now: Instant,
        fetched: &mut impl FnMut(SnapshotId) -> Snapshot,
    ) {
        let newest = self.pending.back().map(|(newest, _, _)| *newest);
        assert!(newest.is_none_or(|newest| newest < ticket), "tickets rise");
        self.seen.perform(&op, fetched);
        if let DiskOp::Truncate { to: end } = op {
            self.flushed_end = self.flushed_end.min(end);
        }
        if let DiskOp::TruncateFully { snapshot } = op {
            self.flushed_end = self.flushed_end.min(snapshot.end_offset);
        }
        self.pending.push_back((ticket, now, op));
    }

    /// Completes the oldest `count` operations; the ticket to report.
    pub(crate) fn complete(
        &mut self,
        count: usize,
        fetched: &mut impl FnMut(SnapshotId) -> Snapshot,
    ) -> Option<Ticket> {
        let mut newest = None;
        for _ in 0..count.min(self.pending.len()) {
            let (ticket, _, op) = self.pending.pop_front().expect("counted");
            self.durable.perform(&op, fetched);
            newest = Some(ticket);
        }
        let cuts = |op: &DiskOp| matches!(op, DiskOp::Truncate { .. } | DiskOp::TruncateFully { .. });
        if !self.pending.iter().any(|(_, _, op)| cuts(op)) {
            self.flushed_end = self.durable.end_offset();
        }
        newest
    }

    pub(crate) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// A snapshot of our own is stored, at once and durably; the log before `start` goes.
    pub(crate) fn store_snapshot(&mut self, id: SnapshotId, mut snapshot: Snapshot, start: i64) {
        snapshot.complete = true;
        for directory in [&mut self.seen, &mut self.durable] {
            directory
                .snapshots
                .insert((id.epoch, id.end_offset), snapshot.clone());
            if start > directory.start {
                directory.start = start;
                directory.batches.retain(|batch| batch.base >= start);
                let older = directory.epochs.iter().filter(|(_, at)| **at <= start);
                if let Some(in_force) = older.map(|(epoch, _)| *epoch).max() {
                    directory.epochs = directory.epochs.split_off(&in_force);
                    if let Some(at) = directory.epochs.get_mut(&in_force) {
                        *at = start;
                    }
                }
                directory.snapshots.retain(|(_, end), _| *end >= start);
            }
        }
    }
}

impl LogView for Disk {
    fn start(&self) -> i64 {
        self.seen.start
    }

    fn end(&self) -> LogEnd {
        let newest = self.seen.epochs.last_key_value().map(|(epoch, _)| *epoch);
        LogEnd {
            last_epoch: newest
                .or_else(|| self.latest_snapshot().map(|id| id.epoch))
                .unwrap_or_default(),
            last_offset: self.seen.end_offset(),
        }
    }

    fn flushed_end(&self) -> i64 {
        self.flushed_end
    }

    fn end_for_epoch(&self, epoch: Epoch) -> LogOffsetMetadata {
        let end = self.end();
        let epochs = &self.seen.epochs;
        let newest = epochs.last_key_value().map(|(newest, _)| *newest);
        let found = if newest == Some(epoch) {
            LogOffsetMetadata {
                epoch,
                offset: end.last_offset,
            }
        } else if let Some((_, start)) = epochs.iter().find(|(larger, _)| **larger > epoch) {
            let smaller = epochs.range(..=epoch).next_back();
            LogOffsetMetadata {
                epoch: smaller.map_or(epoch, |(smaller, _)| *smaller),
                offset: *start,
            }
        } else {
            return LogOffsetMetadata {
                epoch: end.last_epoch,
                offset: end.last_offset,
            };
        };
        match self.earliest_snapshot() {
            Some(id) if id.end_offset == found.offset && found.epoch == epoch => LogOffsetMetadata {
                epoch: id.epoch,
                offset: id.end_offset,
            },
            _ => found,
        }
    }

    fn earliest_snapshot(&self) -> Option<SnapshotId> {
        self.seen.ids().next()
    }

    fn latest_snapshot(&self) -> Option<SnapshotId> {
        self.seen.ids().next_back()
    }

    fn snapshot_size(&self, id: SnapshotId) -> Option<u64> {
        let stored = self.seen.snapshot(id).filter(|_| id != SnapshotId::BOOTSTRAP);
        stored.map(|snapshot| snapshot.size)
    }

    fn batch_end_at_or_before(&self, offset: i64) -> i64 {
        let ends = self.seen.batches.iter().map(|batch| batch.last + 1);
        ends.rev().find(|end| *end <= offset).unwrap_or(self.seen.start)
    }

    fn oldest_unfinished(&self) -> Option<Instant> {
        self.pending.front().map(|(_, since, _)| *since)
    }
}
