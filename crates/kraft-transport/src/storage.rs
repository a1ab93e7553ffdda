//! What the engine asks of the threads that touch the disk, and what comes back.

use bytes::Bytes;
use kraft_core::{SnapshotId, SnapshotWindow};

/// A read that the engine waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReadId(pub u64);

/// Something to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadRequest {
    /// Whole batches, from the one that holds `from` on, as many as fit into `max_bytes`, at least one.
    Batches {
        /// An offset of the first batch.
        from: i64,
        /// The limit.
        max_bytes: u32,
    },
    /// Bytes of a snapshot file.
    Window(SnapshotWindow),
    /// All batches of a snapshot, checked.
    Snapshot(SnapshotId),
}

/// What a read gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadOutcome {
    /// Whole batches in order.
    Batches(Vec<Bytes>),
    /// Bytes of a snapshot file.
    Window(Bytes),
    /// What was asked for is not there any more: cut off, or deleted.
    Gone,
    /// The disk or what is on it is damaged; the text names file and reason.
    Failed {
        /// What is wrong.
        reason: String,
    },
}

/// A snapshot to be written by a thread that has time for it.
pub struct SnapshotJob {
    /// Its name.
    pub snapshot: SnapshotId,
    /// Timestamp of the last record that it contains, in milliseconds since 1970.
    pub last_contained_timestamp_ms: i64,
    /// The kraft.version at its end.
    pub kraft_version: i16,
    /// The voters at its end, if there are any to write.
    pub voters: Option<kraft_core::VoterSet>,
    /// The values of its records.
    pub values: Box<dyn Iterator<Item = Vec<u8>> + Send>,
}

/// What became of a snapshot that was to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnapshotOutcome {
    /// It is complete and durable.
    Written {
        /// The size of its file.
        size: u64,
    },
    /// It is not there; the text says why.
    Failed {
        /// What went wrong.
        reason: String,
    },
}
