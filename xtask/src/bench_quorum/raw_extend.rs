//! The bound of three writers on one disk: three files that grow at once, each write followed by a sync.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::interop::Failure;

/// Bytes a second of the slowest of three writers.
pub(super) fn three_writers(folder: &Path, write_bytes: usize, duration: Duration) -> Result<f64, Failure> {
    let writers: Vec<_> = (0..3)
        .map(|writer| {
            let path = folder.join(format!("raw-{writer}"));
            thread::spawn(move || write(&path, write_bytes, duration))
        })
        .collect();
    let mut slowest = f64::INFINITY;
    for writer in writers {
        let rate = writer.join().map_err(|_| "a writer has panicked")??;
        slowest = slowest.min(rate);
    }
    Ok(slowest)
}

fn write(path: &Path, write_bytes: usize, duration: Duration) -> Result<f64, Failure> {
    let bytes = vec![7; write_bytes];
    let mut file = File::create(path)?;
    let started = Instant::now();
    let mut written = 0_u64;
    while started.elapsed() < duration {
        file.write_all(&bytes)?;
        file.sync_data()?;
        written += write_bytes as u64;
    }
    Ok(written as f64 / started.elapsed().as_secs_f64())
}
