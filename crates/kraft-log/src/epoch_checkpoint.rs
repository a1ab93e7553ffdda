//! The file `leader-epoch-checkpoint`: at which offset each epoch begins.

use std::{fmt::Write as _, io, path::Path};

use kraft_core::Epoch;
use kraft_fs::FileSystem;
use thiserror::Error;

use crate::small_file::{self, SmallFileError};

/// Name of the file in the partition directory.
pub const FILE_NAME: &str = "leader-epoch-checkpoint";

/// The beginning of one epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EpochStart {
    /// The epoch.
    pub epoch: Epoch,
    /// The offset of its first record.
    pub start_offset: i64,
}

/// Why the content of a `leader-epoch-checkpoint` cannot be used. Lines are counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EpochCheckpointError {
    /// The first line is not the number of the one version that there is.
    #[error("line 1: not the version number 0")]
    UnknownVersion,
    /// The second line is not a number.
    #[error("line 2: not a number of entries")]
    NoCount,
    /// A line that is not an epoch and its start offset.
    #[error("line {line}: not an epoch and its start offset")]
    MalformedEntry {
        /// Which line.
        line: usize,
    },
    /// The second line announces another number of entries than there are.
    #[error("line 2: {announced} entries are announced, {found} are there")]
    WrongCount {
        /// The number of the second line.
        announced: i32,
        /// The entries that follow it.
        found: usize,
    },
}

/// The content of the file.
#[must_use]
pub fn format(entries: &[EpochStart]) -> Vec<u8> {
    let mut text = format!("0\n{}\n", entries.len());
    for entry in entries {
        writeln!(text, "{} {}", entry.epoch, entry.start_offset).expect("writing to a string never fails");
    }
    text.into_bytes()
}

/// Reads the content of the file, in the order of the file. An empty one holds no entries: so does a new directory's.
///
/// # Errors
/// Whatever Kafka refuses too: another version, a line that is no entry, a negative number, a wrong count.
pub fn parse(bytes: &[u8]) -> Result<Vec<EpochStart>, EpochCheckpointError> {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines();
    match lines.next() {
        None => return Ok(Vec::new()),
        Some(version) if version.parse() == Ok(0_i32) => {}
        Some(_) => return Err(EpochCheckpointError::UnknownVersion),
    }
    let announced: i32 = match lines.next() {
        None => return Ok(Vec::new()),
        Some(count) => count.parse().map_err(|_| EpochCheckpointError::NoCount)?,
    };
    let mut entries = Vec::new();
    for (index, line) in lines.enumerate() {
        entries.push(parse_entry(line).ok_or(EpochCheckpointError::MalformedEntry { line: index + 3 })?);
    }
    if usize::try_from(announced) != Ok(entries.len()) {
        return Err(EpochCheckpointError::WrongCount {
            announced,
            found: entries.len(),
        });
    }
    Ok(entries)
}

/// Reads the file in `dir`; `None` if it does not exist, and only then.
///
/// # Errors
/// The file cannot be read, or [`parse`] refuses it.
pub fn load<F: FileSystem>(
    fs: &F,
    dir: &Path,
) -> Result<Option<Vec<EpochStart>>, SmallFileError<EpochCheckpointError>> {
    small_file::read(fs, dir, FILE_NAME, parse)
}

/// Replaces the file in `dir`, durably and all at once.
///
/// # Errors
/// Those of the operating system.
pub fn store<F: FileSystem>(fs: &F, dir: &Path, entries: &[EpochStart]) -> io::Result<()> {
    kraft_fs::replace_file(fs, dir, FILE_NAME, &format(entries))
}

fn parse_entry(line: &str) -> Option<EpochStart> {
    if line.starts_with(char::is_whitespace) {
        return None;
    }
    let mut words = line.split_whitespace();
    let epoch: i32 = words.next()?.parse().ok()?;
    let start_offset: i64 = words.next()?.parse().ok()?;
    (words.next().is_none() && epoch >= 0 && start_offset >= 0).then_some(EpochStart {
        epoch: Epoch(epoch),
        start_offset,
    })
}
