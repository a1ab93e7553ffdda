//! A connection to another node, over which requests are sent one at a time.

use super::{
    frame::{FrameError, FrameReader},
    reach::{self, Lookup},
};
use crate::metrics::{ChannelMetrics, OpenConnection};
use bytes::{Buf, Bytes};
use kraft_core::Endpoint;
use kraft_wire::{
    ApiKey, DecodeError, EncodeError, ErrorCode, Message,
    frame::{self, decode_response_header},
    message as m,
};
use std::{collections::BTreeMap, io, ops::RangeInclusive, sync::Arc, time::Duration};
use thiserror::Error;
use tokio::{io::AsyncWriteExt, net::TcpStream, time::timeout};

/// Why a request has no answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CallError {
    /// The node cannot be reached, or the connection was lost.
    #[error("no connection to {endpoint}: {source}")]
    Connection {
        /// The node.
        endpoint: Endpoint,
        /// What the operating system says.
        source: io::Error,
    },
    /// Not answered in time.
    #[error("no answer from {endpoint} within {waited:?}")]
    TimedOut {
        /// The node.
        endpoint: Endpoint,
        /// How long was waited.
        waited: Duration,
    },
    /// The node does not know the API in a version that this side knows.
    #[error("{endpoint} does not serve {api} in a version that this node knows")]
    UnsupportedVersion {
        /// The node.
        endpoint: Endpoint,
        /// The API.
        api: ApiKey,
    },
    /// The answer is not one.
    #[error("{endpoint} answered nonsense: {reason}")]
    Malformed {
        /// The node.
        endpoint: Endpoint,
        /// What is wrong with it.
        reason: String,
    },
    /// The request cannot be written in the version chosen.
    #[error("request: {0}")]
    Encode(#[from] EncodeError),
}

/// A connection with the versions that the other side speaks.
///
/// After an error it is of no use any more: an answer to an earlier request could follow.
#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    frames: FrameReader,
    endpoint: Endpoint,
    client_id: String,
    correlation_id: i32,
    versions: BTreeMap<i16, (i16, i16)>,
    /// Counts what goes over the connection, where somebody wants to know.
    counted: Option<OpenConnection>,
}

