//! One connection: frames over a TCP stream, and the versions that the other side speaks.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use bytes::Bytes;
use kraft_wire::frame::{self, FrameError};
use kraft_wire::message::{ApiVersionsRequest, ApiVersionsResponse};
use kraft_wire::{ApiKey, EncodeError, ErrorCode, Request};
use thiserror::Error;

use super::Address;

/// Why a request got no answer.
#[derive(Debug, Error)]
pub(crate) enum ConnectionError {
    #[error("the host name has no address")]
    NoAddress,
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("no answer in time")]
    Timeout,
    #[error("the connection was closed before the answer was whole")]
    Closed,
    #[error("an answer of {size} bytes is longer than a tool takes")]
    FrameSize { size: i64 },
    #[error("the answer cannot be read: {0}")]
    Frame(#[from] FrameError),
    #[error("the request cannot be written: {0}")]
    Encode(#[from] EncodeError),
    #[error("ApiVersions is answered with {}", .code.name())]
    ApiVersions { code: ErrorCode },
    #[error("{} is not served there in any version of ours", .api.name())]
    NotServed { api: ApiKey },
}

/// An open connection on which ApiVersions has been asked.
pub(crate) struct Connection {
    stream: TcpStream,
    next_correlation_id: i32,
    versions: BTreeMap<i16, (i16, i16)>,
}

impl Connection {
    /// Connects and asks for the versions.
    pub(crate) fn open(address: &Address, deadline: Instant) -> Result<Connection, ConnectionError> {
        let candidates = (address.host.as_str(), address.port).to_socket_addrs()?;
        let candidates: Vec<_> = candidates.take(CANDIDATES_MAX).collect();
        let mut problem = ConnectionError::NoAddress;
        let mut untried = u32::try_from(candidates.len()).expect("there are few of them");
        for candidate in &candidates {
            // One from which nothing comes leaves some of the time to the others.
            let share = time_left(deadline)? / untried;
            untried -= 1;
            match TcpStream::connect_timeout(candidate, share) {
                Ok(stream) => return Connection::introduce(stream, deadline),
                Err(error) => problem = error.into(),
            }
        }
        Err(problem)
    }

    /// Sends a request in the newest version that both sides speak and waits for its answer.
    pub(crate) fn ask<M: Request>(
        &mut self,
        request: &M,
        deadline: Instant,
    ) -> Result<M::Response, ConnectionError> {
        let api = ApiKey::from_key(M::API_KEY).expect("every request type has one of the known keys");
        let (lowest, highest) = (*api.versions().start(), *api.versions().end());
        let offered = self
            .versions
            .get(&M::API_KEY)
            .ok_or(ConnectionError::NotServed { api })?;
        let version = highest.min(offered.1);
        if version < lowest.max(offered.0) {
            return Err(ConnectionError::NotServed { api });
        }
        self.exchange(request, version, deadline)
    }

    fn introduce(stream: TcpStream, deadline: Instant) -> Result<Connection, ConnectionError> {
        stream.set_nodelay(true)?;
        let mut connection = Connection {
            stream,
            next_correlation_id: 0,
            versions: BTreeMap::new(),
        };
        let request = api_versions_request();
        let response: ApiVersionsResponse = connection.exchange(&request, API_VERSIONS_ASKED, deadline)?;
        let code = ErrorCode::from_code(response.error_code);
        if code.is_error() {
            return Err(ConnectionError::ApiVersions { code });
        }
        let range = |entry: &kraft_wire::message::ApiVersionsResponseApiVersion| {
            (entry.api_key, (entry.min_version, entry.max_version))
        };
        connection.versions = response.api_keys.iter().map(range).collect();
        Ok(connection)
    }

    fn exchange<M: Request>(
        &mut self,
        request: &M,
        version: i16,
        deadline: Instant,
    ) -> Result<M::Response, ConnectionError> {
        let correlation_id = self.next_correlation_id;
        self.next_correlation_id += 1;
        let body = frame::encode_request(request, version, correlation_id, Some(CLIENT_ID))?;
        let length = i32::try_from(body.len()).expect("a tool's request is small");
        let mut message = Vec::with_capacity(4 + body.len());
        message.extend_from_slice(&length.to_be_bytes());
        message.extend_from_slice(&body);
        self.stream.set_write_timeout(Some(time_left(deadline)?))?;
        self.stream.write_all(&message).map_err(timed_out)?;
        let mut head = [0; 4];
        self.read(&mut head, deadline)?;
        let size = i32::from_be_bytes(head);
        // The check comes before the allocation: the number is the other side's.
        let size = usize::try_from(size)
            .ok()
            .filter(|size| *size <= FRAME_MAX)
            .ok_or(ConnectionError::FrameSize { size: size.into() })?;
        let mut frame = vec![0; size];
        self.read(&mut frame, deadline)?;
        Ok(frame::decode_response::<M>(
            Bytes::from(frame),
            version,
            correlation_id,
        )?)
    }

    /// The deadline is that of all the bytes: a timeout of the operating system begins anew with each of them.
    fn read(&mut self, mut buffer: &mut [u8], deadline: Instant) -> Result<(), ConnectionError> {
        while !buffer.is_empty() {
            self.stream.set_read_timeout(Some(time_left(deadline)?))?;
            match self.stream.read(buffer) {
                Ok(0) => return Err(ConnectionError::Closed),
                Ok(count) => buffer = &mut buffer[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(timed_out(error)),
            }
        }
        Ok(())
    }
}

/// The question what the other side speaks and which features it has.
pub(super) fn api_versions_request() -> ApiVersionsRequest {
    ApiVersionsRequest {
        client_software_name: env!("CARGO_PKG_NAME").to_owned(),
        client_software_version: env!("CARGO_PKG_VERSION").to_owned(),
        ..ApiVersionsRequest::default()
    }
}

/// Something above zero: a zero timeout would mean none.
fn time_left(deadline: Instant) -> Result<Duration, ConnectionError> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        Err(ConnectionError::Timeout)
    } else {
        Ok(left)
    }
}

fn timed_out(error: io::Error) -> ConnectionError {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ConnectionError::Timeout,
        _ => ConnectionError::Io(error),
    }
}

/// Known to every broker and controller of the last years; nothing newer is needed to learn the versions.
const API_VERSIONS_ASKED: i16 = 3;

const CLIENT_ID: &str = "kraft";

/// Addresses of a host that are tried.
const CANDIDATES_MAX: usize = 8;

/// Far above any answer that describes a quorum.
const FRAME_MAX: usize = 16 << 20;
