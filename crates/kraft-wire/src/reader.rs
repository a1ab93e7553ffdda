//! A cursor over received bytes that never believes a number.

use alloc::string::String;
use core::ops::Range;

use bytes::{Buf, Bytes};
use uuid::Uuid;

use crate::error::{DecodeError, DecodeErrorKind};

/// Longest string that Kafka reads or writes, in bytes.
pub const STRING_LENGTH_MAX: usize = 32767;

/// Memory that a decoded value may take: this many times its input, and [`DECODE_SLACK`] on top.
pub const DECODE_FACTOR: usize = 4;

/// See [`DECODE_FACTOR`].
pub const DECODE_SLACK: usize = 4096;

/// A cursor over a shared buffer. Byte strings and records come out as slices of that buffer, not as copies.
///
/// Everything that a decoder allocates is charged against a budget of [`DECODE_FACTOR`] times the input plus
/// [`DECODE_SLACK`], so a small frame cannot demand much memory whatever it announces.
#[derive(Clone, Debug)]
pub struct Reader {
    buf: Bytes,
    position: usize,
    /// Where this reader's input ends: at the end of `buf`, or of the piece that is being read.
    end: usize,
    budget: usize,
}

impl Reader {
    /// Starts at the beginning of `buf`.
    pub fn new(buf: Bytes) -> Self {
        let end = buf.len();
        Self {
            buf,
            position: 0,
            end,
            budget: budget(end),
        }
    }

