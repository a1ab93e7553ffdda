//! What the engine asks of the threads that touch the disk, and what comes back.
//!
//! The engine itself never waits for a disk. It hands operations over through [`Storage`], and their outcomes come
//! back as commands. [`perform_read`] and [`perform_snapshot`] are the work itself: production calls them on threads
//! of their own, a simulator inline.

use crate::command::Command;
use bytes::Bytes;
use kraft_core::{ControlRecord, SnapshotId, SnapshotWindow, StateMachine, Ticket, VoterSet};
use kraft_fs::FileSystem;
use kraft_log::{LogReader, ReadError, StorageOp};
use kraft_snapshot::{SnapshotHeader, SnapshotReadError, SnapshotReader, SnapshotWriteError, SnapshotWriter};

/// The disk as the engine sees it. Every method takes its work and returns at once.
pub trait Storage {
    /// Queues an operation for the log thread, which does them in order. The outcome comes back as
    /// `Event::Durable`, preceded by `Event::SnapshotRejected` if a fetched snapshot failed its checks, or as [`Command::StorageFailed`].
    fn submit(&mut self, ticket: Ticket, op: StorageOp);

    /// Starts a read. It comes back as [`Command::ReadDone`].
    fn read(&mut self, read: ReadId, request: ReadRequest);

    /// Starts to write a snapshot, one at a time. It comes back as
    /// [`Command::SnapshotWritten`].
    fn write_snapshot(&mut self, job: SnapshotJob);

    /// Does what is queued for the log and tells what comes of it, where that waits for nothing. Called at the end of each
    /// turn, until there is nothing to tell; a storage that leaves the work to a thread does nothing here.
    fn work<S: StateMachine>(&mut self, _tell: impl FnMut(Command<S>)) {}
}

/// A read that the engine waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReadId(pub u64);

/// Something to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadRequest {
    /// Whole batches that end at or before `up_to`, from the one that holds `from` on, as many as fit into
    /// `max_bytes`, at least one.
    Batches {
        /// An offset of the first batch.
        from: i64,
        /// The limit in bytes.
        max_bytes: u32,
        /// The limit in offsets, exclusive.
        up_to: i64,
    },
    /// Bytes of a snapshot file.
    Window(SnapshotWindow),
    /// All of a snapshot, checked.
    Snapshot(SnapshotId),
}

/// What a read gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadOutcome {
    /// Whole batches, one behind the other.
    Batches(Bytes),
    /// Bytes of a snapshot file.
    Window(Bytes),
    /// All of a snapshot.
    Snapshot(SnapshotContents),
    /// What was asked for is not there any more: cut off, or deleted.
    Gone,
    /// The disk or what is on it is damaged; the text names file and reason.
    Failed {
        /// What is wrong.
        reason: String,
    },
}

/// What a snapshot says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotContents {
    /// Timestamp of the last record that it contains, in milliseconds since 1970.
    pub last_contained_timestamp_ms: i64,
    /// The kraft.version and the voters at its end, as far as it records them.
    pub control: Vec<ControlRecord>,
    /// The values of its records, in order.
    pub values: Vec<Bytes>,
}

/// A snapshot to be written.
pub struct SnapshotJob {
    /// Its name.
    pub snapshot: SnapshotId,
    /// Timestamp of the last record that it contains, in milliseconds since 1970.
    pub last_contained_timestamp_ms: i64,
    /// What its own batches are stamped with, in milliseconds since 1970.
    pub wall_ms: i64,
    /// The kraft.version at its end.
    pub kraft_version: i16,
    /// The voters at its end, from kraft.version 1 on.
    pub voters: Option<VoterSet>,
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

/// Reads.
#[must_use]
pub fn perform_read<F: FileSystem>(reader: &LogReader<F>, request: ReadRequest) -> ReadOutcome {
    let result = match request {
        ReadRequest::Batches {
            from,
            max_bytes,
            up_to,
        } => reader
            .read(from, max_bytes as usize, up_to)
            .map(ReadOutcome::Batches),
        ReadRequest::Window(window) => reader
            .snapshot_window(
                window.snapshot,
                window.position,
                usize::try_from(window.max_bytes).unwrap_or(0),
            )
            .map(ReadOutcome::Window),
        ReadRequest::Snapshot(id) => {
            return read_snapshot(reader, id).unwrap_or_else(|error| ReadOutcome::Failed {
                reason: error.to_string(),
            });
        }
    };
    result.unwrap_or_else(|error| match error {
        ReadError::OutOfRange { .. } | ReadError::Truncated | ReadError::NoSnapshot { .. } => {
            ReadOutcome::Gone
        }
        error => ReadOutcome::Failed {
            reason: error.to_string(),
        },
    })
}

fn read_snapshot<F: FileSystem>(
    reader: &LogReader<F>,
    id: SnapshotId,
) -> Result<ReadOutcome, SnapshotReadError> {
    let Some(mut snapshot) = SnapshotReader::open(reader.fs(), reader.dir(), id)? else {
        return Ok(ReadOutcome::Gone);
    };
    let mut values = Vec::new();
    while let Some(batch) = snapshot.next_batch()? {
        values.extend(batch.values());
    }
    let header = snapshot.header();
    Ok(ReadOutcome::Snapshot(SnapshotContents {
        last_contained_timestamp_ms: header.last_contained_log_timestamp,
        control: header.control_records(),
        values,
    }))
}

/// Writes a snapshot beside the log that `reader` reads.
#[must_use]
pub fn perform_snapshot<F: FileSystem>(reader: &LogReader<F>, job: SnapshotJob) -> SnapshotOutcome {
    match write_snapshot(reader, job) {
        Ok(size) => SnapshotOutcome::Written { size },
        Err(error) => SnapshotOutcome::Failed {
            reason: error.to_string(),
        },
    }
}

fn write_snapshot<F: FileSystem>(reader: &LogReader<F>, job: SnapshotJob) -> Result<u64, SnapshotWriteError> {
    let header = SnapshotHeader {
        last_contained_log_timestamp: job.last_contained_timestamp_ms,
        kraft_version: job.kraft_version,
        voters: job.voters,
    };
    let wall_ms = job.wall_ms;
    let mut writer = SnapshotWriter::create(reader.fs(), reader.dir(), job.snapshot, &header, || wall_ms)?;
    for value in job.values {
        writer.append(&value)?;
    }
    writer.freeze()
}
