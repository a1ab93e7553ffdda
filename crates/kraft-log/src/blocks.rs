//! The blocks of the last segment that exist before they are needed, as log thread and preparer share them.

use crate::names::{SPARE_FILE, log_file};
use kraft_fs::{File, FileSystem, Open};
use std::{
    io,
    path::PathBuf,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

/// Where there are blocks ahead of the batches. No byte of the last segment's file is written behind its batches, and
/// the file is not cut, but as this allows.
#[derive(Debug)]
pub(crate) struct Blocks<F: FileSystem> {
    fs: F,
    dir: PathBuf,
    prepare_bytes: u64,
    segment_bytes: u64,
    state: Mutex<State<F>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<F: FileSystem> {
    /// A handle of the preparer's own on the last segment, so that an error of a write that it caused is also seen by
    /// the log thread, whose handle has not been told of it. `None` while no segment may be extended.
    file: Option<Arc<F::File>>,
    /// Where the batches end, or will when the write that is under way is done.
    used: u64,
    /// The size of the file, or more: where a preparation has failed in the middle.
    size: u64,
    /// Whether blocks are to be made ready.
    wanted: bool,
    /// Whether zeros are being written behind `size`.
    zeroing: bool,
    /// Whether the preparer is at work, on this file or on the spare one.
    busy: bool,
    /// The size of the spare file, once all of it is there and durable.
    spare: Option<u64>,
    /// Why nothing is made ready any more, until the log thread has heard of it.
    fault: Option<io::Error>,
    closed: bool,
}

/// What the preparer is to do.
#[derive(Debug)]
pub(crate) enum Task<F: FileSystem> {
    /// Write zeros at the end of the last segment.
    Extend {
        file: Arc<F::File>,
        from: u64,
        bytes: u64,
    },
    /// Make the spare file ready, of this size.
    Spare { bytes: u64 },
}

impl<F: FileSystem> Blocks<F> {
    /// `size` is that of the last segment's file, which is full of batches.
    pub(crate) fn new(fs: F, dir: PathBuf, prepare_bytes: u64, segment_bytes: u64, size: u64) -> Self {
        Self {
            fs,
            dir,
            prepare_bytes,
            segment_bytes,
            state: Mutex::new(State {
                file: None,
                used: size,
                size,
                wanted: false,
                zeroing: false,
                busy: false,
                spare: None,
                fault: None,
                closed: false,
            }),
            changed: Condvar::new(),
        }
    }

    pub(crate) fn spare_path(&self) -> PathBuf {
        self.dir.join(SPARE_FILE)
    }

    pub(crate) fn fs(&self) -> &F {
        &self.fs
    }

    /// Goes over to the segment at `base`, whose file has `used` bytes of batches and `size` bytes in all.
    pub(crate) fn follow(&self, base: i64, used: u64, size: u64) -> io::Result<()> {
        let file = match self.prepare_bytes {
            0 => None,
            _ => Some(Arc::new(
                self.fs.open(&self.dir.join(log_file(base)), Open::ReadWrite)?,
            )),
        };
        let mut state = self.still();
        state.file = file;
        state.used = used;
        state.size = size;
        Ok(())
    }

    /// Asks for the part of the file up to `end`, before it is written. A large write is no reason to make more blocks
    /// ready: to write so much twice costs more than the dearer sync.
    ///
    /// # Errors
    /// Making blocks ready has met an error of the disk.
    pub(crate) fn claim(&self, end: u64) -> io::Result<()> {
        let mut state = self.lock();
        if let Some(fault) = state.fault.take() {
            return Err(fault);
        }
        if end > state.size {
            state = self.wait_while(state, |state| state.zeroing);
            state.size = state.size.max(end);
        }
        let large = end - state.used >= LARGE_WRITE_BYTES;
        state.used = end;
        let ahead = state.size - end + state.spare.unwrap_or(0);
        if !large && ahead < self.prepare_bytes / 2 {
            state.wanted = true;
            self.changed.notify_all();
        }
        Ok(())
    }

    /// Stops writing zeros into the last segment, until another one is followed.
    pub(crate) fn leave(&self) {
        self.still().file = None;
    }

    /// Stops writing zeros into the last segment, and has it cut at `end` if there is anything behind that.
    pub(crate) fn seal(&self, end: u64, cut: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let mut state = self.still();
        state.file = None;
        if state.size > end {
            cut()?;
            state.size = end;
        }
        Ok(())
    }

    /// Gives the spare file, if there is one, to the log as the segment at `base`. Says how large it is.
    pub(crate) fn take_spare(&self, base: i64) -> io::Result<Option<u64>> {
        let Some(size) = self.lock().spare.take() else {
            return Ok(None);
        };
        self.fs
            .rename(&self.spare_path(), &self.dir.join(log_file(base)))?;
        Ok(Some(size))
    }

    /// Ends the preparer and waits until it writes nothing any more. Its spare file stays; says whether there may be
    /// one.
    pub(crate) fn close(&self) -> bool {
        let mut state = self.lock();
        state.closed = true;
        self.changed.notify_all();
        state = self.wait_while(state, |state| state.busy);
        std::mem::take(&mut state.file);
        self.prepare_bytes > 0
    }

    /// What is to be done next; `None` if nothing is, now. What comes out has to be given back to
    /// [`done`](Self::done).
    pub(crate) fn next_task(&self) -> Option<Task<F>> {
        let mut state = self.lock();
        if !state.wanted || state.closed {
            return None;
        }
        let goal = (state.used + self.prepare_bytes).min(self.segment_bytes);
        if let Some(file) = &state.file
            && state.size < goal
        {
            let file = Arc::clone(file);
            let from = state.size;
            // A sync of the log waits for zeros that are being written beside it, so they come in small pieces, and only
            // where the log is about to catch up in large ones.
            let hurry = state.size - state.used < self.prepare_bytes / 8;
            let piece = if hurry { PIECE_BYTES } else { SMALL_PIECE_BYTES };
            // Pieces end where blocks do.
            let end = ((from + piece) / BLOCK_BYTES * BLOCK_BYTES).min(goal);
            state.zeroing = true;
            state.busy = true;
            return Some(Task::Extend {
                file,
                from,
                bytes: end - from,
            });
        }
        if state.spare.is_none() && state.used + self.prepare_bytes > self.segment_bytes {
            state.busy = true;
            let bytes = self.prepare_bytes.min(self.segment_bytes);
            return Some(Task::Spare { bytes });
        }
        state.wanted = false;
        None
    }

    /// Zeros have been written, as far as they could be, up to `end`: the log thread may write there.
    pub(crate) fn zeroed(&self, end: u64) {
        let mut state = self.lock();
        state.size = end;
        state.zeroing = false;
        self.changed.notify_all();
    }

    /// A task is done; with it a spare file of some size may be ready.
    pub(crate) fn done(&self, spare: Option<u64>) {
        let mut state = self.lock();
        if spare.is_some() {
            state.spare = spare;
        }
        state.busy = false;
        self.changed.notify_all();
    }

    /// Whether there is room on the disk for a task and, beside it, for all that the log and its owner have to write
    /// before somebody makes room. Where the disk does not say, the task finds out.
    pub(crate) fn has_room(&self, task: &Task<F>) -> bool {
        let (Task::Extend { bytes, .. } | Task::Spare { bytes }) = task;
        let needed = self
            .prepare_bytes
            .saturating_mul(ROOM_LEFT)
            .saturating_add(*bytes);
        self.fs.free_bytes(&self.dir).map_or(true, |free| free >= needed)
    }

    /// A task is not done now. What was wanted is asked for again by the next claims.
    pub(crate) fn put_off(&self) {
        let mut state = self.lock();
        state.wanted = false;
        state.zeroing = false;
        state.busy = false;
        self.changed.notify_all();
    }

    /// A task has failed, and no other one begins. Where there is no room, the log ends only when it has none itself, and
    /// the blocks that it does not use yet are left to whoever has to write.
    pub(crate) fn fail(&self, error: &io::Error) {
        let mut state = self.lock();
        if is_no_room(error) {
            if let Some(file) = &state.file
                && state.size > state.used
            {
                // Blocks that stay are used by the log. A crash may bring back those that go: whoever seals the segment
                // cuts it durably, so that its size counts as before.
                let _ = file.set_len(state.used);
            }
        } else {
            let code = error.raw_os_error().map(io::Error::from_raw_os_error);
            state.fault = Some(code.unwrap_or_else(|| error.kind().into()));
        }
        state.closed = true;
        state.busy = false;
        self.changed.notify_all();
    }

    /// Waits until there may be something to do. False once there will never be.
    pub(crate) fn wait(&self) -> bool {
        let state = self.lock();
        !self
            .wait_while(state, |state| !state.wanted && !state.closed)
            .closed
    }

    /// Whether the preparer is to stop in the middle of a task.
    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    fn lock(&self) -> MutexGuard<'_, State<F>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state while no zeros are being written.
    fn still(&self) -> MutexGuard<'_, State<F>> {
        self.wait_while(self.lock(), |state| state.zeroing)
    }

    fn wait_while<'a>(
        &self,
        state: MutexGuard<'a, State<F>>,
        condition: impl Fn(&State<F>) -> bool,
    ) -> MutexGuard<'a, State<F>> {
        let waited = self.changed.wait_while(state, |state| condition(state));
        waited.unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a disk, a quota or a limit on files is exhausted: something that the log's own writes may not meet.
fn is_no_room(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// How many times the prepared bytes stay free on the disk.
const ROOM_LEFT: u64 = 16;
/// A write of this size extends the file.
const LARGE_WRITE_BYTES: u64 = 256 << 10;
/// How many zeros are written and synced at once, at most.
pub(crate) const PIECE_BYTES: u64 = 1 << 20;
/// How many while there is time: so few that the sync of an append beside them takes hardly longer.
const SMALL_PIECE_BYTES: u64 = 128 << 10;
const BLOCK_BYTES: u64 = 4096;
