//! Which files of a metadata directory can be shown, by their names.

use std::io;
use std::path::{Path, PathBuf};

use kraft_log::{epoch_checkpoint, meta_properties, partition_metadata, quorum_state};

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Segment { base_offset: i64 },
    Checkpoint { end_offset: i64, epoch: i32 },
    Small(Small),
}

/// One of the small files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Small {
    QuorumState,
    EpochCheckpoint,
    MetaProperties,
    PartitionMetadata,
}

impl Kind {
    /// Goes by the name alone, as Kafka does.
    pub(crate) fn of(path: &Path) -> Option<Kind> {
        let name = path.file_name()?.to_str()?;
        if let Some(digits) = name.strip_suffix(".log") {
            return Some(Kind::Segment {
                base_offset: digits.parse().ok()?,
            });
        }
        if let Some(id) = name.strip_suffix(".checkpoint") {
            let (end_offset, epoch) = id.split_once('-')?;
            return Some(Kind::Checkpoint {
                end_offset: end_offset.parse().ok()?,
                epoch: epoch.parse().ok()?,
            });
        }
        let small = match name {
            quorum_state::FILE_NAME => Small::QuorumState,
            epoch_checkpoint::FILE_NAME => Small::EpochCheckpoint,
            meta_properties::FILE_NAME => Small::MetaProperties,
            partition_metadata::FILE_NAME => Small::PartitionMetadata,
            _ => return None,
        };
        Some(Kind::Small(small))
    }
}

/// The files of a log directory or of its partition directory that can be shown, in the order of their names.
pub(super) fn of_directory(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name == PARTITION) {
                files.push(path);
            }
        } else if Kind::of(&path).is_some() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

const PARTITION: &str = "__cluster_metadata-0";
