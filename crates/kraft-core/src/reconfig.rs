//! Changes of the voter set and of kraft.version (KIP-853) as an operator asks for them, and what becomes of them.

use crate::{error_code::ErrorCode, ids::ReplicaKey, voter_set::VoterNode};
use alloc::string::String;

/// A change of the voter set.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum VoterChange {
    /// A new voter.
    Add {
        /// Its key and endpoints. The levels do not count: the leader asks the new voter itself.
        voter: VoterNode,
        /// Whether the answer waits for the commit (KIP-1186).
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
    /// At kraft.version 0 nothing is written: the leader has taken note, for as long as it leads.
    Noted,
}

/// Why a change of voters or of kraft.version is refused, as Kafka's answers say it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ChangeRefusal {
    /// The error.
    pub error: ErrorCode,
    /// The text for the operator; empty where Kafka gives none.
    pub message: String,
    /// Whether the change is written and may still happen.
    pub open: bool,
}

impl ChangeRefusal {
    pub(crate) fn new(error: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            error,
            message: message.into(),
            open: false,
        }
    }

    /// The same, for a change that is written already.
    pub(crate) fn open(self, open: bool) -> Self {
        Self { open, ..self }
    }
}

/// What became of a request to raise kraft.version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UpgradeOutcome {
    /// It could be done now; nothing was (validate-only).
    Possible,
    /// The level is committed.
    InForce,
}
