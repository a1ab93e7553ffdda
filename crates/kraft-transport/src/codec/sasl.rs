//! SaslHandshake (17) and SaslAuthenticate (36) on a listener where there is nothing to authenticate: they come at the
//! wrong time, and the answer says so.

use bytes::Bytes;
use kraft_wire::{ApiKey, DecodeError, EncodeError, ErrorCode, Message, message as m};

/// The body of the answer to a SASL request, or `None` for any other.
///
/// # Errors
/// The body is not what it claims to be; Kafka closes the connection then.
pub(crate) fn answer(
    key: i16,
    version: i16,
    body: &Bytes,
) -> Option<Result<Result<Bytes, EncodeError>, DecodeError>> {
    let error_code = ErrorCode::IllegalSaslState.code();
    match ApiKey::from_key(key)? {
        ApiKey::SaslHandshake => Some(m::SaslHandshakeRequest::from_bytes(body, version).map(|_| {
            m::SaslHandshakeResponse {
                error_code,
                ..Default::default()
            }
            .to_bytes(version)
        })),
        ApiKey::SaslAuthenticate => Some(m::SaslAuthenticateRequest::from_bytes(body, version).map(|_| {
            let message = "SaslAuthenticate request received after successful authentication";
            m::SaslAuthenticateResponse {
                error_code,
                error_message: Some(message.to_owned()),
                ..Default::default()
            }
            .to_bytes(version)
        })),
        _ => None,
    }
}
