//! The change of the voter set that a leader has under way: one at a time.

use crate::{
    endpoints::Endpoints,
    handles::{ReplyId, RequestId},
    ids::ReplicaKey,
    time::Instant,
};

/// A change from its acceptance to its commit, or until its time is over (Kafka's `ChangeVoterHandlerState`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct PendingChange {
    /// How far it is.
    pub(crate) stage: Stage,
    /// When it stops to block others, committed or not.
    pub(crate) expires: Instant,
    /// Who still waits for the answer.
    pub(crate) waiting: Option<ReplyId>,
}

/// How far a change is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Stage {
    /// A replica that is to be added is asked what it supports. Nothing is written yet.
    Probing(Probe),
    /// The record of the new voter set is in the log.
    Appended {
        /// Its offset.
        offset: i64,
    },
}

/// The replica that is to be added.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Probe {
    /// The request that asks it.
    pub(crate) request: RequestId,
    /// Its key.
    pub(crate) voter: ReplicaKey,
    /// Where it listens.
    pub(crate) endpoints: Endpoints,
    /// Whether the answer waits for the commit.
    pub(crate) ack_when_committed: bool,
}

impl PendingChange {
    /// The offset of the new voter set, once it is written.
    pub(crate) fn offset(&self) -> Option<i64> {
        match self.stage {
            Stage::Probing(_) => None,
            Stage::Appended { offset } => Some(offset),
        }
    }

    /// The replica that is asked by `request`.
    pub(crate) fn probe(&self, request: RequestId) -> Option<&Probe> {
        match &self.stage {
            Stage::Probing(probe) if probe.request == request => Some(probe),
            Stage::Probing(_) | Stage::Appended { .. } => None,
        }
    }
}
