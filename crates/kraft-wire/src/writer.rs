//! The target of an encoder: it counts, and writes unless it is there only to count.

use alloc::vec::Vec;

use bytes::Bytes;
use uuid::Uuid;

use crate::error::EncodeError;
use crate::reader::STRING_LENGTH_MAX;

/// Byte strings below this size are copied into the buffer even if they could be passed on as they are.
const SHARED_LENGTH_MIN: usize = 4096;

/// Where an encoder puts its bytes. The same code measures and writes, so a size is exact by construction.
#[derive(Debug)]
pub struct Writer<T> {
    target: T,
}

/// What becomes of the bytes. An encoder is compiled for each target, so that measuring is little more than adding.
pub trait Target {
    /// Puts `bytes` as they are.
    fn put(&mut self, bytes: &[u8]);

    /// Puts `bytes` as they are, by reference if they are large and the target can keep them.
    fn put_shared(&mut self, bytes: &Bytes) {
        self.put(bytes);
    }

    /// Bytes put so far.
    fn written(&self) -> usize;
}

/// The target that only counts.
#[derive(Debug)]
pub struct Counting {
    written: usize,
}

/// The target that appends to a vector.
#[derive(Debug)]
pub struct Appending<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
}

/// The target that appends, and keeps large byte strings by reference.
#[derive(Debug)]
pub struct Sharing<'a> {
    out: &'a mut SharedBytes,
    written: usize,
}

impl Target for Counting {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.written += bytes.len();
    }

    fn written(&self) -> usize {
        self.written
    }
}

impl Target for Appending<'_> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    fn written(&self) -> usize {
        self.out.len() - self.start
    }
}

impl Target for Sharing<'_> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.written += bytes.len();
        self.out.copied.extend_from_slice(bytes);
    }

    fn put_shared(&mut self, bytes: &Bytes) {
        if bytes.len() < SHARED_LENGTH_MIN {
            return self.put(bytes);
        }
        self.written += bytes.len();
        self.out.shared.push((self.out.copied.len(), bytes.clone()));
    }

    fn written(&self) -> usize {
        self.written
    }
}

impl Writer<Counting> {
    /// A writer that only counts.
    pub fn counting() -> Self {
        Self {
            target: Counting { written: 0 },
        }
    }
}

impl<'a> Writer<Appending<'a>> {
    /// A writer that appends to `out`.
    pub fn appending(out: &'a mut Vec<u8>) -> Self {
        let start = out.len();
        Self {
            target: Appending { out, start },
        }
    }
}

impl<'a> Writer<Sharing<'a>> {
    /// A writer that appends to `out` and passes large byte strings on without copying them.
    pub fn sharing(out: &'a mut SharedBytes) -> Self {
        Self {
            target: Sharing { out, written: 0 },
        }
    }
}

impl<T: Target> Writer<T> {
    /// Bytes put so far through this writer.
    pub fn written(&self) -> usize {
        self.target.written()
    }

    /// Puts `bytes` as they are.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) {
        self.target.put(bytes);
    }

    /// Puts `bytes` as they are, by reference if they are large and the target can keep them.
    pub fn put_shared(&mut self, bytes: &Bytes) {
        self.target.put_shared(bytes);
    }

    /// A uuid, most significant byte first.
    #[inline]
    pub fn put_uuid(&mut self, value: &Uuid) {
        self.put(value.as_bytes());
    }

    /// An unsigned varint.
    #[inline]
    pub fn put_unsigned_varint(&mut self, mut value: u32) {
        while value >= 0x80 {
            self.put(&[value as u8 | 0x80]);
            value >>= 7;
        }
        self.put(&[value as u8]);
    }

    /// A zig-zag varint, as in records.
    pub fn put_varint(&mut self, value: i32) {
        self.put_unsigned_varint(((value << 1) ^ (value >> 31)) as u32);
    }

    /// A zig-zag varint of 64 bits, as in records.
    pub fn put_varlong(&mut self, value: i64) {
        let mut raw = ((value << 1) ^ (value >> 63)) as u64;
        while raw >= 0x80 {
            self.put(&[raw as u8 | 0x80]);
            raw >>= 7;
        }
        self.put(&[raw as u8]);
    }

    /// The length prefix of a byte string, of records or of an array; `None` is null.
    #[inline]
    pub fn put_length(&mut self, length: Option<usize>, flexible: bool) -> Result<(), EncodeError> {
        let Some(length) = length else {
            if flexible {
                self.put_unsigned_varint(0);
            } else {
                self.put(&(-1_i32).to_be_bytes());
            }
            return Ok(());
        };
        let prefix = i32::try_from(length).map_err(|_| EncodeError::TooLong { length })?;
        if flexible {
            self.put_unsigned_varint(prefix as u32 + 1);
        } else {
            self.put(&prefix.to_be_bytes());
        }
        Ok(())
    }

    /// A string; `None` is null.
    pub fn put_string(&mut self, value: Option<&str>, flexible: bool) -> Result<(), EncodeError> {
        let length = value.map(str::len);
        if let Some(length) = length.filter(|length| *length > STRING_LENGTH_MAX) {
            return Err(EncodeError::TooLong { length });
        }
        match (length, flexible) {
            (length, true) => self.put_length(length, true)?,
            (Some(length), false) => self.put(&(length as i16).to_be_bytes()),
            (None, false) => self.put(&(-1_i16).to_be_bytes()),
        }
        self.put(value.unwrap_or_default().as_bytes());
        Ok(())
    }

    /// A byte string or records; `None` is null.
    pub fn put_bytes(&mut self, value: Option<&Bytes>, flexible: bool) -> Result<(), EncodeError> {
        self.put_length(value.map(Bytes::len), flexible)?;
        if let Some(bytes) = value {
            self.put_shared(bytes);
        }
        Ok(())
    }
}

/// Encoded bytes in which large byte strings stand by reference; ends as a list of parts for a vectored write.
#[derive(Clone, Debug, Default)]
pub struct SharedBytes {
    copied: Vec<u8>,
    /// Each with the length of `copied` at which it belongs.
    shared: Vec<(usize, Bytes)>,
}

impl SharedBytes {
    /// The parts in order; their concatenation is the encoded form. None of them is empty.
    pub fn into_parts(self) -> Vec<Bytes> {
        let copied = Bytes::from(self.copied);
        let mut parts = Vec::with_capacity(self.shared.len() * 2 + 1);
        let mut from = 0;
        for (at, bytes) in self.shared {
            parts.push(copied.slice(from..at));
            parts.push(bytes);
            from = at;
        }
        parts.push(copied.slice(from..));
        parts.retain(|part| !part.is_empty());
        parts
    }
}
