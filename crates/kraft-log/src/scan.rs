//! Going through the batches of a segment.

use crate::batch_info::batch_info;
use bytes::Bytes;
use kraft_core::{BatchInfo, ControlRecord, Epoch};
use kraft_fs::File;
use kraft_wire::{
    batch::{BatchHeader, BatchView, HEADER_SIZE},
    control::ControlError,
};
use std::io;
use thiserror::Error;

/// What is wrong with the bytes where a batch should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BatchFault {
    /// The file ends before the batch does.
    #[error("a batch of at least {needed} bytes begins here, and the file ends after {there}")]
    CutOff {
        /// How many bytes the batch takes, as far as that can be told.
        needed: u64,
        /// How many there are.
        there: u64,
    },
    /// It is no valid batch.
    #[error("{0}")]
    Invalid(ControlError),
    /// A valid batch, but not the next one.
    #[error("the batch here begins at offset {found}, expected was {expected}")]
    Offset {
        /// The offset behind the batch before.
        expected: i64,
        /// What its header says.
        found: i64,
    },
    /// A valid batch of an epoch that no leader has begun: an epoch's first record is its leader's.
    #[error("epoch {found} begins here without the record of its leader")]
    EpochUnannounced {
        /// What its header says.
        found: Epoch,
    },
    /// The record that begins an epoch, in an epoch that has begun.
    #[error("a leader begins its epoch here, which the batch says is {found}, and that has begun before")]
    EpochBegunTwice {
        /// What the batch's header says.
        found: Epoch,
    },
    /// The epoch cache has another epoch begin here: one of the two is wrong.
    #[error("epoch {found} begins here, where leader-epoch-checkpoint says epoch {expected}")]
    EpochContradicted {
        /// What the epoch cache says.
        expected: Epoch,
        /// What the batch's header says.
        found: Epoch,
    },
    /// A valid batch of an epoch that was over.
    #[error("the batch here is of epoch {found}, the one before it of epoch {last}")]
    EpochGoesBack {
        /// The epoch before.
        last: Epoch,
        /// What its header says.
        found: Epoch,
    },
}

/// A valid batch and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct ScannedBatch {
    pub(crate) info: BatchInfo,
    pub(crate) position: u64,
    pub(crate) max_timestamp: i64,
}

/// Where the valid batches of a segment end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScanEnd {
    pub(crate) position: u64,
    /// The offset behind the last batch.
    pub(crate) offset: i64,
    /// What ended the scan, if it was not the end of the file.
    pub(crate) fault: Option<BatchFault>,
}

/// Whether a batch has the record with which a leader begins its epoch.
pub(crate) fn announces_leader(info: &BatchInfo) -> bool {
    let mut control = info.control.iter().flatten();
    control.any(|record| matches!(record, ControlRecord::LeaderChange { .. }))
}

/// How many bytes of a segment are read at once, unless a batch is larger.
const CHUNK_BYTES: u64 = 1 << 20;

/// Checks the batches of a file in order, until one is wrong. The first has to begin at the base offset, each at the
/// end of the one before, no epoch may be smaller than the one before, and a leader begins its epoch only once.
pub(crate) struct SegmentScan {
    len: u64,
    end: ScanEnd,
    last_epoch: Epoch,
    chunk: Chunk,
}

impl SegmentScan {
    pub(crate) fn new(len: u64, base: i64) -> Self {
        Self {
            len,
            end: ScanEnd {
                position: 0,
                offset: base,
                fault: None,
            },
            last_epoch: Epoch::default(),
            chunk: Chunk::default(),
        }
    }

    /// How far the valid batches go.
    pub(crate) fn end(&self) -> ScanEnd {
        self.end
    }

    /// The next batch; `None` at the end of the file and from the first fault on.
    pub(crate) fn next(&mut self, file: &impl File) -> io::Result<Option<ScannedBatch>> {
        if self.end.position == self.len || self.end.fault.is_some() {
            return Ok(None);
        }
        match self.check(file)? {
            Ok(batch) => {
                self.last_epoch = batch.info.epoch;
                self.end.position += u64::from(batch.info.bytes);
                self.end.offset = batch.info.last + 1;
                Ok(Some(batch))
            }
            Err(fault) => {
                self.end.fault = Some(fault);
                Ok(None)
            }
        }
    }

