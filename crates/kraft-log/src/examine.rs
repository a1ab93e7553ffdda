//! Judging what is in a log directory: which of it is the log, and what has to be brought in order.

use crate::{
    directory::Contents,
    epoch_checkpoint::{self, EpochStart},
    epoch_checks::EpochChecks,
    epochs::EpochCache,
    examined_segment::{ExaminedSegment, scan_all},
    in_range::{require_end_in_range, require_epochs_and_levels, require_offsets_in_range},
    names::log_file,
    needed_names::require_names,
    open_error::OpenError,
    quorum_state,
    small_file::SmallFileError,
    synced_mark::SyncedMark,
    tail::NotTorn,
};
use kraft_core::{ControlRecord, Epoch, SnapshotId};
use kraft_fs::FileSystem;
use kraft_snapshot::{SnapshotReadError, SnapshotReader};
use std::path::Path;

/// What the log is, and what stands beside it that has to go.
#[derive(Debug)]
pub(crate) struct Examined<F: FileSystem> {
    /// The segments that make up the log, without a hole. The last one may have bytes behind its end, which go.
    pub(crate) segments: Vec<ExaminedSegment<F>>,
    /// Base offsets of segments that a snapshot has replaced.
    pub(crate) replaced: Vec<i64>,
    /// Where the log starts; there may be no segment yet.
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) epochs: EpochCache,
    /// The latest snapshot, verified whole, and its control records.
    pub(crate) snapshot: Option<(SnapshotId, Vec<ControlRecord>)>,
    /// Later ones that are damaged, and that the log makes up for.
    pub(crate) damaged: Vec<SnapshotId>,
}

impl<F: FileSystem> Examined<F> {
    /// The snapshots that end before the log starts: nothing leads from them to the log.
    pub(crate) fn old_snapshots(&self, contents: &Contents) -> Vec<SnapshotId> {
        let ids = contents.snapshots.iter().map(|(id, _)| id);
        ids.filter(|id| id.end_offset < self.start && !self.damaged.contains(id))
            .collect()
    }
}

/// Reads everything and writes nothing.
pub(crate) fn examine<F: FileSystem>(
    fs: &F,
    dir: &Path,
    contents: &Contents,
) -> Result<Examined<F>, OpenError> {
    require_offsets_in_range(dir, contents)?;
    let segments = scan_all(fs, dir, contents)?;
    require_synced(dir, contents, &segments)?;
    let LatestSnapshot { snapshot, damaged } = latest_snapshot(fs, dir, contents)?;
    let log_end = segments.last().map_or(0, |segment| segment.end.offset);
    let file_epochs = contents.epochs.as_deref().unwrap_or_default();

    let mut examined = match snapshot {
        Some((id, ref records)) if is_ahead(id, &segments) => Examined {
            replaced: segments.iter().map(|segment| segment.base).collect(),
            segments: Vec::new(),
            start: id.end_offset,
            end: id.end_offset,
            epochs: EpochCache::default(),
            snapshot: Some((id, records.clone())),
            damaged: Vec::new(),
        },
        snapshot if damaged.is_empty() => contiguous(dir, contents, segments, snapshot)?,
        snapshot => {
            let made_up_for = damaged.iter().all(|(id, _)| makes_up_for(*id, &segments));
            let examined = contiguous(dir, contents, segments, snapshot);
            match examined {
                Ok(examined) if made_up_for && examined.replaced.is_empty() => Examined {
                    damaged: damaged.into_iter().map(|(id, _)| id).collect(),
                    ..examined
                },
                _ => {
                    let (_, newest) = damaged.into_iter().next().expect("there is one");
                    return Err(newest.into());
                }
            }
        }
    };
    if let Some(reason) = contents.epochs_fault
        && examined.epochs.latest().is_none()
    {
        // Nothing else tells which epochs there were.
        let path = dir.join(epoch_checkpoint::FILE_NAME);
        return Err(SmallFileError::Malformed { path, reason }.into());
    }
    let known_end = log_end.max(examined.end);
    let mut beyond = file_epochs.iter().filter(|entry| entry.start_offset > known_end);
    if let Some(entry) = beyond.clone().next()
        && !beyond.all(|entry| is_over(entry, contents, &examined))
    {
        return Err(OpenError::EpochBeyondEnd {
            path: dir.join(epoch_checkpoint::FILE_NAME),
            epoch: entry.epoch,
            start: entry.start_offset,
            end: known_end,
        });
    }
    // A leader enters its epoch before its first record; all other entries follow from the batches.
    if let Some(newest) = file_epochs.last()
        && newest.start_offset == examined.end
        && !examined.segments.is_empty()
        && examined
            .epochs
            .latest()
            .is_none_or(|latest| latest < newest.epoch)
    {
        examined.epochs.assign(newest.epoch, newest.start_offset);
    }
    require_end_in_range(dir, &examined)?;
    require_epochs_and_levels(dir, contents, &examined)?;
    require_quorum_state(dir, contents, &examined)?;
    require_names(fs, dir, contents, &examined)?;
    Ok(examined)
}

