//! What a whole message is: a struct with an api key and a range of versions.

use alloc::vec::Vec;
use core::fmt;

use bytes::Bytes;

use crate::error::{DecodeError, DecodeErrorKind, EncodeError};
use crate::field::{Field, Format};
use crate::reader::Reader;
use crate::value::Value;
use crate::writer::{Target, Writer};

/// What a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// Sent by the side that opened the connection.
    Request,
    /// The answer to a request.
    Response,
    /// The head of a request or of an answer.
    Header,
    /// The value of a record: metadata or control.
    Data,
}

/// A message of its own, as opposed to a struct inside one. `#[derive(Message)]` implements this from the
/// `versions` in the attribute of the struct.
pub trait Message: Field + Clone + fmt::Debug + PartialEq + Default {
    /// Kafka's name.
    const NAME: &'static str;
    /// Api key of a request or response, record type of data, -1 of a header.
    const API_KEY: i16;
    /// What it is for.
    const KIND: MessageKind;
    /// Lowest version.
    const VERSION_MIN: i16;
    /// Highest version.
    const VERSION_MAX: i16;
    /// First version with compact lengths and tagged fields; `None` if there is none.
    const FLEXIBLE_SINCE: Option<i16>;

    /// True if `version` has compact lengths and tagged fields.
    fn is_flexible(version: i16) -> bool {
        Self::FLEXIBLE_SINCE.is_some_and(|since| version >= since)
    }

    /// Appends the encoded form to `out`, which is left as it was if there is an error.
    fn encode(&self, version: i16, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let before = out.len();
        let written = self.write_message(&mut Writer::appending(out), version);
        if written.is_err() {
            out.truncate(before);
        }
        written
    }

    /// Size of the encoded form in bytes.
    fn encoded_size(&self, version: i16) -> Result<usize, EncodeError> {
        let mut writer = Writer::counting();
        self.write_message(&mut writer, version)?;
        Ok(writer.written())
    }

    /// The encoded form in a buffer of its exact size.
    fn to_bytes(&self, version: i16) -> Result<Bytes, EncodeError> {
        let mut out = Vec::with_capacity(self.encoded_size(version)?);
        self.encode(version, &mut out)?;
        Ok(Bytes::from(out))
    }

    /// Puts the encoded form.
    fn write_message(&self, writer: &mut Writer<impl Target>, version: i16) -> Result<(), EncodeError> {
        if !has_version::<Self>(version) {
            return Err(EncodeError::UnsupportedVersion {
                message: Self::NAME,
                version,
            });
        }
        self.write(writer, format_of::<Self>(version))
    }

    /// Reads a message. Bytes behind it stay unread; Kafka ignores them in requests and answers.
    fn decode(reader: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        if !has_version::<Self>(version) {
            return Err(reader.error(DecodeErrorKind::UnsupportedVersion { version }));
        }
        Self::read(reader, format_of::<Self>(version))
    }

    /// Reads a message from the start of `bytes`. Bytes behind it are ignored.
    fn from_bytes(bytes: &Bytes, version: i16) -> Result<Self, DecodeError> {
        Self::decode(&mut Reader::new(bytes.clone()), version)
    }

    /// The message in the form in which it is shown to people: the fields that `version` has, under the names that
    /// Kafka's JSON converters use. Tagged fields at their default are left out.
    fn to_json_value(&self, version: i16) -> Value {
        self.to_value(format_of::<Self>(version))
    }
}

/// A request and the answer that belongs to it.
pub trait Request: Message {
    /// The answer.
    type Response: Message;
}

fn has_version<M: Message>(version: i16) -> bool {
    (M::VERSION_MIN..=M::VERSION_MAX).contains(&version)
}

fn format_of<M: Message>(version: i16) -> Format {
    Format {
        version,
        flexible: M::is_flexible(version),
    }
}
