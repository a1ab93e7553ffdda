//! A log of which only the ends are kept.

use kraft_core::{BatchInfo, DiskOp, Epoch, Instant, LogEnd, LogOffsetMetadata, LogView, SnapshotId, Ticket};

/// What the core sees of storage. Everything is durable as soon as somebody says so.
#[derive(Clone)]
pub(super) struct Log {
    end: LogEnd,
    flushed: i64,
    ordered: Ticket,
    durable: Ticket,
    newest: BatchInfo,
}

impl Log {
    pub(super) fn new() -> Self {
        Self {
            end: LogEnd {
                last_epoch: Epoch(0),
                last_offset: 0,
            },
            flushed: 0,
            ordered: Ticket::NONE,
            durable: Ticket::NONE,
            newest: BatchInfo {
                base: 0,
                last: -1,
                epoch: Epoch(0),
                bytes: 0,
                control: None,
            },
        }
    }

    /// Takes over an operation that the core has ordered.
    #[inline(always)]
    pub(super) fn order(&mut self, ticket: Ticket, op: &DiskOp) {
        self.ordered = ticket;
        match op {
            DiskOp::Append { batches, .. } => {
                let newest = batches.last().expect("an append has batches");
                self.end = LogEnd {
                    last_epoch: newest.epoch,
                    last_offset: newest.last + 1,
                };
                self.newest.clone_from(newest);
            }
            DiskOp::StartEpoch { epoch, .. } => self.end.last_epoch = *epoch,
            DiskOp::StoreElection(_) => {}
            DiskOp::Truncate { .. } | DiskOp::TruncateFully { .. } | DiskOp::SnapshotChunk { .. } => {
                panic!("nobody loses anything here")
            }
        }
    }

    /// Makes everything durable. Returns up to which operation that is new.
    #[inline(always)]
    pub(super) fn flush(&mut self) -> Option<Ticket> {
        if self.durable == self.ordered {
            return None;
        }
        self.durable = self.ordered;
        self.flushed = self.end.last_offset;
        Some(self.durable)
    }

    /// The newest batch, which is all that a follower ever lacks.
    pub(super) fn newest(&self) -> &BatchInfo {
        &self.newest
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

    /// One epoch follows the other without a change of leader in between.
    fn end_for_epoch(&self, _: Epoch) -> LogOffsetMetadata {
        LogOffsetMetadata {
            epoch: self.end.last_epoch,
            offset: self.end.last_offset,
        }
    }

    fn earliest_snapshot(&self) -> Option<SnapshotId> {
        Some(SnapshotId::BOOTSTRAP)
    }

    fn latest_snapshot(&self) -> Option<SnapshotId> {
        Some(SnapshotId::BOOTSTRAP)
    }

    fn snapshot_size(&self, _: SnapshotId) -> Option<u64> {
        None
    }

    fn batch_end_at_or_before(&self, offset: i64) -> i64 {
        offset
    }

    fn oldest_unfinished(&self) -> Option<Instant> {
        None
    }
}
