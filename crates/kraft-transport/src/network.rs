//! The network as the engine sees it.

use crate::metrics::ChannelMetrics;
use kraft_core::{Endpoint, PeerRequest, ReplicaKey, RequestFault, RequestId};
use std::{pin::Pin, sync::Arc};

/// A request on its way to a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboundRequest {
    /// The number under which its outcome comes back.
    pub request: RequestId,
    /// The peer; a bootstrap server has a negative id.
    pub to: ReplicaKey,
    /// Where it listens.
    pub endpoint: Endpoint,
    /// What is asked.
    pub body: PeerRequest,
}

/// Carries requests to peers.
///
/// Whoever implements it picks the version, encodes, and
/// brings the outcome back as a command: [`Command::response`](crate::Command::response), or
/// `Event::RequestFailed`. Every request that was taken has exactly one outcome.
pub trait Network {
    /// Takes a request and returns at once.
    ///
    /// # Errors
    /// It cannot be sent; there will be no other outcome.
    fn send(&mut self, request: OutboundRequest) -> Result<(), RequestFault>;

    /// Counts of what goes over its connections, where it keeps them.
    fn channel_metrics(&self) -> Option<Arc<ChannelMetrics>> {
        None
    }

    /// The node ends and takes nothing more: resolves when what was taken before has left. It is not waited for long.
    fn finish(&mut self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(std::future::ready(()))
    }
}
