//! What can go wrong on the log thread.

use std::{
    io,
    path::{Path, PathBuf},
};
use thiserror::Error;

/// Why a round of the log thread, or its end, failed. Nothing is retried: what is on disk is then known to nobody, so
/// the node ends, and the next start looks at what is there.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StorageError {
    /// The operating system refused.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// What was being done, as "writing" or "syncing".
        doing: &'static str,
        /// To which file or directory.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// An earlier operation failed.
    #[error("an earlier storage operation failed")]
    FailedBefore,
    /// The log is to be replaced by a snapshot that is not there.
    #[error("{} is missing, and the log was to be replaced by it", path.display())]
    NoSnapshot {
        /// Where it should be.
        path: PathBuf,
    },
}

/// Turns an `io::Error` into a [`StorageError`] that says what was done to which file.
pub(crate) fn failed(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StorageError {
    move |source| StorageError::Io {
        doing,
        path: path.to_owned(),
        source,
    }
}
