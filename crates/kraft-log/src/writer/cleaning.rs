//! Removing what retention does not keep, and snapshots that another one replaces.

use super::LogWriter;
use crate::{
    clean::{Candidate, Cleaned, Extent, Retention},
    layout::Shared,
    names::{LogName, SegmentFile, classify},
    segment_files::remove_if_there,
    storage_error::{StorageError, failed},
};
use kraft_core::SnapshotId;
use kraft_fs::FileSystem;
use kraft_snapshot::{SnapshotFileState, SnapshotReadError, SnapshotReader, parse_name};
use std::path::Path;

impl<F: FileSystem> LogWriter<F> {
    /// Removes what retention does not keep. The oldest segments go first: a crash leaves a log without a hole, which
    /// the newest snapshot leads to.
    pub(super) fn clean(&mut self, high_watermark: i64, now_ms: i64) -> Result<(), StorageError> {
        let shared = self.shared.clone();
        let Shared { fs, dir, .. } = &*shared;
        self.deleted.tell(fs, now_ms)?;
        let mut snapshots = frozen_snapshots(fs, dir)?;
        if let Some(first) = self.passed(&snapshots) {
            self.remove_snapshots_before(first)?;
            self.deleted.tell(fs, now_ms)?;
            snapshots = frozen_snapshots(fs, dir)?;
        }
        let mut extent = Extent {
            start: self.start,
            segments: Vec::new(),
            high_watermark,
            snapshots,
        };
        let layout = self.shared.layout();
        let sizes = layout.segments.iter();
        extent.segments = sizes.map(|(base, segment)| (*base, segment.written)).collect();
        drop(layout);
        let Retention { bytes, age_ms } = self.options.retention;
        extent.shrink("log and snapshots are too large", |_, total| {
            Ok::<_, StorageError>(bytes.is_some_and(|most| total > most))
        })?;
        if let Some(age_ms) = age_ms {
            extent.shrink("it is too old", |id, _| {
                let timestamp = last_contained_timestamp(fs, dir, id)?;
                Ok::<_, StorageError>(timestamp.is_some_and(|at| now_ms.saturating_sub(at) > age_ms))
            })?;
        }
        if extent.start == self.start {
            return Ok(());
        }
        let oldest = extent.snapshots.first().expect("the newest one stays").id;
        let first = extent.segments.first().expect("the last segment stays").0;
        let gone = {
            let mut layout = self.shared.layout_mut();
            let kept = layout.segments.split_off(&first);
            std::mem::replace(&mut layout.segments, kept)
        };
        for base in gone.into_keys() {
            self.remove_segment(base)?;
        }
        self.sync_dir()?;
        if self.epochs.truncate_from_start(extent.start) {
            self.store_epochs()?;
        }
        self.remove_snapshots_before(oldest)?;
        self.start = extent.start;
        self.cleaned = Some(Cleaned { oldest });
        self.deleted.tell(fs, now_ms)
    }

    /// The snapshot that the log begins with, if there is one before it: that was still being written when the log was cut, or
    /// replaced, at a later one.
    fn passed(&self, snapshots: &[Candidate]) -> Option<SnapshotId> {
        let first = snapshots
            .iter()
            .position(|candidate| candidate.id.end_offset >= self.start)?;
        (first > 0).then(|| snapshots[first].id)
    }

    pub(super) fn remove_snapshots_before(&mut self, newest: SnapshotId) -> Result<(), StorageError> {
        let Shared { fs, dir, .. } = &*self.shared;
        let rank = |id: SnapshotId| (id.epoch, id.end_offset);
        let names = fs.list(dir).map_err(failed("listing", dir))?;
        for entry in names {
            let older = matches!(
                parse_name(&entry.name),
                Ok(Some(file)) if file.state == SnapshotFileState::Frozen && rank(file.id) < rank(newest)
            );
            if older {
                let delay_ms = self.options.delete_delay_ms;
                self.deleted.delete(fs, dir, &entry.name, delay_ms)?;
            }
            // Producer states of segments that are gone; a metadata log has no producers.
            if matches!(classify(&entry.name), LogName::Segment(SegmentFile::Unused, _)) {
                remove_if_there(fs, &dir.join(&entry.name))?;
            }
        }
        self.sync_dir()
    }
}

/// The snapshots of a directory, in their order.
fn frozen_snapshots<F: FileSystem>(fs: &F, dir: &Path) -> Result<Vec<Candidate>, StorageError> {
    let entries = fs.list(dir).map_err(failed("listing", dir))?;
    let frozen = entries.into_iter().filter_map(|entry| {
        let file = parse_name(&entry.name).ok().flatten()?;
        (file.state == SnapshotFileState::Frozen).then_some(Candidate {
            id: file.id,
            size: entry.metadata.len,
        })
    });
    let mut snapshots: Vec<_> = frozen.collect();
    snapshots.sort_by_key(|snapshot| (snapshot.id.epoch, snapshot.id.end_offset));
    Ok(snapshots)
}

/// When the last record of a snapshot was written; `None` if its header cannot be read, which makes it no older.
fn last_contained_timestamp<F: FileSystem>(
    fs: &F,
    dir: &Path,
    id: SnapshotId,
) -> Result<Option<i64>, StorageError> {
    match SnapshotReader::open(fs, dir, id) {
        Ok(reader) => Ok(reader.map(|reader| reader.header().last_contained_log_timestamp)),
        Err(SnapshotReadError::Io { path, source }) => Err(failed("reading", &path)(source)),
        Err(_) => Ok(None),
    }
}
