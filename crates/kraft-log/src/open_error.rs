//! Why a log directory is not opened.

use crate::{
    epoch_checkpoint::EpochCheckpointError,
    partition_metadata::PartitionMetadataError,
    quorum_state::QuorumStateError,
    recover::{Loss, WayOut, WaysOut, ways_out},
    scan::BatchFault,
    small_file::SmallFileError,
    storage_error::StorageError,
    tail::NotTorn,
};
use kraft_core::Epoch;
use kraft_fs::FileSystem;
use kraft_snapshot::SnapshotReadError;
use std::{
    fmt, io,
    path::{Path, PathBuf},
};
use thiserror::Error;
use uuid::Uuid;

/// A log directory that is not opened: why, what is lost at most, and what can be done. The display form is one line for
/// an operator.
#[derive(Debug, Error)]
pub struct Refusal {
    /// Why.
    #[source]
    pub cause: Box<OpenError>,
    /// What of the log is gone, where that can be told.
    pub loss: Option<Loss>,
    /// What can be done, the best first.
    pub ways_out: Vec<WayOut>,
    /// The metadata directory.
    dir: PathBuf,
}

impl Refusal {
    /// Looks for ways out of what keeps the log in `partition` from being opened.
    pub(crate) fn new<F: FileSystem>(fs: &F, partition: &Path, cause: OpenError) -> Self {
        let WaysOut { loss, ways } = ways_out(fs, partition, &cause);
        Self {
            cause: Box::new(cause),
            loss,
            ways_out: ways,
            dir: partition.parent().unwrap_or(partition).to_owned(),
        }
    }

    /// The file that is damaged or in the way, and the byte, where it is one of a log or a snapshot.
    #[must_use]
    pub fn place(&self) -> (Option<&Path>, Option<u64>) {
        self.cause.place()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.cause)?;
        if matches!(*self.cause, OpenError::Repair(_)) {
            return Ok(());
        }
        f.write_str(". Nothing was changed")?;
        if self.cause.is_io() {
            f.write_str(". Check the disk, the path and its permissions")?;
        }
        if let Some(loss) = &self.loss {
            write!(f, ". Lost at most: {loss}")?;
        }
        for (n, way) in self.ways_out.iter().enumerate() {
            let joint = if n == 0 {
                ". Ways out (--dry-run shows the plan): "
            } else {
                "; "
            };
            write!(f, "{joint}{}", way.sentence(&self.dir))?;
        }
        Ok(())
    }
}

