//! The segments as they are on disk, shared between the log thread, which changes them, and readers.

use crate::segment_index::SegmentIndex;
use kraft_fs::FileSystem;
use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

/// One segment.
#[derive(Debug)]
pub(crate) struct Segment<F: FileSystem> {
    pub(crate) file: Arc<F::File>,
    pub(crate) path: PathBuf,
    /// Where its batches end; behind that there may be zeros.
    pub(crate) written: u64,
    pub(crate) index: SegmentIndex,
}

/// All segments, by base offset. There is always one.
#[derive(Debug)]
pub(crate) struct Layout<F: FileSystem> {
    pub(crate) segments: BTreeMap<i64, Segment<F>>,
    /// The end of what is written.
    pub(crate) end: i64,
    /// Counts truncations: a read during which it moved has read nothing.
    pub(crate) truncations: u64,
}

impl<F: FileSystem> Layout<F> {
    pub(crate) fn start(&self) -> i64 {
        *self.segments.keys().next().expect("a log has a segment")
    }

    /// The base offset of the last segment, and the segment.
    pub(crate) fn newest(&self) -> (i64, &Segment<F>) {
        let (base, segment) = self.segments.last_key_value().expect("a log has a segment");
        (*base, segment)
    }

    pub(crate) fn newest_mut(&mut self) -> &mut Segment<F> {
        self.segments
            .values_mut()
            .next_back()
            .expect("a log has a segment")
    }
}

/// What writer and readers share.
#[derive(Debug)]
pub(crate) struct Shared<F: FileSystem> {
    pub(crate) fs: F,
    pub(crate) dir: PathBuf,
    layout: RwLock<Layout<F>>,
}

impl<F: FileSystem> Shared<F> {
    pub(crate) fn new(fs: F, dir: PathBuf, layout: Layout<F>) -> Self {
        Self {
            fs,
            dir,
            layout: RwLock::new(layout),
        }
    }

    pub(crate) fn layout(&self) -> RwLockReadGuard<'_, Layout<F>> {
        self.layout.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn layout_mut(&self) -> RwLockWriteGuard<'_, Layout<F>> {
        self.layout.write().unwrap_or_else(PoisonError::into_inner)
    }
}
