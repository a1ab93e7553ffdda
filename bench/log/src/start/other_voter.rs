//! The other voters, which take requests and leave them unanswered, but for the first of a connection.

use std::{
    io::{self, Read, Write},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    thread,
    time::Instant,
};

use kraft_wire::{
    ApiKey,
    frame::{decode_request_header, encode_response},
    message::{ApiVersionsResponse, ApiVersionsResponseApiVersion},
};

use crate::Error;

/// Tells when a connection has brought its first Vote or Fetch.
pub fn listen(socket: TcpListener, arrived: mpsc::Sender<Instant>) {
    thread::spawn(move || {
        while let Ok((stream, _)) = socket.accept() {
            let arrived = arrived.clone();
            thread::spawn(move || {
                // A connection that ends before is that of a node which was killed.
                if wait_for_request(&stream).is_ok() {
                    arrived.send(Instant::now()).ok();
                    io::copy(&mut &stream, &mut io::sink()).ok();
                }
            });
        }
    });
}

/// Says what it serves, as a node wants to know of each new connection, and waits for more.
fn wait_for_request(mut stream: &TcpStream) -> Result<(), Error> {
    loop {
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        let mut frame = vec![0; u32::from_be_bytes(length).min(FRAME_BYTES_MAX) as usize];
        stream.read_exact(&mut frame)?;
        let (api, header, _) = decode_request_header(frame.into())?;
        match api {
            ApiKey::Vote | ApiKey::Fetch => return Ok(()),
            ApiKey::ApiVersions => {
                let version = header.request_api_version;
                let answer = encode_response(&served(), version, header.correlation_id)?;
                let length = u32::try_from(answer.len())?.to_be_bytes();
                stream.write_all(&[&length, &answer[..]].concat())?;
            }
            _ => {}
        }
    }
}

fn served() -> ApiVersionsResponse {
    let api = |key: ApiKey, max_version| ApiVersionsResponseApiVersion {
        api_key: key.key(),
        min_version: 0,
        max_version,
        ..Default::default()
    };
    ApiVersionsResponse {
        api_keys: vec![
            api(ApiKey::Fetch, 18),
            api(ApiKey::Vote, 2),
            api(ApiKey::ApiVersions, 4),
        ],
        ..Default::default()
    }
}

const FRAME_BYTES_MAX: u32 = 1 << 20;
