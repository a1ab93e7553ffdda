//! What the engine knows of the log without asking a disk.

use crate::{clean::Cleaned, epochs::EpochCache, op::StorageOp, recent::Recent};
use bytes::Bytes;
use kraft_core::{BatchInfo, Epoch, Instant, LogEnd, LogOffsetMetadata, LogView, SnapshotId, Ticket};
use std::collections::{BTreeMap, VecDeque};

/// The log as it will be once all submitted operations are done, and how far they are.
///
/// The engine owns it. It calls [`submit`](Self::submit) when it queues an operation for the log thread, before the
/// next step of the core, and [`complete`](Self::complete) when the log thread reports.
#[derive(Debug)]
pub struct LogIndex {
    start: i64,
    end: i64,
    flushed_end: i64,
    /// Where each batch ends, ascending; the last one is `end` unless the log is empty.
    batch_ends: Vec<i64>,
    epochs: EpochCache,
    snapshots: Snapshots,
    unfinished: VecDeque<Unfinished>,
    recent: Recent,
}

/// An operation that the log thread has not reported yet.
#[derive(Debug)]
struct Unfinished {
    ticket: Ticket,
    submitted: Instant,
    /// What is durable once it is done, and with it all that was submitted before.
    flushes_to: i64,
    /// The snapshot, and its size, that is then in the directory.
    stores: Option<(SnapshotId, u64)>,
}

impl LogIndex {
    pub(crate) fn new(
        start: i64,
        batch_ends: Vec<i64>,
        epochs: EpochCache,
        snapshots: Snapshots,
        recent_bytes: usize,
    ) -> Self {
        let end = batch_ends.last().copied().unwrap_or(start);
        Self {
            start,
            end,
            flushed_end: end,
            batch_ends,
            epochs,
            snapshots,
            unfinished: VecDeque::new(),
            recent: Recent::new(recent_bytes),
        }
    }

    /// Takes account of an operation that is queued for the log thread.
    ///
    /// # Panics
    /// If tickets do not rise, or an append does not continue the log: both are decided by the core.
    pub fn submit(&mut self, ticket: Ticket, op: &StorageOp, now: Instant) {
        assert!(
            self.unfinished.back().is_none_or(|newest| newest.ticket < ticket),
            "tickets rise"
        );
        let mut stores = None;
        match op {
            StorageOp::Append { batches, infos } => {
                self.append(infos);
                self.recent.push(ticket, batches, infos);
            }
            StorageOp::Truncate { to } => self.truncate(*to),
            StorageOp::TruncateFully { snapshot } => {
                self.truncate_fully(snapshot.end_offset);
                self.snapshots.forget_before(*snapshot);
            }
            StorageOp::SnapshotChunk {
                snapshot,
                position,
                bytes,
                last,
            } => {
                stores = last.then(|| (*snapshot, position + bytes.len() as u64));
            }
            StorageOp::AbandonSnapshot { .. }
            | StorageOp::StoreElection(_)
            | StorageOp::Clean { .. }
            | StorageOp::ResumeVoting => {}
            StorageOp::StartEpoch { epoch, start } => {
                self.epochs.assign(*epoch, *start);
            }
        }
        self.unfinished.push_back(Unfinished {
            ticket,
            submitted: now,
            flushes_to: self.end,
            stores,
        });
    }

    /// Everything below the high watermark is committed.
    pub fn commit(&mut self, high_watermark: i64) {
        self.recent.commit(high_watermark);
    }

    /// Takes account of the log thread's report that everything up to `up_to` is durable.
    pub fn complete(&mut self, up_to: Ticket) {
        while self
            .unfinished
            .front()
            .is_some_and(|oldest| oldest.ticket <= up_to)
        {
            let done = self.unfinished.pop_front().expect("there is a front");
            self.flushed_end = self.flushed_end.max(done.flushes_to);
            if let Some((id, size)) = done.stores {
                self.snapshot_stored(id, size);
            }
        }
        self.recent.evict(up_to);
    }

    /// Takes account of the log thread's report that a fetched snapshot failed its checks, before its ticket is
    /// [complete](Self::complete).
    pub fn snapshot_rejected(&mut self, id: SnapshotId) {
        for unfinished in &mut self.unfinished {
            unfinished.stores.take_if(|(stored, _)| *stored == id);
        }
    }

    /// Takes account of a snapshot that stands in the directory under its final name.
    ///
    /// One that the start of the log has passed while it was written is of no use. The next [`StorageOp::Clean`] removes it.
    pub fn snapshot_stored(&mut self, id: SnapshotId, size: u64) {
        if id.end_offset >= self.start {
            self.snapshots.insert(id, size);
        }
    }

    /// Takes account of a snapshot that is gone.
    pub fn snapshot_removed(&mut self, id: SnapshotId) {
        self.snapshots.remove(id);
    }

    /// Takes account of a cleaning. What was submitted since may have removed more.
    pub fn cleaned(&mut self, cleaned: Cleaned) {
        let start = cleaned.oldest.end_offset;
        if start <= self.start || start > self.end {
            return;
        }
        self.start = start;
        let gone = self.batch_ends.partition_point(|end| *end <= start);
        self.batch_ends.drain(..gone);
        self.epochs.truncate_from_start(start);
        self.snapshots.forget_before(cleaned.oldest);
    }

