//! Writing batches.

use alloc::vec::Vec;

use bytes::Bytes;

use super::crc::crc32c;
use super::header::{BatchHeader, CRC_START, HEADER_SIZE, LENGTH_OVERHEAD, MAGIC};
use super::plain;
use super::record::RecordHeader;
use crate::error::EncodeError;
use crate::writer::{Target, Writer};

/// Gathers records into one batch. Offset and epoch are given when it is built, so that a batch may be filled before
/// its place in the log is known.
///
/// ```
/// use kraft_wire::batch::{BatchBuilder, BatchView};
///
/// let mut builder = BatchBuilder::data(1_760_000_000_000);
/// builder.push(b"first")?;
/// builder.push(b"second")?;
/// let size = builder.size();
/// let batch = BatchView::parse(builder.build(100, 5))?;
/// assert_eq!((batch.base_offset(), batch.last_offset()), (100, 101));
/// assert_eq!(batch.size(), size);
/// batch.validate()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct BatchBuilder {
    control: bool,
    timestamp: i64,
    max_timestamp: i64,
    count: i32,
    /// Room for the header, then the records.
    bytes: Vec<u8>,
}

impl BatchBuilder {
    /// A batch of data records of one time, in milliseconds since 1970.
    pub fn data(timestamp: i64) -> Self {
        Self::new(false, timestamp, Vec::new())
    }

    /// As [`data`](Self::data), with memory for exactly the records without a key whose values are this long.
    ///
    /// A builder that grows as it is filled may hold twice the bytes of its batch, and so does whoever keeps the batch.
    ///
    /// ```
    /// use kraft_wire::batch::BatchBuilder;
    ///
    /// let values = [&b"first"[..], b"second"];
    /// let mut builder = BatchBuilder::data_of(1_760_000_000_000, values.map(<[u8]>::len));
    /// for value in values {
    ///     builder.push(value)?;
    /// }
    /// # Ok::<(), kraft_wire::EncodeError>(())
    /// ```
    pub fn data_of(timestamp: i64, lengths: impl IntoIterator<Item = usize>) -> Self {
        let sizes = (0..i32::MAX)
            .zip(lengths)
            .map(|(index, length)| plain::size(index, length));
        let size = sizes.fold(HEADER_SIZE, usize::saturating_add);
        // More than that is no batch, which `push` is to say.
        let size = size.min(i32::MAX as usize);
        Self::new(false, timestamp, Vec::with_capacity(size))
    }

    /// As [`data`](Self::data), in a buffer that is not needed any more, whatever it holds.
    pub fn data_in(timestamp: i64, buffer: Vec<u8>) -> Self {
        Self::new(false, timestamp, buffer)
    }

    /// A batch of control records of one time, in milliseconds since 1970.
    pub fn control(timestamp: i64) -> Self {
        Self::new(true, timestamp, Vec::new())
    }

    fn new(control: bool, timestamp: i64, mut bytes: Vec<u8>) -> Self {
        bytes.clear();
        bytes.extend_from_slice(&[0; HEADER_SIZE]);
        Self {
            control,
            timestamp,
            max_timestamp: timestamp,
            count: 0,
            bytes,
        }
    }

    /// Adds a record without a key, as every data record of a metadata log is.
    #[inline]
    pub fn push(&mut self, value: &[u8]) -> Result<(), EncodeError> {
        let count = self.count_with(plain::fields_size(self.count, value.len()))?;
        plain::put(&mut self.bytes, self.count, value);
        self.count = count;
        Ok(())
    }

