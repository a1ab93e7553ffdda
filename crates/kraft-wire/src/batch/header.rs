//! The head of a record batch.

use core::fmt;

use super::crc::crc32c;
use super::error::BatchError;

/// Bytes of a batch in front of its records.
pub const HEADER_SIZE: usize = 61;

/// Bytes of a batch that its own length does not count.
pub const LENGTH_OVERHEAD: usize = 12;

/// Bytes up to and including the magic byte: what a splitter needs of each batch.
pub const MAGIC_END: usize = 17;

/// Largest batch that a metadata quorum writes.
pub const BATCH_SIZE_MAX: usize = 8 * 1024 * 1024;

/// First byte that the checksum covers.
pub const CRC_START: usize = 21;

/// The only format version of a metadata log.
pub const MAGIC: i8 = 2;

const LENGTH_MIN: i32 = 14;
const CONTROL_BIT: i16 = 1 << 5;
const COMPRESSION_BITS: i16 = 0b111;

/// The fields in front of the records of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchHeader {
    /// Offset of the first record.
    pub base_offset: i64,
    /// Bytes behind this field.
    pub length: i32,
    /// Epoch of the leader that wrote the batch.
    pub leader_epoch: i32,
    /// Format version.
    pub magic: i8,
    /// Checksum of everything behind it.
    pub crc: u32,
    /// Flags; see [`is_control`](Self::is_control) and [`compression`](Self::compression).
    pub attributes: i16,
    /// Offset of the last record, counted from the first.
    pub last_offset_delta: i32,
    /// Timestamp of the first record, in milliseconds since 1970.
    pub base_timestamp: i64,
    /// Largest timestamp of a record.
    pub max_timestamp: i64,
    /// Producer id, -1 in a metadata log.
    pub producer_id: i64,
    /// Producer epoch, -1 in a metadata log.
    pub producer_epoch: i16,
    /// Sequence number of the first record, -1 in a metadata log.
    pub base_sequence: i32,
    /// Number of records.
    pub record_count: i32,
}

impl BatchHeader {
    /// Reads the fields as they stand; nothing is checked. `None` if there are fewer than [`HEADER_SIZE`] bytes.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; HEADER_SIZE] = bytes.first_chunk()?;
        Some(Self {
            base_offset: i64::from_be_bytes(at(bytes, 0)),
            length: i32::from_be_bytes(at(bytes, 8)),
            leader_epoch: i32::from_be_bytes(at(bytes, 12)),
            magic: i8::from_be_bytes(at(bytes, 16)),
            crc: u32::from_be_bytes(at(bytes, 17)),
            attributes: i16::from_be_bytes(at(bytes, 21)),
            last_offset_delta: i32::from_be_bytes(at(bytes, 23)),
            base_timestamp: i64::from_be_bytes(at(bytes, 27)),
            max_timestamp: i64::from_be_bytes(at(bytes, 35)),
            producer_id: i64::from_be_bytes(at(bytes, 43)),
            producer_epoch: i16::from_be_bytes(at(bytes, 51)),
            base_sequence: i32::from_be_bytes(at(bytes, 53)),
            record_count: i32::from_be_bytes(at(bytes, 57)),
        })
    }

    /// Writes the fields as they stand.
    pub fn write(&self, bytes: &mut [u8; HEADER_SIZE]) {
        bytes[0..8].copy_from_slice(&self.base_offset.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.length.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.leader_epoch.to_be_bytes());
        bytes[16..17].copy_from_slice(&self.magic.to_be_bytes());
        bytes[17..21].copy_from_slice(&self.crc.to_be_bytes());
        bytes[21..23].copy_from_slice(&self.attributes.to_be_bytes());
        bytes[23..27].copy_from_slice(&self.last_offset_delta.to_be_bytes());
        bytes[27..35].copy_from_slice(&self.base_timestamp.to_be_bytes());
        bytes[35..43].copy_from_slice(&self.max_timestamp.to_be_bytes());
        bytes[43..51].copy_from_slice(&self.producer_id.to_be_bytes());
        bytes[51..53].copy_from_slice(&self.producer_epoch.to_be_bytes());
        bytes[53..57].copy_from_slice(&self.base_sequence.to_be_bytes());
        bytes[57..61].copy_from_slice(&self.record_count.to_be_bytes());
    }

    /// Size of the whole batch in bytes, as far as the length can be believed; 0 for a negative one.
    pub fn size(&self) -> usize {
        usize::try_from(self.length).map_or(0, |length| length + LENGTH_OVERHEAD)
    }

    /// Offset of the last record.
    pub fn last_offset(&self) -> i64 {
        self.base_offset.saturating_add(self.last_offset_delta.into())
    }

    /// True if the records are control records.
    pub fn is_control(&self) -> bool {
        self.attributes & CONTROL_BIT != 0
    }

    /// How the records are compressed.
    pub fn compression(&self) -> Compression {
        match self.attributes & COMPRESSION_BITS {
            0 => Compression::None,
            1 => Compression::Gzip,
            2 => Compression::Snappy,
            3 => Compression::Lz4,
            4 => Compression::Zstd,
            other => Compression::Unknown(other as u8),
        }
    }

    /// Compares the checksum with `batch`, the whole batch that this is the head of.
    pub fn check_crc(&self, batch: &[u8]) -> Result<(), BatchError> {
        let computed = crc32c(&[batch.get(CRC_START..).unwrap_or_default()]);
        if computed == self.crc {
            Ok(())
        } else {
            Err(BatchError::Crc {
                stored: self.crc,
                computed,
            })
        }
    }

    pub(super) fn control_attributes(control: bool) -> i16 {
        if control { CONTROL_BIT } else { 0 }
    }
}

