//! What the code that `#[derive(Message)]` generates calls. Not meant to be called by hand, and outside the promises
//! of the version number.

use alloc::string::String;
use alloc::vec::Vec;

pub use crate::field::{read_presence, write_presence};
pub use crate::tags::TagSection;

use crate::error::{DecodeError, DecodeErrorKind};
use crate::reader::Reader;
use crate::value::Value;

/// The fields of a [`Value::Object`].
pub type ValueFields = Vec<(&'static str, Value)>;

/// A default of a string field.
pub fn text(text: &str) -> String {
    String::from(text)
}

/// The number of fields in a tagged section. Each has at least a tag and a size, so a number that cannot be right is
/// refused here.
#[inline]
pub fn tag_count(reader: &mut Reader) -> Result<u32, DecodeError> {
    let position = reader.position();
    let count = reader.unsigned_varint()?;
    let remaining = reader.remaining();
    if count as usize > remaining / TAG_HEAD_MIN {
        let count = count.into();
        let kind = DecodeErrorKind::CountBeyondEnd { count, remaining };
        return Err(DecodeError { kind, position });
    }
    Ok(count)
}

/// The head of a tagged field.
#[derive(Clone, Copy, Debug)]
pub struct TagHead {
    /// The tag.
    pub tag: u32,
    size: u32,
    position: usize,
    size_position: usize,
}

impl TagHead {
    /// Reads tag and size. Kafka does not look at the size of a field that its schema knows, so it is not compared
    /// with anything here.
    pub fn read(reader: &mut Reader) -> Result<Self, DecodeError> {
        let position = reader.position();
        let tag = reader.unsigned_varint()?;
        let size_position = reader.position();
        let size = reader.unsigned_varint()?;
        Ok(Self {
            tag,
            size,
            position,
            size_position,
        })
    }

    /// The size of a field that the schema does not know: the data has to be there.
    pub fn unknown_size(&self, reader: &Reader) -> Result<usize, DecodeError> {
        let (size, remaining) = (self.size as usize, reader.remaining());
        if size > remaining {
            let length = self.size.into();
            let kind = DecodeErrorKind::LengthBeyondEnd { length, remaining };
            return Err(DecodeError {
                kind,
                position: self.size_position,
            });
        }
        Ok(size)
    }

    /// The field is one of the schema, but not of this version.
    pub fn not_in_version(&self, version: i16) -> DecodeError {
        let kind = DecodeErrorKind::TagNotInVersion {
            tag: self.tag,
            version,
        };
        DecodeError {
            kind,
            position: self.position,
        }
    }
}

/// A tag and a size take a byte each at least.
const TAG_HEAD_MIN: usize = 2;
