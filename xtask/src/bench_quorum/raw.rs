//! The bound of three writers on one disk: three bare files at once, each write followed by a sync.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::interop::Failure;

/// Where the writes go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Into {
    /// The end of a file that grows.
    NewBlocks,
    /// Blocks that were written before.
    WrittenBlocks,
}

/// How long each write and sync of three writers took, writer by writer. With a pace, a write is due as often as that
/// says and its time counts from when it is due. The files are gone afterwards: neither their blocks nor the memory that
/// they fill are in the way of what is measured next.
pub(super) fn three_writers(
    folder: &Path,
    into: Into,
    write_bytes: usize,
    pace: Option<Duration>,
) -> Result<Vec<Vec<Duration>>, Failure> {
    let writers: Vec<_> = (0..3)
        .map(|writer| {
            let path = folder.join(format!("raw-{writer}"));
            thread::spawn(move || {
                let times = write(&path, into, write_bytes, pace)?;
                fs::remove_file(&path)?;
                Ok(times)
            })
        })
        .collect();
    let joined = writers.into_iter().map(|writer| writer.join());
    joined
        .map(|writer| writer.map_err(|_| Failure::from("a writer has panicked"))?)
        .collect()
}

fn write(
    path: &Path,
    into: Into,
    write_bytes: usize,
    pace: Option<Duration>,
) -> Result<Vec<Duration>, Failure> {
    let bytes = vec![7; write_bytes];
    let size = write_bytes as u64;
    let file = File::create(path)?;
    if into == Into::WrittenBlocks {
        for position in 0..WRITTEN_BYTES / size {
            file.write_all_at(&bytes, position * size)?;
        }
        file.sync_all()?;
    }
    let (mut position, mut times) = (0, Vec::new());
    let started = Instant::now();
    while started.elapsed() < LONG_ENOUGH {
        let begun = wait_for_turn(started, pace, times.len())?;
        file.write_all_at(&bytes, position)?;
        file.sync_data()?;
        times.push(begun.elapsed());
        position += size;
        if into == Into::WrittenBlocks && position + size > WRITTEN_BYTES {
            position = 0;
        }
    }
    Ok(times)
}

/// With a pace waits until one more is due behind so many, without it not at all. Gives the moment from which its time
/// counts.
pub(super) fn wait_for_turn(
    started: Instant,
    pace: Option<Duration>,
    done: usize,
) -> Result<Instant, Failure> {
    let Some(pace) = pace else {
        return Ok(Instant::now());
    };
    let due = started + pace * u32::try_from(done)?;
    thread::sleep(due.saturating_duration_since(Instant::now()));
    Ok(due)
}

const LONG_ENOUGH: Duration = Duration::from_secs(5);
const WRITTEN_BYTES: u64 = 8 << 20;
