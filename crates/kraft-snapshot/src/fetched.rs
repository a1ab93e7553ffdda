//! A snapshot that arrives in pieces from the leader.

use std::{
    io,
    path::{Path, PathBuf},
};

use kraft_core::SnapshotId;
use kraft_fs::FileSystem;
use thiserror::Error;

use crate::{
    header::SnapshotHeader,
    part_file::PartFile,
    reader::{SnapshotReadError, SnapshotReader},
    writer::SNAPSHOT_BYTES_MAX,
};

/// Why a piece is not taken or a fetched snapshot not frozen.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FetchedSnapshotError {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The part file, or the directory if there is none yet.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A piece that does not follow the one before.
    #[error("a piece at byte {position}, {expected} is next")]
    Position {
        /// The bytes that are there.
        expected: u64,
        /// Where the piece begins.
        position: u64,
    },
    /// More bytes than any snapshot has.
    #[error("the snapshot grows beyond {SNAPSHOT_BYTES_MAX} bytes")]
    TooLarge,
    /// What arrived is no whole snapshot of that id.
    #[error(transparent)]
    Damaged(SnapshotReadError),
}

/// Reassembles a snapshot. Dropped before it is frozen, it leaves nothing behind: a download begins anew.
pub struct FetchedSnapshot<F: FileSystem> {
    fs: F,
    part: PartFile<F>,
}

impl<F: FileSystem> FetchedSnapshot<F> {
    /// Creates the part file in `dir`.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(fs: &F, dir: &Path, id: SnapshotId) -> Result<Self, FetchedSnapshotError> {
        let part = PartFile::create(fs, dir, id).map_err(|source| FetchedSnapshotError::Io {
            path: dir.to_owned(),
            source,
        })?;
        Ok(Self { fs: fs.clone(), part })
    }

    /// Which snapshot.
    #[must_use]
    pub fn id(&self) -> SnapshotId {
        self.part.id()
    }

    /// The bytes so far, which is where the next piece begins.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.part.len()
    }

    /// Adds a piece.
    ///
    /// # Errors
    /// It does not begin at [`size`](Self::size), or cannot be written.
    pub fn append(&mut self, position: u64, bytes: &[u8]) -> Result<(), FetchedSnapshotError> {
        let expected = self.size();
        if position != expected {
            return Err(FetchedSnapshotError::Position { expected, position });
        }
        if bytes.len() as u64 > SNAPSHOT_BYTES_MAX - expected {
            return Err(FetchedSnapshotError::TooLarge);
        }
        let appended = self.part.append(bytes);
        appended.map_err(|source| io_error(self.part.path(), source))
    }

    /// Verifies the whole snapshot and gives it its final name, durably. Nothing but a good snapshot ever gets that
    /// name; anything else is removed.
    ///
    /// # Errors
    /// The bytes are no whole snapshot of this id, or the file cannot be synced or renamed.
    pub fn freeze(self) -> Result<SnapshotHeader, FetchedSnapshotError> {
        let path = self.part.path().to_owned();
        let opened = SnapshotReader::open_file(&self.fs, &path, self.id()).map_err(read_error)?;
        let mut reader = opened.ok_or_else(|| io_error(&path, io::ErrorKind::NotFound.into()))?;
        reader.verify_rest().map_err(read_error)?;
        self.part.freeze().map_err(|source| io_error(&path, source))?;
        Ok(reader.header().clone())
    }
}

fn io_error(path: &Path, source: io::Error) -> FetchedSnapshotError {
    FetchedSnapshotError::Io {
        path: path.to_owned(),
        source,
    }
}

fn read_error(error: SnapshotReadError) -> FetchedSnapshotError {
    match error {
        SnapshotReadError::Io { path, source } => FetchedSnapshotError::Io { path, source },
        damaged @ SnapshotReadError::Damaged { .. } => FetchedSnapshotError::Damaged(damaged),
    }
}
