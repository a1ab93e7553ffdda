//! Offsets, epochs and levels that no replica starts on.

use crate::{
    directory::Contents, epoch_checkpoint, examine::Examined, examined_segment::ExaminedSegment,
    names::log_file, open_error::OpenError, quorum_state,
};
use kraft_core::{ControlRecord, MAX_EPOCH, MAX_OFFSET};
use kraft_fs::FileSystem;
use kraft_snapshot::{KRAFT_VERSION_MAX, frozen_name};
use std::path::Path;

/// Refuses names whose offset is further than any log comes: a leader could not append behind it, and no checksum covers a
/// name.
pub(crate) fn require_offsets_in_range(dir: &Path, contents: &Contents) -> Result<(), OpenError> {
    let segments = contents.segments.keys().map(|base| (*base, log_file(*base)));
    let snapshots = contents.snapshots.iter();
    let snapshots = snapshots.map(|(id, _)| (id.end_offset, frozen_name(id)));
    match segments.chain(snapshots).find(|(offset, _)| *offset > MAX_OFFSET) {
        Some((offset, name)) => Err(OpenError::OffsetOutOfRange {
            path: dir.join(name),
            offset,
        }),
        None => Ok(()),
    }
}

/// Refuses a log that begins in the range and does not end there.
pub(crate) fn require_end_in_range<F: FileSystem>(
    dir: &Path,
    examined: &Examined<F>,
) -> Result<(), OpenError> {
    match examined.segments.last() {
        Some(last) if examined.end > MAX_OFFSET => Err(OpenError::OffsetOutOfRange {
            path: dir.join(log_file(last.base)),
            offset: examined.end,
        }),
        _ => Ok(()),
    }
}

/// Refuses a log in an epoch that none follows, a stored or an entered one, and a kraft.version of a later release.
pub(crate) fn require_epochs_and_levels<F: FileSystem>(
    dir: &Path,
    contents: &Contents,
    examined: &Examined<F>,
) -> Result<(), OpenError> {
    let stored = contents.election.as_ref();
    let stored = stored.map(|election| (election.epoch, quorum_state::FILE_NAME.to_owned()));
    let snapshot = examined.snapshot.as_ref();
    let snapshot = snapshot.map(|(id, _)| (id.epoch, frozen_name(*id)));
    let last = |segment: &ExaminedSegment<F>| Some((segment.last_epoch()?, log_file(segment.base)));
    // A new segment has no epoch yet.
    let log = examined.segments.iter().rev().find_map(last);
    let entered = examined.epochs.latest();
    let entered = entered.map(|epoch| (epoch, epoch_checkpoint::FILE_NAME.to_owned()));
    let mut epochs = stored.into_iter().chain(snapshot).chain(log).chain(entered);
    if let Some((epoch, name)) = epochs.find(|(epoch, _)| *epoch > MAX_EPOCH) {
        let path = dir.join(name);
        return Err(OpenError::EpochOutOfRange { path, epoch });
    }
    for segment in &examined.segments {
        for (offset, record) in &segment.control {
            if let ControlRecord::KRaftVersion(level) = record
                && !(0..=KRAFT_VERSION_MAX).contains(level)
            {
                return Err(OpenError::UnknownKRaftVersion {
                    path: dir.join(log_file(segment.base)),
                    level: *level,
                    offset: *offset,
                });
            }
        }
    }
    Ok(())
}