/// Why a log directory is not opened. Unless it is [`Repair`](Self::Repair), nothing has been written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The operating system does not let us read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A name that ends like one of the log's files and is none. Guessing what it is would be worse than asking.
    #[error("{} is named like a file of the log, but not quite: move it out of the directory", path.display())]
    StrangeName {
        /// The file.
        path: PathBuf,
    },
    /// A directory that has the name of one of the log's files, which can then be neither read nor written.
    #[error("{} is a directory, and a file of the log has that name: move it out of the way", path.display())]
    NotAFile {
        /// The directory.
        path: PathBuf,
    },
    /// A segment or a snapshot by which the log comes further than any does. No checksum covers a name.
    #[error("{}: no log comes to offset {offset}: the file has a wrong name", path.display())]
    OffsetOutOfRange {
        /// The file.
        path: PathBuf,
        /// The offset in its name, or at which it ends.
        offset: i64,
    },
    /// An epoch that none follows. No checksum covers it.
    #[error("{}: no quorum comes to epoch {epoch}", path.display())]
    EpochOutOfRange {
        /// The segment, the snapshot, `quorum-state` or `leader-epoch-checkpoint`.
        path: PathBuf,
        /// The epoch.
        epoch: Epoch,
    },
    /// A level of kraft.version in the log that this release does not know.
    #[error("{}: kraft.version {level} at offset {offset} is not known to this release: start the one that wrote it", path.display())]
    UnknownKRaftVersion {
        /// The segment.
        path: PathBuf,
        /// The level.
        level: i16,
        /// The offset of its record.
        offset: i64,
    },
    /// A segment larger than positions in it can be.
    #[error("{} has {len} bytes, a segment has less than 2147483648; where it ends in zeros, truncate -s 2147483647 takes nothing else", path.display())]
    SegmentTooLarge {
        /// The segment.
        path: PathBuf,
        /// Its size.
        len: u64,
    },
    /// `quorum-state` cannot be used.
    #[error("{0}. It holds this node's vote and is not guessed")]
    QuorumState(#[from] SmallFileError<QuorumStateError>),
    /// `leader-epoch-checkpoint` cannot be used.
    #[error("{0}. The file can be rebuilt from the log: move it away and start again")]
    EpochCheckpoint(#[from] SmallFileError<EpochCheckpointError>),
    /// `partition.metadata` cannot be used.
    #[error("{0}. The file holds nothing but the topic id: move it away and start again")]
    PartitionMetadata(#[from] SmallFileError<PartitionMetadataError>),
    /// The directory belongs to another topic.
    #[error("{}: topic id {found} is not that of the log: if it is the log of this node all the same, move the file away and start again", path.display())]
    WrongTopic {
        /// `partition.metadata`.
        path: PathBuf,
        /// What it names.
        found: Uuid,
    },
    /// Bytes in the log that are no valid batch, and that no crash leaves.
    #[error(
        "{}: byte {position}: {fault}{}",
        path.display(),
        why.map_or(String::new(), |why| format!("; {why}, so this is not what a crash leaves"))
    )]
    Damaged {
        /// The segment.
        path: PathBuf,
        /// Where in it.
        position: u64,
        /// What is wrong there.
        fault: BatchFault,
        /// In the last segment: why it is not taken for the trace of a crash.
        why: Option<NotTorn>,
    },
    /// The log ends before a place that had been durable.
    #[error("{}: byte {end}: the log ends here, but {why}", path.display())]
    Short {
        /// The last segment.
        path: PathBuf,
        /// Where its batches end.
        end: u64,
        /// What proves that there was more.
        why: NotTorn,
    },
    /// A segment does not begin where the one before ends.
    #[error(
        "{} begins at offset {found}, the log before it ends at {expected}",
        path.display()
    )]
    NotContiguous {
        /// The later segment.
        path: PathBuf,
        /// Where the earlier one ends.
        expected: i64,
        /// The base offset in its name.
        found: i64,
    },
    /// The epoch cache knows of an epoch that begins behind the end of the log, so there was more.
    #[error(
        "{}: epoch {epoch} begins at offset {start}, but the log ends at {end}: records are missing",
        path.display()
    )]
    EpochBeyondEnd {
        /// `leader-epoch-checkpoint`.
        path: PathBuf,
        /// The epoch.
        epoch: Epoch,
        /// Where it begins.
        start: i64,
        /// Where the log ends.
        end: i64,
    },
    /// There is a log, but no `quorum-state`, so nobody knows whom this node voted for.
    #[error("{} is missing beside a log that has been used", path.display())]
    QuorumStateMissing {
        /// `quorum-state`.
        path: PathBuf,
    },
    /// What came before the first segment is in no snapshot.
    #[error(
        "{} begins at offset {start}, and no snapshot holds what was before{}",
        path.display(),
        latest.map_or(String::new(), |end| format!(": the latest ends at offset {end}"))
    )]
    NoSnapshot {
        /// The first segment.
        path: PathBuf,
        /// Where it begins.
        start: i64,
        /// Where the latest snapshot ends.
        latest: Option<i64>,
    },
    /// The latest snapshot cannot be used.
    #[error("{0}")]
    Snapshot(#[from] SnapshotReadError),
    /// What was found is good, but bringing it in order failed.
    #[error(transparent)]
    Repair(#[from] StorageError),
}

impl OpenError {
    /// Whether the operating system does not let us read, so that nothing is known to be damaged.
    pub(crate) fn is_io(&self) -> bool {
        matches!(
            self,
            Self::Io { .. }
                | Self::Snapshot(SnapshotReadError::Io { .. })
                | Self::QuorumState(SmallFileError::Io { .. })
                | Self::EpochCheckpoint(SmallFileError::Io { .. })
                | Self::PartitionMetadata(SmallFileError::Io { .. })
        )
    }

    /// The file that is damaged or in the way, and the byte, where it is one of a log or a snapshot.
    #[must_use]
    pub fn place(&self) -> (Option<&Path>, Option<u64>) {
        match self {
            Self::Damaged { path, position, .. }
            | Self::Short {
                path, end: position, ..
            }
            | Self::Snapshot(SnapshotReadError::Damaged { path, position, .. }) => {
                (Some(path), Some(*position))
            }
            Self::Io { path, .. }
            | Self::StrangeName { path }
            | Self::NotAFile { path }
            | Self::OffsetOutOfRange { path, .. }
            | Self::EpochOutOfRange { path, .. }
            | Self::UnknownKRaftVersion { path, .. }
            | Self::SegmentTooLarge { path, .. }
            | Self::WrongTopic { path, .. }
            | Self::NotContiguous { path, .. }
            | Self::EpochBeyondEnd { path, .. }
            | Self::QuorumStateMissing { path }
            | Self::NoSnapshot { path, .. }
            | Self::Snapshot(SnapshotReadError::Io { path, .. })
            | Self::QuorumState(SmallFileError::Io { path, .. } | SmallFileError::Malformed { path, .. })
            | Self::EpochCheckpoint(
                SmallFileError::Io { path, .. } | SmallFileError::Malformed { path, .. },
            )
            | Self::PartitionMetadata(
                SmallFileError::Io { path, .. } | SmallFileError::Malformed { path, .. },
            ) => (Some(path), None),
            Self::Snapshot(_) | Self::Repair(_) => (None, None),
        }
    }
}

/// Turns an `io::Error` into an [`OpenError`] that names the file.
pub(crate) fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> OpenError {
    let path = path.to_owned();
    move |source| OpenError::Io { path, source }
}
