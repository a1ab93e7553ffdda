//! Whether a majority still fetches from the leader (KAFKA-15489).

use crate::{ids::NodeId, time::Instant};
use alloc::vec::Vec;
use core::time::Duration;

/// The voters that have fetched in the current window. A majority, the leader included, starts a new one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CheckQuorum {
    /// In order.
    fetched: Vec<NodeId>,
    window: Duration,
    deadline: Instant,
}

impl CheckQuorum {
    pub(crate) fn new(window: Duration, now: Instant) -> Self {
        Self {
            fetched: Vec::new(),
            window,
            deadline: now.after(window),
        }
    }

    /// A voter has fetched.
    pub(crate) fn credit(&mut self, voter: NodeId) {
        if let Err(place) = self.fetched.binary_search(&voter) {
            self.fetched.insert(place, voter);
        }
    }

    /// Starts a new window if enough voters have fetched in this one.
    pub(crate) fn renew(&mut self, voters: usize, leader_votes: bool, now: Instant) {
        let needed = (voters / 2 + 1).saturating_sub(usize::from(leader_votes));
        if self.fetched.len() >= needed {
            self.restart(now);
        }
    }

    /// Starts a new window.
    pub(crate) fn restart(&mut self, now: Instant) {
        self.fetched.clear();
        self.deadline = now.after(self.window);
    }

    /// Forgets those that are no voters any more: they vouch for nobody.
    pub(crate) fn retain(&mut self, is_voter: impl Fn(NodeId) -> bool) {
        self.fetched.retain(|id| is_voter(*id));
    }

    pub(crate) fn window(&self) -> Duration {
        self.window
    }

    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_voters_need_two_that_fetch() {
        let at = Instant::from_millis;
        let mut quorum = CheckQuorum::new(Duration::from_millis(3000), at(0));
        quorum.credit(NodeId(1));
        quorum.renew(5, true, at(1500));
        assert_eq!(quorum.deadline(), at(3000));
        quorum.credit(NodeId(2));
        quorum.renew(5, true, at(1500));
        assert_eq!(quorum.deadline(), at(4500));
        quorum.credit(NodeId(3));
        quorum.renew(5, true, at(3000));
        assert_eq!(quorum.deadline(), at(4500));
    }

    #[test]
    fn a_leader_that_is_no_voter_needs_a_whole_majority() {
        let at = Instant::from_millis;
        let mut quorum = CheckQuorum::new(Duration::from_millis(3000), at(0));
        quorum.credit(NodeId(1));
        quorum.renew(3, false, at(1));
        assert_eq!(quorum.deadline(), at(3000));
        quorum.credit(NodeId(2));
        quorum.renew(3, false, at(1));
        assert_eq!(quorum.deadline(), at(3001));
    }
}
