//! Progress of long work on a terminal: how much has been read and written.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kraft_fs::{DirEntry, DirLock, File, FileSystem, LockError, Metadata, Open};

/// A file system that tells a terminal on stderr how far the work has come. Elsewhere it says nothing.
#[derive(Clone, Debug)]
pub(crate) struct Watched<F> {
    inner: F,
    meter: Arc<Meter>,
}

/// A file of [`Watched`].
#[derive(Debug)]
pub(crate) struct WatchedFile<T> {
    inner: T,
    meter: Arc<Meter>,
}

#[derive(Debug)]
struct Meter {
    /// `None` where nobody looks.
    state: Option<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    bytes: u64,
    shown: Instant,
    visible: bool,
}

impl<F> Watched<F> {
    pub(crate) fn new(inner: F) -> Self {
        let state = io::stderr().is_terminal().then(|| {
            Mutex::new(State {
                bytes: 0,
                shown: Instant::now(),
                visible: false,
            })
        });
        Self {
            inner,
            meter: Arc::new(Meter { state }),
        }
    }
}

impl Meter {
    fn add(&self, bytes: usize) {
        let Some(state) = &self.state else { return };
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.bytes += bytes as u64;
        if state.shown.elapsed() >= PERIOD {
            state.shown = Instant::now();
            state.visible = true;
            // A terminal that is gone needs no progress.
            let _ = write!(io::stderr(), "\r{} MiB read and written ", state.bytes >> 20);
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        let Some(state) = &self.state else { return };
        if state.lock().unwrap_or_else(PoisonError::into_inner).visible {
            let _ = write!(io::stderr(), "\r{:40}\r", "");
        }
    }
}

impl<T: File> File for WatchedFile<T> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let n = self.inner.read_at(buf, offset)?;
        self.meter.add(n);
        Ok(n)
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.inner.write_all_at(bytes, offset)?;
        self.meter.add(bytes.len());
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.inner.set_len(len)
    }

    fn start_writing_back(&self, offset: u64, len: u64) {
        self.inner.start_writing_back(offset, len);
    }

    fn leave_cache(&self, offset: u64, len: u64) {
        self.inner.leave_cache(offset, len);
    }

    fn sync_data(&self) -> io::Result<()> {
        self.inner.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.inner.sync_all()
    }

    fn set_mode(&self, mode: u32) -> io::Result<()> {
        self.inner.set_mode(mode)
    }
}

impl<F: FileSystem> FileSystem for Watched<F> {
    type File = WatchedFile<F::File>;

    fn open(&self, path: &Path, how: Open) -> io::Result<Self::File> {
        Ok(WatchedFile {
            inner: self.inner.open(path, how)?,
            meter: Arc::clone(&self.meter),
        })
    }

    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        self.inner.create_dir_all(dir)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        self.inner.list(dir)
    }

    fn metadata(&self, path: &Path) -> io::Result<Option<Metadata>> {
        self.inner.metadata(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.inner.remove(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.inner.sync_dir(dir)
    }

    fn free_bytes(&self, dir: &Path) -> io::Result<u64> {
        self.inner.free_bytes(dir)
    }

    fn lock_dir(&self, dir: &Path) -> Result<DirLock, LockError> {
        self.inner.lock_dir(dir)
    }
}

const PERIOD: Duration = Duration::from_millis(200);
