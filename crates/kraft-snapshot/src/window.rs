//! The bytes of a snapshot that a leader sends.

use std::{io, path::Path};

use bytes::Bytes;
use kraft_core::SnapshotWindow;
use kraft_fs::{File, FileSystem, Open};

use crate::name::frozen_name;

/// The largest window that is read at once, whatever is asked for: a fetcher takes a shorter one and asks for more.
pub const WINDOW_BYTES_MAX: usize = 8 << 20;

/// Reads a window of a snapshot in `dir`; it need not begin or end with a batch. `None` if the snapshot is gone: a
/// cleaning has overtaken the request.
///
/// # Errors
/// The operating system does not give the bytes.
pub fn read_window<F: FileSystem>(fs: &F, dir: &Path, window: &SnapshotWindow) -> io::Result<Option<Bytes>> {
    let file = match fs.open(&dir.join(frozen_name(window.snapshot)), Open::Read) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let behind = file.len()?.saturating_sub(window.position);
    let asked = usize::try_from(window.max_bytes)
        .unwrap_or(0)
        .min(WINDOW_BYTES_MAX);
    let size = usize::try_from(behind).unwrap_or(usize::MAX).min(asked);
    let mut bytes = vec![0; size];
    file.read_exact_at(&mut bytes, window.position)?;
    Ok(Some(Bytes::from(bytes)))
}
