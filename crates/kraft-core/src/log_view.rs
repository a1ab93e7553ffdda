//! The narrow, read-only view of the log that a step is given.

use crate::{
    ids::Epoch,
    offsets::{LogEnd, LogOffsetMetadata, SnapshotId},
    time::Instant,
};

/// The in-memory index of the log, owned by the engine.
///
/// A submitted operation changes the view before the next step; a completed one moves [`flushed_end`](Self::flushed_end);
/// a truncation lowers it at once.
pub trait LogView {
    /// The first offset that the log still has.
    fn start(&self) -> i64;

    /// The end of the log, unflushed batches included.
    ///
    /// `last_epoch` is the newest entry of the epoch cache (which may have no record yet), else the epoch of the
    /// latest snapshot, else 0.
    fn end(&self) -> LogEnd;

    /// The offset below which everything is durable.
    fn flushed_end(&self) -> i64;

    /// Where `epoch` ends, by the rules of `endOffsetForEpoch` (KIP-101, KIP-595): for the newest epoch and for
    /// anything newer the log end; otherwise the start of the next larger epoch, with the largest epoch that is not larger.
    /// A result that equals the end of the earliest snapshot is answered as that snapshot's id.
    fn end_for_epoch(&self, epoch: Epoch) -> LogOffsetMetadata;

    /// The oldest snapshot, the bootstrap checkpoint included.
    fn earliest_snapshot(&self) -> Option<SnapshotId>;

    /// The newest snapshot, the bootstrap checkpoint included.
    fn latest_snapshot(&self) -> Option<SnapshotId>;

    /// The size in bytes of a snapshot that exists and may be served.
    fn snapshot_size(&self, id: SnapshotId) -> Option<u64>;

    /// The largest end of a batch that is not behind `offset`; the log start when there is none.
    fn batch_end_at_or_before(&self, offset: i64) -> i64;

    /// When the oldest disk operation that is not finished was submitted.
    fn oldest_unfinished(&self) -> Option<Instant>;
}
