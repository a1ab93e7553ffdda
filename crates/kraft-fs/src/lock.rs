//! The lock of a directory.

use std::{
    any::Any,
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};
use thiserror::Error;

/// The name of the lock file, Kafka's.
pub(crate) const LOCK_FILE: &str = ".lock";

/// The lock of a directory, held until it is dropped.
pub struct DirLock {
    _held: Box<dyn Any + Send + Sync>,
}

impl DirLock {
    pub(crate) fn new(held: impl Any + Send + Sync) -> Self {
        Self {
            _held: Box::new(held),
        }
    }
}

impl std::fmt::Debug for DirLock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DirLock")
    }
}

/// Why a directory could not be locked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LockError {
    /// Another process has it.
    #[error("{} is locked by another process: stop it, or give this node another directory", path.display())]
    HeldByOther {
        /// The lock file.
        path: PathBuf,
    },
    /// This process has it already.
    #[error("{} is locked by another node of this process: give each its own directory", path.display())]
    HeldHere {
        /// The lock file.
        path: PathBuf,
    },
    /// The lock file cannot be opened or locked.
    #[error("{} cannot be locked: {source}; check the path and its permissions", path.display())]
    Io {
        /// The lock file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The directories that this process has locked.
///
/// A POSIX record lock belongs to the process: a second request would succeed, and closing the second descriptor
/// would drop the lock. So nobody may even open the file twice.
static HELD_HERE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A claim on one entry of the registry.
pub(crate) struct Registered(PathBuf);

impl Registered {
    /// Claims a canonical directory path; `None` if this process holds it.
    pub(crate) fn claim(dir: &Path) -> Option<Self> {
        HELD_HERE
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(dir.to_owned())
            .then(|| Self(dir.to_owned()))
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        HELD_HERE
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.0);
    }
}
