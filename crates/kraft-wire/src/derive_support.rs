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

/// The head of a tagged field.
pub fn tag_and_size(reader: &mut Reader) -> Result<(u32, usize), DecodeError> {
    let tag = reader.unsigned_varint()?;
    let position = reader.position();
    let size = reader.unsigned_varint()? as usize;
    let remaining = reader.remaining();
    if size > remaining {
        let kind = DecodeErrorKind::LengthBeyondEnd {
            length: size as u64,
            remaining,
        };
        return Err(DecodeError { kind, position });
    }
    Ok((tag, size))
}
