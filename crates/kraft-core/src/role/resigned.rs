//! Has led the epoch and given it up.

use crate::{
    ids::{NodeId, ReplicaKey},
    timer::Timer,
};
use alloc::{collections::BTreeSet, vec::Vec};

/// A former leader of the current epoch. It never leads or votes in it again.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Resigned {
    /// The voters that have not confirmed EndQuorumEpoch.
    pub(crate) unacknowledged: BTreeSet<NodeId>,
    /// Who should follow, best first; empty after a restart.
    pub(crate) preferred_successors: Vec<ReplicaKey>,
    /// When it leaves the epoch by itself.
    pub(crate) election: Timer,
}
