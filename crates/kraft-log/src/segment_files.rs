//! The files of a segment: created, cut, indexed, removed.

use crate::{
    layout::{Segment, Shared},
    names::{log_file, offset_index_file, time_index_file},
    segment_index::SegmentIndex,
    storage_error::{StorageError, failed},
};
use kraft_fs::{File, FileSystem, Open};
use std::{io, path::Path, sync::Arc};

/// Creates an empty segment, durably.
pub(crate) fn create_segment<F: FileSystem>(
    fs: &F,
    dir: &Path,
    base: i64,
) -> Result<Segment<F>, StorageError> {
    open_segment(fs, dir, base, Open::CreateNew)
}

/// Opens a segment without batches, whose name is new, and makes the name durable.
pub(crate) fn open_segment<F: FileSystem>(
    fs: &F,
    dir: &Path,
    base: i64,
    how: Open,
) -> Result<Segment<F>, StorageError> {
    let path = dir.join(log_file(base));
    let file = fs.open(&path, how).map_err(failed("creating", &path))?;
    fs.sync_dir(dir).map_err(failed("syncing", dir))?;
    Ok(Segment {
        file: Arc::new(file),
        path,
        written: 0,
        index: SegmentIndex::new(base),
    })
}

/// Cuts a file, durably.
pub(crate) fn cut(file: &impl File, len: u64) -> io::Result<()> {
    file.set_len(len)?;
    file.sync_data()
}

/// Writes `.index` and `.timeindex` where they differ. They are rebuilt at every start, so they need no sync.
pub(crate) fn write_index_files<F: FileSystem>(
    shared: &Shared<F>,
    base: i64,
    index: &SegmentIndex,
) -> io::Result<()> {
    let (offsets, times) = index.files();
    for (name, bytes) in [(offset_index_file(base), offsets), (time_index_file(base), times)] {
        let path = shared.dir.join(name);
        let file = shared.fs.open(&path, Open::Create)?;
        if file.len()? == bytes.len() as u64 {
            let mut found = vec![0; bytes.len()];
            file.read_exact_at(&mut found, 0)?;
            if found == bytes {
                continue;
            }
        }
        file.write_all_at(&bytes, 0)?;
        file.set_len(bytes.len() as u64)?;
    }
    Ok(())
}

/// Removes a file that need not exist.
pub(crate) fn remove_if_there<F: FileSystem>(fs: &F, path: &Path) -> Result<(), StorageError> {
    match fs.remove(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("removing", path)(error)),
        _ => Ok(()),
    }
}
