//! A log that is only its index: what a replica sees of it, and what of it survives a crash.

use kraft_core::{
    BatchInfo, ControlRecord, DiskOp, ElectionState, Epoch, Instant, LogEnd, LogOffsetMetadata, LogView,
    Recovered, ReplicaKey, SnapshotId, Ticket,
};
use std::collections::{BTreeMap, VecDeque};

/// What a log directory holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Directory {
    pub(crate) start: i64,
    pub(crate) batches: Vec<BatchInfo>,
    /// Start offset by epoch, the leader-epoch cache.
    pub(crate) epochs: BTreeMap<Epoch, i64>,
    /// In the order of snapshots: epoch before offset.
    pub(crate) snapshots: BTreeMap<(Epoch, i64), Snapshot>,
    pub(crate) election: Option<ElectionState>,
}

/// What the file holds of an election state: below kraft.version 1 it has no place for the directory id of a vote.
fn as_stored(election: &ElectionState) -> ElectionState {
    let mut stored = election.clone();
    if stored.kraft_version < 1 {
        stored.voted = stored.voted.map(|vote| ReplicaKey::without_directory(vote.id));
    }
    stored
}

/// A snapshot: its size and its control records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub(crate) size: u64,
    pub(crate) control: Vec<ControlRecord>,
    pub(crate) complete: bool,
}

impl Directory {
    pub(crate) fn end_offset(&self) -> i64 {
        self.batches.last().map_or(self.start, |batch| batch.last + 1)
    }

    fn complete_snapshots(&self) -> impl DoubleEndedIterator<Item = (SnapshotId, &Snapshot)> {
        let complete = self.snapshots.iter().filter(|(_, snapshot)| snapshot.complete);
        complete.map(|((epoch, end_offset), snapshot)| {
            let id = SnapshotId {
                end_offset: *end_offset,
                epoch: *epoch,
            };
            (id, snapshot)
        })
    }

    pub(crate) fn append(&mut self, batch: BatchInfo) {
        let newest = self.epochs.last_key_value().map(|(epoch, _)| *epoch);
        if newest.is_none_or(|newest| batch.epoch > newest) {
            self.epochs.insert(batch.epoch, batch.base);
        }
        self.batches.push(batch);
    }

    fn truncate(&mut self, to: i64) {
        self.batches.retain(|batch| batch.last < to);
        self.epochs.retain(|_, start| *start < to);
    }

    fn perform(&mut self, op: &DiskOp) {
        match op {
            DiskOp::Append { batches, .. } => batches.iter().cloned().for_each(|batch| self.append(batch)),
            DiskOp::Truncate { to } => self.truncate(*to),
            DiskOp::SnapshotChunk { snapshot, last, .. } => {
                self.snapshots.entry(key(*snapshot)).or_default().complete = *last;
            }
            DiskOp::TruncateFully { snapshot } => {
                self.batches.clear();
                self.epochs.clear();
                self.start = snapshot.end_offset;
                self.snapshots.retain(|known, _| *known == key(*snapshot));
            }
            DiskOp::StoreElection(election) => self.election = Some(as_stored(election)),
            DiskOp::StartEpoch { epoch, start } => {
                self.epochs.retain(|known, at| known < epoch && *at < *start);
                self.epochs.insert(*epoch, *start);
            }
        }
    }

    /// What a start finds here.
    pub(crate) fn recovered(&self) -> Recovered {
        Recovered {
            election: self.election.clone(),
            snapshot: self
                .complete_snapshots()
                .next_back()
                .map(|(id, snapshot)| (id, snapshot.control.clone())),
            log: self.batches.iter().flat_map(control_with_offsets).collect(),
            abstains: false,
        }
    }
}

pub(crate) fn key(id: SnapshotId) -> (Epoch, i64) {
    (id.epoch, id.end_offset)
}

fn control_with_offsets(batch: &BatchInfo) -> Vec<(i64, ControlRecord)> {
    let records = batch.control.iter().flatten().cloned();
    (batch.base..).zip(records).collect()
}

/// The directory as submitted operations leave it, and as it is on disk.
#[derive(Debug, Clone, Default)]
pub(crate) struct ModelLog {
    pub(crate) seen: Directory,
    pub(crate) durable: Directory,
    pending: VecDeque<(Ticket, Instant, DiskOp)>,
    flushed_end: i64,
}

impl ModelLog {
    pub(crate) fn open(directory: Directory) -> Self {
        Self {
            flushed_end: directory.end_offset(),
            seen: directory.clone(),
            durable: directory,
            pending: VecDeque::new(),
        }
    }

    pub(crate) fn submit(&mut self, ticket: Ticket, op: DiskOp, now: Instant) {
        self.seen.perform(&op);
        self.flushed_end = match &op {
            DiskOp::Truncate { to } => self.flushed_end.min(*to),
            DiskOp::TruncateFully { snapshot } => snapshot.end_offset,
            DiskOp::Append { .. }
            | DiskOp::SnapshotChunk { .. }
            | DiskOp::StoreElection(_)
            | DiskOp::StartEpoch { .. } => self.flushed_end,
        };
        self.pending.push_back((ticket, now, op));
    }

