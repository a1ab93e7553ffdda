//! The frame around a metadata record: what the value of every data record begins with.
//!
//! ```
//! use kraft_wire::metadata_frame::{MetadataFrame, encode_metadata_record};
//! use kraft_wire::{Message, UnknownTags};
//!
//! /// A record of our own, as a broker project would declare it.
//! #[derive(Clone, Debug, PartialEq, Message)]
//! #[kafka(kind = data, api_key = 2000, versions = 0, flexible = 0)]
//! struct LevelRecord {
//!     /// The level.
//!     level: i16,
//!     /// Tagged fields of a newer writer.
//!     unknown_tags: UnknownTags,
//! }
//!
//! let record = LevelRecord { level: 7, ..LevelRecord::default() };
//! let value = encode_metadata_record(&record, 0)?;
//! let frame = MetadataFrame::parse(&value)?;
//! assert_eq!((frame.api_key, frame.version), (2000, 0));
//! assert_eq!(frame.decode::<LevelRecord>()?, record);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use alloc::vec::Vec;

use bytes::Bytes;
use thiserror::Error;

use crate::error::{DecodeError, EncodeError};
use crate::reader::Reader;
use crate::schema::Message;
use crate::writer::{Target, Writer};

/// The only version of the frame.
pub const FRAME_VERSION: u32 = 1;

const NUMBER_MAX: u32 = i16::MAX as u32;

/// A metadata record whose body has not been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataFrame {
    /// Type of the record.
    pub api_key: i16,
    /// Version of the body.
    pub version: i16,
    /// The body, shared with the value.
    pub body: Bytes,
    /// Where the body begins in the value.
    pub body_start: usize,
}

/// Why a value is not a metadata record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MetadataFrameError {
    /// One of the three numbers cannot be read.
    #[error("frame of a metadata record: {0}")]
    Number(DecodeError),
    /// The frame of a preview release, or of a release that is not known.
    #[error("frame version {version} of a metadata record")]
    FrameVersion {
        /// The version.
        version: u32,
    },
    /// A number above 32767 for a type.
    #[error("metadata record of type {api_key}")]
    ApiKey {
        /// The number.
        api_key: u32,
    },
    /// A number above 32767 for a version.
    #[error("metadata record of version {version}")]
    Version {
        /// The number.
        version: u32,
    },
    /// The body cannot be read, or does not fill the value.
    #[error("metadata record of type {api_key}: {error}")]
    Body {
        /// Type of the record.
        api_key: i16,
        /// What is wrong; the position counts from the start of the value.
        error: DecodeError,
    },
}

impl MetadataFrame {
    /// Reads the frame of `value`.
    pub fn parse(value: &Bytes) -> Result<Self, MetadataFrameError> {
        let mut reader = Reader::new(value.clone());
        let mut number = || reader.unsigned_varint().map_err(MetadataFrameError::Number);
        let frame_version = number()?;
        if frame_version != FRAME_VERSION {
            return Err(MetadataFrameError::FrameVersion {
                version: frame_version,
            });
        }
        let api_key = number()?;
        if api_key > NUMBER_MAX {
            return Err(MetadataFrameError::ApiKey { api_key });
        }
        let version = number()?;
        if version > NUMBER_MAX {
            return Err(MetadataFrameError::Version { version });
        }
        let body_start = reader.position();
        Ok(Self {
            api_key: api_key as i16,
            version: version as i16,
            body: reader.rest(),
            body_start,
        })
    }

    /// Reads the body as a record of type `M`, which must fill it.
    pub fn decode<M: Message>(&self) -> Result<M, MetadataFrameError> {
        let mut reader = Reader::new(self.body.clone());
        let record = M::decode(&mut reader, self.version);
        record
            .and_then(|record| reader.expect_end().map(|()| record))
            .map_err(|error| MetadataFrameError::Body {
                api_key: self.api_key,
                error: DecodeError {
                    position: error.position + self.body_start,
                    ..error
                },
            })
    }
}

/// A metadata record with its frame: the value of a data record.
pub fn encode_metadata_record<M: Message>(record: &M, version: i16) -> Result<Bytes, EncodeError> {
    let mut counting = Writer::counting();
    put(&mut counting, record, version)?;
    let mut out = Vec::with_capacity(counting.written());
    put(&mut Writer::appending(&mut out), record, version)?;
    Ok(Bytes::from(out))
}

fn put<M: Message>(writer: &mut Writer<impl Target>, record: &M, version: i16) -> Result<(), EncodeError> {
    writer.put_unsigned_varint(FRAME_VERSION);
    writer.put_unsigned_varint(M::API_KEY as u32);
    writer.put_unsigned_varint(version as u32);
    record.write_message(writer, version)
}
