//! SaslAuthenticate (api key 36), versions 0 to 2.

use alloc::string::String;

use bytes::Bytes;

use crate::{Message, UnknownTags};

/// The request of SaslAuthenticate.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = request, api_key = 36, versions = 0..=2, flexible = 2, response = SaslAuthenticateResponse)]
pub struct SaslAuthenticateRequest {
    /// Mechanism token.
    pub auth_bytes: Bytes,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// The answer of SaslAuthenticate.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = response, api_key = 36, versions = 0..=2, flexible = 2)]
pub struct SaslAuthenticateResponse {
    /// 0, 58 or 34.
    pub error_code: i16,
    /// Text for people.
    pub error_message: Option<String>,
    /// Mechanism challenge or final data, may be empty.
    pub auth_bytes: Bytes,
    /// Ms until re-authentication is due, 0 = never.
    #[kafka(since = 1, ignorable)]
    pub session_lifetime_ms: i64,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}
