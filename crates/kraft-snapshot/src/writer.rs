//! Writing a snapshot, batch by batch.

use std::{
    io,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use kraft_core::SnapshotId;
use kraft_fs::FileSystem;
use kraft_wire::{
    EncodeError, UnknownTags,
    batch::{BATCH_SIZE_MAX, BatchBuilder},
    control::{ControlRecord, SnapshotFooterRecord, SnapshotHeaderRecord, control_batch},
};
use thiserror::Error;

use crate::{control::to_wire, header::SnapshotHeader, part_file::PartFile};

/// Why a snapshot is not written. Its part file is removed with the writer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SnapshotWriteError {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The part file, or the directory if there is none yet.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A record without a value, which no reader accepts.
    #[error("record {offset} of the snapshot is empty")]
    EmptyRecord {
        /// Its offset in the snapshot.
        offset: i64,
    },
    /// A record for which no batch is large enough.
    #[error("record {offset} of the snapshot has {bytes} bytes, more than a batch can hold")]
    RecordTooLarge {
        /// Its offset in the snapshot.
        offset: i64,
        /// Its size.
        bytes: usize,
    },
    /// The header cannot be encoded.
    #[error("the snapshot's header cannot be written: {0}")]
    Header(EncodeError),
    /// A file that a JVM could not open any more.
    #[error("the snapshot is larger than {SNAPSHOT_BYTES_MAX} bytes")]
    SnapshotTooLarge,
}

/// Writes one snapshot: header when it is created, then record values, then the footer when it is frozen.
///
/// It holds one batch in memory. The clock gives each batch its timestamp, when its first record comes; with the same
/// times and input the file is the same. Dropped before it is frozen, it leaves nothing behind.
pub struct SnapshotWriter<F: FileSystem, C> {
    part: PartFile<F>,
    clock: C,
    next_offset: i64,
    open: Option<BatchBuilder>,
    /// The bytes of the batch before, for those of the next one.
    buffer: Vec<u8>,
}

impl<F: FileSystem, C: FnMut() -> i64> SnapshotWriter<F, C> {
    /// Creates the part file in `dir` and writes the header. The clock tells milliseconds since 1970.
    ///
    /// # Errors
    /// The file cannot be written.
    ///
    /// # Panics
    /// If the header names voters below kraft.version 1, which has no record for them.
    pub fn create(
        fs: &F,
        dir: &Path,
        id: SnapshotId,
        header: &SnapshotHeader,
        mut clock: C,
    ) -> Result<Self, SnapshotWriteError> {
        assert!(
            header.voters.is_none() || header.kraft_version > 0,
            "voters are recorded from kraft.version 1 on"
        );
        let mut records = vec![ControlRecord::SnapshotHeader(SnapshotHeaderRecord {
            version: 0,
            last_contained_log_timestamp: header.last_contained_log_timestamp,
            unknown_tags: UnknownTags::default(),
        })];
        records.extend(header.control_records().iter().map(to_wire));
        let batch = control_batch(&records, 0, id.epoch.0, clock()).map_err(SnapshotWriteError::Header)?;
        let part = PartFile::create(fs, dir, id).map_err(|source| SnapshotWriteError::Io {
            path: dir.to_owned(),
            source,
        })?;
        let mut writer = Self {
            part,
            clock,
            next_offset: 0,
            open: None,
            buffer: Vec::new(),
        };
        writer.write(&batch, records.len())?;
        Ok(writer)
    }

    /// Adds the value of one record.
    ///
    /// # Errors
    /// The value cannot stand in a snapshot, or a full batch cannot be written.
    pub fn append(&mut self, value: &[u8]) -> Result<(), SnapshotWriteError> {
        let open_records = self.open.as_ref().map_or(0, BatchBuilder::record_count);
        let offset = self.next_offset + i64::from(open_records);
        if value.is_empty() {
            return Err(SnapshotWriteError::EmptyRecord { offset });
        }
        let mut size = self.open.as_ref().map_or(0, |open| open.size_with(value.len()));
        if size > BATCH_SIZE_TARGET {
            self.close_batch()?;
        }
        let batch = match &mut self.open {
            Some(batch) => batch,
            closed => {
                let buffer = std::mem::take(&mut self.buffer);
                let batch = closed.insert(BatchBuilder::data_in((self.clock)(), buffer));
                size = batch.size_with(value.len());
                batch
            }
        };
        let too_large = SnapshotWriteError::RecordTooLarge {
            offset,
            bytes: value.len(),
        };
        if size > BATCH_SIZE_MAX {
            return Err(too_large);
        }
        batch.push(value).map_err(|_| too_large)
    }

    /// Writes the footer and gives the file its final name, read-only. On return all of it is durable. Returns the
    /// size of the file.
    ///
    /// # Errors
    /// The file cannot be written, synced or renamed.
    pub fn freeze(mut self) -> Result<u64, SnapshotWriteError> {
        self.close_batch()?;
        let footer = ControlRecord::SnapshotFooter(SnapshotFooterRecord {
            version: 0,
            unknown_tags: UnknownTags::default(),
        });
        let timestamp = (self.clock)();
        let batch = control_batch(&[footer], self.next_offset, self.part.id().epoch.0, timestamp);
        self.write(&batch.map_err(SnapshotWriteError::Header)?, 1)?;
        let len = self.part.len();
        let path = self.part.path().to_owned();
        match self.part.freeze() {
            Ok(()) => Ok(len),
            Err(source) => Err(SnapshotWriteError::Io { path, source }),
        }
    }

    fn close_batch(&mut self) -> Result<(), SnapshotWriteError> {
        match self.open.take() {
            Some(batch) if !batch.is_empty() => {
                let records = usize::try_from(batch.record_count()).expect("a count is not negative");
                let batch = batch.build(self.next_offset, self.part.id().epoch.0);
                self.write(&batch, records)?;
                self.buffer = batch.into();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn write(&mut self, batch: &Bytes, records: usize) -> Result<(), SnapshotWriteError> {
        if self.part.len() + batch.len() as u64 > SNAPSHOT_BYTES_MAX {
            return Err(SnapshotWriteError::SnapshotTooLarge);
        }
        self.part.append(batch).map_err(|source| SnapshotWriteError::Io {
            path: self.part.path().to_owned(),
            source,
        })?;
        self.next_offset += i64::try_from(records).expect("the records of one batch");
        Ok(())
    }
}

/// Batches are closed here, so that writer and reader hold little; only a single large record makes a larger one.
const BATCH_SIZE_TARGET: usize = 1 << 20;

/// The largest file that a JVM opens.
pub(crate) const SNAPSHOT_BYTES_MAX: u64 = i32::MAX as u64;
