//! What the caller of a handle operation may be told, and why a node ends.

use kraft_core::{
    Epoch, NodeId, OpenError,
    state_machine::{ApplyFault, Provenance},
};
use thiserror::Error;

/// Where an accepted and committed change stands in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubmitChangeResult {
    /// Offset of its first record.
    pub base_offset: i64,
    /// Offset of its last record.
    pub last_offset: i64,
    /// The epoch it was written in.
    pub epoch: Epoch,
}

/// Why an operation on the quorum was not done, or is not known to be done.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RaftError {
    /// This node does not lead.
    #[error("not the leader of epoch {epoch}; the leader is {}", leader_name(*leader))]
    NotLeader {
        /// Who leads, if known.
        leader: Option<NodeId>,
        /// The current epoch.
        epoch: Epoch,
    },
    /// The image that the change was built on is not the current one.
    #[error("the image has moved on to offset {} (epoch {})", current.last_offset, current.last_epoch)]
    Conflict {
        /// Where the current image stands.
        current: Provenance,
    },
    /// The state machine refuses the change.
    #[error("refused with error code {code}: {reason}")]
    Invalid {
        /// Kafka's error code.
        code: i16,
        /// What is wrong.
        reason: String,
    },
    /// A change without records, or with a record without bytes, which no log may hold.
    #[error("a change has to have at least one record, and a record at least one byte")]
    Empty,
    /// The change does not fit into one batch.
    #[error("the change does not fit into one batch of {max} bytes")]
    TooLarge {
        /// The most bytes of a batch.
        max: u32,
    },
    /// More changes are waiting for their commit than this node holds. Try again later.
    #[error("{held} bytes of changes wait for their commit already, at most {max} may")]
    Busy {
        /// Bytes that wait.
        held: u64,
        /// The most that may.
        max: u64,
    },
    /// More readers wait than this node holds. Try again later.
    #[error("{max} readers wait already")]
    TooManyReads {
        /// The most that may.
        max: usize,
    },
    /// Leadership was lost and the change is certain not to be in the log.
    #[error("leadership was lost; the change is not in the log and never will be")]
    Lost,
    /// Leadership was lost before the outcome was known: the change may or may not become committed.
    #[error("leadership was lost before the outcome was known; the change may still become committed")]
    Unknown,
    /// A change of the voter set is written and not known to be committed: it may or may not happen.
    #[error("the new voter set is written, but not known to be committed: {reason}")]
    Open {
        /// Why nobody waits for the commit any more.
        reason: String,
    },
    /// The node is shutting down and takes nothing new.
    #[error("the node is shutting down")]
    ShuttingDown,
    /// The node has ended.
    #[error("the node has ended")]
    Stopped,
    /// No snapshot can be taken now.
    #[error("no snapshot can be taken now: {reason}")]
    NoSnapshot {
        /// Why.
        reason: String,
    },
}

/// Why a node ended, or did not start.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NodeError {
    /// The disk failed, or what is on it is damaged.
    #[error("storage: {reason}")]
    Storage {
        /// Which file, and what is wrong.
        reason: String,
    },
    /// A committed record means nothing to the state machine.
    #[error(transparent)]
    Apply(#[from] ApplyFault),
    /// Configuration and storage contradict each other.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// What this node was told contradicts what it has stored.
    #[error("{reason}")]
    Contradiction {
        /// What contradicts what.
        reason: String,
    },
    /// What the node was configured with cannot be.
    #[error("{reason}")]
    Config {
        /// What is wrong.
        reason: String,
    },
    /// The listener cannot be opened.
    #[error("listener {listener}: {reason}")]
    Listener {
        /// The listener, with its address.
        listener: String,
        /// What the operating system says.
        reason: String,
    },
    /// A thread of the node ended before the node did.
    #[error("the {thread} thread ended")]
    Thread {
        /// Which.
        thread: &'static str,
    },
}

fn leader_name(leader: Option<NodeId>) -> String {
    leader.map_or_else(|| "not known".to_owned(), |id| format!("node {id}"))
}
