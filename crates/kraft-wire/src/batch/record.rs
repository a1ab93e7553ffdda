//! The records inside a batch.

use alloc::vec::Vec;
use core::ops::Range;

use bytes::Bytes;

use super::error::BatchError;
use super::header::{BatchHeader, HEADER_SIZE};
use crate::error::{DecodeError, DecodeErrorKind};
use crate::reader::Reader;

/// One record. Key, value and headers share the bytes of the batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its offset.
    pub offset: i64,
    /// Its time in milliseconds since 1970.
    pub timestamp: i64,
    /// Its key; `None` is null.
    pub key: Option<Bytes>,
    /// Its value; `None` is null.
    pub value: Option<Bytes>,
    /// Its headers; a metadata quorum writes none.
    pub headers: Vec<RecordHeader>,
}

/// A name and a value that travel with a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// The name, which is meant to be text.
    pub key: Bytes,
    /// The value; `None` is null.
    pub value: Option<Bytes>,
}

/// What a record says about itself, before it is compared with its place in the batch. Bytes stand as ranges of the
/// batch, so that looking at a record costs nothing.
pub(super) struct RawRecord {
    pub(super) timestamp_delta: i64,
    pub(super) offset_delta: i32,
    pub(super) key: Option<Range<usize>>,
    pub(super) value: Option<Range<usize>>,
    pub(super) headers: Vec<(Range<usize>, Option<Range<usize>>)>,
}

/// The records of a batch in order. Ends behind the last one, or at the first that cannot be read.
#[derive(Clone, Debug)]
pub struct Records {
    reader: Reader,
    header: BatchHeader,
    next: i32,
}

impl Records {
    pub(super) fn new(header: BatchHeader, batch: &Bytes) -> Self {
        Self::from(header, batch, HEADER_SIZE, 0)
    }

    /// From the record with number `next` on, which begins at `position` in the batch.
    pub(super) fn from(header: BatchHeader, batch: &Bytes, position: usize, next: i32) -> Self {
        let mut reader = Reader::new(batch.clone());
        reader.skip(position).expect("a position in the batch");
        Self { reader, header, next }
    }

    /// Bytes behind the records read so far.
    pub(super) fn remaining(&self) -> usize {
        self.reader.remaining()
    }

    /// The next record and its index.
    pub(super) fn next_raw(&mut self) -> Option<Result<(i32, RawRecord), BatchError>> {
        let index = self.next;
        if index >= self.header.record_count {
            return None;
        }
        let read = self.read(index);
        self.next = if read.is_ok() { index + 1 } else { i32::MAX };
        Some(read.map(|record| (index, record)))
    }

    fn read(&mut self, index: i32) -> Result<RawRecord, BatchError> {
        let wrap = |error| BatchError::Record { index, error };
        let length = self.reader.varint().map_err(wrap)?;
        let size = match usize::try_from(length) {
            Ok(size) if size > 0 && size <= self.reader.remaining() => size,
            _ => return Err(BatchError::RecordLength { index, length }),
        };
        let end = self.reader.narrow(size).map_err(wrap)?;
        let record = raw_record(&mut self.reader).map_err(wrap)?;
        let remaining = self.reader.remaining();
        if remaining > 0 {
            return Err(BatchError::RecordRest { index, remaining });
        }
        self.reader.widen(end);
        Ok(record)
    }

    fn record(&self, raw: RawRecord) -> Record {
        let slice = |range: Range<usize>| self.reader.slice(range);
        let header = |(key, value): (Range<usize>, Option<Range<usize>>)| RecordHeader {
            key: slice(key),
            value: value.map(slice),
        };
        Record {
            offset: self.header.base_offset.saturating_add(raw.offset_delta.into()),
            timestamp: self.header.base_timestamp.saturating_add(raw.timestamp_delta),
            key: raw.key.map(slice),
            value: raw.value.map(slice),
            headers: raw.headers.into_iter().map(header).collect(),
        }
    }
}

impl Iterator for Records {
    type Item = Result<Record, BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.next_raw()?.map(|(_, raw)| self.record(raw)))
    }
}

fn raw_record(reader: &mut Reader) -> Result<RawRecord, DecodeError> {
    // The attributes of a record have no meaning yet.
    reader.u8()?;
    let timestamp_delta = reader.varlong()?;
    let offset_delta = reader.varint()?;
    let key = nullable(reader)?;
    let value = nullable(reader)?;
    let start = reader.position();
    let count = reader.varint()?;
    let remaining = reader.remaining();
    let count = match usize::try_from(count) {
        // A header takes two bytes at least.
        Ok(count) if count <= remaining / 2 => count,
        _ => {
            let kind = DecodeErrorKind::CountBeyondEnd {
                count: count as u32 as u64,
                remaining,
            };
            return Err(DecodeError {
                kind,
                position: start,
            });
        }
    };
    reader.charge(count.saturating_mul(size_of::<RecordHeader>() * 2))?;
    let mut headers = Vec::with_capacity(count);
    for _ in 0..count {
        let position = reader.position();
        let kind = DecodeErrorKind::UnexpectedNull;
        let key = nullable(reader)?.ok_or(DecodeError { kind, position })?;
        headers.push((key, nullable(reader)?));
    }
    Ok(RawRecord {
        timestamp_delta,
        offset_delta,
        key,
        value,
        headers,
    })
}

fn nullable(reader: &mut Reader) -> Result<Option<Range<usize>>, DecodeError> {
    match usize::try_from(reader.varint()?) {
        Ok(length) => reader.skip(length).map(Some),
        Err(_) => Ok(None),
    }
}
