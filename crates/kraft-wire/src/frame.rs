//! Whole frames: header and body together, without the length in front.
//!
//! ```
//! use kraft_wire::ErrorCode;
//! use kraft_wire::frame::{decode_api_versions_response, encode_response};
//! use kraft_wire::message::ApiVersionsResponse;
//!
//! // A peer that does not know the version of the question answers in version 0, and is understood.
//! let refused = ApiVersionsResponse { error_code: ErrorCode::UnsupportedVersion.code(), ..ApiVersionsResponse::default() };
//! let frame = encode_response(&refused, 0, 7)?;
//! assert_eq!(decode_api_versions_response(frame, 5, 7)?, refused);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;
use thiserror::Error;

use crate::api_key::ApiKey;
use crate::derive_support::{TagHead, tag_count};
use crate::error::{DecodeError, EncodeError};
use crate::error_code::ErrorCode;
use crate::message::{ApiVersionsRequest, ApiVersionsResponse, RequestHeader, ResponseHeader};
use crate::reader::Reader;
use crate::schema::{Message, Request};
use crate::writer::{SharedBytes, Writer};

/// Why a frame is not what its receiver expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The header cannot be read.
    #[error("header: {0}")]
    Header(DecodeError),
    /// No API of a controller listener has this key.
    #[error("api key {api_key} is not one of a controller listener")]
    UnknownApi {
        /// The key that was found.
        api_key: i16,
    },
    /// The body cannot be read.
    #[error("body: {0}")]
    Body(DecodeError),
    /// The answer belongs to another request.
    #[error("correlation id {found} instead of {expected}")]
    Correlation {
        /// Of the request in flight.
        expected: i32,
        /// Of the answer.
        found: i32,
    },
}

/// A request of type `M`, as a frame.
pub fn encode_request<M: Request>(
    request: &M,
    version: i16,
    correlation_id: i32,
    client_id: Option<&str>,
) -> Result<Bytes, EncodeError> {
    let header = RequestHeader {
        request_api_key: M::API_KEY,
        request_api_version: version,
        correlation_id,
        client_id: client_id.map(String::from),
        ..RequestHeader::default()
    };
    encode(
        &header,
        if M::is_flexible(version) { 2 } else { 1 },
        request,
        version,
    )
}

/// An answer of type `M`, as a frame.
pub fn encode_response<M: Message>(
    response: &M,
    version: i16,
    correlation_id: i32,
) -> Result<Bytes, EncodeError> {
    let header = ResponseHeader {
        correlation_id,
        ..ResponseHeader::default()
    };
    encode(&header, response_header_version::<M>(version), response, version)
}

/// An answer of type `M` as the parts of a frame, for a vectored write: large records are passed on, not copied.
pub fn encode_response_parts<M: Message>(
    response: &M,
    version: i16,
    correlation_id: i32,
) -> Result<Vec<Bytes>, EncodeError> {
    let header = ResponseHeader {
        correlation_id,
        ..ResponseHeader::default()
    };
    let mut shared = SharedBytes::default();
    let mut writer = Writer::sharing(&mut shared);
    header.write_message(&mut writer, response_header_version::<M>(version))?;
    response.write_message(&mut writer, version)?;
    Ok(shared.into_parts())
}

/// Reads the header of a request. The reader that comes back stands at the body.
///
/// The header of a version that the API does not have is read too: ApiVersions answers such a request.
pub fn decode_request_header(frame: Bytes) -> Result<(ApiKey, RequestHeader, Reader), FrameError> {
    let mut reader = Reader::new(frame);
    let mut ahead = reader.clone();
    let api_key = ahead.i16().map_err(FrameError::Header)?;
    let version = ahead.i16().map_err(FrameError::Header)?;
    let api = ApiKey::from_key(api_key).ok_or(FrameError::UnknownApi { api_key })?;
    let header = RequestHeader::decode(&mut reader, api.request_header_version(version));
    Ok((api, header.map_err(FrameError::Header)?, reader))
}