    /// The snapshots, in the order of their ids (epoch before offset), with their sizes.
    pub fn snapshots(&self) -> impl Iterator<Item = (SnapshotId, u64)> + '_ {
        self.snapshots.iter()
    }

    /// Whole batches from memory, written or not: from the one that contains `from`, at least one, otherwise not
    /// more than `max_bytes`, and only batches that end at or before `up_to`. `None` if that batch is not in memory; then ask
    /// the [`LogReader`](crate::LogReader).
    #[must_use]
    pub fn recent(&self, from: i64, max_bytes: usize, up_to: i64) -> Option<Bytes> {
        self.recent.read(from, max_bytes, up_to)
    }

    /// As [`recent`](Self::recent), in parts as they lie in memory, none of them empty, which are not copied together.
    #[must_use]
    pub fn recent_parts(&self, from: i64, max_bytes: usize, up_to: i64) -> Option<Vec<Bytes>> {
        self.recent.parts(from, max_bytes, up_to)
    }

    fn append(&mut self, infos: &[BatchInfo]) {
        assert!(!infos.is_empty(), "an append has a batch");
        for info in infos {
            assert_eq!(info.base, self.end, "an append continues the log");
            assert!(info.last >= info.base, "a batch has a record");
            self.epochs.assign(info.epoch, info.base);
            self.end = info.last + 1;
            self.batch_ends.push(self.end);
        }
    }

    fn truncate(&mut self, to: i64) {
        if to >= self.end {
            self.epochs.truncate_from_end(self.end);
            return;
        }
        if to < self.start {
            self.truncate_fully(to);
            return;
        }
        let kept = self.batch_ends.partition_point(|end| *end <= to);
        self.batch_ends.truncate(kept);
        self.end = self.batch_ends.last().copied().unwrap_or(self.start);
        assert_eq!(self.end, to, "a log is cut between batches");
        self.epochs.truncate_from_end(to);
        if !mutated!(KeepsWhatIsCut) {
            self.recent.truncate(to);
        }
        self.bound_flushed(to);
    }

    fn truncate_fully(&mut self, to: i64) {
        self.start = to;
        self.end = to;
        self.batch_ends.clear();
        self.epochs.clear();
        self.recent.clear();
        self.bound_flushed(to);
    }

    /// Nothing at `to` or behind it counts as durable any more, whatever is reported of older operations.
    fn bound_flushed(&mut self, to: i64) {
        if mutated!(ForgetsTheFlush) {
            return;
        }
        self.flushed_end = self.flushed_end.min(to);
        for unfinished in &mut self.unfinished {
            unfinished.flushes_to = unfinished.flushes_to.min(to);
        }
    }
}

impl LogView for LogIndex {
    fn start(&self) -> i64 {
        self.start
    }

    fn end(&self) -> LogEnd {
        let last_epoch = self
            .epochs
            .latest()
            .or(self.latest_snapshot().map(|id| id.epoch))
            .unwrap_or_default();
        LogEnd {
            last_epoch,
            last_offset: self.end,
        }
    }

    fn flushed_end(&self) -> i64 {
        self.flushed_end
    }

    fn end_for_epoch(&self, epoch: Epoch) -> LogOffsetMetadata {
        let Some(end) = self.epochs.end_offset_for(epoch, self.end) else {
            let end = self.end();
            return LogOffsetMetadata {
                epoch: end.last_epoch,
                offset: end.last_offset,
            };
        };
        match self.earliest_snapshot() {
            Some(id) if id.end_offset == end.offset && end.epoch == epoch => LogOffsetMetadata {
                epoch: id.epoch,
                offset: id.end_offset,
            },
            _ => end,
        }
    }

    fn earliest_snapshot(&self) -> Option<SnapshotId> {
        self.snapshots.iter().next().map(|(id, _)| id)
    }

    fn latest_snapshot(&self) -> Option<SnapshotId> {
        self.snapshots.iter().next_back().map(|(id, _)| id)
    }

    fn snapshot_size(&self, id: SnapshotId) -> Option<u64> {
        (id != SnapshotId::BOOTSTRAP)
            .then(|| self.snapshots.size(id))
            .flatten()
    }

    fn batch_end_at_or_before(&self, offset: i64) -> i64 {
        // A leader asks with each commit, for one of the newest.
        let mut newest = self.batch_ends.iter().rev().take(NEWEST);
        if let Some(end) = newest.find(|end| **end <= offset) {
            return *end;
        }
        let ends = self.batch_ends.partition_point(|end| *end <= offset);
        ends.checked_sub(1).map_or(self.start, |at| self.batch_ends[at])
    }

    fn oldest_unfinished(&self) -> Option<Instant> {
        self.unfinished.front().map(|oldest| oldest.submitted)
    }
}

/// So many ends of batches are looked at one by one.
const NEWEST: usize = 8;

/// Snapshots by id, in Kafka's order: epoch before offset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Snapshots(BTreeMap<(Epoch, i64), u64>);

impl Snapshots {
    pub(crate) fn insert(&mut self, id: SnapshotId, size: u64) {
        self.0.insert((id.epoch, id.end_offset), size);
    }

    pub(crate) fn remove(&mut self, id: SnapshotId) {
        self.0.remove(&(id.epoch, id.end_offset));
    }

    pub(crate) fn size(&self, id: SnapshotId) -> Option<u64> {
        self.0.get(&(id.epoch, id.end_offset)).copied()
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (SnapshotId, u64)> + '_ {
        self.0.iter().map(|((epoch, end_offset), size)| {
            let id = SnapshotId {
                end_offset: *end_offset,
                epoch: *epoch,
            };
            (id, *size)
        })
    }

    /// Forgets the snapshots ordered before `id`.
    pub(crate) fn forget_before(&mut self, id: SnapshotId) {
        self.0 = self.0.split_off(&(id.epoch, id.end_offset));
    }
}