impl Client {
    /// Connects and asks for the versions of the other side, as Kafka's client does on every connection.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn connect(endpoint: &Endpoint, client_id: &str, within: Duration) -> Result<Self, CallError> {
        let mut lookup = Lookup::default();
        Self::connect_counted(&mut lookup, endpoint, client_id, within, None).await
    }

    /// As [`connect`](Self::connect), with everything that goes over the connection counted.
    pub(super) async fn connect_counted(
        lookup: &mut Lookup,
        endpoint: &Endpoint,
        client_id: &str,
        within: Duration,
        channel: Option<&Arc<ChannelMetrics>>,
    ) -> Result<Self, CallError> {
        let connecting = async {
            let stream = reach::connect(lookup, &endpoint.host, endpoint.port, within).await;
            let stream = stream.and_then(|stream| stream.set_nodelay(true).map(|()| stream));
            let mut client = Self {
                stream: stream.map_err(|source| lost(endpoint, source))?,
                frames: FrameReader::default(),
                endpoint: endpoint.clone(),
                client_id: client_id.to_owned(),
                correlation_id: 0,
                versions: BTreeMap::new(),
                counted: channel.map(ChannelMetrics::opened),
            };
            client.negotiate().await?;
            Ok(client)
        };
        timeout(within, connecting).await.unwrap_or_else(|_| {
            Err(CallError::TimedOut {
                endpoint: endpoint.clone(),
                waited: within,
            })
        })
    }

    /// The highest version of an API that both sides know, among `ours`.
    ///
    /// # Errors
    /// There is none.
    pub fn version(&self, api: ApiKey, ours: &RangeInclusive<i16>) -> Result<i16, CallError> {
        let unsupported = || CallError::UnsupportedVersion {
            endpoint: self.endpoint.clone(),
            api,
        };
        let (min, max) = self.versions.get(&api.key()).copied().ok_or_else(unsupported)?;
        let version = max.min(*ours.end());
        if version < min || version < *ours.start() {
            return Err(unsupported());
        }
        Ok(version)
    }

    /// Sends the body of a request and waits for the body of its answer.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn call(
        &mut self,
        api: ApiKey,
        version: i16,
        body: Bytes,
        within: Duration,
    ) -> Result<Bytes, CallError> {
        let waited = timeout(within, self.exchange(api, version, body)).await;
        waited.unwrap_or_else(|_| {
            Err(CallError::TimedOut {
                endpoint: self.endpoint.clone(),
                waited: within,
            })
        })
    }

    /// Returns when the other side has closed the connection, or has sent what nobody asked for.
    pub(crate) async fn closed(&self) {
        if self.frames.is_ahead() {
            return;
        }
        let mut byte = [0];
        // Whatever this finds, nothing should be there while no request is in flight.
        let _ = self.stream.peek(&mut byte).await;
    }

    async fn exchange(&mut self, api: ApiKey, version: i16, body: Bytes) -> Result<Bytes, CallError> {
        let correlation_id = self.correlation_id;
        self.correlation_id = (correlation_id + 1) % CORRELATION_ID_END;
        let mut head = vec![0; 4];
        m::RequestHeader {
            request_api_key: api.key(),
            request_api_version: version,
            correlation_id,
            client_id: Some(self.client_id.clone()),
            ..Default::default()
        }
        .encode(api.request_header_version(version), &mut head)?;
        let length = head.len() - 4 + body.len();
        let length = i32::try_from(length).map_err(|_| EncodeError::TooLong { length })?;
        head[..4].copy_from_slice(&length.to_be_bytes());
        if let Some(counted) = &self.counted {
            counted.sent(head.len() + body.len());
        }
        let sent = self
            .stream
            .write_all_buf(&mut Bytes::from(head).chain(body))
            .await;
        sent.map_err(|source| lost(&self.endpoint, source))?;

        let frame = match self.frames.read(&mut self.stream, ANSWER_BYTES_MAX, None).await {
            Ok(Some(frame)) => frame.bytes,
            Ok(None) => return Err(lost(&self.endpoint, io::ErrorKind::UnexpectedEof.into())),
            Err(FrameError::Io(source)) => return Err(lost(&self.endpoint, source)),
            Err(error @ (FrameError::Length(_) | FrameError::Cut { .. } | FrameError::Crowded { .. })) => {
                return Err(self.malformed(error.to_string()));
            }
        };
        if let Some(counted) = &self.counted {
            counted.received(frame.len() + 4);
        }
        let (header, reader) =
            decode_response_header(frame, api, version).map_err(|error| self.malformed(error.to_string()))?;
        if header.correlation_id != correlation_id {
            let error = frame::FrameError::Correlation {
                expected: correlation_id,
                found: header.correlation_id,
            };
            return Err(self.malformed(error.to_string()));
        }
        Ok(reader.rest())
    }

    /// Asks with the newest version. A server that does not know it answers in the oldest form and names its own
    /// newest one, which is asked next.
    async fn negotiate(&mut self) -> Result<(), CallError> {
        let newest = *ApiKey::ApiVersions.versions().end();
        let body = self.exchange_versions(newest).await?;
        let as_sent = m::ApiVersionsResponse::from_bytes(&body, newest);
        let answer = match as_sent {
            Ok(answer) if answer.error_code == 0 => answer,
            Ok(_) | Err(_) => {
                let oldest = self.decoded(m::ApiVersionsResponse::from_bytes(&body, 0))?;
                let code = ErrorCode::from_code(oldest.error_code);
                if code != ErrorCode::UnsupportedVersion {
                    return Err(self.malformed(format!("ApiVersions: {}", code.name())));
                }
                let own = ApiKey::ApiVersions.key();
                let entry = oldest.api_keys.iter().find(|entry| entry.api_key == own);
                let version = entry.map_or(0, |entry| entry.max_version).clamp(0, newest);
                let body = self.exchange_versions(version).await?;
                self.decoded(m::ApiVersionsResponse::from_bytes(&body, version))?
            }
        };
        if answer.error_code != 0 {
            let name = ErrorCode::from_code(answer.error_code).name();
            return Err(self.malformed(format!("ApiVersions: {name}")));
        }
        let entries = answer.api_keys.iter();
        self.versions = entries
            .map(|entry| (entry.api_key, (entry.min_version, entry.max_version)))
            .collect();
        Ok(())
    }

    async fn exchange_versions(&mut self, version: i16) -> Result<Bytes, CallError> {
        let request = m::ApiVersionsRequest {
            client_software_name: "kraft".to_owned(),
            client_software_version: env!("CARGO_PKG_VERSION").to_owned(),
            ..Default::default()
        };
        let body = request.to_bytes(version)?;
        self.exchange(ApiKey::ApiVersions, version, body).await
    }

    fn decoded<T>(&self, result: Result<T, DecodeError>) -> Result<T, CallError> {
        result.map_err(|error| self.malformed(error.to_string()))
    }

    fn malformed(&self, reason: String) -> CallError {
        CallError::Malformed {
            endpoint: self.endpoint.clone(),
            reason,
        }
    }
}

fn lost(endpoint: &Endpoint, source: io::Error) -> CallError {
    CallError::Connection {
        endpoint: endpoint.clone(),
        source,
    }
}

/// The numbers from here on are reserved for SASL.
const CORRELATION_ID_END: i32 = 2_147_483_640;

/// The largest answer that is read: a Fetch answer holds one batch at least, whatever its size.
const ANSWER_BYTES_MAX: usize = 100 * 1024 * 1024;