/// Whether an epoch that the cache has begin behind the end of the log was cut away, so that nothing is missing. Kafka
/// writes the cache a moment after it has cut the log, and may be killed in between. Either what is left ends with a
/// whole batch, and a later epoch is stored: a log is cut only in one. Or nothing is left but a snapshot of a later epoch.
fn is_over<F: FileSystem>(entry: &EpochStart, contents: &Contents, examined: &Examined<F>) -> bool {
    let stored = contents.election.as_ref().map(|election| election.epoch);
    let whole = examined
        .segments
        .last()
        .is_some_and(|last| last.len == last.end.position && !last.batch_ends.is_empty());
    let snapshot = examined.snapshot.as_ref().map(|(id, _)| *id);
    whole && stored.is_some_and(|stored| stored > entry.epoch)
        || snapshot.is_some_and(|id| id.end_offset == examined.end && id.epoch > entry.epoch)
}

/// Whether a snapshot ends where the log has not come to, or came to with other records: a full truncation that was
/// interrupted. Epochs that have no record yet do not count: nothing is lost with them.
///
/// What a snapshot holds was committed, whatever its epoch. A log that ends before it, or at its end with a record of
/// another epoch, therefore has nothing committed that the snapshot lacks, even if an epoch that never committed anything
/// left a record of a later epoch in it.
fn is_ahead<F: FileSystem>(id: SnapshotId, segments: &[ExaminedSegment<F>]) -> bool {
    if segments.first().is_some_and(|first| first.base > id.end_offset) {
        // Whatever the log began behind was committed, and this snapshot does not hold all of it.
        return false;
    }
    if let [only] = segments
        && only.base == id.end_offset
        && only.batch_ends.is_empty()
    {
        return false;
    }
    let newest = segments.iter().filter_map(ExaminedSegment::last_epoch).max();
    let newest = newest.unwrap_or_default();
    let log_end = segments.last().map_or(0, |segment| segment.end.offset);
    id.epoch > newest || id.end_offset > log_end || (id.end_offset == log_end && id.epoch != newest)
}

/// Whether the log holds all that a damaged snapshot held, so that an older one, or none, will do. What the zero
/// checkpoint holds is in the log once a leader has written its data there.
pub(crate) fn makes_up_for<F: FileSystem>(damaged: SnapshotId, segments: &[ExaminedSegment<F>]) -> bool {
    let in_log = segments.iter().any(|segment| segment.has_data);
    in_log && !is_ahead(damaged, segments)
}

/// The epoch of the record before the log's first: that of the snapshot which ends there. None comes before offset 0.
pub(crate) fn epoch_before(contents: &Contents, start: i64) -> Option<Epoch> {
    if start == 0 {
        return Some(Epoch::default());
    }
    let mut ids = contents.snapshots.iter().map(|(id, _)| id);
    ids.find(|id| id.end_offset == start).map(|id| id.epoch)
}