    fn check(&mut self, file: &impl File) -> io::Result<Result<ScannedBatch, BatchFault>> {
        let ScanEnd { position, offset, .. } = self.end;
        let there = self.len - position;
        let cut_off = |needed| Ok(Err(BatchFault::CutOff { needed, there }));
        if there < HEADER_SIZE as u64 {
            return cut_off(HEADER_SIZE as u64);
        }
        let header = {
            let head = self.chunk.get(file, self.len, position, HEADER_SIZE as u64)?;
            BatchHeader::parse(&head).expect("a header was read")
        };
        let size = header.size().max(HEADER_SIZE) as u64;
        if size > there {
            return cut_off(size);
        }
        let bytes = self.chunk.get(file, self.len, position, size)?;
        let described = BatchView::parse(bytes).map_err(ControlError::from);
        let info = match described.and_then(|batch| batch_info(&batch)) {
            Ok(info) => info,
            Err(error) => return Ok(Err(BatchFault::Invalid(error))),
        };
        if info.base != offset {
            let (expected, found) = (offset, info.base);
            return Ok(Err(BatchFault::Offset { expected, found }));
        }
        if info.epoch < self.last_epoch {
            let (last, found) = (self.last_epoch, info.epoch);
            return Ok(Err(BatchFault::EpochGoesBack { last, found }));
        }
        // The first batch of a segment may begin an epoch or go on with it: that takes the segment before.
        if position > 0 && info.epoch == self.last_epoch && announces_leader(&info) {
            return Ok(Err(BatchFault::EpochBegunTwice { found: info.epoch }));
        }
        Ok(Ok(ScannedBatch {
            info,
            position,
            max_timestamp: header.max_timestamp,
        }))
    }
}

/// A piece of a file in memory, from which batches are shared.
#[derive(Default)]
struct Chunk {
    start: u64,
    bytes: Bytes,
}

impl Chunk {
    /// `size` bytes at `position`, which the file has.
    fn get(&mut self, file: &impl File, len: u64, position: u64, size: u64) -> io::Result<Bytes> {
        let inside = position >= self.start && position + size <= self.start + self.bytes.len() as u64;
        if !inside {
            let length = (len - position).min(size.max(CHUNK_BYTES));
            let length = usize::try_from(length).expect("a segment has less than 2^31 bytes");
            // Mostly nobody has a part of it any more; to fill new memory takes longer than to check what is read.
            let mut bytes = std::mem::take(&mut self.bytes).try_into_mut().unwrap_or_default();
            bytes.resize(length, 0);
            file.read_exact_at(&mut bytes, position)?;
            *self = Self {
                start: position,
                bytes: bytes.freeze(),
            };
        }
        let from = (position - self.start) as usize;
        Ok(self.bytes.slice(from..from + size as usize))
    }
}

/// How many bytes are read at once to find a batch.
const WINDOW_BYTES: u64 = 16 * 1024;

/// Finds the first batch at or behind `near` that contains `offset` or lies behind it, going by headers alone. There
/// is one before `written`, or the file is not what was written.
pub(crate) fn find_batch(
    file: &impl File,
    near: u64,
    written: u64,
    offset: i64,
) -> io::Result<(u64, BatchHeader)> {
    let mut window = vec![0; WINDOW_BYTES as usize];
    let mut window_start = near;
    let mut filled = 0;
    let mut position = near;
    loop {
        if position + HEADER_SIZE as u64 > window_start + filled {
            window_start = position;
            filled = written.saturating_sub(position).min(WINDOW_BYTES);
            file.read_exact_at(&mut window[..filled as usize], position)?;
        }
        let from = (position - window_start) as usize;
        let header = BatchHeader::parse(&window[from..filled as usize]).ok_or_else(|| changed(position))?;
        let size = checked_size(&header, position, written)?;
        if header.last_offset() >= offset {
            return Ok((position, header));
        }
        position += size;
    }
}

/// The size of a batch that stands at `position` and before `written`.
pub(crate) fn checked_size(header: &BatchHeader, position: u64, written: u64) -> io::Result<u64> {
    let size = header.size() as u64;
    if size < HEADER_SIZE as u64 || size > written - position {
        return Err(changed(position));
    }
    Ok(size)
}

fn changed(position: u64) -> io::Error {
    let text = format!("the batch at byte {position} is not the one that was written");
    io::Error::new(io::ErrorKind::InvalidData, text)
}
