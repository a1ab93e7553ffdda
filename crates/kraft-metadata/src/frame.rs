//! The frame of a metadata record: what the value of a record in the log is.
//!
//! Three unsigned varints (the version of the frame itself, the type of the record, the version of the record), then
//! the record's body, which fills the rest.

use bytes::Bytes;
use kraft_wire::{DecodeError, EncodeError, Message, Reader};

/// A record's value, taken apart as far as its type and version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The type of the record.
    pub api_key: i16,
    /// The version of the record.
    pub version: i16,
    /// The record itself.
    pub body: &'a [u8],
}

/// Why a value is not a metadata record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// One of the three numbers is cut off or too large.
    #[error("the {what} is not a number from 0 to 32767")]
    Number {
        /// Which of them.
        what: &'static str,
    },
    /// The frame has a form that is not known.
    #[error("frame version {version}, only 1 is known")]
    FrameVersion {
        /// The version found.
        version: i16,
    },
    /// The body is not a record of that type and version.
    #[error("record type {api_key} version {version}: {source}")]
    Body {
        /// The type of the record.
        api_key: i16,
        /// The version of the record.
        version: i16,
        /// What is wrong with it.
        source: DecodeError,
    },
}

impl<'a> Frame<'a> {
    /// Takes a value apart.
    ///
    /// # Errors
    /// The value does not begin with a frame.
    pub fn parse(value: &'a [u8]) -> Result<Self, FrameError> {
        let (frame_version, rest) = number(value, "frame version")?;
        if frame_version != FRAME_VERSION {
            return Err(FrameError::FrameVersion {
                version: frame_version,
            });
        }
        let (api_key, rest) = number(rest, "record type")?;
        let (version, body) = number(rest, "record version")?;
        Ok(Self {
            api_key,
            version,
            body,
        })
    }

    /// Reads the body. The whole of it has to be the record, and its version one that is known.
    ///
    /// # Errors
    /// The body is something else.
    pub fn decode<M: Message>(&self) -> Result<M, FrameError> {
        let mut reader = Reader::new(Bytes::copy_from_slice(self.body));
        M::decode(&mut reader, self.version)
            .and_then(|record| reader.expect_end().map(|()| record))
            .map_err(|source| FrameError::Body {
                api_key: self.api_key,
                version: self.version,
                source,
            })
    }
}

/// Encodes a record with its frame.
///
/// # Errors
/// The record cannot be written: a string is too long.
pub fn encode<M: Message>(record: &M, version: i16) -> Result<Vec<u8>, EncodeError> {
    let mut value = Vec::with_capacity(3 + record.encoded_size(version)?);
    for part in [FRAME_VERSION, M::API_KEY, version] {
        // Types and versions are all below 128, where a varint is the number itself.
        let byte = u8::try_from(part).ok().filter(|byte| *byte < 0x80);
        value.push(byte.expect("assigned types and versions fit into seven bits"));
    }
    record.encode(version, &mut value)?;
    Ok(value)
}

/// An unsigned varint of at most 15 bits, and what follows it. More bytes than the number needs are allowed, as long
/// as the number fits.
fn number<'a>(bytes: &'a [u8], what: &'static str) -> Result<(i16, &'a [u8]), FrameError> {
    let mut value = 0_u64;
    for (index, byte) in bytes.iter().take(VARINT_BYTES_MAX).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            let number = i16::try_from(value).map_err(|_| FrameError::Number { what })?;
            return Ok((number, &bytes[index + 1..]));
        }
    }
    Err(FrameError::Number { what })
}

const FRAME_VERSION: i16 = 1;
const VARINT_BYTES_MAX: usize = 5;
