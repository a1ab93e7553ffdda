//! How each type that a schema may use goes onto the wire.

use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;
use uuid::Uuid;

use crate::error::{DecodeError, DecodeErrorKind, EncodeError};
use crate::reader::Reader;
use crate::value::Value;
use crate::writer::{Target, Writer};

/// In which form a message is written: its version, and whether that version is a flexible one (compact lengths,
/// tagged fields).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// The version of the message.
    pub version: i16,
    /// True from the message's first flexible version on.
    pub flexible: bool,
}

/// A type that may stand in a message. Structs get this from `#[derive(Message)]`.
pub trait Field: Sized {
    /// The value that Kafka takes for a field that is absent and states no default.
    fn schema_default() -> Self;

    /// True for the value of [`schema_default`](Field::schema_default).
    fn is_schema_default(&self) -> bool;

    /// Puts the value.
    fn write(&self, writer: &mut Writer<impl Target>, format: Format) -> Result<(), EncodeError>;

    /// Reads a value.
    fn read(reader: &mut Reader, format: Format) -> Result<Self, DecodeError>;

    /// The value in the form in which it is shown to people.
    fn to_value(&self, format: Format) -> Value;

    /// Puts the value where null is permitted; `None` is null.
    fn write_nullable(
        value: Option<&Self>,
        writer: &mut Writer<impl Target>,
        format: Format,
    ) -> Result<(), EncodeError>;

    /// Reads a value where null is permitted.
    fn read_nullable(reader: &mut Reader, format: Format) -> Result<Option<Self>, DecodeError>;
}

/// Writes the presence byte of a nullable struct and the struct; what a derived struct uses for
/// [`Field::write_nullable`].
pub fn write_presence<T: Field>(
    value: Option<&T>,
    writer: &mut Writer<impl Target>,
    format: Format,
) -> Result<(), EncodeError> {
    match value {
        Some(value) => {
            writer.put(&1_i8.to_be_bytes());
            value.write(writer, format)
        }
        None => {
            writer.put(&(-1_i8).to_be_bytes());
            Ok(())
        }
    }
}

/// Reads the presence byte of a nullable struct and the struct; the other side of [`write_presence`].
pub fn read_presence<T: Field>(reader: &mut Reader, format: Format) -> Result<Option<T>, DecodeError> {
    let position = reader.position();
    match reader.i8()? {
        1 => T::read(reader, format).map(Some),
        -1 => Ok(None),
        marker => Err(DecodeError {
            kind: DecodeErrorKind::BadPresence { marker },
            position,
        }),
    }
}

macro_rules! fixed_size {
    ($($type:ty: $zero:expr, $read:ident, |$writer:ident, $value:ident| $put:expr, $shown:expr;)*) => {$(
        impl Field for $type {
            fn schema_default() -> Self {
                $zero
            }

            fn is_schema_default(&self) -> bool {
                *self == $zero
            }

            #[inline]
            fn write(&self, $writer: &mut Writer<impl Target>, _format: Format) -> Result<(), EncodeError> {
                let $value = self;
                $put;
                Ok(())
            }

            #[inline]
            fn read(reader: &mut Reader, _format: Format) -> Result<Self, DecodeError> {
                reader.$read()
            }

            fn to_value(&self, _format: Format) -> Value {
                let shown: fn($type) -> Value = $shown;
                shown(*self)
            }

            fn write_nullable(
                value: Option<&Self>,
                writer: &mut Writer<impl Target>,
                format: Format,
            ) -> Result<(), EncodeError> {
                write_presence(value, writer, format)
            }

            fn read_nullable(reader: &mut Reader, format: Format) -> Result<Option<Self>, DecodeError> {
                read_presence(reader, format)
            }
        }
    )*};
}

fixed_size! {
    i8: 0, i8, |writer, value| writer.put(&value.to_be_bytes()), |value| Value::Int(value.into());
    i16: 0, i16, |writer, value| writer.put(&value.to_be_bytes()), |value| Value::Int(value.into());
    i32: 0, i32, |writer, value| writer.put(&value.to_be_bytes()), |value| Value::Int(value.into());
    i64: 0, i64, |writer, value| writer.put(&value.to_be_bytes()), Value::Int;
    u16: 0, u16, |writer, value| writer.put(&value.to_be_bytes()), |value| Value::Int(value.into());
    u32: 0, u32, |writer, value| writer.put(&value.to_be_bytes()), |value| Value::Int(value.into());
    f64: 0.0, f64, |writer, value| writer.put(&value.to_be_bytes()), Value::Float;
    bool: false, boolean, |writer, value| writer.put(&[u8::from(*value)]), Value::Bool;
    Uuid: Uuid::nil(), uuid, |writer, value| writer.put_uuid(value), Value::Uuid;
}

impl Reader {
    /// A boolean: any byte but zero is true.
    pub fn boolean(&mut self) -> Result<bool, DecodeError> {
        Ok(self.u8()? != 0)
    }
}

