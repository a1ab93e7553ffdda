//! The names that a start needs for files of its own.

use crate::{
    directory::{Contents, SMALL_FILES},
    examine::Examined,
    names::{SPARE_FILE, SYNCED_FILE, log_file, offset_index_file, time_index_file},
    open_error::{OpenError, unreadable},
};
use kraft_fs::{FileSystem, Open};
use std::{io, path::Path};

/// Refuses a directory that has one of these names, and a file with one of them that may not be written, before a start fails
/// in the midst of its work because of it. Any other directory is nobody's business, as in Kafka.
pub(crate) fn require_names<F: FileSystem>(
    fs: &F,
    dir: &Path,
    contents: &Contents,
    examined: &Examined<F>,
) -> Result<(), OpenError> {
    let in_the_way = contents.directories.iter().find(|name| {
        let name = name.as_str();
        let small = name.strip_suffix(".tmp").unwrap_or(name);
        [SYNCED_FILE, SPARE_FILE].contains(&name)
            || SMALL_FILES.contains(&small)
            || segments(examined).any(|base| name == offset_index_file(base) || name == time_index_file(base))
            || (examined.segments.is_empty() && name == log_file(examined.start))
    });
    match in_the_way {
        Some(name) => Err(OpenError::NotAFile { path: dir.join(name) }),
        None => require_writable(fs, dir, examined),
    }
}

/// The files that are written in place: all others are replaced as a whole.
fn require_writable<F: FileSystem>(fs: &F, dir: &Path, examined: &Examined<F>) -> Result<(), OpenError> {
    let indexes = segments(examined).flat_map(|base| [offset_index_file(base), time_index_file(base)]);
    for name in indexes.chain([SYNCED_FILE.to_owned()]) {
        let path = dir.join(name);
        match fs.open(&path, Open::ReadWrite) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unreadable(&path)(error)),
            _ => {}
        }
    }
    Ok(())
}

/// The base offsets of the segments that there will be.
fn segments<F: FileSystem>(examined: &Examined<F>) -> impl Iterator<Item = i64> {
    let first = examined.segments.is_empty().then_some(examined.start);
    let found = examined.segments.iter().map(|segment| segment.base);
    found.chain(first)
}