    /// Offset of the next byte to be read.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Number of bytes not yet read.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.end - self.position
    }

    /// The bytes not yet read, as a slice of the same buffer.
    pub fn rest(&self) -> Bytes {
        self.buf.slice(self.position..self.end)
    }

    /// The bytes not yet read, in place of this reader: nobody else has to share the buffer.
    pub fn into_rest(mut self) -> Bytes {
        self.buf.truncate(self.end);
        self.buf.advance(self.position);
        self.buf
    }

    /// An error at the current position.
    pub fn error(&self, kind: DecodeErrorKind) -> DecodeError {
        DecodeError {
            kind,
            position: self.position,
        }
    }

    /// Succeeds only at the end of the input.
    pub fn expect_end(&self) -> Result<(), DecodeError> {
        match self.remaining() {
            0 => Ok(()),
            remaining => Err(self.error(DecodeErrorKind::TrailingBytes { remaining })),
        }
    }

    /// Takes `bytes` of memory out of the budget. A decoder calls this before it allocates.
    #[inline]
    pub fn charge(&mut self, bytes: usize) -> Result<(), DecodeError> {
        match self.budget.checked_sub(bytes) {
            Some(left) => {
                self.budget = left;
                Ok(())
            }
            None => Err(self.out_of_proportion()),
        }
    }

    #[cold]
    fn out_of_proportion(&self) -> DecodeError {
        self.error(DecodeErrorKind::OutOfProportion)
    }

    /// The next `length` bytes, shared with the buffer.
    pub fn take(&mut self, length: usize) -> Result<Bytes, DecodeError> {
        let end = self.end_of(length)?;
        let slice = self.buf.slice(self.position..end);
        self.position = end;
        Ok(slice)
    }

    /// Passes over the next `length` bytes and says where they are.
    pub(crate) fn skip(&mut self, length: usize) -> Result<Range<usize>, DecodeError> {
        let end = self.end_of(length)?;
        let range = self.position..end;
        self.position = end;
        Ok(range)
    }

    /// The bytes in a range that [`skip`](Self::skip) gave.
    pub(crate) fn slice(&self, range: Range<usize>) -> Bytes {
        self.buf.slice(range)
    }

    /// Takes the next `length` bytes for the whole input, with a budget of their own. What comes back is the end to
    /// give to [`widen`](Self::widen).
    pub(crate) fn narrow(&mut self, length: usize) -> Result<usize, DecodeError> {
        let end = self.end_of(length)?;
        self.budget = budget(length);
        Ok(core::mem::replace(&mut self.end, end))
    }

    /// Goes back to the input before [`narrow`](Self::narrow), behind the piece that was read.
    pub(crate) fn widen(&mut self, end: usize) {
        self.position = self.end;
        self.end = end;
    }

    /// The next `N` bytes by value.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        match self
            .buf
            .get(self.position..self.end)
            .and_then(<[u8]>::first_chunk)
        {
            Some(found) => {
                self.position += N;
                Ok(*found)
            }
            None => Err(self.ends_inside(N)),
        }
    }

    #[cold]
    fn ends_inside(&self, needed: usize) -> DecodeError {
        let remaining = self.remaining();
        self.error(DecodeErrorKind::UnexpectedEnd { needed, remaining })
    }

    /// One byte.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        Ok(self.array::<1>()?[0])
    }

    /// A signed byte.
    #[inline]
    pub fn i8(&mut self) -> Result<i8, DecodeError> {
        self.array().map(i8::from_be_bytes)
    }

    /// A 16-bit integer.
    #[inline]
    pub fn i16(&mut self) -> Result<i16, DecodeError> {
        self.array().map(i16::from_be_bytes)
    }

    /// An unsigned 16-bit integer.
    #[inline]
    pub fn u16(&mut self) -> Result<u16, DecodeError> {
        self.array().map(u16::from_be_bytes)
    }

    /// A 32-bit integer.
    #[inline]
    pub fn i32(&mut self) -> Result<i32, DecodeError> {
        self.array().map(i32::from_be_bytes)
    }

    /// An unsigned 32-bit integer.
    #[inline]
    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_be_bytes)
    }

    /// A 64-bit integer.
    #[inline]
    pub fn i64(&mut self) -> Result<i64, DecodeError> {
        self.array().map(i64::from_be_bytes)
    }

    /// A double.
    pub fn f64(&mut self) -> Result<f64, DecodeError> {
        self.array().map(f64::from_be_bytes)
    }

    /// A uuid, most significant byte first.
    #[inline]
    pub fn uuid(&mut self) -> Result<Uuid, DecodeError> {
        self.array().map(Uuid::from_bytes)
    }

    /// An unsigned varint of at most five bytes. As in Kafka, bits above the 32nd are dropped.
    #[inline]
    pub fn unsigned_varint(&mut self) -> Result<u32, DecodeError> {
        // Almost all of them are small.
        match self.buf.get(self.position) {
            Some(&byte) if byte < 0x80 && self.position < self.end => {
                self.position += 1;
                Ok(byte.into())
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u32, DecodeError> {
        let start = self.position;
        let mut value = 0_u32;
        for index in 0..5 {
            let byte = self.varint_byte(start)?;
            value |= u32::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        self.position = start;
        Err(self.error(DecodeErrorKind::VarintTooLong { max_bytes: 5 }))
    }

    /// A zig-zag varint of at most five bytes, as in records.
    pub fn varint(&mut self) -> Result<i32, DecodeError> {
        let raw = self.unsigned_varint()?;
        Ok((raw >> 1) as i32 ^ -((raw & 1) as i32))
    }

    /// A zig-zag varint of at most ten bytes, as in records.
    pub fn varlong(&mut self) -> Result<i64, DecodeError> {
        let start = self.position;
        let mut raw = 0_u64;
        for index in 0..10 {
            let byte = self.varint_byte(start)?;
            raw |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                return Ok((raw >> 1) as i64 ^ -((raw & 1) as i64));
            }
        }
        self.position = start;
        Err(self.error(DecodeErrorKind::VarintTooLong { max_bytes: 10 }))
    }

    /// The length prefix of a string: `None` is null.
    pub fn string_length(&mut self, flexible: bool) -> Result<Option<usize>, DecodeError> {
        if flexible {
            self.compact_length()
        } else {
            Ok(usize::try_from(self.i16()?).ok())
        }
    }

    /// The length prefix of a byte string, of records or of an array: `None` is null.
    pub fn length(&mut self, flexible: bool) -> Result<Option<usize>, DecodeError> {
        if flexible {
            self.compact_length()
        } else {
            Ok(usize::try_from(self.i32()?).ok())
        }
    }

    /// A string; `None` is null. Bytes that are not UTF-8 become replacement characters, as in Kafka.
    pub fn string(&mut self, flexible: bool) -> Result<Option<String>, DecodeError> {
        let Some(end) = self.string_end(flexible)? else {
            return Ok(None);
        };
        let length = end - self.position;
        self.charge(length)?;
        let text = match core::str::from_utf8(&self.buf[self.position..end]) {
            Ok(text) => String::from(text),
            Err(_) => {
                // A replacement character takes three bytes and stands for at least one.
                self.charge(length * 2)?;
                lossy(&self.buf[self.position..end])
            }
        };
        self.position = end;
        Ok(Some(text))
    }

    /// Passes over a string, or null.
    pub(crate) fn skip_string(&mut self, flexible: bool) -> Result<(), DecodeError> {
        if let Some(end) = self.string_end(flexible)? {
            self.position = end;
        }
        Ok(())
    }

    /// Reads the length prefix of a string and says where it ends; `None` is null.
    fn string_end(&mut self, flexible: bool) -> Result<Option<usize>, DecodeError> {
        let start = self.position;
        let Some(length) = self.string_length(flexible)? else {
            return Ok(None);
        };
        if length > STRING_LENGTH_MAX {
            let kind = DecodeErrorKind::StringTooLong { length };
            return Err(DecodeError {
                kind,
                position: start,
            });
        }
        self.end_of_prefixed(length, start).map(Some)
    }

    /// A byte string or records; `None` is null.
    pub fn bytes(&mut self, flexible: bool) -> Result<Option<Bytes>, DecodeError> {
        let start = self.position;
        let Some(length) = self.length(flexible)? else {
            return Ok(None);
        };
        self.end_of_prefixed(length, start)?;
        self.take(length).map(Some)
    }

    /// The number of elements of an array; `None` is null. Each element takes at least one byte, so a count above
    /// the number of bytes left is refused here.
    pub fn count(&mut self, flexible: bool) -> Result<Option<usize>, DecodeError> {
        let start = self.position;
        let Some(count) = self.length(flexible)? else {
            return Ok(None);
        };
        let remaining = self.remaining();
        if count > remaining {
            let kind = DecodeErrorKind::CountBeyondEnd {
                count: count as u64,
                remaining,
            };
            return Err(DecodeError {
                kind,
                position: start,
            });
        }
        Ok(Some(count))
    }

    /// Lengths with the top bit set are negative numbers to Kafka, and so null.
    fn compact_length(&mut self) -> Result<Option<usize>, DecodeError> {
        let length = (self.unsigned_varint()? as i32).wrapping_sub(1);
        Ok(usize::try_from(length).ok())
    }

    fn varint_byte(&mut self, start: usize) -> Result<u8, DecodeError> {
        match self.buf.get(self.position) {
            Some(&byte) if self.position < self.end => {
                self.position += 1;
                Ok(byte)
            }
            _ => {
                let kind = DecodeErrorKind::UnexpectedEnd {
                    needed: self.position - start + 1,
                    remaining: self.position - start,
                };
                Err(DecodeError {
                    kind,
                    position: start,
                })
            }
        }
    }

    fn end_of(&self, length: usize) -> Result<usize, DecodeError> {
        self.end_of_prefixed(length, self.position)
    }

    /// Where an item ends whose length prefix began at `start` and has been read.
    fn end_of_prefixed(&self, length: usize, start: usize) -> Result<usize, DecodeError> {
        let remaining = self.remaining();
        if length > remaining {
            let length = length as u64;
            return Err(DecodeError {
                kind: DecodeErrorKind::LengthBeyondEnd { length, remaining },
                position: start,
            });
        }
        Ok(self.position + length)
    }
}

fn budget(input: usize) -> usize {
    input.saturating_mul(DECODE_FACTOR).saturating_add(DECODE_SLACK)
}

fn lossy(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 3);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
    text
}
