//! The names that a start needs for files of its own.

use crate::{
    directory::{Contents, SMALL_FILES},
    examine::Examined,
    names::{SPARE_FILE, SYNCED_FILE, log_file, offset_index_file, time_index_file},
    open_error::OpenError,
};
use kraft_fs::FileSystem;
use std::path::Path;

/// Refuses a directory that has one of these names, before a start fails in the midst of its work because of it. Any other
/// directory is nobody's business, as in Kafka.
pub(crate) fn require_names<F: FileSystem>(
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
        None => Ok(()),
    }
}

/// The base offsets of the segments that there will be.
fn segments<F: FileSystem>(examined: &Examined<F>) -> impl Iterator<Item = i64> {
    let first = examined.segments.is_empty().then_some(examined.start);
    let found = examined.segments.iter().map(|segment| segment.base);
    found.chain(first)
}
