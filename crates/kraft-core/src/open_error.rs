//! Why a replica cannot be opened.

use crate::ids::{NodeId, ReplicaKey};

/// What contradicts itself between configuration and storage.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Neither bootstrap servers nor static voters are configured, so there is nobody to ask for the leader.
    #[error("neither controller.quorum.bootstrap.servers nor controller.quorum.voters names anybody")]
    NobodyToAsk,
    /// The local directory has no id.
    #[error("node {0} has no directory id")]
    NoDirectoryId(NodeId),
    /// A vote is stored, but the node has no id that could have voted.
    #[error("a vote for node {} is stored, but this node has no id", voted.id)]
    VoteWithoutIdentity {
        /// Whom the vote is for.
        voted: ReplicaKey,
    },
    /// A kraft.version that this replica does not know is in force.
    #[error("kraft.version {level} at offset {offset} is not supported")]
    UnsupportedKRaftVersion {
        /// The level.
        level: i16,
        /// Where it is recorded.
        offset: i64,
    },
    /// The stored epoch is larger than epochs may be.
    #[error("the stored epoch {0} is out of range")]
    EpochOutOfRange(i32),
    /// The log ends behind [`MAX_OFFSET`](crate::MAX_OFFSET).
    #[error("the end of the log, {0}, is out of range")]
    OffsetOutOfRange(i64),
}
