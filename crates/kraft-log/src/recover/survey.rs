//! Everything that can still be read of a damaged directory.

use super::{
    behind::{Behind, batches_behind},
    error::RecoverError,
    step::Step,
};
use crate::{
    METADATA_PARTITION_DIR,
    directory::{Contents, look_beside_election},
    epoch_checks::EpochChecks,
    examine::{epoch_before, latest_snapshot},
    examined_segment::{ExaminedSegment, scan_one},
    meta_properties::{self, MetaProperties},
    names::log_file,
    open_error::unreadable,
    quorum_state::{self, QuorumStateError},
    small_file::SmallFileError,
};
use kraft_core::{ControlRecord, ElectionState, MAX_EPOCH, NodeId, ReplicaKey, SnapshotId};
use kraft_fs::FileSystem;
use kraft_wire::uuid_text::METADATA_TOPIC_ID;
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// The files of a metadata directory, before anything in them is read.
#[derive(Debug)]
pub(super) struct Directory {
    pub(super) path: PathBuf,
    pub(super) partition: PathBuf,
    pub(super) properties: MetaProperties,
    /// This node: its id and the id of the directory.
    pub(super) local: ReplicaKey,
    /// Without the election state.
    pub(super) contents: Contents,
    /// The election state, unless it is lost.
    pub(super) election: Result<ElectionState, LostElection>,
    /// What is appended to names of files that are kept.
    pub(super) kept: String,
}

/// Why there is no election state.
#[derive(Debug)]
pub(super) enum LostElection {
    Missing,
    Malformed,
}

impl Directory {
    pub(super) fn look<F: FileSystem>(fs: &F, dir: &Path) -> Result<Self, RecoverError> {
        let file = dir.join(meta_properties::FILE_NAME);
        let properties = MetaProperties::load(fs, dir)?
            .ok_or_else(|| RecoverError::NotFormatted { file: file.clone() })?;
        let id = properties.node_id.map(NodeId);
        let id = id.ok_or_else(|| RecoverError::NotFormatted { file: file.clone() })?;
        let directory_id = properties.directory_id.unwrap_or(Uuid::nil());
        let partition = dir.join(METADATA_PARTITION_DIR);
        if fs.metadata(&partition).map_err(unreadable(&partition))?.is_none() {
            return Err(RecoverError::NoLog { path: partition });
        }
        let contents = look_beside_election(fs, &partition, &METADATA_TOPIC_ID)?;
        let election = match quorum_state::load(fs, &partition) {
            Ok(Some(election)) if election.epoch <= MAX_EPOCH => Ok(election),
            // No quorum comes to such an epoch, and a node that kept it would not start.
            Ok(Some(_)) => Err(LostElection::Malformed),
            Ok(None) => Err(LostElection::Missing),
            Err(SmallFileError::Malformed {
                path,
                reason: QuorumStateError::UnknownVersion { version },
            }) if version > 1 => return Err(RecoverError::LaterRelease { path, version }),
            Err(SmallFileError::Malformed { .. }) => Err(LostElection::Malformed),
            Err(error) => return Err(crate::OpenError::from(error).into()),
        };
        Ok(Self {
            kept: kept_suffix(fs, &[dir, &partition])?,
            path: dir.to_owned(),
            partition,
            properties,
            local: ReplicaKey::new(id, directory_id),
            contents,
            election,
        })
    }

    pub(super) fn quorum_state(&self) -> PathBuf {
        self.partition.join(quorum_state::FILE_NAME)
    }

    /// The name under which a file is kept.
    pub(super) fn kept(&self, path: &Path) -> PathBuf {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(&self.kept);
        path.with_file_name(name)
    }

    /// The step that keeps a copy of a whole file.
    pub(super) fn keep_copy(&self, from: PathBuf) -> Step {
        let to = self.kept(&from);
        Step::KeepCopy {
            from,
            position: 0,
            to,
        }
    }

    /// The election state, without which a log can neither be fetched again nor go on alone.
    pub(super) fn known_election(&self) -> Result<&ElectionState, RecoverError> {
        self.election.as_ref().map_err(|_| RecoverError::ElectionLost {
            path: self.quorum_state(),
        })
    }
}

/// One suffix for all that one recovery keeps; no file has it yet. Neither we nor Kafka read such files.
fn kept_suffix<F: FileSystem>(fs: &F, dirs: &[&Path]) -> Result<String, RecoverError> {
    let mut taken = 0_u64;
    for dir in dirs {
        for entry in fs.list(dir).map_err(unreadable(dir))? {
            let number = entry.name.rsplit_once(KEPT).map(|(_, number)| number.parse());
            if let Some(Ok(number)) = number {
                taken = taken.max(number);
            }
        }
    }
    Ok(format!("{KEPT}{}", taken.saturating_add(1)))
}

const KEPT: &str = ".kept-";

/// The batches and snapshots that are whole, wherever they are.
#[derive(Debug)]
pub(super) struct Survey<F: FileSystem> {
    /// Every segment, each up to its first fault.
    pub(super) segments: Vec<ExaminedSegment<F>>,
    /// What lies behind the faults of each.
    pub(super) behind: Vec<Behind>,
    /// The newest snapshot that is whole.
    pub(super) snapshot: Option<(SnapshotId, Vec<ControlRecord>)>,
    /// Newer ones that are not.
    pub(super) damaged: Vec<SnapshotId>,
}

impl<F: FileSystem> Survey<F> {
    pub(super) fn read(fs: &F, directory: &Directory) -> Result<Self, RecoverError> {
        let dir = &directory.partition;
        let cached = directory.contents.epochs.as_deref().unwrap_or_default();
        let mut checks = EpochChecks::new(None, cached);
        let mut segments = Vec::new();
        let mut behind = Vec::new();
        for (base, len) in &directory.contents.segments {
            let path = dir.join(log_file(*base));
            let mut segment = scan_one(fs, &path, *base, *len)?;
            if segments
                .last()
                .is_none_or(|before: &ExaminedSegment<F>| before.end.offset != *base)
            {
                checks = EpochChecks::new(epoch_before(&directory.contents, *base), cached);
            }
            let checked = segment
                .epochs
                .iter()
                .find_map(|begin| Some((*begin, checks.next(begin).err()?)));
            if let Some((begin, fault)) = checked {
                segment.end_before(&begin, fault);
            }
            let found = if segment.end.fault.is_some() {
                batches_behind(&segment.file, segment.end.position, *len).map_err(unreadable(&path))?
            } else {
                Behind::default()
            };
            segments.push(segment);
            behind.push(found);
        }
        let latest = latest_snapshot(fs, dir, &directory.contents)?;
        Ok(Self {
            segments,
            behind,
            snapshot: latest.snapshot,
            damaged: latest.damaged.into_iter().map(|(id, _)| id).collect(),
        })
    }

    /// Where the newest whole snapshot ends.
    pub(super) fn covered(&self) -> i64 {
        self.snapshot.as_ref().map_or(0, |(id, _)| id.end_offset)
    }
}
