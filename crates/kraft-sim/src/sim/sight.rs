//! What can be seen of a run.

use crate::checker::Fact;
use kraft_core::{Endpoint, Instant, NodeId, PeerRequest};
use kraft_transport::NodeError;

/// Somebody who is told everything that can be seen, with its moment.
pub(super) type Witness = Box<dyn FnMut(Instant, Sight<'_>)>;

/// Something that can be seen.
#[derive(Debug, Clone, Copy)]
pub enum Sight<'a> {
    /// What the checkers are told.
    Fact(&'a Fact),
    /// A request sets out.
    Request {
        /// From this node.
        from: NodeId,
        /// To the node that listens there.
        to: &'a Endpoint,
        /// With this content.
        body: &'a PeerRequest,
    },
    /// A node ends by itself.
    Ended {
        /// Which one.
        node: NodeId,
        /// How.
        how: &'a Result<(), NodeError>,
    },
    /// Something is done, in the words of a plan.
    Step(&'a str),
}
