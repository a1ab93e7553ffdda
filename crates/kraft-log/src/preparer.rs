//! Making blocks ready ahead of the log thread.

use crate::blocks::{Blocks, PIECE_BYTES, Task};
use kraft_fs::{File, FileSystem, Open};
use std::{io, path::Path, sync::Arc};

/// Writes zeros ahead of the log: behind the batches of the last segment, and into a spare file that becomes the next
/// one. A write into blocks that exist changes no allocation, so that its sync is cheap.
///
/// It is for a thread of its own, which ends with the [`LogWriter`](crate::LogWriter). Without one, or when it comes
/// too late, the log extends its file by each append. It delays no round by more than the writing of a piece of zeros.
/// Where less than 16 times what is to be ready is free on the disk, nothing is made ready: the room is left to what has to be
/// written. An error ends it. If there is no room the log goes on without it; with any other error the log's next round
/// fails.
#[derive(Debug)]
pub struct Preparer<F: FileSystem> {
    blocks: Arc<Blocks<F>>,
    prepared: Prepared,
}

/// What a [`Preparer`] has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Prepared {
    /// Zeros written.
    pub bytes: u64,
    /// Syncs.
    pub syncs: u64,
}

impl<F: FileSystem> Preparer<F> {
    pub(crate) fn new(blocks: Arc<Blocks<F>>) -> Self {
        Self {
            blocks,
            prepared: Prepared::default(),
        }
    }

    /// Does what is needed until the log is closed. Blocks.
    ///
    /// # Errors
    /// The operating system refuses; nothing is prepared any more.
    pub fn run(mut self) -> io::Result<Prepared> {
        while self.blocks.wait() {
            while self.step()? {}
        }
        Ok(self.prepared)
    }

    /// Does one piece of what is needed now; says whether there was any. For whoever has no thread to spare.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn step(&mut self) -> io::Result<bool> {
        let Some(task) = self.blocks.next_task() else {
            return Ok(false);
        };
        if !self.blocks.has_room(&task) {
            self.blocks.put_off();
            return Ok(false);
        }
        let done = match task {
            Task::Extend { file, from, bytes } => self.extend(&*file, from, bytes).map(|()| None),
            Task::Spare { bytes } => self.make_spare(bytes),
        };
        match done {
            Ok(spare) => {
                self.blocks.done(spare);
                Ok(true)
            }
            Err(error) => {
                self.blocks.fail(&error);
                Err(error)
            }
        }
    }

    /// What has been done so far.
    #[must_use]
    pub fn prepared(&self) -> Prepared {
        self.prepared
    }

    fn extend(&mut self, file: &F::File, from: u64, bytes: u64) -> io::Result<()> {
        let written = file.allocate(from, bytes);
        self.blocks.zeroed(from + bytes);
        written?;
        self.sync(file, bytes)
    }

    /// The spare file; `None` if the log was closed meanwhile.
    fn make_spare(&mut self, bytes: u64) -> io::Result<Option<u64>> {
        let path = self.blocks.spare_path();
        let made = self.fill(&path, bytes);
        if !matches!(made, Ok(Some(_))) {
            // What cannot be removed now is removed as a leftover at the next start.
            let _ = self.blocks.fs().remove(&path);
        }
        made
    }

    /// One sync at the end: each would commit the growth of the file, and the log's own syncs wait for that.
    fn fill(&mut self, path: &Path, bytes: u64) -> io::Result<Option<u64>> {
        let file = self.blocks.fs().open(path, Open::Create)?;
        let mut size = 0;
        while size < bytes {
            if self.blocks.is_closed() {
                return Ok(None);
            }
            let piece = (bytes - size).min(PIECE_BYTES);
            file.allocate(size, piece)?;
            file.start_writing_back(size, piece);
            size += piece;
        }
        self.sync(&file, size)?;
        Ok(Some(size))
    }

    fn sync(&mut self, file: &F::File, bytes: u64) -> io::Result<()> {
        file.sync_data()?;
        self.prepared.bytes += bytes;
        self.prepared.syncs += 1;
        Ok(())
    }
}
