//! The batches of a file, one by one.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use bytes::Bytes;
use kraft_wire::batch::{BatchHeader, BatchView, HEADER_SIZE, LENGTH_OVERHEAD, MAGIC};

/// What stands at a place of a file.
pub(crate) enum Found {
    /// A batch whose header is plausible; whether it is right says [`BatchView::validate`].
    Batch(BatchView),
    /// Why it is none.
    Nothing(String),
}

/// Reads the batch at `position`. Nothing is allocated by the number in its header before it has been compared with
/// the file and with the largest batch there is.
pub(crate) fn batch_at(file: &File, position: u64, length: u64) -> io::Result<Found> {
    let remaining = length - position;
    if remaining < HEADER_SIZE as u64 {
        return Ok(Found::Nothing(format!("{remaining} bytes cannot hold a batch")));
    }
    let mut head = [0; HEADER_SIZE];
    file.read_exact_at(&mut head, position)?;
    let header = BatchHeader::parse(&head).expect("the head has the size of a header");
    let size = match plausible_size(&header, remaining) {
        Ok(size) => size,
        Err(reason) => return Ok(Found::Nothing(reason)),
    };
    let mut bytes = vec![0; size];
    file.read_exact_at(&mut bytes, position)?;
    match BatchView::parse(Bytes::from(bytes)) {
        Ok(batch) => Ok(Found::Batch(batch)),
        Err(error) => Ok(Found::Nothing(error.to_string())),
    }
}

fn plausible_size(header: &BatchHeader, remaining: u64) -> Result<usize, String> {
    let length = header.length;
    if length < (HEADER_SIZE - LENGTH_OVERHEAD) as i32 || header.size() > SIZE_MAX {
        return Err(format!("a batch length of {length}"));
    }
    if header.size() as u64 > remaining {
        return Err(format!(
            "a batch of {} bytes of which {remaining} are there",
            header.size()
        ));
    }
    if header.magic != MAGIC {
        return Err(format!("magic {}", header.magic));
    }
    Ok(header.size())
}

/// Whether nothing but zeros stands from `from` to the end.
pub(crate) fn is_all_zeros(file: &File, from: u64, length: u64) -> io::Result<bool> {
    let mut window = vec![0; WINDOW];
    let mut position = from;
    while position < length {
        let filled = read_up_to(file, &mut window, position, length)?;
        if window[..filled].iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        position += filled as u64;
    }
    Ok(true)
}

/// Fills as much of `window` as the file has from `position` on.
pub(crate) fn read_up_to(file: &File, window: &mut [u8], position: u64, length: u64) -> io::Result<usize> {
    let size = usize::try_from(length - position)
        .unwrap_or(usize::MAX)
        .min(window.len());
    file.read_exact_at(&mut window[..size], position)?;
    Ok(size)
}

/// How much of a file is looked at at once.
pub(crate) const WINDOW: usize = 1 << 20;

/// Twice the largest batch that a metadata quorum writes.
const SIZE_MAX: usize = 2 * kraft_wire::batch::BATCH_SIZE_MAX;
