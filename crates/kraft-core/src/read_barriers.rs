//! Reads that wait until it is certain that nobody else led when they came.

use crate::{
    handles::{ReplyId, RequestId},
    ids::NodeId,
};
use alloc::collections::{BTreeMap, BTreeSet};

/// The reads of a leader. Those that come while a round is under way are in the next one: what was sent before they came
/// proves nothing for them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct ReadBarriers {
    waiting: BTreeSet<ReplyId>,
    round: Option<Round>,
}

/// One question to the voters, whether they still follow.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Round {
    /// What was committed when the round began: everything that anybody had been told by then.
    pub(crate) index: i64,
    readers: BTreeSet<ReplyId>,
    asked: BTreeMap<RequestId, NodeId>,
    confirmed: BTreeSet<NodeId>,
}

impl ReadBarriers {
    pub(crate) fn wait(&mut self, reply: ReplyId) {
        self.waiting.insert(reply);
    }

    /// A reader has gone. A round for nobody is over, so that nobody is asked for it any more.
    pub(crate) fn forget(&mut self, reply: ReplyId) {
        self.waiting.remove(&reply);
        if let Some(round) = &mut self.round {
            round.readers.remove(&reply);
        }
        self.round.take_if(|round| round.readers.is_empty());
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.round.is_none()
    }

    /// Begins a round for those who wait, unless one is under way.
    pub(crate) fn begin(&mut self, index: i64) {
        if self.round.is_none() && !self.waiting.is_empty() {
            self.round = Some(Round {
                index,
                readers: core::mem::take(&mut self.waiting),
                asked: BTreeMap::new(),
                confirmed: BTreeSet::new(),
            });
        }
    }

    pub(crate) fn round(&self) -> Option<&Round> {
        self.round.as_ref()
    }

    /// A voter is asked in this round.
    pub(crate) fn asked(&mut self, request: RequestId, voter: NodeId) {
        if let Some(round) = &mut self.round {
            round.asked.insert(request, voter);
        }
    }

    /// A request was answered, and the voter follows. One that was sent before the round began is none of its.
    pub(crate) fn confirmed(&mut self, request: RequestId) {
        if let Some(round) = &mut self.round
            && let Some(voter) = round.asked.remove(&request)
        {
            round.confirmed.insert(voter);
        }
    }

    /// Ends the round: what was committed when it began, and who waits.
    pub(crate) fn finish(&mut self) -> Option<(i64, BTreeSet<ReplyId>)> {
        let round = self.round.take()?;
        Some((round.index, round.readers))
    }

    /// Everybody who waits, when it is over with the leadership.
    pub(crate) fn all(&self) -> impl Iterator<Item = ReplyId> + '_ {
        let in_round = self.round.iter().flat_map(|round| &round.readers);
        in_round.chain(&self.waiting).copied()
    }
}

impl Round {
    pub(crate) fn has_confirmed(&self, voter: NodeId) -> bool {
        self.confirmed.contains(&voter)
    }

    /// Whether as many of `voters` follow as it takes; the leader itself does, if it is one of them.
    pub(crate) fn is_decided(&self, voters: impl Iterator<Item = NodeId>, local: NodeId) -> bool {
        let (mut all, mut follow) = (0, 0);
        for voter in voters {
            all += 1;
            follow += usize::from(voter == local || self.has_confirmed(voter));
        }
        follow > all / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_takes_a_majority_that_was_asked_in_it() {
        let voters = || [1, 2, 3, 4].map(NodeId).into_iter();
        let mut reads = ReadBarriers::default();
        reads.wait(ReplyId(1));
        reads.begin(7);
        reads.asked(RequestId(1), NodeId(2));
        // It comes too late for this round.
        reads.wait(ReplyId(2));
        reads.begin(9);
        reads.confirmed(RequestId(5));
        let round = reads.round().expect("under way");
        assert!(!round.is_decided(voters(), NodeId(1)));
        reads.asked(RequestId(2), NodeId(3));
        reads.confirmed(RequestId(1));
        reads.confirmed(RequestId(1));
        assert!(!reads.round().expect("under way").is_decided(voters(), NodeId(1)));
        reads.confirmed(RequestId(2));
        let round = reads.round().expect("under way");
        assert!(round.is_decided(voters(), NodeId(1)));
        assert!(
            !round.is_decided(voters(), NodeId(9)),
            "a leader that is no voter does not count"
        );
        assert_eq!(reads.finish(), Some((7, BTreeSet::from([ReplyId(1)]))));
        reads.begin(9);
        assert!(reads.round().is_some_and(|round| round.index == 9));
        assert!(reads.all().eq([ReplyId(2)]));
    }

    #[test]
    fn a_round_lasts_as_long_as_somebody_waits_for_it() {
        let mut reads = ReadBarriers::default();
        reads.wait(ReplyId(1));
        reads.wait(ReplyId(2));
        reads.begin(7);
        reads.wait(ReplyId(3));
        reads.wait(ReplyId(4));
        reads.forget(ReplyId(1));
        reads.forget(ReplyId(3));
        assert!(reads.all().eq([ReplyId(2), ReplyId(4)]));
        reads.forget(ReplyId(2));
        assert!(reads.round().is_none());
        // Whoever came later is told what is committed later.
        reads.begin(9);
        assert_eq!(reads.finish(), Some((9, BTreeSet::from([ReplyId(4)]))));
        assert!(reads.is_idle());
    }
}
