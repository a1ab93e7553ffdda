//! Reading batches without copying them.

use alloc::vec::Vec;
use core::ops::Range;

use bytes::Bytes;

use super::error::BatchError;
use super::header::{BatchHeader, Compression, HEADER_SIZE, MAGIC, Split, split_memory};
use super::plain;
use super::record::Records;

/// One batch: its header, and its bytes shared with the buffer that it was found in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchView {
    header: BatchHeader,
    bytes: Bytes,
}

impl BatchView {
    /// Takes `bytes` for one batch of format version 2. The records are not looked at.
    pub fn parse(bytes: Bytes) -> Result<Self, BatchError> {
        let size = match split_memory(&bytes)? {
            Split::Batch { size } if size == bytes.len() => size,
            _ => {
                let size = BatchHeader::parse(&bytes).map_or(0, |header| header.size());
                return Err(BatchError::NotOneBatch {
                    size,
                    available: bytes.len(),
                });
            }
        };
        let magic = bytes[super::header::MAGIC_END - 1] as i8;
        if magic != MAGIC {
            return Err(BatchError::LegacyMagic { magic });
        }
        match BatchHeader::parse(&bytes) {
            Some(header) => Ok(Self { header, bytes }),
            None => Err(BatchError::TooShort { size }),
        }
    }

    /// The fields in front of the records.
    pub fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// The whole batch.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Size of the whole batch in bytes.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Offset of the first record.
    pub fn base_offset(&self) -> i64 {
        self.header.base_offset
    }

    /// Offset of the last record.
    pub fn last_offset(&self) -> i64 {
        self.header.last_offset()
    }

    /// Epoch of the leader that wrote the batch.
    pub fn leader_epoch(&self) -> i32 {
        self.header.leader_epoch
    }

    /// Number of records, as the header has it.
    pub fn record_count(&self) -> i32 {
        self.header.record_count
    }

    /// True if the records are control records.
    pub fn is_control(&self) -> bool {
        self.header.is_control()
    }

    /// True if checksum and bytes agree.
    pub fn crc_is_valid(&self) -> bool {
        self.header.check_crc(&self.bytes).is_ok()
    }

    /// The records in order; nothing at all of a compressed batch, which [`validate`](Self::validate) refuses.
    pub fn records(&self) -> Records {
        let mut header = self.header;
        if header.compression() != Compression::None {
            header.record_count = 0;
        }
        Records::new(header, &self.bytes)
    }

