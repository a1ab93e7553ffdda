//! A file system in which a chosen call fails.

use crate::{
    file_system::{DirEntry, File, FileSystem, Metadata, Open},
    lock::{DirLock, LockError},
};
use std::{
    io,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

/// What happens at the chosen call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The device fails (`EIO`).
    Io,
    /// The disk is full (`ENOSPC`).
    NoSpace,
    /// The disk is full when about half of what was to be written is (`ENOSPC`): what is written ends with a sector, or
    /// with the file. Other calls fail as with `NoSpace`.
    ShortWrite,
    /// A signal came (`EINTR`).
    Interrupted,
}

impl Fault {
    /// One of each kind.
    pub const ALL: [Self; 4] = [Self::Io, Self::NoSpace, Self::ShortWrite, Self::Interrupted];
}

impl Fault {
    fn error(self) -> io::Error {
        match self {
            Self::Io => rustix::io::Errno::IO.into(),
            Self::NoSpace | Self::ShortWrite => rustix::io::Errno::NOSPC.into(),
            Self::Interrupted => rustix::io::Errno::INTR.into(),
        }
    }
}

#[derive(Debug, Default)]
struct Plan {
    /// Calls that still succeed, and what the one behind them gets.
    armed: Option<(u64, Fault)>,
    calls: u64,
}

/// Wraps a file system; calls that change something are counted, and one of them can be told to fail.
///
/// Creating, writing, resizing, syncing, renaming and removing count; opening what exists and reading do not.
#[derive(Debug, Clone, Default)]
pub struct FaultyFs<F> {
    inner: F,
    plan: Arc<Mutex<Plan>>,
}

/// A file of a [`FaultyFs`].
#[derive(Debug)]
pub struct FaultyFile<T> {
    inner: T,
    plan: Arc<Mutex<Plan>>,
}

fn count(plan: &Mutex<Plan>) -> io::Result<()> {
    next_call(plan).map_err(Fault::error)
}

/// Counts a call; the fault that it gets, if any.
fn next_call(plan: &Mutex<Plan>) -> Result<(), Fault> {
    let mut plan = plan.lock().unwrap_or_else(PoisonError::into_inner);
    plan.calls += 1;
    match plan.armed {
        Some((0, fault)) => {
            plan.armed = None;
            Err(fault)
        }
        Some((skip, fault)) => {
            plan.armed = Some((skip - 1, fault));
            Ok(())
        }
        None => Ok(()),
    }
}

impl<F> FaultyFs<F> {
    /// Wraps `inner`; nothing fails until a fault is armed.
    pub fn new(inner: F) -> Self {
        Self {
            inner,
            plan: Arc::default(),
        }
    }

    /// Lets the call behind the next `skip` ones fail, once.
    pub fn arm(&self, skip: u64, fault: Fault) {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner).armed = Some((skip, fault));
    }

    /// Whether an armed fault still waits for its call.
    pub fn is_armed(&self) -> bool {
        self.plan
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .armed
            .is_some()
    }

    /// How many calls were counted so far.
    pub fn calls(&self) -> u64 {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner).calls
    }

    /// The file system inside.
    pub fn inner(&self) -> &F {
        &self.inner
    }
}

impl<T: File> FaultyFile<T> {
    /// How much of a write a disk takes that gets full in the middle of it.
    fn short(&self, bytes: usize, offset: u64) -> io::Result<usize> {
        let mut end = offset + bytes as u64 / 2;
        if end < self.inner.len()? {
            end = (end / SECTOR * SECTOR).max(offset);
        }
        Ok((end - offset) as usize)
    }
}

/// What a disk takes whole or not at all.
const SECTOR: u64 = 512;

impl<T: File> File for FaultyFile<T> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.inner.read_at(buf, offset)
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        match next_call(&self.plan) {
            Ok(()) => self.inner.write_all_at(bytes, offset),
            Err(fault) => {
                if fault == Fault::ShortWrite {
                    let written = self.short(bytes.len(), offset)?;
                    self.inner.write_all_at(&bytes[..written], offset)?;
                }
                Err(fault.error())
            }
        }
    }

    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        count(&self.plan)?;
        self.inner.set_len(len)
    }

    /// Changes nothing that a caller could see, so it does not count.
    fn start_writing_back(&self, offset: u64, len: u64) {
        self.inner.start_writing_back(offset, len);
    }

    /// As above.
    fn leave_cache(&self, offset: u64, len: u64) {
        self.inner.leave_cache(offset, len);
    }

    fn sync_data(&self) -> io::Result<()> {
        count(&self.plan)?;
        self.inner.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        count(&self.plan)?;
        self.inner.sync_all()
    }

    fn set_mode(&self, mode: u32) -> io::Result<()> {
        count(&self.plan)?;
        self.inner.set_mode(mode)
    }
}

impl<F: FileSystem> FileSystem for FaultyFs<F> {
    type File = FaultyFile<F::File>;

    fn waits(&self) -> bool {
        self.inner.waits()
    }

    fn open(&self, path: &Path, how: Open) -> io::Result<Self::File> {
        if matches!(how, Open::Create | Open::CreateNew) {
            count(&self.plan)?;
        }
        Ok(FaultyFile {
            inner: self.inner.open(path, how)?,
            plan: self.plan.clone(),
        })
    }

    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        count(&self.plan)?;
        self.inner.create_dir_all(dir)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        self.inner.list(dir)
    }

    fn metadata(&self, path: &Path) -> io::Result<Option<Metadata>> {
        self.inner.metadata(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        count(&self.plan)?;
        self.inner.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        count(&self.plan)?;
        self.inner.remove(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        count(&self.plan)?;
        self.inner.sync_dir(dir)
    }

    fn free_bytes(&self, dir: &Path) -> io::Result<u64> {
        self.inner.free_bytes(dir)
    }

    fn lock_dir(&self, dir: &Path) -> Result<DirLock, LockError> {
        self.inner.lock_dir(dir)
    }
}