/// Codec of the records of a batch. A metadata quorum never compresses; the others are told by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not compressed.
    None,
    /// Gzip.
    Gzip,
    /// Snappy.
    Snappy,
    /// LZ4.
    Lz4,
    /// Zstandard.
    Zstd,
    /// A number without a meaning.
    Unknown(u8),
}

impl fmt::Display for Compression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => formatter.write_str("none"),
            Self::Gzip => formatter.write_str("gzip"),
            Self::Snappy => formatter.write_str("snappy"),
            Self::Lz4 => formatter.write_str("lz4"),
            Self::Zstd => formatter.write_str("zstd"),
            Self::Unknown(codec) => write!(formatter, "codec {codec}"),
        }
    }
}

/// What stands at the start of some bytes, going by the first fields of a batch alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// No whole batch: the end, or a batch that is cut off.
    End,
    /// A batch of this size.
    Batch {
        /// Size of the whole batch in bytes.
        size: usize,
    },
}

/// Finds the first batch in memory by the rule that Kafka uses for fetched data and snapshots: a batch that is cut off
/// counts as the end.
pub fn split_memory(bytes: &[u8]) -> Result<Split, BatchError> {
    let Some(length) = bytes.get(8..12) else {
        return Ok(Split::End);
    };
    let length = i32::from_be_bytes(at(length, 0));
    if length < LENGTH_MIN {
        return Err(BatchError::LengthTooSmall { length });
    }
    let Some(magic) = bytes.get(MAGIC_END - 1) else {
        return Ok(Split::End);
    };
    let magic = *magic as i8;
    if !(0..=MAGIC).contains(&magic) {
        return Err(BatchError::UnknownMagic { magic });
    }
    let size = length as usize + LENGTH_OVERHEAD;
    Ok(if bytes.len() < size {
        Split::End
    } else {
        Split::Batch { size }
    })
}

/// Finds the batch at a place in a file by the rule that Kafka uses for recovery and searches: `head` holds the bytes
/// there, at least [`MAGIC_END`] of them if the file has them, and `remaining` counts all bytes up to the end.
///
/// Unlike [`split_memory`] it needs one byte beyond the magic, and takes any magic above 1 for version 2.
pub fn split_file(head: &[u8], remaining: u64) -> Result<Split, BatchError> {
    if remaining <= MAGIC_END as u64 || head.len() < MAGIC_END {
        return Ok(Split::End);
    }
    let length = i32::from_be_bytes(at(head, 8));
    if length < LENGTH_MIN {
        return Err(BatchError::LengthTooSmall { length });
    }
    let size = length as u64 + LENGTH_OVERHEAD as u64;
    Ok(if remaining < size {
        Split::End
    } else {
        Split::Batch { size: size as usize }
    })
}

/// The `N` bytes at `from`, which the caller knows to be there.
fn at<const N: usize>(bytes: &[u8], from: usize) -> [u8; N] {
    let mut found = [0; N];
    found.copy_from_slice(&bytes[from..from + N]);
    found
}
