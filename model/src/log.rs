//! A log that is a list of batches, with the snapshots beside it.

use kraft_core::{
    BatchInfo, ControlRecord, DiskOp, ElectionState, Epoch, Instant, LogEnd, LogOffsetMetadata, LogView,
    PayloadId, SnapshotId,
};
use std::sync::Arc;

/// Every snapshot comes in two pieces of one byte.
pub(crate) const SNAPSHOT_SIZE: u64 = 2;

/// A piece of a snapshot as the leader has it.
pub(crate) const SOUND: PayloadId = PayloadId(0);

/// A piece that was damaged on its way.
pub(crate) const DAMAGED: PayloadId = PayloadId(1);

/// A snapshot and the control records at its head.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Snapshot {
    pub(crate) id: SnapshotId,
    pub(crate) control: Vec<ControlRecord>,
}

/// What there is of a snapshot that is being fetched.
#[derive(Clone, Debug, Hash)]
struct Pieces {
    id: SnapshotId,
    sound: bool,
}

/// What becomes known when an operation is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    Rejected(SnapshotId),
    Stored(SnapshotId),
    Installed(SnapshotId),
}

/// What storage holds, flushed or not.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Log {
    pub(crate) election: Option<ElectionState>,
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) flushed: i64,
    pub(crate) batches: Vec<Arc<BatchInfo>>,
    /// In the order of their ids, epoch before offset.
    pub(crate) snapshots: Vec<Snapshot>,
    pub(crate) unfinished: Option<Instant>,
    epochs: Vec<(Epoch, i64)>,
    pieces: Option<Pieces>,
}

impl Log {
    pub(crate) fn new(snapshots: Vec<Snapshot>) -> Self {
        Self {
            election: None,
            start: 0,
            end: 0,
            flushed: 0,
            batches: Vec::new(),
            snapshots,
            unfinished: None,
            epochs: Vec::new(),
            pieces: None,
        }
    }

    /// Carries out an operation of the core. `control` is what every fetched snapshot says.
    pub(crate) fn apply(&mut self, op: &DiskOp, control: &[ControlRecord]) -> Option<Done> {
        match op {
            DiskOp::Append { base, batches, .. } => {
                assert_eq!(*base, self.end, "appends continue the log");
                for batch in batches {
                    assert_eq!(batch.base, self.end, "batches continue the log");
                    self.enter_epoch(batch.epoch, batch.base);
                    self.end = batch.last + 1;
                    self.batches.push(Arc::new(batch.clone()));
                }
            }
            DiskOp::Truncate { to } => {
                assert!(*to >= self.start, "what a snapshot holds is not cut");
                self.batches.retain(|batch| batch.last < *to);
                self.epochs.retain(|(_, start)| start < to);
                self.end = *to;
                self.flushed = self.flushed.min(*to);
            }
            DiskOp::StoreElection(state) => self.election = Some(state.clone()),
            DiskOp::StartEpoch { epoch, start } => self.enter_epoch(*epoch, *start),
            DiskOp::SnapshotChunk {
                snapshot,
                position,
                payload,
                last,
            } => return self.store_piece(*snapshot, *position, *payload, *last, control),
            DiskOp::TruncateFully { snapshot } => {
                self.install(*snapshot);
                return Some(Done::Installed(*snapshot));
            }
        }
        None
    }

    fn enter_epoch(&mut self, epoch: Epoch, start: i64) {
        if self.epochs.last().is_none_or(|(newest, _)| *newest < epoch) {
            self.epochs.retain(|(_, other)| *other < start);
            self.epochs.push((epoch, start));
        }
    }

    fn store_piece(
        &mut self,
        id: SnapshotId,
        position: u64,
        payload: PayloadId,
        last: bool,
        control: &[ControlRecord],
    ) -> Option<Done> {
        let before = self
            .pieces
            .take()
            .filter(|pieces| pieces.id == id && position > 0);
        let sound = payload == SOUND && (position == 0 || before.is_some_and(|pieces| pieces.sound));
        if !last {
            self.pieces = Some(Pieces { id, sound });
            return None;
        }
        if !sound {
            return Some(Done::Rejected(id));
        }
        self.add_snapshot(Snapshot {
            id,
            control: control.to_vec(),
        });
        Some(Done::Stored(id))
    }

    pub(crate) fn add_snapshot(&mut self, snapshot: Snapshot) {
        self.snapshots.retain(|other| other.id != snapshot.id);
        self.snapshots.push(snapshot);
        self.snapshots
            .sort_by_key(|snapshot| (snapshot.id.epoch, snapshot.id.end_offset));
    }

    pub(crate) fn holds(&self, id: SnapshotId) -> bool {
        self.snapshots.iter().any(|snapshot| snapshot.id == id)
    }