    /// Makes everything up to a ticket durable.
    pub(crate) fn complete(&mut self, up_to: Ticket) {
        while self.oldest_pending().is_some_and(|oldest| oldest <= up_to) {
            let (_, _, op) = self.pending.pop_front().expect("the oldest operation is there");
            self.durable.perform(&op);
            if let DiskOp::Append { batches, .. } = &op
                && self.truncations_waiting() == 0
                && let Some(last) = batches.last()
            {
                self.flushed_end = self.flushed_end.max(last.last + 1);
            }
        }
    }

    /// While a truncation waits, what an older append made durable may already be gone from sight.
    fn truncations_waiting(&self) -> usize {
        let truncates = |op: &DiskOp| matches!(op, DiskOp::Truncate { .. } | DiskOp::TruncateFully { .. });
        self.pending.iter().filter(|(_, _, op)| truncates(op)).count()
    }

    pub(crate) fn newest_pending(&self) -> Option<Ticket> {
        self.pending.back().map(|(ticket, _, _)| *ticket)
    }

    pub(crate) fn oldest_pending(&self) -> Option<Ticket> {
        self.pending.front().map(|(ticket, _, _)| *ticket)
    }
}

impl LogView for ModelLog {
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
        let epochs = &self.seen.epochs;
        let end = self.end();
        let newest = epochs.last_key_value().map(|(epoch, _)| *epoch);
        let found = if newest == Some(epoch) {
            LogOffsetMetadata {
                epoch,
                offset: end.last_offset,
            }
        } else if let Some((_, start)) = epochs.iter().find(|(larger, _)| **larger > epoch) {
            LogOffsetMetadata {
                epoch: epochs
                    .range(..=epoch)
                    .next_back()
                    .map_or(epoch, |(smaller, _)| *smaller),
                offset: *start,
            }
        } else {
            return LogOffsetMetadata {
                epoch: end.last_epoch,
                offset: end.last_offset,
            };
        };
        match self.earliest_snapshot() {
            Some(earliest) if earliest.end_offset == found.offset && found.epoch == epoch => {
                LogOffsetMetadata {
                    epoch: earliest.epoch,
                    offset: earliest.end_offset,
                }
            }
            _ => found,
        }
    }

    fn earliest_snapshot(&self) -> Option<SnapshotId> {
        self.seen.complete_snapshots().next().map(|(id, _)| id)
    }

    fn latest_snapshot(&self) -> Option<SnapshotId> {
        self.seen.complete_snapshots().next_back().map(|(id, _)| id)
    }

    fn snapshot_size(&self, id: SnapshotId) -> Option<u64> {
        self.seen
            .snapshots
            .get(&key(id))
            .filter(|snapshot| snapshot.complete && id != SnapshotId::BOOTSTRAP)
            .map(|snapshot| snapshot.size)
    }

    fn batch_end_at_or_before(&self, offset: i64) -> i64 {
        let mut ends = self.seen.batches.iter().map(|batch| batch.last + 1);
        ends.rfind(|end| *end <= offset).unwrap_or(self.seen.start)
    }

    fn oldest_unfinished(&self) -> Option<Instant> {
        self.pending.front().map(|(_, since, _)| *since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::records::batches;
    use kraft_core::AppendPayload;

    fn log(text: &str) -> ModelLog {
        let mut directory = Directory::default();
        batches(text, 0)
            .expect("batches")
            .into_iter()
            .for_each(|batch| directory.append(batch));
        ModelLog::open(directory)
    }

    #[test]
    fn an_epoch_ends_where_the_next_larger_one_begins() {
        let log = log("1x15,3x5,4x10");
        let ends: Vec<_> = (0..=5)
            .map(|epoch| log.end_for_epoch(Epoch(epoch)))
            .map(|end| (end.offset, end.epoch.0))
            .collect();
        assert_eq!(ends, [(0, 0), (15, 1), (15, 1), (20, 3), (30, 4), (30, 4)]);
    }

    #[test]
    fn only_completed_operations_are_durable() {
        let mut log = log("1x2");
        let batches = batches("1x3", 2).expect("batches");
        let payload = AppendPayload::Control {
            records: Vec::new(),
            timestamp_ms: 0,
        };
        let append = DiskOp::Append {
            base: 2,
            batches: batches.into(),
            payload,
        };
        log.submit(Ticket(1), append, Instant(0));
        log.submit(Ticket(2), DiskOp::Truncate { to: 2 }, Instant(0));
        assert_eq!((log.end().last_offset, log.flushed_end()), (2, 2));
        log.complete(Ticket(1));
        assert_eq!((log.flushed_end(), log.durable.end_offset()), (2, 5));
        log.complete(Ticket(2));
        assert_eq!((log.flushed_end(), log.durable.end_offset()), (2, 2));
        assert_eq!(log.oldest_unfinished(), None);
    }
}
