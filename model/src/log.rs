//! A log that is a list of batches.

use kraft_core::{
    BatchInfo, DiskOp, ElectionState, Epoch, Instant, LogEnd, LogOffsetMetadata, LogView, SnapshotId,
};

/// What storage holds, flushed or not.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    pub(crate) election: Option<ElectionState>,
    pub(crate) end: LogEnd,
    pub(crate) flushed: i64,
    pub(crate) batches: Vec<BatchInfo>,
    pub(crate) unfinished: Option<Instant>,
    epochs: Vec<(Epoch, i64)>,
}

impl Log {
    pub(crate) fn new() -> Self {
        Self {
            election: None,
            end: LogEnd {
                last_epoch: Epoch(0),
                last_offset: 0,
            },
            flushed: 0,
            batches: Vec::new(),
            unfinished: None,
            epochs: Vec::new(),
        }
    }

    /// Carries out an operation of the core.
    pub(crate) fn apply(&mut self, op: &DiskOp) {
        match op {
            DiskOp::Append { base, batches, .. } => {
                assert_eq!(*base, self.end.last_offset, "appends continue the log");
                for batch in batches {
                    assert_eq!(batch.base, self.end.last_offset, "batches continue the log");
                    self.enter_epoch(batch.epoch, batch.base);
                    self.end.last_offset = batch.last + 1;
                    self.batches.push(batch.clone());
                }
            }
            DiskOp::Truncate { to } => {
                self.batches.retain(|batch| batch.last < *to);
                self.epochs.retain(|(_, start)| start < to);
                self.end = LogEnd {
                    last_epoch: self.epochs.last().map_or(Epoch(0), |(epoch, _)| *epoch),
                    last_offset: *to,
                };
                self.flushed = self.flushed.min(*to);
            }
            DiskOp::StoreElection(state) => self.election = Some(state.clone()),
            DiskOp::StartEpoch { epoch, start } => self.enter_epoch(*epoch, *start),
            DiskOp::SnapshotChunk { .. } | DiskOp::TruncateFully { .. } => {
                panic!("nobody has a snapshot here: {op:?}")
            }
        }
    }

    fn enter_epoch(&mut self, epoch: Epoch, start: i64) {
        if self.epochs.last().is_none_or(|(newest, _)| *newest < epoch) {
            self.epochs.push((epoch, start));
        }
        self.end.last_epoch = epoch;
    }
}

impl LogView for Log {
    fn start(&self) -> i64 {
        0
    }

    fn end(&self) -> LogEnd {
        self.end
    }

    fn flushed_end(&self) -> i64 {
        self.flushed
    }

    fn end_for_epoch(&self, epoch: Epoch) -> LogOffsetMetadata {
        let Some((_, start)) = self.epochs.iter().find(|(larger, _)| *larger > epoch) else {
            return LogOffsetMetadata {
                epoch: self.end.last_epoch,
                offset: self.end.last_offset,
            };
        };
        let before = self.epochs.iter().rfind(|(smaller, _)| *smaller <= epoch);
        LogOffsetMetadata {
            epoch: before.map_or(epoch, |(smaller, _)| *smaller),
            offset: *start,
        }
    }

    fn earliest_snapshot(&self) -> Option<SnapshotId> {
        None
    }

    fn latest_snapshot(&self) -> Option<SnapshotId> {
        None
    }

    fn snapshot_size(&self, _: SnapshotId) -> Option<u64> {
        None
    }

    fn batch_end_at_or_before(&self, offset: i64) -> i64 {
        self.batches
            .iter()
            .map(|batch| batch.last + 1)
            .filter(|end| *end <= offset)
            .max()
            .unwrap_or(0)
    }

    fn oldest_unfinished(&self) -> Option<Instant> {
        self.unfinished
    }
}