/// What the head of a request says that its answer depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHead {
    /// Which API.
    pub api: ApiKey,
    /// Version of the request, and of the answer.
    pub version: i16,
    /// Number by which the client finds the answer.
    pub correlation_id: i32,
}

/// As [`decode_request_header`], for a server that has no use for the rest of the header: passes over the client's name and
/// its tagged fields, and gives the body.
pub fn split_request(frame: Bytes) -> Result<(RequestHead, Bytes), FrameError> {
    let mut reader = Reader::new(frame);
    let api_key = reader.i16().map_err(FrameError::Header)?;
    let version = reader.i16().map_err(FrameError::Header)?;
    let api = ApiKey::from_key(api_key).ok_or(FrameError::UnknownApi { api_key })?;
    let correlation_id = pass_over_header(&mut reader, api, version).map_err(FrameError::Header)?;
    let head = RequestHead {
        api,
        version,
        correlation_id,
    };
    Ok((head, reader.into_rest()))
}

/// From the correlation id on. The client's name keeps its two-byte length in all versions.
fn pass_over_header(reader: &mut Reader, api: ApiKey, version: i16) -> Result<i32, DecodeError> {
    let correlation_id = reader.i32()?;
    reader.skip_string(false)?;
    if api.request_header_version(version) >= 2 {
        for _ in 0..tag_count(reader)? {
            let head = TagHead::read(reader)?;
            let size = head.unknown_size(reader)?;
            reader.skip(size)?;
        }
    }
    Ok(correlation_id)
}

/// Reads the header of an answer to a request of `api` and `version`. The reader that comes back stands at the body.
pub fn decode_response_header(
    frame: Bytes,
    api: ApiKey,
    version: i16,
) -> Result<(ResponseHeader, Reader), FrameError> {
    let mut reader = Reader::new(frame);
    let header = ResponseHeader::decode(&mut reader, api.response_header_version(version));
    Ok((header.map_err(FrameError::Header)?, reader))
}

/// Reads the answer to a request of type `M` that went out as `version` with `correlation_id`. Bytes behind the
/// answer are ignored.
pub fn decode_response<M: Request>(
    frame: Bytes,
    version: i16,
    correlation_id: i32,
) -> Result<M::Response, FrameError> {
    let mut reader = Reader::new(frame);
    let header = ResponseHeader::decode(&mut reader, response_header_version::<M>(version));
    let found = header.map_err(FrameError::Header)?.correlation_id;
    if found != correlation_id {
        return Err(FrameError::Correlation {
            expected: correlation_id,
            found,
        });
    }
    M::Response::decode(&mut reader, version).map_err(FrameError::Body)
}

/// Reads the answer to ApiVersions. A peer that does not know `version` answers in the layout of version 0 whatever
/// was asked; such an answer comes out like any other, with its error code and the one range it holds.
pub fn decode_api_versions_response(
    frame: Bytes,
    version: i16,
    correlation_id: i32,
) -> Result<ApiVersionsResponse, FrameError> {
    match decode_response::<ApiVersionsRequest>(frame.clone(), version, correlation_id) {
        Err(FrameError::Body(error)) => decode_response::<ApiVersionsRequest>(frame, 0, correlation_id)
            .ok()
            .filter(|response| response.error_code == ErrorCode::UnsupportedVersion.code())
            .ok_or(FrameError::Body(error)),
        decoded => decoded,
    }
}

fn encode<H: Message, M: Message>(
    header: &H,
    header_version: i16,
    body: &M,
    version: i16,
) -> Result<Bytes, EncodeError> {
    let size = header.encoded_size(header_version)? + body.encoded_size(version)?;
    let mut out = Vec::with_capacity(size);
    header.encode(header_version, &mut out)?;
    body.encode(version, &mut out)?;
    Ok(Bytes::from(out))
}

fn response_header_version<M: Message>(version: i16) -> i16 {
    i16::from(M::API_KEY != ApiKey::ApiVersions.key() && M::is_flexible(version))
}
