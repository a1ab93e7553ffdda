//! Tagged fields that a schema does not know: kept as they came, written back in their place.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use bytes::Bytes;

use crate::error::{DecodeError, EncodeError};
use crate::field::{Field, Format};
use crate::reader::Reader;
use crate::writer::{Target, Writer};

/// The tagged fields of a struct whose tags its schema does not define.
///
/// A struct that declares a field of this type keeps them through a round trip; without such a field they are
/// skipped. One word large while empty.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct UnknownTags(Option<Box<RawTags>>);

#[derive(Clone, Default, PartialEq, Eq)]
struct RawTags {
    count: u32,
    /// For each field its tag, size and data, in the encoding of the wire.
    encoded: Vec<u8>,
}

impl UnknownTags {
    /// True if there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// How many there are.
    #[inline]
    pub fn count(&self) -> u32 {
        self.0.as_ref().map_or(0, |raw| raw.count)
    }

    /// Tags and data in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Bytes)> + '_ {
        let encoded = self
            .0
            .as_ref()
            .map_or_else(Bytes::new, |raw| Bytes::copy_from_slice(&raw.encoded));
        let mut reader = Reader::new(encoded);
        core::iter::from_fn(move || {
            let tag = reader.unsigned_varint().ok()?;
            let size = reader.unsigned_varint().ok()?;
            reader.take(size as usize).ok().map(|data| (tag, data))
        })
    }

    /// Adds a field at the end. Tags are expected in rising order.
    pub fn push(&mut self, tag: u32, data: &[u8]) -> Result<(), EncodeError> {
        let size = i32::try_from(data.len()).map_err(|_| EncodeError::TooLong { length: data.len() })?;
        let raw = self.0.get_or_insert_default();
        let mut writer = Writer::appending(&mut raw.encoded);
        writer.put_unsigned_varint(tag);
        writer.put_unsigned_varint(size as u32);
        writer.put(data);
        raw.count += 1;
        Ok(())
    }

    /// Reads the data of an unknown field whose tag and size have been read.
    pub fn read(&mut self, reader: &mut Reader, tag: u32, size: usize) -> Result<(), DecodeError> {
        let data = reader.take(size)?;
        let raw = match &mut self.0 {
            Some(raw) => raw,
            empty => {
                reader.charge(size_of::<RawTags>())?;
                empty.insert(Box::default())
            }
        };
        let mut counting = Writer::counting();
        counting.put_unsigned_varint(tag);
        counting.put_unsigned_varint(size as u32);
        let needed = counting.written() + size;
        let capacity = raw.encoded.capacity();
        if capacity - raw.encoded.len() < needed {
            // Doubling keeps many small fields cheap. Growing may hold old and new memory at the same time.
            let wanted = (raw.encoded.len() + needed).max(capacity * 2);
            reader.charge(wanted)?;
            raw.encoded.reserve_exact(wanted - raw.encoded.len());
        }
        let mut writer = Writer::appending(&mut raw.encoded);
        writer.put_unsigned_varint(tag);
        writer.put_unsigned_varint(size as u32);
        writer.put(&data);
        raw.count += 1;
        Ok(())
    }

    #[inline]
    fn encoded(&self) -> &[u8] {
        self.0.as_ref().map_or(&[], |raw| &raw.encoded)
    }
}

impl fmt::Debug for UnknownTags {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.iter()).finish()
    }
}

/// Writes a tagged section: known fields in rising order, unknown ones between them where their tags belong.
#[derive(Debug)]
pub struct TagSection<'a> {
    unknown: &'a [u8],
}

impl<'a> TagSection<'a> {
    /// Opens a section of `known` known fields and all of `unknown`.
    #[inline]
    pub fn open(writer: &mut Writer<impl Target>, known: u32, unknown: &'a UnknownTags) -> Self {
        writer.put_unsigned_varint(known + unknown.count());
        Self {
            unknown: unknown.encoded(),
        }
    }

    /// Writes the known field `tag`.
    pub fn field<T: Field>(
        &mut self,
        writer: &mut Writer<impl Target>,
        tag: u32,
        value: &T,
        format: Format,
    ) -> Result<(), EncodeError> {
        self.unknown_below(writer, u64::from(tag));
        let mut counting = Writer::counting();
        value.write(&mut counting, format)?;
        let length = counting.written();
        let size = i32::try_from(length).map_err(|_| EncodeError::TooLong { length })?;
        writer.put_unsigned_varint(tag);
        writer.put_unsigned_varint(size as u32);
        value.write(writer, format)
    }

    /// Writes the unknown fields that are left.
    #[inline]
    pub fn close(mut self, writer: &mut Writer<impl Target>) {
        if !self.unknown.is_empty() {
            self.unknown_below(writer, u64::MAX);
        }
    }

    fn unknown_below(&mut self, writer: &mut Writer<impl Target>, limit: u64) {
        while let Some((tag, length)) = first_field(self.unknown) {
            if u64::from(tag) >= limit {
                return;
            }
            let (field, rest) = self.unknown.split_at(length);
            writer.put(field);
            self.unknown = rest;
        }
    }
}

/// Tag and whole length of the field at the start of `encoded`.
fn first_field(encoded: &[u8]) -> Option<(u32, usize)> {
    let (tag, tag_length) = prefix_varint(encoded)?;
    let (size, size_length) = prefix_varint(&encoded[tag_length..])?;
    Some((tag, tag_length + size_length + size as usize))
}

fn prefix_varint(bytes: &[u8]) -> Option<(u32, usize)> {
    let mut value = 0;
    for (index, byte) in bytes.iter().enumerate().take(5) {
        value |= u32::from(byte & 0x7f) << (7 * index);
        if *byte < 0x80 {
            return Some((value, index + 1));
        }
    }
    None
}
