//! Whether a majority still fetches from the leader (KAFKA-15489).

use crate::{
    ids::NodeId,
    time::{Instant, Span},
};
use alloc::vec::Vec;
use core::time::Duration;

/// The voters that have fetched in the current window. A majority, the leader included, starts a new one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CheckQuorum {
    /// In order.
    fetched: Vec<NodeId>,
    window: Span,
    deadline: Instant,
}

impl CheckQuorum {
    pub(crate) fn new(window: Duration, now: Instant) -> Self {
        Self {
            fetched: Vec::new(),
            window: window.into(),
            deadline: now.after(window),
        }
    }

    /// A voter has fetched, or somebody who is none. If `needed` voters have in this window, that starts a new one.
    #[inline(always)]
    pub(crate) fn credit(&mut self, voter: Option<NodeId>, needed: usize, now: Instant) {
        // Of three voters the leader and any other are a majority, each time.
        if self.fetched.is_empty() && usize::from(voter.is_some()) >= needed {
            self.deadline = now.plus(self.window);
        } else {
            self.count(voter, needed, now);
        }
    }

    fn count(&mut self, voter: Option<NodeId>, needed: usize, now: Instant) {
        let news = voter.and_then(|voter| Some((self.fetched.binary_search(&voter).err()?, voter)));
        if self.fetched.len() + usize::from(news.is_some()) >= needed {
            self.restart(now);
        } else if let Some((place, voter)) = news {
            self.fetched.insert(place, voter);
        }
    }

    /// Starts a new window.
    pub(crate) fn restart(&mut self, now: Instant) {
        self.fetched.clear();
        self.deadline = now.plus(self.window);
    }

    /// Forgets those that are no voters any more: they vouch for nobody.
    pub(crate) fn retain(&mut self, is_voter: impl Fn(NodeId) -> bool) {
        self.fetched.retain(|id| is_voter(*id));
    }

    pub(crate) fn window(&self) -> Span {
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
        quorum.credit(Some(NodeId(1)), 2, at(1500));
        quorum.credit(Some(NodeId(1)), 2, at(1500));
        quorum.credit(None, 2, at(1500));
        assert_eq!(quorum.deadline(), at(3000));
        quorum.credit(Some(NodeId(2)), 2, at(1500));
        assert_eq!(quorum.deadline(), at(4500));
        quorum.credit(Some(NodeId(3)), 2, at(3000));
        assert_eq!(quorum.deadline(), at(4500));
    }

    #[test]
    fn fewer_that_are_needed_may_be_there_already() {
        let at = Instant::from_millis;
        let mut quorum = CheckQuorum::new(Duration::from_millis(3000), at(0));
        quorum.credit(Some(NodeId(1)), 2, at(1));
        quorum.credit(None, 1, at(2));
        assert_eq!(quorum.deadline(), at(3002));
    }
}
