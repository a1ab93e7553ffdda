//! Reading a snapshot, batch by batch, and believing nothing of it unchecked.

use std::{
    io,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use kraft_core::SnapshotId;
use kraft_fs::{File, FileSystem, Open};
use kraft_wire::{
    batch::{BATCH_SIZE_MAX, BatchError, BatchHeader, BatchView, HEADER_SIZE},
    control::{ControlError, ControlRecord, control_records},
};
use thiserror::Error;

use crate::{control::voter_set, header::SnapshotHeader, name::frozen_name};

/// Why a snapshot cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SnapshotReadError {
    /// The operating system does not give the bytes.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The bytes are no whole snapshot of that name.
    #[error("{}: byte {position}: {damage}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where the batch begins that is wrong.
        position: u64,
        /// What is wrong with it.
        damage: SnapshotDamage,
    },
}

/// What can be wrong with the bytes of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SnapshotDamage {
    /// The file ends inside a batch.
    #[error("the file ends inside a batch: {needed} bytes needed, {remaining} left")]
    CutOff {
        /// Bytes that the batch takes, as far as that is known.
        needed: u64,
        /// Bytes that are left.
        remaining: u64,
    },
    /// A batch larger than any that is written.
    #[error("a batch of {size} bytes, at most {BATCH_SIZE_MAX} are written")]
    BatchTooLarge {
        /// The announced size.
        size: u64,
    },
    /// A batch that is wrong as such.
    #[error("{0}")]
    Batch(BatchError),
    /// A control record that is wrong as such.
    #[error("{0}")]
    Control(ControlError),
    /// A batch that does not follow the one before it.
    #[error("a batch at offset {found}, {expected} is next")]
    Offset {
        /// The offset behind the batch before.
        expected: i64,
        /// Its base offset.
        found: i64,
    },
    /// A batch of another epoch than the one in the file's name.
    #[error("a batch of epoch {found}, the name says {expected}")]
    Epoch {
        /// The epoch of the name.
        expected: i32,
        /// The epoch of the batch.
        found: i32,
    },
    /// The file does not begin with a snapshot's header.
    #[error("the file does not begin with a snapshot header")]
    NoHeader,
    /// The file ends without a footer: its end is missing.
    #[error("the file ends without a snapshot footer")]
    NoFooter,
    /// A control record where it may not stand, or a second one of its kind.
    #[error("a {record} record out of place")]
    MisplacedControl {
        /// Kafka's name of the record.
        record: &'static str,
    },
    /// A level of kraft.version that this release does not know.
    #[error("kraft.version {level} is not known to this release")]
    UnknownKRaftVersion {
        /// The level.
        level: i16,
    },
    /// Bytes behind the footer.
    #[error("{bytes} bytes behind the snapshot footer")]
    BehindFooter {
        /// How many.
        bytes: u64,
    },
}

/// One batch of a snapshot's records.
#[derive(Debug, Clone)]
pub struct DataBatch(BatchView);

/// Reads one snapshot: the header when it is opened, then the data batches. Only the `None` behind the last batch says
/// that the snapshot is whole.
pub struct SnapshotReader<F: FileSystem> {
    file: F::File,
    path: PathBuf,
    id: SnapshotId,
    len: u64,
    position: u64,
    next_offset: i64,
    header: SnapshotHeader,
    whole: bool,
    /// The bytes of the batch before, for those of the next one, once nobody else has them any more.
    buffer: Bytes,
}

impl<F: FileSystem> SnapshotReader<F> {
    /// Opens the snapshot `id` in `dir`; `None` if there is no such file, and only then.
    ///
    /// # Errors
    /// The file cannot be read or does not begin with a snapshot header.
    pub fn open(fs: &F, dir: &Path, id: SnapshotId) -> Result<Option<Self>, SnapshotReadError> {
        Self::open_file(fs, &dir.join(frozen_name(id)), id)
    }

