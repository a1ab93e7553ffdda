//! The network of a node as its engine sees it.

use kraft_core::RequestFault;
use kraft_transport::{Network, OutboundRequest};

/// Requests that wait to be carried away.
#[derive(Debug, Default)]
pub(crate) struct Outbox(pub(crate) Vec<OutboundRequest>);

impl Network for Outbox {
    fn send(&mut self, request: OutboundRequest) -> Result<(), RequestFault> {
        self.0.push(request);
        Ok(())
    }
}
