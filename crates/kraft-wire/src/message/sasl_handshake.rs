//! SaslHandshake (api key 17), versions 0 to 1.

use alloc::string::String;
use alloc::vec::Vec;

use crate::Message;

/// The request of SaslHandshake.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = request, api_key = 17, versions = 0..=1, response = SaslHandshakeResponse)]
pub struct SaslHandshakeRequest {
    /// Mechanism chosen by the client.
    pub mechanism: String,
}

/// The answer of SaslHandshake.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = response, api_key = 17, versions = 0..=1)]
pub struct SaslHandshakeResponse {
    /// 0, 33 or 34.
    pub error_code: i16,
    /// Mechanisms the server has enabled.
    pub mechanisms: Vec<String>,
}