impl Field for String {
    fn schema_default() -> Self {
        String::new()
    }

    fn is_schema_default(&self) -> bool {
        self.is_empty()
    }

    fn write(&self, writer: &mut Writer<impl Target>, format: Format) -> Result<(), EncodeError> {
        writer.put_string(Some(self), format.flexible)
    }

    fn read(reader: &mut Reader, format: Format) -> Result<Self, DecodeError> {
        not_null(reader, format)
    }

    fn to_value(&self, _format: Format) -> Value {
        Value::Text(self.clone())
    }

    fn write_nullable(
        value: Option<&Self>,
        writer: &mut Writer<impl Target>,
        format: Format,
    ) -> Result<(), EncodeError> {
        writer.put_string(value.map(String::as_str), format.flexible)
    }

    fn read_nullable(reader: &mut Reader, format: Format) -> Result<Option<Self>, DecodeError> {
        reader.string(format.flexible)
    }
}

impl Field for Bytes {
    fn schema_default() -> Self {
        Bytes::new()
    }

    fn is_schema_default(&self) -> bool {
        self.is_empty()
    }

    fn write(&self, writer: &mut Writer<impl Target>, format: Format) -> Result<(), EncodeError> {
        writer.put_bytes(Some(self), format.flexible)
    }

    fn read(reader: &mut Reader, format: Format) -> Result<Self, DecodeError> {
        not_null(reader, format)
    }

    fn to_value(&self, _format: Format) -> Value {
        Value::Bytes(self.clone())
    }

    fn write_nullable(
        value: Option<&Self>,
        writer: &mut Writer<impl Target>,
        format: Format,
    ) -> Result<(), EncodeError> {
        writer.put_bytes(value, format.flexible)
    }

    fn read_nullable(reader: &mut Reader, format: Format) -> Result<Option<Self>, DecodeError> {
        reader.bytes(format.flexible)
    }
}

impl<T: Field> Field for Vec<T> {
    fn schema_default() -> Self {
        Vec::new()
    }

    fn is_schema_default(&self) -> bool {
        self.is_empty()
    }

    fn write(&self, writer: &mut Writer<impl Target>, format: Format) -> Result<(), EncodeError> {
        writer.put_length(Some(self.len()), format.flexible)?;
        self.iter().try_for_each(|element| element.write(writer, format))
    }

    fn read(reader: &mut Reader, format: Format) -> Result<Self, DecodeError> {
        not_null(reader, format)
    }

    fn to_value(&self, format: Format) -> Value {
        Value::Array(self.iter().map(|element| element.to_value(format)).collect())
    }

    fn write_nullable(
        value: Option<&Self>,
        writer: &mut Writer<impl Target>,
        format: Format,
    ) -> Result<(), EncodeError> {
        match value {
            Some(value) => value.write(writer, format),
            None => writer.put_length(None, format.flexible),
        }
    }

    fn read_nullable(reader: &mut Reader, format: Format) -> Result<Option<Self>, DecodeError> {
        let Some(count) = reader.count(format.flexible)? else {
            return Ok(None);
        };
        reader.charge(count.saturating_mul(size_of::<T>()))?;
        let mut elements = Vec::with_capacity(count);
        for _ in 0..count {
            elements.push(T::read(reader, format)?);
        }
        Ok(Some(elements))
    }
}

impl<T: Field> Field for Option<T> {
    /// Not null: Kafka's default is null only where a schema says so.
    fn schema_default() -> Self {
        Some(T::schema_default())
    }

    fn is_schema_default(&self) -> bool {
        self.as_ref().is_some_and(T::is_schema_default)
    }

    fn write(&self, writer: &mut Writer<impl Target>, format: Format) -> Result<(), EncodeError> {
        T::write_nullable(self.as_ref(), writer, format)
    }

    fn read(reader: &mut Reader, format: Format) -> Result<Self, DecodeError> {
        T::read_nullable(reader, format)
    }

    fn to_value(&self, format: Format) -> Value {
        self.as_ref().map_or(Value::Null, |value| value.to_value(format))
    }

    /// A schema has no null of a null: both are the same null.
    fn write_nullable(
        value: Option<&Self>,
        writer: &mut Writer<impl Target>,
        format: Format,
    ) -> Result<(), EncodeError> {
        T::write_nullable(value.and_then(Option::as_ref), writer, format)
    }

    fn read_nullable(reader: &mut Reader, format: Format) -> Result<Option<Self>, DecodeError> {
        Ok(T::read_nullable(reader, format)?.map(Some))
    }
}

fn not_null<T: Field>(reader: &mut Reader, format: Format) -> Result<T, DecodeError> {
    let position = reader.position();
    let kind = DecodeErrorKind::UnexpectedNull;
    T::read_nullable(reader, format)?.ok_or(DecodeError { kind, position })
}