/// The log that the segments make up, from behind the last hole that the snapshot covers.
fn contiguous<F: FileSystem>(
    dir: &Path,
    contents: &Contents,
    mut segments: Vec<ExaminedSegment<F>>,
    snapshot: Option<(SnapshotId, Vec<ControlRecord>)>,
) -> Result<Examined<F>, OpenError> {
    let covered = snapshot.as_ref().map_or(0, |(id, _)| id.end_offset);
    let mut kept_from = 0;
    for later in 1..segments.len() {
        let (expected, found) = (segments[later - 1].end.offset, segments[later].base);
        if found > expected && found <= covered {
            kept_from = later;
        } else if found != expected {
            return Err(OpenError::NotContiguous {
                path: dir.join(log_file(found)),
                expected,
                found,
            });
        }
    }
    let kept = segments.split_off(kept_from);
    let start = kept.first().map_or(0, |segment| segment.base);
    if start > covered {
        return Err(OpenError::NoSnapshot {
            path: dir.join(log_file(start)),
            start,
            latest: snapshot.map(|(id, _)| id.end_offset),
        });
    }
    let mut epochs = EpochCache::default();
    let cached = contents.epochs.as_deref().unwrap_or_default();
    let mut checks = EpochChecks::new(epoch_before(contents, start), cached);
    for segment in &kept {
        for begin in &segment.epochs {
            checks.next(begin).map_err(|fault| OpenError::Damaged {
                path: dir.join(log_file(segment.base)),
                position: begin.position,
                fault,
                why: None,
            })?;
            epochs.assign(begin.start.epoch, begin.start.start_offset);
        }
    }
    Ok(Examined {
        replaced: segments.iter().map(|segment| segment.base).collect(),
        start,
        end: kept.last().map_or(0, |segment| segment.end.offset),
        segments: kept,
        epochs,
        snapshot,
        damaged: Vec::new(),
    })
}

/// The newest snapshot that is whole, and those above it that are not, the newest first.
pub(crate) struct LatestSnapshot {
    pub(crate) snapshot: Option<(SnapshotId, Vec<ControlRecord>)>,
    pub(crate) damaged: Vec<(SnapshotId, SnapshotReadError)>,
}

pub(crate) fn latest_snapshot<F: FileSystem>(
    fs: &F,
    dir: &Path,
    contents: &Contents,
) -> Result<LatestSnapshot, OpenError> {
    let mut damaged = Vec::new();
    for (id, _) in contents.snapshots.iter().rev() {
        match control_records_of(fs, dir, id) {
            Ok(records) => {
                let snapshot = records.map(|records| (id, records));
                return Ok(LatestSnapshot { snapshot, damaged });
            }
            Err(damage @ SnapshotReadError::Damaged { .. }) => damaged.push((id, damage)),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(LatestSnapshot {
        snapshot: None,
        damaged,
    })
}

fn control_records_of<F: FileSystem>(
    fs: &F,
    dir: &Path,
    id: SnapshotId,
) -> Result<Option<Vec<ControlRecord>>, SnapshotReadError> {
    let Some(mut reader) = SnapshotReader::open(fs, dir, id)? else {
        return Ok(None);
    };
    reader.verify_rest()?;
    Ok(Some(reader.header().control_records()))
}

/// A directory that has been used has a `quorum-state`: without it the node could vote twice in an epoch.
fn require_quorum_state<F: FileSystem>(
    dir: &Path,
    contents: &Contents,
    examined: &Examined<F>,
) -> Result<(), OpenError> {
    let used = examined.end > 0
        || contents
            .snapshots
            .iter()
            .any(|(id, _)| id != SnapshotId::BOOTSTRAP)
        || contents
            .epochs
            .as_ref()
            .is_some_and(|entries| !entries.is_empty())
        || contents.epochs_fault.is_some();
    if contents.election.is_none() && used {
        return Err(OpenError::QuorumStateMissing {
            path: dir.join(quorum_state::FILE_NAME),
        });
    }
    Ok(())
}

/// The log reaches at least as far as it was once known to be durable, unless a later epoch may have cut it. The mark is
/// taken back before a snapshot replaces the log.
fn require_synced<F: FileSystem>(
    dir: &Path,
    contents: &Contents,
    segments: &[ExaminedSegment<F>],
) -> Result<(), OpenError> {
    let stored_epoch = contents.election.as_ref().map(|election| election.epoch);
    let valid = |mark: &SyncedMark| stored_epoch.is_none_or(|epoch| epoch <= mark.epoch);
    let Some(mark) = contents.synced.filter(valid) else {
        return Ok(());
    };
    let why = NotTorn::BelowSynced {
        segment: mark.segment,
        synced: mark.position,
    };
    let Some(last) = segments.last() else {
        let path = dir.join(log_file(mark.segment));
        return Err(OpenError::Short { path, end: 0, why });
    };
    let end = last.end.position;
    if (last.base, end) >= (mark.segment, mark.position) {
        return Ok(());
    }
    let path = dir.join(log_file(last.base));
    Err(match last.end.fault {
        Some(fault) => OpenError::Damaged {
            path,
            position: end,
            fault,
            why: Some(why),
        },
        None => OpenError::Short { path, end, why },
    })
}
