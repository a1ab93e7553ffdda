//! What a start would make of a log directory, without making it.

use crate::{
    directory::{Contents, look},
    epoch_checkpoint,
    examine::{Examined, examine},
    examined_segment::ExaminedSegment,
    names::log_file,
    open_error::{OpenError, Refusal, unreadable},
    partition_metadata, tail,
};
use kraft_core::{Epoch, SnapshotId};
use kraft_fs::FileSystem;
use kraft_snapshot::{SnapshotReadError, SnapshotReader, frozen_name};
use kraft_wire::uuid_text::METADATA_TOPIC_ID;
use std::{
    fmt,
    path::{Path, PathBuf},
};

/// A log directory that a node would start on.
#[derive(Debug)]
pub struct Verified {
    /// Where the log starts.
    pub start: i64,
    /// Where it ends.
    pub end: i64,
    /// The epoch of its last batch, or of the latest snapshot if there is none.
    pub last_epoch: Epoch,
    /// The latest snapshot.
    pub snapshot: Option<SnapshotId>,
    /// What the start would change.
    pub repairs: Vec<Repair>,
    /// Damage that no start minds: older snapshots, which nothing is read from but to serve them.
    pub unneeded: Vec<SnapshotReadError>,
}

/// Something that a start changes. The display form names file and reason.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repair {
    /// The file goes.
    Remove {
        /// Which one.
        path: PathBuf,
        /// Why.
        reason: RemoveReason,
    },
    /// The end of the last segment is cut: zeros, or what a crash has torn.
    Cut {
        /// The segment.
        path: PathBuf,
        /// Where.
        position: u64,
        /// How many bytes go.
        bytes: u64,
        /// Whether there is nothing but zeros, so that nothing is lost.
        zeros: bool,
    },
    /// A damaged snapshot is renamed: the log holds what it held.
    SetAside {
        /// Which one.
        path: PathBuf,
    },
    /// The file is written anew from what the rest of the directory says.
    Rebuild {
        /// Which one.
        path: PathBuf,
    },
}

/// Why a file goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RemoveReason {
    /// Something unfinished, or a file that had been marked for deletion.
    Leftover,
    /// A segment that the latest snapshot has replaced.
    Replaced,
    /// A snapshot that ends before the log starts.
    OldSnapshot,
}

impl Repair {
    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Remove { path, .. }
            | Self::Cut { path, .. }
            | Self::SetAside { path }
            | Self::Rebuild { path } => path,
        }
    }

    fn cut<F: FileSystem>(dir: &Path, examined: &Examined<F>) -> Result<Option<Self>, OpenError> {
        let behind = |segment: &&ExaminedSegment<F>| segment.len > segment.end.position;
        let Some(last) = examined.segments.last().filter(behind) else {
            return Ok(None);
        };
        let path = dir.join(log_file(last.base));
        let used = tail::last_nonzero(&last.file, last.end.position, last.len).map_err(unreadable(&path))?;
        Ok(Some(Self::Cut {
            path,
            position: last.end.position,
            bytes: last.len - last.end.position,
            zeros: used.is_none(),
        }))
    }
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path().display();
        match self {
            Self::Remove { reason, .. } => write!(f, "{path}: would be removed: {reason}"),
            Self::Cut {
                position,
                bytes,
                zeros,
                ..
            } => {
                let what = if *zeros { "zeros" } else { "a torn write" };
                write!(f, "{path}: byte {position}: {bytes} bytes would be cut: {what}")
            }
            Self::SetAside { .. } => write!(
                f,
                "{path}: would be renamed: it is damaged, and the log holds what it held"
            ),
            Self::Rebuild { .. } => write!(f, "{path}: would be written anew from the rest of the directory"),
        }
    }
}

impl fmt::Display for RemoveReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Leftover => "it is left over from something unfinished",
            Self::Replaced => "the latest snapshot has replaced it",
            Self::OldSnapshot => "it ends before the log starts",
        })
    }
}

/// Reads and checks everything as [`open`](crate::open) does, and the older snapshots too; changes nothing. It fails
/// exactly when `open` would refuse.
///
/// A log that a node is writing meanwhile is not seen at one moment, so the caller sees to it that none is running.
///
/// # Errors
/// [`Refusal`], which then is what a start would end with.
pub fn verify<F: FileSystem>(fs: &F, dir: &Path) -> Result<Verified, Refusal> {
    verify_examined(fs, dir).map_err(|cause| Refusal::new(fs, dir, cause))
}

fn verify_examined<F: FileSystem>(fs: &F, dir: &Path) -> Result<Verified, OpenError> {
    let is_there = fs.metadata(dir).map_err(unreadable(dir))?.is_some();
    let contents = if is_there {
        look(fs, dir, &METADATA_TOPIC_ID)?
    } else {
        Contents::default()
    };
    let examined = examine(fs, dir, &contents)?;
    let latest = examined.snapshot.as_ref().map(|(id, _)| *id);
    let older = contents.snapshots.iter().map(|(id, _)| id);
    let older = older.filter(|id| {
        Some(*id) != latest && id.end_offset >= examined.start && !examined.damaged.contains(id)
    });
    Ok(Verified {
        start: examined.start,
        end: examined.end,
        last_epoch: examined
            .epochs
            .latest()
            .or(latest.map(|id| id.epoch))
            .unwrap_or_default(),
        snapshot: latest,
        repairs: repairs(dir, &contents, &examined)?,
        unneeded: older.filter_map(|id| damage(fs, dir, id)).collect(),
    })
}

fn repairs<F: FileSystem>(
    dir: &Path,
    contents: &Contents,
    examined: &Examined<F>,
) -> Result<Vec<Repair>, OpenError> {
    let remove = |name: &str, reason| Repair::Remove {
        path: dir.join(name),
        reason,
    };
    let leftovers = contents.leftovers.iter();
    let replaced = examined.replaced.iter().rev();
    let old = examined.old_snapshots(contents).into_iter();
    let mut repairs: Vec<Repair> = leftovers
        .map(|name| remove(name, RemoveReason::Leftover))
        .chain(replaced.map(|base| remove(&log_file(*base), RemoveReason::Replaced)))
        .chain(old.map(|id| remove(&frozen_name(id), RemoveReason::OldSnapshot)))
        .collect();
    let damaged = examined.damaged.iter();
    repairs.extend(damaged.map(|id| Repair::SetAside {
        path: dir.join(frozen_name(*id)),
    }));
    repairs.extend(Repair::cut(dir, examined)?);
    let rebuild = |name| Repair::Rebuild { path: dir.join(name) };
    if contents.topic.is_none() {
        repairs.push(rebuild(partition_metadata::FILE_NAME));
    }
    if contents.epochs.as_deref() != Some(examined.epochs.entries()) {
        repairs.push(rebuild(epoch_checkpoint::FILE_NAME));
    }
    Ok(repairs)
}

fn damage<F: FileSystem>(fs: &F, dir: &Path, id: SnapshotId) -> Option<SnapshotReadError> {
    let verified = SnapshotReader::open(fs, dir, id).and_then(|reader| match reader {
        Some(mut reader) => reader.verify_rest().map(drop),
        None => Ok(()),
    });
    verified.err()
}
