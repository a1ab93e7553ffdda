//! A decoded message as a tree of names and values, for people and tools.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use bytes::Bytes;
use uuid::Uuid;

use crate::uuid_text;

/// A value in a message, without its wire form. `Display` prints it as JSON on one line: byte strings and records as
/// base64, uuids in Kafka's text form.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Null.
    Null,
    /// A boolean.
    Bool(bool),
    /// Any integer that a schema may use.
    Int(i64),
    /// A double.
    Float(f64),
    /// A string.
    Text(String),
    /// A uuid.
    Uuid(Uuid),
    /// A byte string.
    Bytes(Bytes),
    /// Record batches, or a piece of them.
    Records(Bytes),
    /// An array.
    Array(Vec<Value>),
    /// A struct: its fields in schema order.
    Object(Vec<(&'static str, Value)>),
}

impl Value {
    /// The field `name` of an object.
    pub fn get(&self, name: &str) -> Option<&Value> {
        match self {
            Value::Object(fields) => fields.iter().find(|field| field.0 == name).map(|field| &field.1),
            _ => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => formatter.write_str("null"),
            Value::Bool(value) => value.fmt(formatter),
            Value::Int(value) => value.fmt(formatter),
            // JSON has no infinities and no NaN.
            Value::Float(value) if !value.is_finite() => write!(formatter, "\"{value}\""),
            Value::Float(value) => write!(formatter, "{value:?}"),
            Value::Text(text) => quoted(formatter, text),
            Value::Uuid(id) => quoted(formatter, &uuid_text::format(id)),
            Value::Bytes(bytes) | Value::Records(bytes) => quoted(formatter, &uuid_text::base64(bytes)),
            Value::Array(elements) => {
                formatter.write_str("[")?;
                for (index, element) in elements.iter().enumerate() {
                    write!(formatter, "{}{element}", if index == 0 { "" } else { "," })?;
                }
                formatter.write_str("]")
            }
            Value::Object(fields) => {
                formatter.write_str("{")?;
                for (index, (name, value)) in fields.iter().enumerate() {
                    formatter.write_str(if index == 0 { "" } else { "," })?;
                    quoted(formatter, name)?;
                    write!(formatter, ":{value}")?;
                }
                formatter.write_str("}")
            }
        }
    }
}

fn quoted(formatter: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    formatter.write_str("\"")?;
    for character in text.chars() {
        match character {
            '"' => formatter.write_str("\\\"")?,
            '\\' => formatter.write_str("\\\\")?,
            '\n' => formatter.write_str("\\n")?,
            '\r' => formatter.write_str("\\r")?,
            '\t' => formatter.write_str("\\t")?,
            control if control < ' ' => write!(formatter, "\\u{:04x}", control as u32)?,
            other => write!(formatter, "{other}")?,
        }
    }
    formatter.write_str("\"")
}
