//! One checker for each invariant of a quorum, fed with facts after every step of a simulation.
//!
//! Checkers know nothing of the simulator: a fact is plain data, so that a trace from anywhere else can be checked too, and
//! a trace that is wrong shows that the checker fires.

mod committed;
mod log_matching;
mod monotonic;
mod one_leader;
mod one_vote;

pub use committed::CommittedStays;
pub use log_matching::LogMatching;
pub use monotonic::Monotonic;
pub use one_leader::OneLeader;
pub use one_vote::OneVote;

use kraft_core::{Epoch, NodeId, ReplicaKey, RoleName, SnapshotId};

/// A batch of a log: where it is, who wrote it, and a digest of what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BatchMark {
    /// Offset of the first record.
    pub base: i64,
    /// Offset of the last record.
    pub last: i64,
    /// The epoch of the leader that wrote it.
    pub epoch: Epoch,
    /// Equal for equal content.
    pub digest: u64,
}

/// Something that can be seen of a running quorum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    /// A node has crashed, and what was not durable is gone.
    Crashed {
        /// Which.
        node: NodeId,
    },
    /// A node's disk has taken epoch and vote durably.
    Stored {
        /// Which node.
        node: NodeId,
        /// The epoch.
        epoch: Epoch,
        /// Whom it has voted for in that epoch.
        voted: Option<ReplicaKey>,
    },
    /// A node's state machine was replaced by a snapshot.
    Loaded {
        /// Which node.
        node: NodeId,
        /// The snapshot.
        snapshot: SnapshotId,
        /// A digest of all its records.
        digest: u64,
    },
    /// What a node is after a step.
    State {
        /// Which node.
        node: NodeId,
        /// Its role.
        role: RoleName,
        /// Its epoch.
        epoch: Epoch,
        /// The leader that it knows.
        leader: Option<NodeId>,
        /// Its high watermark, if it knows one.
        high_watermark: Option<i64>,
    },
    /// The log on a node's disk has changed: it was cut at `truncated_to`, where that is not its old end, and got new batches.
    Log {
        /// Which node.
        node: NodeId,
        /// Where the log begins.
        start: i64,
        /// Everything at and behind this offset was taken away.
        truncated_to: i64,
        /// What was then appended.
        appended: Vec<BatchMark>,
    },
    /// A node's state machine was given a committed batch.
    Applied {
        /// Which node.
        node: NodeId,
        /// The batch.
        batch: BatchMark,
        /// A digest of each of its records; none for a control batch.
        records: Vec<u64>,
    },
    /// A client was told that its records were not taken, or that their fate is not known.
    Refused {
        /// By which node.
        node: NodeId,
        /// Why.
        reason: String,
    },
    /// A client was told that its records are committed.
    Acknowledged {
        /// The offset of the first record.
        base: i64,
        /// The digests of its records.
        records: Vec<u64>,
    },
}

/// An invariant that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{invariant}: {detail}")]
pub struct Violation {
    /// Which invariant.
    pub invariant: &'static str,
    /// What was seen.
    pub detail: String,
}

/// Watches one invariant.
pub trait Checker {
    /// The invariant, in a few words.
    fn invariant(&self) -> &'static str;

    /// Takes a fact in.
    ///
    /// # Errors
    /// It contradicts the invariant.
    fn observe(&mut self, fact: &Fact) -> Result<(), Violation>;

    /// Is told that the run is over.
    ///
    /// # Errors
    /// Something that had to happen by now did not.
    fn finish(&self) -> Result<(), Violation> {
        Ok(())
    }

    /// A violation of this invariant.
    fn violated(&self, detail: String) -> Violation {
        Violation {
            invariant: self.invariant(),
            detail,
        }
    }
}

/// All checkers.
#[must_use]
pub fn all() -> Vec<Box<dyn Checker>> {
    vec![
        Box::new(OneLeader::default()),
        Box::new(OneVote::default()),
        Box::new(CommittedStays::default()),
        Box::new(LogMatching::default()),
        Box::new(Monotonic::default()),
    ]
}
