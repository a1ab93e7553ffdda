//! Knows no leader that it could fetch from.

use crate::{
    ids::{NodeId, ReplicaKey},
    timer::Timer,
};

/// A replica without a reachable leader. It looks for one, and campaigns when it is a voter and its time is over.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Unattached {
    /// The leader, where only its id is known (a start with a stored leader that is no voter any more).
    pub(crate) leader: Option<NodeId>,
    /// Whom this replica voted for in this epoch.
    pub(crate) voted: Option<ReplicaKey>,
    /// When a voter campaigns. Observers never do, whatever it says.
    pub(crate) election: Timer,
}
