//! The segments of a directory, each checked by itself.

use crate::{
    directory::Contents,
    epoch_checkpoint::EpochStart,
    epoch_checks::EpochBegin,
    names::log_file,
    open_error::{OpenError, unreadable},
    scan::{BatchFault, ScanEnd, ScannedBatch, SegmentScan, announces_leader},
    segment_index::SegmentIndex,
    storage_error::{StorageError, failed},
    tail::{NotTorn, ValidPart, judge},
};
use kraft_core::{ControlRecord, Epoch};
use kraft_fs::{File, FileSystem, Open};
use std::path::Path;

/// A segment whose batches are valid up to `end`.
#[derive(Debug)]
pub(crate) struct ExaminedSegment<F: FileSystem> {
    pub(crate) base: i64,
    pub(crate) file: F::File,
    pub(crate) len: u64,
    pub(crate) end: ScanEnd,
    pub(crate) index: SegmentIndex,
    /// Whether there is a batch of data.
    pub(crate) has_data: bool,
    /// Where each batch ends.
    pub(crate) batch_ends: Vec<i64>,
    /// Where each epoch begins in this segment.
    pub(crate) epochs: Vec<EpochBegin>,
    /// The control records, each with its offset.
    pub(crate) control: Vec<(i64, ControlRecord)>,
}

impl<F: FileSystem> ExaminedSegment<F> {
    pub(crate) fn last_epoch(&self) -> Option<Epoch> {
        self.epochs.last().map(|begin| begin.start.epoch)
    }

    /// Takes back what begins with the batch at `position`, which is wrong.
    pub(crate) fn end_before(&mut self, begin: &EpochBegin, fault: BatchFault) {
        let offset = begin.start.start_offset;
        self.end = ScanEnd {
            position: begin.position,
            offset,
            fault: Some(fault),
        };
        self.epochs.retain(|other| other.start.start_offset < offset);
        self.batch_ends.retain(|end| *end <= offset);
        self.control.retain(|(at, _)| *at < offset);
        self.index.truncate(offset);
    }

    fn take(&mut self, batch: ScannedBatch) {
        let ScannedBatch { info, position, .. } = batch;
        self.index
            .add(info.last, position, u64::from(info.bytes), batch.max_timestamp);
        self.has_data |= info.control.is_none();
        self.batch_ends.push(info.last + 1);
        if self.last_epoch() != Some(info.epoch) {
            self.epochs.push(EpochBegin {
                start: EpochStart {
                    epoch: info.epoch,
                    start_offset: info.base,
                },
                position,
                announced: announces_leader(&info),
            });
        }
        self.control
            .extend((info.base..).zip(info.control.into_iter().flatten()));
    }
}

/// Reads all segments. Behind the valid batches of the last one there may be what a crash leaves.
pub(crate) fn scan_all<F: FileSystem>(
    fs: &F,
    dir: &Path,
    contents: &Contents,
) -> Result<Vec<ExaminedSegment<F>>, OpenError> {
    let mut segments = Vec::new();
    let mut rest = contents.segments.iter().peekable();
    while let Some((&base, &len)) = rest.next() {
        let path = dir.join(log_file(base));
        let segment = scan_one(fs, &path, base, len)?;
        if let Some(fault) = segment.end.fault {
            let is_last = rest.peek().is_none();
            let why = if is_last {
                judge_tail(&path, &segment)?
            } else {
                None
            };
            if why.is_some() || !is_last {
                return Err(OpenError::Damaged {
                    path,
                    position: segment.end.position,
                    fault,
                    why,
                });
            }
        }
        segments.push(segment);
    }
    Ok(segments)
}

/// Reads one segment, up to what is no next batch.
pub(crate) fn scan_one<F: FileSystem>(
    fs: &F,
    path: &Path,
    base: i64,
    len: u64,
) -> Result<ExaminedSegment<F>, OpenError> {
    let mut segment = ExaminedSegment {
        base,
        file: fs.open(path, Open::ReadWrite).map_err(unreadable(path))?,
        len,
        end: ScanEnd {
            position: 0,
            offset: base,
            fault: None,
        },
        index: SegmentIndex::new(base),
        has_data: false,
        batch_ends: Vec::new(),
        epochs: Vec::new(),
        control: Vec::new(),
    };
    let mut batches = SegmentScan::new(len, base);
    while let Some(batch) = batches.next(&segment.file).map_err(unreadable(path))? {
        segment.take(batch);
    }
    segment.end = batches.end();
    Ok(segment)
}

/// Why what is behind the valid batches of the last segment is not the trace of a crash, if it is not.
fn judge_tail<F: FileSystem>(
    path: &Path,
    segment: &ExaminedSegment<F>,
) -> Result<Option<NotTorn>, OpenError> {
    let valid = ValidPart {
        position: segment.end.position,
        len: segment.len,
        next_offset: segment.end.offset,
        last_epoch: segment.last_epoch().unwrap_or_default(),
    };
    Ok(judge(&segment.file, valid).map_err(unreadable(path))?.err())
}

/// Makes everything durable that was found: a killed process leaves written bytes that no sync has seen.
pub(crate) fn sync_found<F: FileSystem>(
    dir: &Path,
    segments: &[ExaminedSegment<F>],
) -> Result<(), StorageError> {
    for segment in segments {
        segment
            .file
            .sync_data()
            .map_err(failed("syncing", &dir.join(log_file(segment.base))))?;
    }
    Ok(())
}