    /// As [`open`](Self::open), for a snapshot in a file of another name.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn open_file(fs: &F, path: &Path, id: SnapshotId) -> Result<Option<Self>, SnapshotReadError> {
        let io_error = |source| SnapshotReadError::Io {
            path: path.to_owned(),
            source,
        };
        let file = match fs.open(path, Open::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_error(error)),
        };
        let mut reader = Self {
            len: file.len().map_err(io_error)?,
            file,
            path: path.to_owned(),
            id,
            position: 0,
            next_offset: 0,
            header: SnapshotHeader {
                last_contained_log_timestamp: 0,
                kraft_version: 0,
                voters: None,
            },
            whole: false,
            buffer: Bytes::new(),
        };
        let first = reader
            .peek()?
            .ok_or_else(|| reader.damaged(SnapshotDamage::NoHeader))?;
        reader.header = parse_header(&first).map_err(|damage| reader.damaged(damage))?;
        reader.advance(&first);
        Ok(Some(reader))
    }

    /// What the first batch says.
    #[must_use]
    pub fn header(&self) -> &SnapshotHeader {
        &self.header
    }

    /// Which snapshot.
    #[must_use]
    pub fn id(&self) -> SnapshotId {
        self.id
    }

    /// Size of the file.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.len
    }

    /// The next data batch, checked; `None` behind the last one, once the footer has been found at the very end.
    ///
    /// # Errors
    /// The bytes cannot be read or are wrong. Called again, it gives the same error.
    pub fn next_batch(&mut self) -> Result<Option<DataBatch>, SnapshotReadError> {
        if self.whole {
            return Ok(None);
        }
        let batch = self
            .peek()?
            .ok_or_else(|| self.damaged(SnapshotDamage::NoFooter))?;
        if batch.is_control() {
            parse_footer(&batch).map_err(|damage| self.damaged(damage))?;
            let end = self.position + batch.size() as u64;
            if end < self.len {
                let bytes = self.len - end;
                return Err(self.damaged(SnapshotDamage::BehindFooter { bytes }));
            }
            self.whole = true;
            return Ok(None);
        }
        self.advance(&batch);
        Ok(Some(DataBatch(batch)))
    }

    /// Reads all that is left and so verifies the whole snapshot.
    ///
    /// # Errors
    /// As for [`next_batch`](Self::next_batch).
    pub fn verify_rest(&mut self) -> Result<(), SnapshotReadError> {
        while self.next_batch()?.is_some() {}
        Ok(())
    }

    /// The valid batch at the current position; `None` at the end of the file.
    fn peek(&mut self) -> Result<Option<BatchView>, SnapshotReadError> {
        let remaining = self.len - self.position;
        if remaining == 0 {
            return Ok(None);
        }
        let cut_off = |needed| SnapshotDamage::CutOff { needed, remaining };
        if remaining < HEADER_SIZE as u64 {
            return Err(self.damaged(cut_off(HEADER_SIZE as u64)));
        }
        let mut head = [0; HEADER_SIZE];
        self.read_at(&mut head)?;
        let size = BatchHeader::parse(&head).map_or(0, |header| header.size());
        if size > BATCH_SIZE_MAX {
            return Err(self.damaged(SnapshotDamage::BatchTooLarge { size: size as u64 }));
        }
        if size as u64 > remaining {
            return Err(self.damaged(cut_off(size as u64)));
        }
        let mut bytes = std::mem::take(&mut self.buffer)
            .try_into_mut()
            .unwrap_or_default();
        bytes.resize(size.max(HEADER_SIZE), 0);
        self.read_at(&mut bytes)?;
        self.buffer = bytes.freeze();
        let wrong = |error| self.damaged(SnapshotDamage::Batch(error));
        let batch = BatchView::parse(self.buffer.clone()).map_err(wrong)?;
        batch.validate().map_err(wrong)?;
        self.check_place(&batch).map_err(|damage| self.damaged(damage))?;
        Ok(Some(batch))
    }

    fn check_place(&self, batch: &BatchView) -> Result<(), SnapshotDamage> {
        let (expected, found) = (self.next_offset, batch.base_offset());
        if found != expected {
            return Err(SnapshotDamage::Offset { expected, found });
        }
        let (expected, found) = (self.id.epoch.0, batch.leader_epoch());
        if found != expected {
            return Err(SnapshotDamage::Epoch { expected, found });
        }
        Ok(())
    }

    fn advance(&mut self, batch: &BatchView) {
        self.position += batch.size() as u64;
        self.next_offset = batch.last_offset() + 1;
    }

    fn read_at(&self, bytes: &mut [u8]) -> Result<(), SnapshotReadError> {
        let read = self.file.read_exact_at(bytes, self.position);
        read.map_err(|source| SnapshotReadError::Io {
            path: self.path.clone(),
            source,
        })
    }

    fn damaged(&self, damage: SnapshotDamage) -> SnapshotReadError {
        SnapshotReadError::Damaged {
            path: self.path.clone(),
            position: self.position,
            damage,
        }
    }
}

