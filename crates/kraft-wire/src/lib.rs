//! The bytes of Apache Kafka's controller listener: versioned messages, record batches, control records.
//!
//! Every message of the listener is declared once, as a struct with the fields of all its versions; what
//! [`#[derive(Message)]`](macro@Message) makes of it encodes, measures, decodes and shows every version that Kafka 4.4
//! speaks. A broker project declares records of its own in the same way.
//!
//! # In call order
//!
//! 1. A frame is what stands behind the four length bytes. [`frame::decode_request_header`] finds API, header and body;
//!    [`Message::decode`] reads the body at the version of the header. On the other side [`frame::encode_request`] and
//!    [`frame::decode_response`] make the request and read its answer, [`frame::encode_response`] makes the answer.
//! 2. Records inside an answer, a segment or a snapshot are batches: [`batch::Batches`] splits them,
//!    [`batch::BatchView::validate`] checks one whole, [`batch::BatchView::records`] reads it. [`batch::BatchBuilder`]
//!    gathers records and learns offset and epoch last.
//! 3. The records of a control batch are [`control::ControlRecord`]s; the value of a data record is a
//!    [`metadata_frame::MetadataFrame`].
//!
//! # What holds
//!
//! - Nothing panics on bytes from outside; each refusal has a type and, where there is one, a position.
//! - Decoding allocates at most four times its input and 4 KiB, whatever the input announces. Records and byte strings
//!   are slices of the input.
//! - What an encoder writes in a version, Kafka reads in that version, byte for byte as Kafka would write it. A value
//!   that the version cannot carry is an error, unless the schema lets it be dropped.
//! - As in Kafka: bytes behind a body are ignored, text that is not UTF-8 is replaced, the size of a known tagged field
//!   is not compared with its data, unknown tagged fields survive a round trip.
//!
//! # What it does not do
//!
//! It does not know what a message means, which version to choose, or which error code to answer to a request that it
//! can read; for one that it cannot, see [`Refusal`]. It does not read or write compressed records: a metadata quorum
//! has none, and they are refused by name.
//!
//! # Example
//!
//! ```
//! use kraft_wire::frame::{decode_request_header, decode_response, encode_request, encode_response};
//! use kraft_wire::message::{DescribeClusterRequest, DescribeClusterResponse};
//! use kraft_wire::{ApiKey, Message};
//!
//! // The asking side.
//! let request = DescribeClusterRequest { endpoint_type: 2, ..DescribeClusterRequest::default() };
//! let frame = encode_request(&request, 2, 7, Some("example"))?;
//!
//! // The answering side.
//! let (api, header, mut body) = decode_request_header(frame)?;
//! assert_eq!((api, header.correlation_id), (ApiKey::DescribeCluster, 7));
//! let version = header.request_api_version;
//! let request = DescribeClusterRequest::decode(&mut body, version)?;
//! assert_eq!(request.endpoint_type, 2);
//! let response = DescribeClusterResponse { cluster_id: String::from("x"), ..DescribeClusterResponse::default() };
//! let frame = encode_response(&response, version, header.correlation_id)?;
//!
//! // The asking side again.
//! assert_eq!(decode_response::<DescribeClusterRequest>(frame, 2, 7)?, response);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
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
mod refusal;
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
pub use refusal::Refusal;
pub use schema::{Message, MessageKind, Request};
pub use tags::UnknownTags;
pub use value::Value;
pub use writer::{Appending, Counting, SharedBytes, Sharing, Target, Writer};
