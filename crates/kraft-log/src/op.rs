//! The operations of the log thread.

use bytes::Bytes;
use kraft_core::{BatchInfo, ElectionState, Epoch, SnapshotId};

/// A `kraft_core::DiskOp` together with its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StorageOp {
    /// Append batches at the end of the log.
    Append {
        /// The batches, encoded, one behind the other and nothing else.
        batches: Bytes,
        /// What each of them is, in order; their sizes add up to all bytes.
        infos: Vec<BatchInfo>,
    },
    /// Cut the log so that `to` is its end.
    Truncate {
        /// The new end.
        to: i64,
    },
    /// Replace the whole log by a snapshot that has been stored: the log starts and ends at its end offset.
    TruncateFully {
        /// Which snapshot.
        snapshot: SnapshotId,
    },
    /// Store a piece of a snapshot that is being fetched. A piece at position 0 begins anew.
    SnapshotChunk {
        /// Which snapshot.
        snapshot: SnapshotId,
        /// Where the piece begins.
        position: u64,
        /// The piece.
        bytes: Bytes,
        /// Whether the snapshot is complete with it.
        last: bool,
    },
    /// Delete what there is of a snapshot that is being fetched.
    AbandonSnapshot {
        /// Which snapshot.
        snapshot: SnapshotId,
    },
    /// Replace `quorum-state`.
    StoreElection(ElectionState),
    /// Remove what retention does not keep: old snapshots, and the segments before the oldest one that is left.
    Clean {
        /// Nothing at or above it goes.
        high_watermark: i64,
        /// The time, in milliseconds since 1970.
        now_ms: i64,
    },
    /// Forget that the node was to abstain from votes: it has its log again.
    ResumeVoting,
    /// Enter an epoch into the leader-epoch cache.
    StartEpoch {
        /// The epoch.
        epoch: Epoch,
        /// Where it begins.
        start: i64,
    },
}

/// The most that is written before a sync, unless a single batch is larger. Recovery counts on it: what a crash can
/// have torn lies within this of the end.
pub(crate) const ROUND_BYTES_MAX: u64 = 4 << 20;