impl DataBatch {
    /// Offset of the first record inside the snapshot; it has nothing to do with offsets of the log.
    #[must_use]
    pub fn base_offset(&self) -> i64 {
        self.0.base_offset()
    }

    /// When the batch was written, in milliseconds since 1970.
    #[must_use]
    pub fn timestamp_ms(&self) -> i64 {
        self.0.header().base_timestamp
    }

    /// The values of its records, sharing the bytes of the batch.
    pub fn values(&self) -> impl Iterator<Item = Bytes> {
        self.value_slices().map(|value| self.0.bytes().slice_ref(value))
    }

    /// The values of its records, where they lie.
    pub fn value_slices(&self) -> impl Iterator<Item = &[u8]> {
        // The batch has been validated, so that every record has one.
        self.0.values()
    }
}

fn parse_header(batch: &BatchView) -> Result<SnapshotHeader, SnapshotDamage> {
    if !batch.is_control() {
        return Err(SnapshotDamage::NoHeader);
    }
    let records = control_records(batch).map_err(SnapshotDamage::Control)?;
    let mut records = records.into_iter().map(|(_, record)| record);
    let Some(ControlRecord::SnapshotHeader(first)) = records.next() else {
        return Err(SnapshotDamage::NoHeader);
    };
    let mut kraft_version = None;
    let mut voters = None;
    for record in records {
        let misplaced = SnapshotDamage::MisplacedControl {
            record: record.type_name(),
        };
        match record {
            ControlRecord::KRaftVersion(record) if kraft_version.is_none() => {
                let level = record.kraft_version;
                if !(0..=KRAFT_VERSION_MAX).contains(&level) {
                    return Err(SnapshotDamage::UnknownKRaftVersion { level });
                }
                kraft_version = Some(level);
            }
            ControlRecord::KRaftVoters(record) if voters.is_none() => {
                voters = Some(voter_set(&record).map_err(SnapshotDamage::Control)?);
            }
            _ => return Err(misplaced),
        }
    }
    Ok(SnapshotHeader {
        last_contained_log_timestamp: first.last_contained_log_timestamp,
        kraft_version: kraft_version.unwrap_or(0),
        voters,
    })
}

fn parse_footer(batch: &BatchView) -> Result<(), SnapshotDamage> {
    let records = control_records(batch).map_err(SnapshotDamage::Control)?;
    match records.as_slice() {
        [(_, ControlRecord::SnapshotFooter(_))] => Ok(()),
        [(_, ControlRecord::SnapshotFooter(_)), (_, record), ..] | [(_, record), ..] => {
            Err(SnapshotDamage::MisplacedControl {
                record: record.type_name(),
            })
        }
        [] => Err(SnapshotDamage::NoFooter),
    }
}

/// The highest level of kraft.version that this release knows.
pub const KRAFT_VERSION_MAX: i16 = 1;
