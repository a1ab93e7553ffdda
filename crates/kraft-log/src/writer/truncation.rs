//! Cutting the log, and emptying it for a snapshot.

use super::LogWriter;
use crate::{
    layout::{Layout, Segment},
    scan::find_batch,
    segment_files::{create_segment, cut},
    storage_error::{StorageError, failed},
};
use kraft_core::SnapshotId;
use kraft_fs::FileSystem;
use kraft_snapshot::frozen_name;
use std::collections::BTreeMap;

impl<F: FileSystem> LogWriter<F> {
    /// Cuts the log at `to`. At every moment a crash leaves a log without a hole, whose epoch cache promises nothing
    /// that is gone.
    pub(super) fn truncate(&mut self, to: i64) -> Result<(), StorageError> {
        let (start, end) = {
            let layout = self.shared.layout();
            (layout.start(), layout.end)
        };
        if to >= end {
            if self.epochs.truncate_from_end(end) {
                self.store_epochs()?;
            }
            return Ok(());
        }
        if to < start {
            return self.truncate_fully(to);
        }
        self.clear_synced()?;
        if self.epochs.truncate_from_end(to) {
            self.store_epochs()?;
        }
        self.blocks.leave();
        let (base, position) = self.place_of(to)?;
        let later = self.cut_layout(base, position, to);
        for later_base in later.into_keys().rev() {
            self.remove_segment(later_base)?;
        }
        self.sync_dir()?;
        let (file, path) = {
            let layout = self.shared.layout();
            let (_, segment) = layout.newest();
            (segment.file.clone(), segment.path.clone())
        };
        cut(&*file, position).map_err(failed("cutting", &path))?;
        self.follow(base, position, position)
    }

    /// The segment that ends the log when it is cut at `to`, and where in it.
    fn place_of(&self, to: i64) -> Result<(i64, u64), StorageError> {
        let layout = self.shared.layout();
        let (base, segment) = layout
            .segments
            .range(..=to)
            .next_back()
            .expect("the cut is not before the log start");
        if *base == to {
            return Ok((*base, 0));
        }
        let near = segment.index.lookup(to);
        let found = find_batch(&*segment.file, near, segment.written, to);
        let (position, first_cut) = found.map_err(failed("reading", &segment.path))?;
        assert_eq!(first_cut.base_offset, to, "a log is cut between batches");
        Ok((*base, position))
    }

    /// Tells readers of a cut before the files change; returns the segments behind it.
    fn cut_layout(&self, base: i64, position: u64, to: i64) -> BTreeMap<i64, Segment<F>> {
        let mut layout = self.shared.layout_mut();
        layout.truncations += 1;
        layout.end = to;
        let later = layout.segments.split_off(&(base + 1));
        let segment = layout.newest_mut();
        segment.written = position;
        segment.index.truncate(to);
        later
    }

    pub(super) fn replace_by_snapshot(&mut self, snapshot: SnapshotId) -> Result<(), StorageError> {
        let path = self.shared.dir.join(frozen_name(snapshot));
        let found = self.shared.fs.metadata(&path);
        if found.map_err(failed("looking for", &path))?.is_none() {
            return Err(StorageError::NoSnapshot { path });
        }
        self.truncate_fully(snapshot.end_offset)?;
        self.remove_snapshots_before(snapshot)
    }

    /// Removes all batches; the log then starts and ends at `to`.
    ///
    /// The old segments go first and from the end, so that a crash leaves a log without a hole, which the snapshot
    /// that all this is for is ahead of: the next start completes it.
    fn truncate_fully(&mut self, to: i64) -> Result<(), StorageError> {
        self.clear_synced()?;
        self.epochs.clear();
        self.store_epochs()?;
        self.blocks.leave();
        let bases: Vec<i64> = self.shared.layout().segments.keys().copied().collect();
        for base in bases.into_iter().rev() {
            self.remove_segment(base)?;
        }
        self.sync_dir()?;
        let segment = create_segment(&self.shared.fs, &self.shared.dir, to)?;
        let mut layout = self.shared.layout_mut();
        *layout = Layout {
            segments: BTreeMap::from([(to, segment)]),
            end: to,
            truncations: layout.truncations + 1,
        };
        drop(layout);
        self.start = to;
        self.follow(to, 0, 0)
    }
}
