//! Changes of the voter set (KIP-853) as an operator asks for them.

use kraft_core::{ReplicaKey, VoterNode};

/// A change of the voter set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VoterChange {
    /// A new voter.
    Add {
        /// Its key, endpoints and levels.
        voter: VoterNode,
        /// Whether the answer waits for the commit.
        ack_when_committed: bool,
    },
    /// A voter goes.
    Remove {
        /// Which.
        voter: ReplicaKey,
    },
    /// A voter has other endpoints or levels.
    Update {
        /// Its new entry.
        voter: VoterNode,
    },
}

/// What became of a change of the voter set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReconfigOutcome {
    /// The new voter set is in the leader's log and in force.
    Appended {
        /// The offset of its record.
        offset: i64,
    },
    /// The new voter set is committed under its own majority.
    Committed {
        /// The offset of its record.
        offset: i64,
    },
}
