//! Positions in the log.

use crate::ids::Epoch;

/// The tip of a log: the epoch of its last entry and the offset that the next record gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LogEnd {
    /// Newest epoch of the leader-epoch cache, or of the snapshot that the log starts at.
    pub last_epoch: Epoch,
    /// The next offset to be written.
    pub last_offset: i64,
}

/// An end offset of an epoch, as divergence answers carry it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LogOffsetMetadata {
    /// The epoch.
    pub epoch: Epoch,
    /// The offset behind the epoch's last record.
    pub offset: i64,
}

/// The name of a snapshot (KIP-630): the offset behind its last record and the epoch of that record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SnapshotId {
    /// The offset behind the last record that the snapshot contains.
    pub end_offset: i64,
    /// The epoch of that last record.
    pub epoch: Epoch,
}

impl SnapshotId {
    /// The checkpoint that a formatted directory starts with.
    pub const BOOTSTRAP: Self = Self {
        end_offset: 0,
        epoch: Epoch(0),
    };
}
