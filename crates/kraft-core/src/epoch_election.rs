//! The tally of one election (Kafka's `EpochElection`).

use crate::ids::NodeId;
use alloc::collections::BTreeMap;

/// Who said what in one election, pre-vote or vote, among the voters at its start.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct EpochElection(BTreeMap<NodeId, Option<bool>>);

impl EpochElection {
    /// An election in which nobody but `local` has said anything; it grants.
    pub(crate) fn new(voters: impl Iterator<Item = NodeId>, local: NodeId) -> Self {
        Self(voters.map(|id| (id, (id == local).then_some(true))).collect())
    }

    /// Records an answer; the newest one counts. An id that is no voter is ignored.
    pub(crate) fn record(&mut self, id: NodeId, granted: bool) {
        if let Some(answer) = self.0.get_mut(&id) {
            *answer = Some(granted);
        }
    }

    /// A refusal does not count any more, and may be asked for again.
    pub(crate) fn forget_refusal(&mut self, id: NodeId) {
        if let Some(answer) = self.0.get_mut(&id)
            && *answer == Some(false)
        {
            *answer = None;
        }
    }

    pub(crate) fn answer(&self, id: NodeId) -> Option<bool> {
        self.0.get(&id).copied().flatten()
    }

    fn majority(&self) -> usize {
        self.0.len() / 2 + 1
    }

    fn count(&self, answer: Option<bool>) -> usize {
        self.0.values().filter(|recorded| **recorded == answer).count()
    }

    /// A majority has granted.
    pub(crate) fn is_granted(&self) -> bool {
        self.count(Some(true)) >= self.majority() - usize::from(mutated!(MinorityElects))
    }

    /// No majority can grant any more.
    pub(crate) fn is_rejected(&self) -> bool {
        self.count(Some(true)) + self.count(None) < self.majority()
    }

    pub(crate) fn unrecorded(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.with(None)
    }

    pub(crate) fn granting(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.with(Some(true))
    }

    fn with(&self, answer: Option<bool>) -> impl Iterator<Item = NodeId> + '_ {
        self.0
            .iter()
            .filter(move |(_, recorded)| **recorded == answer)
            .map(|(id, _)| *id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn election(voters: &[i32]) -> EpochElection {
        EpochElection::new(voters.iter().copied().map(NodeId), NodeId(0))
    }

    #[test]
    fn a_lone_voter_has_won_at_once() {
        assert!(election(&[0]).is_granted());
    }

    #[test]
    fn two_voters_need_both() {
        let mut two = election(&[0, 1]);
        assert!(!two.is_granted() && !two.is_rejected());
        two.record(NodeId(1), false);
        assert!(two.is_rejected());
        two.record(NodeId(1), true);
        assert!(two.is_granted() && !two.is_rejected());
    }

    #[test]
    fn three_voters_stand_one_rejection() {
        let mut three = election(&[0, 1, 2]);
        three.record(NodeId(1), false);
        assert!(!three.is_granted() && !three.is_rejected());
        assert_eq!(three.unrecorded().collect::<alloc::vec::Vec<_>>(), [NodeId(2)]);
        three.record(NodeId(2), true);
        assert!(three.is_granted());
        assert_eq!(
            three.granting().collect::<alloc::vec::Vec<_>>(),
            [NodeId(0), NodeId(2)]
        );
    }

    #[test]
    fn elect_018_a_vote_may_be_overwritten() {
        let mut undecided = EpochElection::new([1, 2, 3].into_iter().map(NodeId), NodeId(0));
        undecided.record(NodeId(1), true);
        undecided.record(NodeId(1), false);
        undecided.record(NodeId(3), false);
        undecided.record(NodeId(3), true);
        assert!(!undecided.is_granted() && !undecided.is_rejected());
        assert_eq!(undecided.granting().collect::<alloc::vec::Vec<_>>(), [NodeId(3)]);
        assert_eq!(
            undecided.unrecorded().collect::<alloc::vec::Vec<_>>(),
            [NodeId(2)]
        );
    }

    #[test]
    fn strangers_do_not_count() {
        let mut two = election(&[0, 1]);
        two.record(NodeId(9), true);
        assert!(!two.is_granted());
    }
}
