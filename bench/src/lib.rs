//! Recorded messages as samples for the oracle and for benchmarks.
#![forbid(unsafe_code)]

use std::path::Path;
use std::{fs, io};

use bytes::Bytes;
use kraft_wire::frame::{decode_request_header, decode_response_header};
use kraft_wire::{ApiKey, Message, Reader};

/// One exchange between real Kafka 4.4 nodes: both bodies, without their headers.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The name under which it is recorded.
    pub id: String,
    /// The API.
    pub api: ApiKey,
    /// The version of both bodies.
    pub version: i16,
    /// The request.
    pub request: Bytes,
    /// The answer.
    pub response: Bytes,
}

/// All recorded exchanges.
///
/// # Errors
/// The recordings of kraft-wire cannot be read.
pub fn exchanges() -> io::Result<Vec<Exchange>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/kraft-wire/tests/vectors/captured");
    let mut exchanges = Vec::new();
    for entry in fs::read_dir(folder)? {
        let text = fs::read_to_string(entry?.path())?;
        exchanges.extend(text.lines().filter_map(exchange));
    }
    Ok(exchanges)
}

/// Reads a body as a message of type `M`, if it is one.
pub fn decode<M: Message>(body: &Bytes, version: i16) -> Option<M> {
    M::decode(&mut Reader::new(body.clone()), version).ok()
}

fn exchange(line: &str) -> Option<Exchange> {
    let recorded: serde_json::Value = serde_json::from_str(line).ok()?;
    let frame = |name: &str| recorded[name].as_str().and_then(bytes_of);
    let (api, header, request) = decode_request_header(frame("request")?).ok()?;
    let version = header.request_api_version;
    let (_, response) = decode_response_header(frame("response")?, api, version).ok()?;
    let id = recorded["id"].as_str()?.to_owned();
    Some(Exchange {
        id,
        api,
        version,
        request: request.rest(),
        response: response.rest(),
    })
}

fn bytes_of(hex: &str) -> Option<Bytes> {
    let digits: Vec<_> = hex
        .chars()
        .map(|digit| digit.to_digit(16))
        .collect::<Option<_>>()?;
    Some(
        digits
            .chunks_exact(2)
            .map(|pair| (pair[0] << 4 | pair[1]) as u8)
            .collect(),
    )
}
