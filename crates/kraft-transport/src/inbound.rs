//! Requests of peers on their way to the engine.

use crate::peer_api::PeerApi;
use bytes::Bytes;
use std::sync::Arc;
use tokio::sync::oneshot;

/// A peer's request as it came in: the body, the version that its header names, the listener that it arrived on, and
/// where the body of the answer goes.
///
/// The engine decodes and answers at that version. It drops `reply` unanswered where Kafka closes the connection: when
/// the body cannot be decoded.
#[derive(Debug)]
pub enum Inbound {
    /// Vote or pre-vote.
    Vote {
        /// The body.
        req: Bytes,
        /// Its version.
        version: i16,
        /// The listener's name.
        listener: Arc<str>,
        /// Takes the body of the answer.
        reply: oneshot::Sender<Bytes>,
    },
    /// A leader announces itself.
    BeginQuorumEpoch {
        /// The body.
        req: Bytes,
        /// Its version.
        version: i16,
        /// The listener's name.
        listener: Arc<str>,
        /// Takes the body of the answer.
        reply: oneshot::Sender<Bytes>,
    },
    /// A leader resigns.
    EndQuorumEpoch {
        /// The body.
        req: Bytes,
        /// Its version.
        version: i16,
        /// The listener's name.
        listener: Arc<str>,
        /// Takes the body of the answer.
        reply: oneshot::Sender<Bytes>,
    },
    /// Records of the metadata log.
    Fetch {
        /// The body.
        req: Bytes,
        /// Its version.
        version: i16,
        /// The listener's name.
        listener: Arc<str>,
        /// Takes the body of the answer.
        reply: oneshot::Sender<Bytes>,
    },
    /// A piece of a snapshot.
    FetchSnapshot {
        /// The body.
        req: Bytes,
        /// Its version.
        version: i16,
        /// The listener's name.
        listener: Arc<str>,
        /// Takes the body of the answer.
        reply: oneshot::Sender<Bytes>,
    },
    /// State of the quorum.
    DescribeQuorum {
        /// The body.
        req: Bytes,
        /// Its version.
        version: i16,
        /// The listener's name.
        listener: Arc<str>,
        /// Takes the body of the answer.
        reply: oneshot::Sender<Bytes>,
    },
    /// A voter is to be added.
    AddRaftVoter {
        /// The body.
        req: Bytes,
        /// Its version.
        version: i16,
        /// The listener's name.
        listener: Arc<str>,
        /// Takes the body of the answer.
        reply: oneshot::Sender<Bytes>,
    },
    /// A voter is to be removed.
    RemoveRaftVoter {
        /// The body.
        req: Bytes,
        /// Its version.
        version: i16,
        /// The listener's name.
        listener: Arc<str>,
        /// Takes the body of the answer.
        reply: oneshot::Sender<Bytes>,
    },
    /// What this node serves, and which features it has.
    ApiVersions {
        /// The body.
        req: Bytes,
        /// Its version.
        version: i16,
        /// The listener's name.
        listener: Arc<str>,
        /// Takes the body of the answer.
        reply: oneshot::Sender<Bytes>,
    },
    /// A voter tells its endpoints and levels.
    UpdateRaftVoter {
        /// The body.
        req: Bytes,
        /// Its version.
        version: i16,
        /// The listener's name.
        listener: Arc<str>,
        /// Takes the body of the answer.
        reply: oneshot::Sender<Bytes>,
    },
}

impl Inbound {
    /// The request of `api`.
    #[must_use]
    pub fn new(
        api: PeerApi,
        req: Bytes,
        version: i16,
        listener: Arc<str>,
        reply: oneshot::Sender<Bytes>,
    ) -> Self {
        macro_rules! build {
            ($($name:ident),*) => {
                match api {
                    $(PeerApi::$name => Self::$name { req, version, listener, reply },)*
                }
            };
        }
        build!(
            Vote,
            BeginQuorumEpoch,
            EndQuorumEpoch,
            Fetch,
            FetchSnapshot,
            DescribeQuorum,
            AddRaftVoter,
            RemoveRaftVoter,
            UpdateRaftVoter,
            ApiVersions
        )
    }

    /// Which API it belongs to.
    #[must_use]
    pub fn api(&self) -> PeerApi {
        match self {
            Self::Vote { .. } => PeerApi::Vote,
            Self::BeginQuorumEpoch { .. } => PeerApi::BeginQuorumEpoch,
            Self::EndQuorumEpoch { .. } => PeerApi::EndQuorumEpoch,
            Self::Fetch { .. } => PeerApi::Fetch,
            Self::FetchSnapshot { .. } => PeerApi::FetchSnapshot,
            Self::DescribeQuorum { .. } => PeerApi::DescribeQuorum,
            Self::AddRaftVoter { .. } => PeerApi::AddRaftVoter,
            Self::RemoveRaftVoter { .. } => PeerApi::RemoveRaftVoter,
            Self::UpdateRaftVoter { .. } => PeerApi::UpdateRaftVoter,
            Self::ApiVersions { .. } => PeerApi::ApiVersions,
        }
    }

    /// Whether nobody waits for the answer any more.
    #[must_use]
    pub fn caller_gone(&self) -> bool {
        let (Self::Vote { reply, .. }
        | Self::BeginQuorumEpoch { reply, .. }
        | Self::EndQuorumEpoch { reply, .. }
        | Self::Fetch { reply, .. }
        | Self::FetchSnapshot { reply, .. }
        | Self::DescribeQuorum { reply, .. }
        | Self::AddRaftVoter { reply, .. }
        | Self::RemoveRaftVoter { reply, .. }
        | Self::UpdateRaftVoter { reply, .. }
        | Self::ApiVersions { reply, .. }) = self;
        reply.is_closed()
    }

    /// API, body, version, listener, and where the answer goes.
    #[must_use]
    pub fn into_parts(self) -> (PeerApi, Bytes, i16, Arc<str>, oneshot::Sender<Bytes>) {
        let api = self.api();
        let (Self::Vote {
            req,
            version,
            listener,
            reply,
        }
        | Self::BeginQuorumEpoch {
            req,
            version,
            listener,
            reply,
        }
        | Self::EndQuorumEpoch {
            req,
            version,
            listener,
            reply,
        }
        | Self::Fetch {
            req,
            version,
            listener,
            reply,
        }
        | Self::FetchSnapshot {
            req,
            version,
            listener,
            reply,
        }
        | Self::DescribeQuorum {
            req,
            version,
            listener,
            reply,
        }
        | Self::AddRaftVoter {
            req,
            version,
            listener,
            reply,
        }
        | Self::RemoveRaftVoter {
            req,
            version,
            listener,
            reply,
        }
        | Self::ApiVersions {
            req,
            version,
            listener,
            reply,
        }
        | Self::UpdateRaftVoter {
            req,
            version,
            listener,
            reply,
        }) = self;
        (api, req, version, listener, reply)
    }
}
