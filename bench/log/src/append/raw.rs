//! The same bytes in a bare file: the least that it can cost.

use std::{fs::File, io, os::unix::fs::FileExt, path::Path};

use super::Load;
use crate::measure::Times;

/// At the end of a file that grows.
pub fn extend(dir: &Path, load: &Load) -> io::Result<Times> {
    write_all(&File::create_new(dir.join("raw"))?, load)
}

/// Into blocks that have been written before.
pub fn overwrite(dir: &Path, load: &Load) -> io::Result<Times> {
    let file = File::create_new(dir.join("raw"))?;
    let bytes = load.batch_of(0).len() as u64 * load.operations as u64;
    let zeros = vec![0; 1 << 20];
    let mut position = 0;
    while position < bytes {
        file.write_all_at(&zeros, position)?;
        position += zeros.len() as u64;
    }
    file.sync_all()?;
    write_all(&file, load)
}

fn write_all(file: &File, load: &Load) -> io::Result<Times> {
    let mut times = Times::with_capacity(load.operations);
    let mut position = 0;
    for operation in 0..load.operations {
        let batch = load.batch_of(operation);
        times.take(|| {
            file.write_all_at(&batch, position)?;
            file.sync_data()
        })?;
        position += batch.len() as u64;
    }
    Ok(times)
}

/// Has what removed files leave to do done before the next one is measured.
pub fn settle(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}
