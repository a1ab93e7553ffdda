//! The ways in which a record batch can be wrong.

use thiserror::Error;

use super::header::Compression;
use crate::error::DecodeError;

/// Why bytes are not a record batch of a metadata log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BatchError {
    /// The length in the header is less than any batch has.
    #[error("batch length {length}, at least 14 is needed")]
    LengthTooSmall {
        /// The length as it stands in the header.
        length: i32,
    },
    /// The format version is one that no Kafka has written.
    #[error("magic {magic} is unknown")]
    UnknownMagic {
        /// The magic byte.
        magic: i8,
    },
    /// A format older than any metadata log.
    #[error("magic {magic}: a format older than version 2")]
    LegacyMagic {
        /// The magic byte.
        magic: i8,
    },
    /// Too few bytes for the header of format version 2.
    #[error("a batch of {size} bytes cannot hold the 61 bytes of its header")]
    TooShort {
        /// Size of the whole batch in bytes.
        size: usize,
    },
    /// The bytes at hand are not exactly one batch.
    #[error("{available} bytes are not one batch of {size} bytes")]
    NotOneBatch {
        /// Size that the header announces.
        size: usize,
        /// Bytes at hand.
        available: usize,
    },
    /// The checksum does not belong to the bytes.
    #[error("checksum {stored:08x}, the bytes have {computed:08x}")]
    Crc {
        /// As it stands in the header.
        stored: u32,
        /// Of the bytes.
        computed: u32,
    },
    /// Compressed records, which a metadata quorum never writes.
    #[error("records are compressed with {codec}, which is not supported in a metadata log")]
    Compressed {
        /// With what.
        codec: Compression,
    },
    /// The number of records is zero or negative.
    #[error("a batch of {count} records")]
    RecordCount {
        /// As it stands in the header.
        count: i32,
    },
    /// The last offset is not the one of the last record.
    #[error("last offset delta {delta} with {count} records")]
    LastOffsetDelta {
        /// As it stands in the header.
        delta: i32,
        /// Number of records.
        count: i32,
    },
    /// Offsets below zero or above the largest one.
    #[error("base offset {base_offset} with {count} records")]
    Offsets {
        /// As it stands in the header.
        base_offset: i64,
        /// Number of records.
        count: i32,
    },
    /// A record that is empty or longer than what is left of the batch.
    #[error("record {index}: length {length}")]
    RecordLength {
        /// Which record, counted from 0.
        index: i32,
        /// As it stands in the record.
        length: i32,
    },
    /// A record whose fields cannot be read.
    #[error("record {index}: {error}")]
    Record {
        /// Which record, counted from 0.
        index: i32,
        /// What is wrong; the position counts from the start of the batch.
        error: DecodeError,
    },
    /// A record whose fields do not end where its length says.
    #[error("record {index}: {remaining} bytes are left behind its fields")]
    RecordRest {
        /// Which record, counted from 0.
        index: i32,
        /// How many bytes.
        remaining: usize,
    },
    /// A timestamp other than that of the batch.
    #[error("record {index}: timestamp delta {delta}")]
    TimestampDelta {
        /// Which record, counted from 0.
        index: i32,
        /// The difference.
        delta: i64,
    },
    /// A record that does not stand at its offset.
    #[error("record {index}: offset delta {delta}")]
    OffsetDelta {
        /// Which record, counted from 0.
        index: i32,
        /// The difference from the base offset.
        delta: i32,
    },
    /// A key in a data record.
    #[error("record {index}: a data record with a key")]
    KeyPresent {
        /// Which record, counted from 0.
        index: i32,
    },
    /// No key, or an empty one, in a control record.
    #[error("record {index}: a control record without a key")]
    KeyMissing {
        /// Which record, counted from 0.
        index: i32,
    },
    /// No value, or an empty one.
    #[error("record {index}: no value")]
    ValueMissing {
        /// Which record, counted from 0.
        index: i32,
    },
    /// Record headers, which a metadata quorum does not use.
    #[error("record {index}: {count} headers")]
    Headers {
        /// Which record, counted from 0.
        index: i32,
        /// How many.
        count: i32,
    },
    /// Bytes behind the last record.
    #[error("{remaining} bytes behind the last record")]
    TrailingBytes {
        /// How many.
        remaining: usize,
    },
}