    fn install(&mut self, id: SnapshotId) {
        self.start = id.end_offset;
        self.end = id.end_offset;
        self.flushed = self.flushed.min(id.end_offset);
        self.batches.clear();
        self.epochs.clear();
        self.forget_before(id);
    }

    /// Gives up everything that a snapshot of its own has.
    pub(crate) fn clean(&mut self, id: SnapshotId) {
        self.start = id.end_offset;
        self.batches.retain(|batch| batch.base >= id.end_offset);
        let newest = self
            .epochs
            .iter()
            .rfind(|(_, start)| *start <= id.end_offset)
            .map(|(epoch, _)| *epoch);
        self.epochs.retain(|(_, start)| *start > id.end_offset);
        if let Some(epoch) = newest {
            self.epochs.insert(0, (epoch, id.end_offset));
        }
        self.forget_before(id);
    }

    fn forget_before(&mut self, id: SnapshotId) {
        let key = |id: SnapshotId| (id.epoch, id.end_offset);
        self.snapshots.retain(|snapshot| key(snapshot.id) >= key(id));
    }

    /// What a start makes of what a crash has left: the epoch cache is that of the batches, and a snapshot that is ahead
    /// takes the place of the log.
    pub(crate) fn recover(&mut self) {
        self.pieces = None;
        self.unfinished = None;
        self.epochs.clear();
        for batch in self.batches.clone() {
            self.enter_epoch(batch.epoch, batch.base);
        }
        if let Some(id) = self.latest_snapshot() {
            let newest = self.epochs.last().map_or(Epoch(0), |(epoch, _)| *epoch);
            if id.epoch > newest || (id.epoch == newest && id.end_offset > self.end) {
                self.install(id);
            }
        }
        self.flushed = self.end;
    }

    /// The control records of the log, each with its offset.
    pub(crate) fn control(&self) -> impl Iterator<Item = (i64, &ControlRecord)> {
        self.batches
            .iter()
            .flat_map(|batch| (batch.base..).zip(batch.control.iter().flatten()))
    }

    /// Whether the log has, perhaps among others, what a log with this end has.
    pub(crate) fn reaches(&self, end: LogEnd) -> bool {
        let last = self
            .batches
            .iter()
            .find(|batch| batch.last + 1 == end.last_offset);
        last.map_or_else(
            || self.end() == end || self.start == end.last_offset,
            |batch| batch.epoch == end.last_epoch,
        )
    }

    /// The batch that begins at `base`.
    pub(crate) fn batch_at(&self, base: i64) -> Option<&BatchInfo> {
        let batch = self.batches.iter().find(|batch| batch.base == base);
        batch.map(|batch| &**batch)
    }
}

impl LogView for Log {
    fn start(&self) -> i64 {
        self.start
    }

    fn end(&self) -> LogEnd {
        let newest = self.epochs.last().map(|(epoch, _)| *epoch);
        let snapshot = self.latest_snapshot().map(|id| id.epoch);
        LogEnd {
            last_epoch: newest.or(snapshot).unwrap_or_default(),
            last_offset: self.end,
        }
    }

    fn flushed_end(&self) -> i64 {
        self.flushed
    }

    fn end_for_epoch(&self, epoch: Epoch) -> LogOffsetMetadata {
        let end = self.end();
        let whole = LogOffsetMetadata {
            epoch: end.last_epoch,
            offset: end.last_offset,
        };
        if self.epochs.last().is_none_or(|(newest, _)| *newest == epoch) {
            return whole;
        }
        let Some((_, start)) = self.epochs.iter().find(|(larger, _)| *larger > epoch) else {
            return whole;
        };
        let before = self.epochs.iter().rfind(|(smaller, _)| *smaller <= epoch);
        let found = LogOffsetMetadata {
            epoch: before.map_or(epoch, |(smaller, _)| *smaller),
            offset: *start,
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
        self.snapshots.first().map(|snapshot| snapshot.id)
    }

    fn latest_snapshot(&self) -> Option<SnapshotId> {
        self.snapshots.last().map(|snapshot| snapshot.id)
    }

    fn snapshot_size(&self, id: SnapshotId) -> Option<u64> {
        (id != SnapshotId::BOOTSTRAP && self.holds(id)).then_some(SNAPSHOT_SIZE)
    }

    fn batch_end_at_or_before(&self, offset: i64) -> i64 {
        self.batches
            .iter()
            .map(|batch| batch.last + 1)
            .filter(|end| *end <= offset)
            .max()
            .unwrap_or(self.start)
    }

    fn oldest_unfinished(&self) -> Option<Instant> {
        self.unfinished
    }
}
