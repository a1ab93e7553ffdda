//! The bytes of Apache Kafka's controller listener: versioned messages, record batches, control records.
#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;
// The derive names this crate by its name, also from inside.
extern crate self as kraft_wire;

mod any_message;
mod api_key;
#[doc(hidden)]
pub mod derive_support;
mod error;
mod error_code;
mod field;
mod reader;
mod schema;
mod tags;
mod value;
mod writer;

pub mod batch;
pub mod control;
pub mod frame;
pub mod message;
pub mod metadata_frame;
pub mod uuid_text;

pub use any_message::{AnyDecoded, AnyMessage};
pub use api_key::ApiKey;
pub use error::{DecodeError, DecodeErrorKind, EncodeError};
pub use error_code::ErrorCode;
pub use field::{Field, Format};
pub use kraft_wire_derive::Message;
pub use reader::{DECODE_FACTOR, DECODE_SLACK, Reader, STRING_LENGTH_MAX};
pub use schema::{Message, MessageKind, Request};
pub use tags::UnknownTags;
pub use value::Value;
pub use writer::{SharedBytes, Writer};
