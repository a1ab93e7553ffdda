//! A request from a connection, whosever connection it is: brought to the engine, and its answer.

use crate::{
    codec::{api_versions, sasl},
    command::{Command, CommandSender},
    inbound::Inbound,
    peer_api::PeerApi,
    views::MetadataFetchSlice,
};
use bytes::Bytes;
use kraft_core::{NodeId, ReplicaKey, StateMachine, state_machine::HandledApi};
use kraft_wire::{ApiKey, DecodeErrorKind, EncodeError, Message, Refusal, message as m};
use std::sync::Arc;
use thiserror::Error;
use tokio::sync::oneshot;

/// Why a request has no answer. Kafka closes the connection that it came on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RequestRefused {
    /// This node does not serve the API, or not this version of it.
    #[error("api {key} version {version} is not served")]
    NotServed {
        /// The api key.
        key: i16,
        /// The version.
        version: i16,
    },
    /// The body cannot be decoded.
    #[error("malformed body of an api {key} version {version} request")]
    Body {
        /// The api key.
        key: i16,
        /// The version.
        version: i16,
    },
    /// The answer does not fit the version.
    #[error("an answer cannot be written: {0}")]
    Encode(#[from] EncodeError),
    /// The node has ended or is ending.
    #[error("the node is ending")]
    Stopped,
}

/// The engine, as connections see it.
pub(crate) struct Dispatcher<S: StateMachine> {
    commands: CommandSender<S>,
    /// Everything that is served, by rising key.
    apis: Vec<HandledApi>,
}

impl<S: StateMachine> Dispatcher<S> {
    pub(crate) fn new(commands: CommandSender<S>, machine_apis: Vec<HandledApi>) -> Self {
        Self {
            commands,
            apis: api_versions::served(machine_apis),
        }
    }

    /// The body of the answer. To drop the future is to have gone: the engine then need not answer.
    pub(crate) async fn ask(
        &self,
        listener: &Arc<str>,
        key: i16,
        version: i16,
        body: Bytes,
    ) -> Result<Bytes, RequestRefused> {
        if !self.serves(key, version) {
            return Err(RequestRefused::NotServed { key, version });
        }
        if let Some(answered) = sasl::answer(key, version, &body) {
            let answered = answered.map_err(|_| RequestRefused::Body { key, version })?;
            return Ok(answered?);
        }
        if key == ApiKey::MetadataFetch.key() {
            return self.metadata_fetch(&body, version).await;
        }
        let (reply, answer) = oneshot::channel();
        let listener = Arc::clone(listener);
        let command = match PeerApi::from_key(key) {
            Some(api) => Command::Inbound(Inbound::new(api, body, version, listener, reply)),
            None => Command::Request {
                api: key,
                version,
                body,
                listener,
                reply,
            },
        };
        self.send(command).await?;
        // The engine drops what it cannot decode; that is where Kafka closes the connection.
        answer.await.map_err(|_| RequestRefused::Body { key, version })
    }

    /// ApiVersions is answered at whatever version it is asked.
    fn serves(&self, key: i16, version: i16) -> bool {
        let served = self
            .apis
            .iter()
            .any(|api| api.key == key && (api.min_version..=api.max_version).contains(&version));
        served
            || ApiKey::from_key(key).is_some_and(|api| {
                Refusal::of(api, DecodeErrorKind::UnsupportedVersion { version }) != Refusal::Close
            })
    }

    async fn metadata_fetch(&self, body: &Bytes, version: i16) -> Result<Bytes, RequestRefused> {
        let malformed = || RequestRefused::Body {
            key: ApiKey::MetadataFetch.key(),
            version,
        };
        let request = m::MetadataFetchRequest::from_bytes(body, version).map_err(|_| malformed())?;
        let max_size = u64::try_from(request.max_size).map_err(|_| malformed())?;
        if request.fetch_offset < 0 {
            return Err(malformed());
        }
        let (reply, answer) = oneshot::channel();
        let replica = NodeId(request.replica_id).known();
        self.send(Command::MetadataFetch {
            fetch_offset: request.fetch_offset,
            max_size,
            replica: replica.map(|id| ReplicaKey::new(id, request.replica_directory_id)),
            reply,
        })
        .await?;
        let slice = answer.await.map_err(|_| RequestRefused::Stopped)?;
        Ok(encode_slice(slice).to_bytes(version)?)
    }

    async fn send(&self, command: Command<S>) -> Result<(), RequestRefused> {
        let sent = self.commands.send(command).await;
        sent.map_err(|_| RequestRefused::Stopped)
    }
}

fn encode_slice(slice: MetadataFetchSlice) -> m::MetadataFetchResponse {
    let mut message = m::MetadataFetchResponse {
        log_start_offset: slice.log_start_offset,
        high_watermark: slice.high_watermark,
        quorum_high_watermark: slice.quorum_high_watermark,
        records: slice.records,
        ..Default::default()
    };
    if let Some(id) = slice.snapshot_id {
        message.snapshot_id.end_offset = id.end_offset;
        message.snapshot_id.epoch = id.epoch.0;
    }
    message
}
