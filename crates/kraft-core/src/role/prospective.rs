//! Collects pre-votes (KIP-996).

use crate::{
    endpoints::Endpoints,
    epoch_election::EpochElection,
    ids::{NodeId, ReplicaKey},
    time::Instant,
    timer::Timer,
};
use alloc::collections::BTreeSet;
use core::time::Duration;

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
    /// The other voters that ask, too, and go first.
    pub(crate) rivals: BTreeSet<NodeId>,
    /// Until when it leaves the candidacy to them. Never set while there are none.
    pub(crate) gives_way: Timer,
    /// When it gives up.
    pub(crate) election: Timer,
}

impl Prospective {
    /// Leaves the candidacy to `rival` for half of `election_timeout`, and to each further one for half as long as to the one
    /// before. Of those that wait for a rival in vain the next one is then a candidate before the others are. One that asks
    /// again is not waited for any longer.
    pub(crate) fn give_way(&mut self, rival: NodeId, election_timeout: Duration, now: Instant) {
        if !self.rivals.insert(rival) {
            return;
        }
        let halvings = u32::try_from(self.rivals.len())
            .unwrap_or(u32::MAX)
            .min(HALVINGS_MAX);
        let wait = election_timeout / (1 << halvings);
        let waits_until = self.gives_way.deadline().unwrap_or(now).max(now);
        self.gives_way = Timer::at(waits_until.after(wait));
    }

    /// Whether another voter is still to have its turn. Not at the end of the round: all pre-votes would have been in vain.
    pub(crate) fn waits_for_rivals(&self, now: Instant) -> bool {
        let waits = self.gives_way.deadline().is_some_and(|end| now < end);
        waits && !self.election.expired(now)
    }
}

/// The wait for so many rivals is as good as the whole election timeout.
const HALVINGS_MAX: u32 = 16;
