//! What the agenda holds.

use super::{node::Asker, plan::Step};
use bytes::Bytes;
use kraft_core::{ReplicaKey, RequestFault};

/// Something that happens at a moment.
pub(super) enum Happening {
    /// A request reaches a node.
    Request {
        to: usize,
        body: Bytes,
        asker: Asker,
    },
    /// An answer reaches the node that asked.
    Answer {
        from: ReplicaKey,
        body: Bytes,
        asker: Asker,
    },
    /// A request has no answer.
    Fault {
        asker: Asker,
        fault: RequestFault,
    },
    /// A node wanted to be woken.
    Wake {
        node: usize,
        life: u64,
    },
    /// The log thread of a node does a round.
    Round {
        node: usize,
        life: u64,
    },
    /// The other threads of a node do what they were asked for.
    Background {
        node: usize,
        life: u64,
    },
    Start {
        node: usize,
    },
    /// A node that stood still goes on.
    Resume {
        node: usize,
        life: u64,
    },
    /// The next step of the plan.
    Step(Step),
    /// A client proposes, after the plan is done.
    Propose,
}
