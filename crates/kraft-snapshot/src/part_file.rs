//! A snapshot file on its way from `.part` to its final name.

use std::{
    io,
    path::{Path, PathBuf},
};

use kraft_core::SnapshotId;
use kraft_fs::{File, FileSystem, Open};

use crate::name::{frozen_name, partial_name};

/// Appends to a `.part` file and freezes it. Dropped before that, it removes the file.
pub(crate) struct PartFile<F: FileSystem> {
    fs: F,
    dir: PathBuf,
    id: SnapshotId,
    path: PathBuf,
    file: F::File,
    len: u64,
    /// How much of it the disk has been told to begin with.
    begun: u64,
    frozen: bool,
}

impl<F: FileSystem> PartFile<F> {
    /// Creates an empty one beside whatever others there are of the same snapshot.
    pub(crate) fn create(fs: &F, dir: &Path, id: SnapshotId) -> io::Result<Self> {
        let mut number = 0;
        loop {
            let path = dir.join(partial_name(id, number));
            match fs.open(&path, Open::CreateNew) {
                Ok(file) => {
                    let part = Self {
                        fs: fs.clone(),
                        dir: dir.to_owned(),
                        id,
                        path,
                        file,
                        len: 0,
                        begun: 0,
                        frozen: false,
                    };
                    part.file.set_mode(MODE_PARTIAL)?;
                    return Ok(part);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn id(&self) -> SnapshotId {
        self.id
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, self.len)?;
        self.len += bytes.len() as u64;
        // The disk works while the next records are encoded or fetched. A page is left to the piece that fills it.
        let whole = self.len / PIECE_BYTES * PIECE_BYTES;
        if whole > self.begun {
            self.file.start_writing_back(self.begun, whole - self.begun);
            self.begun = whole;
        }
        Ok(())
    }

    /// Makes the file durable and read-only and gives it its final name, which is durable on return.
    pub(crate) fn freeze(mut self) -> io::Result<()> {
        self.file.set_mode(MODE_FROZEN)?;
        self.file.sync_all()?;
        self.fs.rename(&self.path, &self.dir.join(frozen_name(self.id)))?;
        self.frozen = true;
        self.fs.sync_dir(&self.dir)
    }
}

impl<F: FileSystem> Drop for PartFile<F> {
    fn drop(&mut self) {
        if !self.frozen {
            // What cannot be removed now is removed as a leftover at the next start.
            let _ = self.fs.remove(&self.path);
        }
    }
}

/// How much is handed to the disk at once.
const PIECE_BYTES: u64 = 4 << 20;
const MODE_PARTIAL: u32 = 0o600;
const MODE_FROZEN: u32 = 0o400;
