//! Collects pre-votes (KIP-996).

use crate::{
    endpoints::Endpoints,
    epoch_election::EpochElection,
    ids::{NodeId, ReplicaKey},
    time::Instant,
    timer::Timer,
};

/// A voter that asks whether it could win before it raises the epoch. It keeps what it knew of the epoch.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Prospective {
    /// The leader it has lost, if it had one.
    pub(crate) leader: Option<NodeId>,
    /// Where that leader listened.
    pub(crate) endpoints: Endpoints,
    /// Whom this replica voted for in this epoch.
    pub(crate) voted: Option<ReplicaKey>,
    /// The pre-votes.
    pub(crate) tally: EpochElection,
    /// Until when it leaves the candidacy to another voter that asks, too. Never set while there is none.
    pub(crate) gives_way: Timer,
    /// When it gives up.
    pub(crate) election: Timer,
}

impl Prospective {
    /// Whether another voter is still to have its turn. Not at the end of the round: all pre-votes would have been in vain.
    pub(crate) fn waits_for_rival(&self, now: Instant) -> bool {
        let waits = self.gives_way.deadline().is_some_and(|end| now < end);
        waits && !self.election.expired(now)
    }
}
