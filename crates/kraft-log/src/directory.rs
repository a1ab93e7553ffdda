//! What is in a log directory, before anything of it is judged.

use crate::{
    epoch_checkpoint::{self, EpochCheckpointError, EpochStart},
    index::Snapshots,
    names::{LogName, NO_VOTE_FILE, SYNCED_FILE, SegmentFile, classify},
    open_error::{OpenError, unreadable},
    partition_metadata::{self, PartitionMetadataError},
    quorum_state,
    small_file::SmallFileError,
    synced_mark::{self, SyncedMark},
};
use kraft_core::ElectionState;
use kraft_fs::FileSystem;
use kraft_snapshot::{SnapshotFileState, parse_name};
use std::{collections::BTreeMap, io, path::Path};
use uuid::Uuid;

/// The content of a log directory.
#[derive(Debug, Default, Clone)]
pub(crate) struct Contents {
    /// Sizes of the `.log` files by base offset.
    pub(crate) segments: BTreeMap<i64, u64>,
    pub(crate) snapshots: Snapshots,
    pub(crate) election: Option<ElectionState>,
    /// Ascending by epoch; `None` if the file is missing.
    pub(crate) epochs: Option<Vec<EpochStart>>,
    /// Why the epochs of the file are not known, where they can be read off the log.
    pub(crate) epochs_fault: Option<EpochCheckpointError>,
    pub(crate) topic: Option<Uuid>,
    pub(crate) synced: Option<SyncedMark>,
    /// Whether the node abstains from votes until it has its log again.
    pub(crate) abstains: bool,
    /// Files that nobody needs any more.
    pub(crate) leftovers: Vec<String>,
    /// The names of directories.
    pub(crate) directories: Vec<String>,
}

/// What is in the directory of a log that belongs to a topic.
pub(crate) fn look<F: FileSystem>(fs: &F, dir: &Path, topic_id: &Uuid) -> Result<Contents, OpenError> {
    let election = quorum_state::load(fs, dir)?;
    Ok(Contents {
        election,
        ..look_beside_election(fs, dir, topic_id)?
    })
}

/// Everything but the election state, for whoever deals with a `quorum-state` that is lost.
pub(crate) fn look_beside_election<F: FileSystem>(
    fs: &F,
    dir: &Path,
    topic_id: &Uuid,
) -> Result<Contents, OpenError> {
    let mut contents = Contents::default();
    let mut indexes = Vec::new();
    for entry in fs.list(dir).map_err(unreadable(dir))? {
        if entry.leads_nowhere {
            require_foreign(fs, dir, &entry.name)?;
            continue;
        }
        // Kafka ignores directories, whatever their name, until it needs the name.
        if entry.metadata.is_dir {
            contents.directories.push(entry.name);
            continue;
        }
        let path = dir.join(&entry.name);
        let strange = || OpenError::StrangeName { path: path.clone() };
        if let Some(file) = parse_name(&entry.name).map_err(|_| strange())? {
            match file.state {
                SnapshotFileState::Frozen => contents.snapshots.insert(file.id, entry.metadata.len),
                SnapshotFileState::Partial | SnapshotFileState::Deleted => {
                    contents.leftovers.push(entry.name)
                }
            }
            continue;
        }
        match classify(&entry.name) {
            LogName::Segment(SegmentFile::Log, base) => {
                let len = entry.metadata.len;
                if len > i32::MAX as u64 {
                    return Err(OpenError::SegmentTooLarge { path, len });
                }
                contents.segments.insert(base, len);
            }
            LogName::Segment(SegmentFile::OffsetIndex | SegmentFile::TimeIndex, base) => {
                indexes.push((base, entry.name));
            }
            LogName::Segment(SegmentFile::Unused, _) => {}
            LogName::Leftover => contents.leftovers.push(entry.name),
            LogName::Strange => return Err(strange()),
            LogName::Other if entry.name == NO_VOTE_FILE => contents.abstains = true,
            LogName::Other if is_temporary(&entry.name) => contents.leftovers.push(entry.name),
            LogName::Other => {}
        }
    }
    let orphans = indexes
        .into_iter()
        .filter(|(base, _)| !contents.segments.contains_key(base));
    contents.leftovers.extend(orphans.map(|(_, name)| name));
    read_small_files(fs, dir, &mut contents)?;
    match contents.topic {
        Some(found) if found != *topic_id => Err(OpenError::WrongTopic {
            path: dir.join(partition_metadata::FILE_NAME),
            found,
        }),
        _ => Ok(contents),
    }
}

/// A link that leads nowhere is nobody's business unless it has a name that means something here: then what it led to may be
/// a part of the log on a disk that is not there.
fn require_foreign<F: FileSystem>(fs: &F, dir: &Path, name: &str) -> Result<(), OpenError> {
    let foreign = matches!(parse_name(name), Ok(None))
        && classify(name) == LogName::Other
        && !is_temporary(name)
        && name != SYNCED_FILE
        && !SMALL_FILES.contains(&name);
    if foreign {
        return Ok(());
    }
    let path = dir.join(name);
    let reason = fs.metadata(&path).err();
    let source = reason.unwrap_or_else(|| io::Error::other("it is a link that leads nowhere"));
    Err(OpenError::Io { path, source })
}

/// The files that are replaced as a whole.
pub(crate) const SMALL_FILES: [&str; 4] = [
    quorum_state::FILE_NAME,
    epoch_checkpoint::FILE_NAME,
    partition_metadata::FILE_NAME,
    NO_VOTE_FILE,
];

/// A file that was to replace one of the small files.
fn is_temporary(name: &str) -> bool {
    let name = name.strip_suffix(".tmp");
    name.is_some_and(|name| SMALL_FILES.contains(&name))
}

fn read_small_files<F: FileSystem>(fs: &F, dir: &Path, contents: &mut Contents) -> Result<(), OpenError> {
    match epoch_checkpoint::load(fs, dir) {
        Ok(entries) => {
            contents.epochs = entries.map(|mut entries| {
                entries.sort_by_key(|entry| entry.epoch);
                entries
            });
        }
        // A later version is for a later release to read.
        Err(SmallFileError::Malformed { reason, .. }) if reason != EpochCheckpointError::UnknownVersion => {
            contents.epochs_fault = Some(reason);
        }
        Err(fault) => return Err(fault.into()),
    }
    contents.topic = match partition_metadata::load(fs, dir) {
        Err(SmallFileError::Malformed {
            reason: PartitionMetadataError::Empty,
            ..
        }) => None,
        topic => topic?,
    };
    contents.synced = synced_mark::read(fs, dir);
    Ok(())
}
