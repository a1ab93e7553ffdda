//! One frame: read, shown, written again.

use bytes::Bytes;
use kraft_wire::frame::{FrameError, decode_request_header, decode_response_header};
use kraft_wire::message::{RequestHeader, ResponseHeader};
use kraft_wire::{
    AnyDecoded, AnyMessage, ApiKey, DecodeError, DecodeErrorKind, EncodeError, ErrorCode, Message, Reader,
    Value,
};
use serde_json::json;

use super::hex::HexError;
use super::json;
use super::response_of::ResponseOf;

/// A frame that could be read.
pub(super) struct Decoded {
    api: ApiKey,
    version: i16,
    header: Header,
    body: Body,
    /// Bytes behind the body, which Kafka ignores.
    behind: Bytes,
}

enum Header {
    Request(RequestHeader),
    Response(ResponseHeader),
}

enum Body {
    Message(Box<dyn AnyMessage>),
    /// Of an API that a controller lists and whose messages are not known here.
    Opaque(Bytes),
}

impl Decoded {
    pub(super) fn request(frame: Bytes) -> Result<Self, Problem> {
        let (api, header, mut reader) = decode_request_header(frame)?;
        let version = header.request_api_version;
        let header = Header::Request(header);
        if !api.versions().contains(&version) {
            // Named at the place where the version stands.
            let kind = DecodeErrorKind::UnsupportedVersion { version };
            let error = DecodeError {
                kind,
                position: VERSION_POSITION,
            };
            return Err(Problem::of_body(error, api, version, &header));
        }
        let body = api.decode_request(&mut reader, version);
        Self::with_body(api, version, header, body, &reader)
    }

    pub(super) fn response(frame: Bytes, of: &ResponseOf) -> Result<Self, Problem> {
        let decoded = Self::response_in(frame.clone(), of.api, of.version);
        if of.api == ApiKey::ApiVersions
            && decoded.is_err()
            && let Some(refusal) = version_refusal(frame)
        {
            return Ok(refusal);
        }
        decoded
    }

    fn response_in(frame: Bytes, api: ApiKey, version: i16) -> Result<Self, Problem> {
        let (header, mut reader) = decode_response_header(frame, api, version)?;
        let body = api.decode_response(&mut reader, version);
        Self::with_body(api, version, Header::Response(header), body, &reader)
    }

    fn with_body(
        api: ApiKey,
        version: i16,
        header: Header,
        body: Option<AnyDecoded>,
        reader: &Reader,
    ) -> Result<Self, Problem> {
        let (body, behind) = match body {
            Some(Ok(message)) => (Body::Message(message), reader.rest()),
            Some(Err(error)) => return Err(Problem::of_body(error, api, version, &header)),
            None => (Body::Opaque(reader.rest()), Bytes::new()),
        };
        Ok(Self {
            api,
            version,
            header,
            body,
            behind,
        })
    }

    /// The frame again: header and body as their encoders write them, and what stood behind them.
    pub(super) fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let mut frame = Vec::new();
        match &self.header {
            Header::Request(header) => {
                header.encode(self.api.request_header_version(self.version), &mut frame)?;
            }
            Header::Response(header) => {
                header.encode(self.api.response_header_version(self.version), &mut frame)?;
            }
        }
        match &self.body {
            Body::Message(message) => message.encode_any(self.version, &mut frame)?,
            Body::Opaque(bytes) => frame.extend_from_slice(bytes),
        }
        frame.extend_from_slice(&self.behind);
        Ok(frame)
    }

    /// The frame as an object on one line.
    pub(super) fn to_json(&self) -> String {
        let body = match &self.body {
            Body::Message(message) => message.to_json_value_any(self.version),
            Body::Opaque(bytes) => Value::Bytes(bytes.clone()),
        };
        let behind = match self.behind.is_empty() {
            true => String::new(),
            false => format!(",\"behind\":{}", Value::Bytes(self.behind.clone())),
        };
        format!(
            "{{\"api\":\"{}\",\"version\":{},\"header\":{},\"body\":{}{behind}}}",
            self.api,
            self.version,
            json::text(&self.header.to_value(self.api, self.version)),
            json::text(&body)
        )
    }
}

impl Header {
    fn to_value(&self, api: ApiKey, version: i16) -> Value {
        match self {
            Self::Request(header) => header.to_json_value(api.request_header_version(version)),
            Self::Response(header) => header.to_json_value(api.response_header_version(version)),
        }
    }
}

/// An answer to ApiVersions that says, in the layout of version 0, that the version asked for is not known.
fn version_refusal(frame: Bytes) -> Option<Decoded> {
    let decoded = Decoded::response_in(frame, ApiKey::ApiVersions, 0).ok()?;
    let Body::Message(message) = &decoded.body else {
        return None;
    };
    let code = message.to_json_value_any(0).get("errorCode").cloned();
    let refused = Value::Int(ErrorCode::UnsupportedVersion.code().into());
    (code == Some(refused)).then_some(decoded)
}

/// What is wrong with a frame, and what could be read in front of it.
#[derive(Debug)]
pub(super) struct Problem {
    /// The name of the reason.
    reason: String,
    /// Byte of the frame, or character of a text that is not hex.
    position: usize,
    /// The reason with its numbers, for people.
    message: String,
    /// API, version and header, where it is the body that is wrong.
    read: Option<(ApiKey, i16, String)>,
}

impl Problem {
    fn of_body(error: DecodeError, api: ApiKey, version: i16, header: &Header) -> Self {
        let read = Some((api, version, json::text(&header.to_value(api, version))));
        Self {
            read,
            ..Self::from(error)
        }
    }

    /// The problem as an object on one line.
    pub(super) fn to_json(&self) -> String {
        let read = match &self.read {
            Some((api, version, header)) => {
                format!("\"api\":\"{api}\",\"version\":{version},\"header\":{header},")
            }
            None => String::new(),
        };
        let error = json!({ "reason": self.reason, "position": self.position, "message": self.message });
        format!("{{{read}\"error\":{error}}}")
    }
}

impl From<DecodeError> for Problem {
    fn from(error: DecodeError) -> Self {
        Self {
            reason: error.kind.name().to_owned(),
            position: error.position,
            message: error.kind.to_string(),
            read: None,
        }
    }
}

impl From<FrameError> for Problem {
    fn from(error: FrameError) -> Self {
        match error {
            FrameError::Header(error) | FrameError::Body(error) => Self::from(error),
            other => Self {
                reason: "UnknownApi".to_owned(),
                position: 0,
                message: other.to_string(),
                read: None,
            },
        }
    }
}

impl From<HexError> for Problem {
    fn from(error: HexError) -> Self {
        let (HexError::NotADigit { position } | HexError::HalfAByte { position }) = error;
        Self {
            reason: "NotHex".to_owned(),
            position,
            message: error.to_string(),
            read: None,
        }
    }
}

impl From<EncodeError> for Problem {
    fn from(error: EncodeError) -> Self {
        Self {
            reason: "NotEncodable".to_owned(),
            position: 0,
            message: error.to_string(),
            read: None,
        }
    }
}

/// Behind the api key.
const VERSION_POSITION: usize = 2;