    /// Adds a record with all that it can have. `timestamp_delta` counts from the time of the batch; a metadata log has
    /// 0 there and no headers.
    pub fn push_record(
        &mut self,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        timestamp_delta: i64,
        headers: &[RecordHeader],
    ) -> Result<(), EncodeError> {
        let mut counting = Writer::counting();
        self.put_fields(&mut counting, key, value, timestamp_delta, headers);
        let size = counting.written();
        let count = self.count_with(size)?;
        let mut bytes = core::mem::take(&mut self.bytes);
        let mut writer = Writer::appending(&mut bytes);
        writer.put_varint(size as i32);
        self.put_fields(&mut writer, key, value, timestamp_delta, headers);
        self.bytes = bytes;
        self.count = count;
        self.max_timestamp = self
            .max_timestamp
            .max(self.timestamp.saturating_add(timestamp_delta));
        Ok(())
    }

    /// The number of records with one more, whose fields have this size. What does not fit the length of a batch is
    /// refused before anything is written.
    #[inline]
    fn count_with(&self, fields: usize) -> Result<i32, EncodeError> {
        let too_long = |length| EncodeError::TooLong { length };
        let total = fields.saturating_add(self.bytes.len()).saturating_add(5);
        i32::try_from(total).map_err(|_| too_long(total))?;
        self.count.checked_add(1).ok_or(too_long(self.count as usize))
    }

    /// Number of records so far.
    #[inline]
    pub fn record_count(&self) -> i32 {
        self.count
    }

    /// True while there is no record.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Exact size of the batch with the records so far.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Exact size of the batch if a record without a key and with a value of `length` bytes were added.
    #[inline]
    pub fn size_with(&self, length: usize) -> usize {
        self.bytes.len() + plain::size(self.count, length)
    }

    /// The batch, with its first record at `base_offset`.
    ///
    /// # Panics
    ///
    /// If there is no record: a batch without records ends every reader that meets it.
    pub fn build(mut self, base_offset: i64, leader_epoch: i32) -> Bytes {
        assert!(self.count > 0, "a batch holds at least one record");
        let length = (self.bytes.len() - LENGTH_OVERHEAD) as i32;
        let mut header = BatchHeader {
            base_offset,
            length,
            leader_epoch,
            magic: MAGIC,
            crc: 0,
            attributes: BatchHeader::control_attributes(self.control),
            last_offset_delta: self.count - 1,
            base_timestamp: self.timestamp,
            max_timestamp: self.max_timestamp,
            producer_id: -1,
            producer_epoch: -1,
            base_sequence: -1,
            record_count: self.count,
        };
        let place = self
            .bytes
            .first_chunk_mut()
            .expect("a builder starts with room for the header");
        header.write(place);
        header.crc = crc32c(&[&self.bytes[CRC_START..]]);
        let place = self
            .bytes
            .first_chunk_mut()
            .expect("a builder starts with room for the header");
        header.write(place);
        Bytes::from(self.bytes)
    }

    fn put_fields(
        &self,
        writer: &mut Writer<impl Target>,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        timestamp_delta: i64,
        headers: &[RecordHeader],
    ) {
        writer.put(&[0]);
        writer.put_varlong(timestamp_delta);
        writer.put_varint(self.count);
        put_nullable(writer, key);
        put_nullable(writer, value);
        writer.put_varint(headers.len() as i32);
        for header in headers {
            put_nullable(writer, Some(&header.key));
            put_nullable(writer, header.value.as_deref());
        }
    }
}

/// Moves an encoded batch to another offset and epoch. Neither is under the checksum, so nothing else changes.
///
/// # Panics
///
/// If `batch` is shorter than the header of a batch.
pub fn restamp(batch: &mut [u8], base_offset: i64, leader_epoch: i32) {
    assert!(batch.len() >= HEADER_SIZE, "a batch has a header");
    batch[0..8].copy_from_slice(&base_offset.to_be_bytes());
    batch[12..16].copy_from_slice(&leader_epoch.to_be_bytes());
}

/// Lengths that do not fit are refused by the caller before anything is written.
fn put_nullable(writer: &mut Writer<impl Target>, bytes: Option<&[u8]>) {
    match bytes {
        Some(bytes) => {
            writer.put_varint(bytes.len() as i32);
            writer.put(bytes);
        }
        None => writer.put_varint(-1),
    }
}
