//! Replacing a small file as a whole.

use crate::file_system::{File, FileSystem, Open};
use std::{io, path::Path};

/// Gives `dir/name` the content `bytes`, durably and all at once, by Kafka's protocol: write `name.tmp`, sync it,
/// rename it over `name`, sync the directory. After a crash the file has the old or the new content; a `.tmp`
/// that a crash left is overwritten, never read.
///
/// # Errors
/// Those of the operating system. The old content is then still in place, unless it was the directory's sync
/// that failed.
pub fn replace_file<F: FileSystem>(fs: &F, dir: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let tmp = dir.join(format!("{name}.tmp"));
    match fs.remove(&tmp) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let file = fs.open(&tmp, Open::CreateNew)?;
    file.write_all_at(bytes, 0)?;
    file.sync_all()?;
    drop(file);
    fs.rename(&tmp, &dir.join(name))?;
    fs.sync_dir(dir)
}
