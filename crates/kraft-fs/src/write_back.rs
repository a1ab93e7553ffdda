//! Having the disk begin early.

use rustix::fs::{Advice, fadvise};
use std::{
    fs, io,
    num::NonZeroU64,
    sync::{
        Arc,
        mpsc::{SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
};

/// A thread that starts the writing back of parts of one file: to start it waits for other threads of the kernel, which
/// may take as long as the writing itself.
///
/// Linux writes back, without waiting for the disk, what it is told that nobody needs in memory; what is on its way to
/// the disk then stays in memory nevertheless. A failed write is not reported here, and so not hidden from whoever
/// syncs: a sync of this thread's own would be told of it in their place.
#[derive(Debug)]
pub(crate) struct WriteBack {
    parts: Option<SyncSender<(u64, NonZeroU64)>>,
    thread: Option<JoinHandle<()>>,
}

impl WriteBack {
    pub(crate) fn spawn(file: Arc<fs::File>) -> io::Result<Self> {
        let (parts, wanted) = sync_channel(PARTS_MAX);
        let thread = thread::Builder::new().name("write back".into()).spawn(move || {
            for (offset, len) in wanted {
                // What it cannot begin is left to the sync.
                let _ = fadvise(&file, offset, Some(len), Advice::DontNeed);
            }
        })?;
        Ok(Self {
            parts: Some(parts),
            thread: Some(thread),
        })
    }

    pub(crate) fn start(&self, offset: u64, len: u64) {
        if let (Some(parts), Some(len)) = (&self.parts, NonZeroU64::new(len)) {
            // What comes faster than it is begun is left to the sync, too.
            let _ = parts.try_send((offset, len));
        }
    }
}

impl Drop for WriteBack {
    fn drop(&mut self) {
        self.parts = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

const PARTS_MAX: usize = 16;
