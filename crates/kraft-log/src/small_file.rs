//! Reading a small file as a whole, so that "unreadable" and "malformed" name the file and neither looks like "absent".

use std::{
    io,
    path::{Path, PathBuf},
};

use kraft_fs::FileSystem;
use thiserror::Error;

/// Why a small file cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SmallFileError<E> {
    /// The operating system does not give it.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Its content is not what it has to be.
    #[error("{}: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: E,
    },
}

/// The parsed content of `dir/name`, `None` if there is no such file.
pub(crate) fn read<F: FileSystem, T, E>(
    fs: &F,
    dir: &Path,
    name: &str,
    parse: impl FnOnce(&[u8]) -> Result<T, E>,
) -> Result<Option<T>, SmallFileError<E>> {
    let path = dir.join(name);
    match fs.read_bounded(&path, BYTES_MAX) {
        Ok(None) => Ok(None),
        Ok(Some(bytes)) => match parse(&bytes) {
            Ok(value) => Ok(Some(value)),
            Err(reason) => Err(SmallFileError::Malformed { path, reason }),
        },
        Err(source) => Err(SmallFileError::Io { path, source }),
    }
}

/// Far above anything that a node writes: a leader-epoch cache of this size has millions of epochs.
const BYTES_MAX: usize = 64 << 20;
