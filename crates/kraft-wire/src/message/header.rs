//! The heads of requests and answers.

use alloc::string::String;

use crate::{Message, UnknownTags};

/// The head of every request. Version 2 adds tagged fields; the client id keeps its two-byte length there.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = header, versions = 1..=2, flexible = 2)]
pub struct RequestHeader {
    /// Number of the API.
    pub request_api_key: i16,
    /// Version of the request, and of the answer.
    pub request_api_version: i16,
    /// Number by which the client finds the answer.
    pub correlation_id: i32,
    /// Name that the client gives itself.
    #[kafka(never_flexible)]
    pub client_id: Option<String>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// The head of every answer. Version 1 adds tagged fields.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = header, versions = 0..=1, flexible = 1)]
pub struct ResponseHeader {
    /// The number from the request.
    pub correlation_id: i32,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}