    /// The values of the records, which have to have one: those of a batch that [`validate`](Self::validate) has found
    /// good. Ends at the first record that has none or cannot be read.
    pub fn values(&self) -> Values<'_> {
        Values {
            batch: self,
            position: HEADER_SIZE,
            next: 0,
        }
    }

    /// Where the plain records at the start of the batch end, and how many they are.
    fn behind_plain(&self) -> (usize, i32) {
        let mut position = HEADER_SIZE;
        for index in 0..self.header.record_count {
            match plain::value_at(&self.bytes, position, index) {
                Some(value) => position = value.end + 1,
                None => return (position, index),
            }
        }
        (position, self.header.record_count)
    }

    /// Checks everything that a reader of a metadata log relies on: checksum, numbering, and that every record is
    /// there and has the form of its kind.
    ///
    /// It asks for what Kafka's raft reader asks for, and for what that reader silently gets wrong otherwise: offsets
    /// without holes, nothing between or behind the records.
    pub fn validate(&self) -> Result<(), BatchError> {
        self.header.check_crc(&self.bytes)?;
        let codec = self.header.compression();
        if codec != Compression::None {
            return Err(BatchError::Compressed { codec });
        }
        let BatchHeader {
            base_offset,
            record_count: count,
            last_offset_delta: delta,
            ..
        } = self.header;
        if count < 1 {
            return Err(BatchError::RecordCount { count });
        }
        if delta != count - 1 {
            return Err(BatchError::LastOffsetDelta { delta, count });
        }
        // The offset behind the last record must exist too: it is where the log ends.
        if base_offset < 0 || base_offset.checked_add(count.into()).is_none() {
            return Err(BatchError::Offsets { base_offset, count });
        }
        let (position, next) = if self.is_control() {
            (HEADER_SIZE, 0)
        } else {
            self.behind_plain()
        };
        let mut records = Records::from(self.header, &self.bytes, position, next);
        while let Some(record) = records.next_raw() {
            let (index, record) = record?;
            if record.timestamp_delta != 0 {
                return Err(BatchError::TimestampDelta {
                    index,
                    delta: record.timestamp_delta,
                });
            }
            if record.offset_delta != index {
                return Err(BatchError::OffsetDelta {
                    index,
                    delta: record.offset_delta,
                });
            }
            let has_key = record.key.as_ref().is_some_and(|key| !key.is_empty());
            if self.is_control() && !has_key {
                return Err(BatchError::KeyMissing { index });
            }
            if !self.is_control() && record.key.is_some() {
                return Err(BatchError::KeyPresent { index });
            }
            if record.value.is_none_or(|value| value.is_empty()) {
                return Err(BatchError::ValueMissing { index });
            }
            if !record.headers.is_empty() {
                return Err(BatchError::Headers {
                    index,
                    count: record.headers.len() as i32,
                });
            }
        }
        match records.remaining() {
            0 => Ok(()),
            remaining => Err(BatchError::TrailingBytes { remaining }),
        }
    }
}

/// The values of a batch in order, where they lie.
#[derive(Clone, Debug)]
pub struct Values<'a> {
    batch: &'a BatchView,
    position: usize,
    next: i32,
}

impl Values<'_> {
    /// Where the next value lies in the batch.
    fn next_range(&mut self) -> Option<Range<usize>> {
        let BatchView { header, bytes } = self.batch;
        if self.next >= header.record_count {
            return None;
        }
        let index = self.next;
        self.next = i32::MAX;
        let (value, end) = match plain::value_at(bytes, self.position, index) {
            Some(value) => (value.clone(), value.end + 1),
            None => {
                let mut records = Records::from(*header, bytes, self.position, index);
                let (_, record) = records.next_raw()?.ok()?;
                (record.value?, bytes.len() - records.remaining())
            }
        };
        self.position = end;
        self.next = index + 1;
        Some(value)
    }
}

impl<'a> Iterator for Values<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let range = self.next_range()?;
        Some(&self.batch.bytes[range])
    }
}

/// The batches of a buffer in order. A batch that is cut off at the end is left out; the first one that cannot be told
/// from noise ends the iteration with an error.
#[derive(Clone, Debug)]
pub struct Batches {
    bytes: Bytes,
    position: usize,
    failed: bool,
}

impl Batches {
    /// Starts at the beginning of `bytes`.
    pub fn new(bytes: Bytes) -> Self {
        Self {
            bytes,
            position: 0,
            failed: false,
        }
    }

    /// Where the next batch begins: behind the last one that came out. Once the iteration has ended, what lies behind
    /// this is a batch that is cut off, or the one that is wrong.
    pub fn position(&self) -> usize {
        self.position
    }

    /// All batches, unless one of them is wrong.
    pub fn collect_all(bytes: Bytes) -> Result<Vec<BatchView>, BatchError> {
        Self::new(bytes).collect()
    }
}

impl Iterator for Batches {
    type Item = Result<BatchView, BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let batch = match split_memory(&self.bytes[self.position..]) {
            Ok(Split::End) => return None,
            Ok(Split::Batch { size }) => {
                BatchView::parse(self.bytes.slice(self.position..self.position + size))
            }
            Err(error) => Err(error),
        };
        match &batch {
            Ok(batch) => self.position += batch.size(),
            Err(_) => self.failed = true,
        }
        Some(batch)
    }
}
