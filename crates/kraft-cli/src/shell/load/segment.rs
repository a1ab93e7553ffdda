//! The batches of segments, one behind the other.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use kraft_wire::batch::{BATCH_SIZE_MAX, BatchView};

use super::error::LoadError;
use crate::batch_file::{Found, batch_at, is_all_zeros};

/// What stands where a batch is looked for.
enum Next {
    Batch(BatchView),
    /// Nothing, or space that is kept for more.
    End,
    /// A batch of which a part is missing: a node is writing it, or a crash has torn it.
    Incomplete(String),
    Damage(String),
    /// The file became shorter than it had just been: a node that stops cuts what it has not used.
    Shorter,
}

/// What ended a segment.
pub(super) enum Ended {
    /// Its end, or what the reader asked for.
    Whole,
    /// A batch of which a part is missing, at this byte.
    Incomplete { position: u64, reason: String },
}

/// Whether the reader of batches wants the next one.
pub(super) enum Go {
    On,
    Stop,
}

/// Gives every batch of a segment to `each`, from one that begins at `expected` if that is known. Only the `last`
/// segment may end in something else than a whole batch.
pub(super) fn read_segment(
    path: &Path,
    last: bool,
    expected: &mut Option<i64>,
    mut each: impl FnMut(&BatchView) -> Go,
) -> Result<Ended, LoadError> {
    let reading = |source| LoadError::Read {
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(reading)?;
    let mut position = 0;
    let mut last_epoch = 0;
    loop {
        let damaged = |position, reason| LoadError::Damaged {
            path: path.to_owned(),
            position,
            reason,
            read: expected.map_or(-1, |next| next - 1),
        };
        let batch = match settled(&file, position, last).map_err(reading)? {
            Next::Batch(batch) => batch,
            Next::End => return Ok(Ended::Whole),
            Next::Incomplete(reason) if last => return Ok(Ended::Incomplete { position, reason }),
            Next::Incomplete(reason) | Next::Damage(reason) => return Err(damaged(position, reason)),
            Next::Shorter => return Err(reading(io::ErrorKind::UnexpectedEof.into())),
        };
        let base = batch.base_offset();
        if let Some(expected) = expected.filter(|expected| *expected != base) {
            let reason = format!("a batch at offset {base} where {expected} is next");
            return Err(damaged(position, reason));
        }
        let epoch = batch.leader_epoch();
        if epoch < last_epoch {
            let reason = format!("a batch of epoch {epoch} behind one of epoch {last_epoch}");
            return Err(damaged(position, reason));
        }
        last_epoch = epoch;
        position += batch.size() as u64;
        *expected = Some(batch.last_offset() + 1);
        if let Go::Stop = each(&batch) {
            return Ok(Ended::Whole);
        }
    }
}

/// What is at `position`. At the end of the last segment a node may be in the middle of a write, which is over a moment
/// later.
fn settled(file: &File, position: u64, last: bool) -> io::Result<Next> {
    let look = || next(file, position, file.metadata()?.len());
    for _ in 0..LOOKS {
        match look()? {
            Next::Incomplete(_) | Next::Damage(_) if last => sleep(BETWEEN_LOOKS),
            Next::Shorter => {}
            found => return Ok(found),
        }
    }
    look()
}

/// What is at `position` of a file that had `length` bytes a moment ago.
fn next(file: &File, position: u64, length: u64) -> io::Result<Next> {
    match next_of_length(file, position, length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(Next::Shorter),
        found => found,
    }
}

fn next_of_length(file: &File, position: u64, length: u64) -> io::Result<Next> {
    if position >= length {
        return Ok(Next::End);
    }
    let reason = match batch_at(file, position, length)? {
        Found::Batch(batch) => match batch.validate() {
            Ok(()) => return Ok(Next::Batch(batch)),
            Err(error) => error.to_string(),
        },
        Found::Nothing(reason) => reason,
    };
    if is_all_zeros(file, position, length)? {
        return Ok(Next::End);
    }
    Ok(if lacks_a_part(file, position, length)? {
        Next::Incomplete(reason)
    } else {
        Next::Damage(reason)
    })
}

/// Whether the batch at `position` runs past the end of the file, or has a sector of nothing but zeros: what a write
/// leaves that has not come to its end.
fn lacks_a_part(file: &File, position: u64, length: u64) -> io::Result<bool> {
    let mut size = [0; 12];
    if length - position < size.len() as u64 {
        return Ok(true);
    }
    file.read_exact_at(&mut size, position)?;
    let announced = i32::from_be_bytes([size[8], size[9], size[10], size[11]]);
    let end = match u64::try_from(announced) {
        Ok(announced) if announced <= BATCH_SIZE_MAX as u64 => position + size.len() as u64 + announced,
        _ => return Ok(false),
    };
    if end > length {
        return Ok(true);
    }
    let mut start = position;
    while start < end {
        let sector_end = (start / SECTOR + 1) * SECTOR;
        let mut sector = [0; SECTOR as usize];
        let sector = &mut sector[..(sector_end.min(length) - start) as usize];
        file.read_exact_at(sector, start)?;
        if sector_end <= end && sector.len() == SECTOR as usize && sector.iter().all(|byte| *byte == 0) {
            return Ok(true);
        }
        start = sector_end;
    }
    Ok(false)
}

/// What a disk writes at once.
const SECTOR: u64 = 512;
/// How often the end of the log is looked at again, and how long after the look before.
const LOOKS: u32 = 5;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;
    use kraft_wire::batch::BatchBuilder;
    use std::fs;

    /// What a node does that stops between a look at the length and the reading.
    #[test]
    fn a_file_that_becomes_shorter_is_looked_at_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0.log");
        let mut builder = BatchBuilder::data(1);
        builder.push(&[1, 20, 0, 0]).unwrap();
        let batch = builder.build(0, 1);
        fs::write(&path, &batch).unwrap();
        let file = File::open(&path).unwrap();
        let length = batch.len() as u64;
        assert!(matches!(
            next(&file, length, length + 5_000).unwrap(),
            Next::Shorter
        ));
        assert!(matches!(settled(&file, length, true).unwrap(), Next::End));
        assert!(matches!(settled(&file, 0, true).unwrap(), Next::Batch(_)));
    }
}
