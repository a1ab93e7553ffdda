//! Whether a fetch offset fits the leader's log (KIP-595, KIP-630).

use crate::{
    ids::Epoch,
    log_view::LogView,
    offsets::{LogOffsetMetadata, SnapshotId},
};

/// What a leader makes of a fetch offset and the epoch before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FetchPosition {
    /// The fetcher's log is a prefix of ours.
    Valid,
    /// The fetcher's log leaves ours here.
    Diverging(LogOffsetMetadata),
    /// What the fetcher needs is only in this snapshot.
    Snapshot(SnapshotId),
    /// There is no answer: the log has been cut at a snapshot that is gone.
    Unanswerable,
}

/// Places the next offset of a fetcher and the epoch of the record before it in our log.
pub(crate) fn validate_fetch(log: &dyn LogView, offset: i64, last_epoch: Epoch) -> FetchPosition {
    let latest = log.latest_snapshot();
    if offset == 0
        && let Some(snapshot) = latest
        && snapshot != SnapshotId::BOOTSTRAP
    {
        return FetchPosition::Snapshot(snapshot);
    }
    let start = log.start();
    if start == 0 && offset == 0 {
        return FetchPosition::Valid;
    }
    if let Some(earliest) = log.earliest_snapshot()
        && (offset < start
            || (offset == start && last_epoch != earliest.epoch)
            || last_epoch < earliest.epoch)
    {
        return latest.map_or(FetchPosition::Unanswerable, FetchPosition::Snapshot);
    }
    let end = log.end_for_epoch(last_epoch);
    if (end.epoch != last_epoch || end.offset < offset) && !mutated!(DivergenceUnseen) {
        return FetchPosition::Diverging(end);
    }
    FetchPosition::Valid
}
