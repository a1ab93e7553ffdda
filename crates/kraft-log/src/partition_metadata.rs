//! The file `partition.metadata`: which topic a partition directory belongs to.

use std::{io, path::Path};

use kraft_fs::FileSystem;
use kraft_wire::uuid_text;
use thiserror::Error;
use uuid::Uuid;

use crate::small_file::{self, SmallFileError};

/// Name of the file in the partition directory.
pub const FILE_NAME: &str = "partition.metadata";

/// Why the content of a `partition.metadata` cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PartitionMetadataError {
    /// No byte in it.
    #[error("the file is empty")]
    Empty,
    /// The first line is not `version: ` and a number that is not negative.
    #[error("line 1: not a version")]
    NoVersion,
    /// The second line is not `topic_id: ` and an id other than zero.
    #[error("line 2: not a topic id")]
    NoTopicId,
}

/// The content of the file, without a newline at its end, as Kafka writes it.
#[must_use]
pub fn format(topic_id: &Uuid) -> Vec<u8> {
    format!("version: 0\ntopic_id: {}", uuid_text::format(topic_id)).into_bytes()
}

/// Reads the topic id.
///
/// # Errors
/// The two lines are not there, or say nothing.
pub fn parse(bytes: &[u8]) -> Result<Uuid, PartitionMetadataError> {
    if bytes.is_empty() {
        return Err(PartitionMetadataError::Empty);
    }
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines();
    lines
        .next()
        .and_then(|line| value_of(line, "version"))
        .and_then(|version| version.parse::<i32>().ok())
        .filter(|version| *version >= 0)
        .ok_or(PartitionMetadataError::NoVersion)?;
    lines
        .next()
        .and_then(|line| value_of(line, "topic_id"))
        .and_then(|id| uuid_text::parse(id).ok())
        .filter(|id| !id.is_nil())
        .ok_or(PartitionMetadataError::NoTopicId)
}

/// Reads the file in `dir`; `None` if it does not exist, and only then.
///
/// # Errors
/// The file cannot be read, or [`parse`] refuses it.
pub fn load<F: FileSystem>(
    fs: &F,
    dir: &Path,
) -> Result<Option<Uuid>, SmallFileError<PartitionMetadataError>> {
    small_file::read(fs, dir, FILE_NAME, parse)
}

/// Replaces the file in `dir`, durably and all at once.
///
/// # Errors
/// Those of the operating system.
pub fn store<F: FileSystem>(fs: &F, dir: &Path, topic_id: &Uuid) -> io::Result<()> {
    kraft_fs::replace_file(fs, dir, FILE_NAME, &format(topic_id))
}

fn value_of<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let value = line.strip_prefix(name)?.strip_prefix(':')?;
    value.starts_with(char::is_whitespace).then(|| value.trim_start())
}
