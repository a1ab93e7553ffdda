//! Proposals whose outcome is open.

use crate::{
    action::ProposalOutcome, control::BatchInfo, handles::ReplyId, ids::Epoch, time::Instant, timer::Timer,
};
use alloc::collections::VecDeque;

/// A proposal that was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Proposal {
    /// Who waits for the outcome.
    pub(crate) reply: ReplyId,
    /// The offset of its first record.
    pub(crate) base: i64,
    /// The offset of its last record.
    pub(crate) last: i64,
    /// The epoch that it was appended in.
    pub(crate) epoch: Epoch,
}

/// The proposals that are appended and not known to be committed, by offset.
///
/// They outlive the leadership for a while: the next leader either has them and commits them, or commits something else
/// at their offsets. To be cut off here is no proof of the latter, because another replica may still have them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Proposals {
    open: VecDeque<Open>,
    /// How many of them our log has lost.
    cut: usize,
    /// When it is too late to find out, once the leadership is over.
    patience: Timer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Open {
    proposal: Proposal,
    /// Whether our log has lost it.
    cut: bool,
}

impl Default for Proposals {
    fn default() -> Self {
        Self {
            open: VecDeque::new(),
            cut: 0,
            patience: Timer::NEVER,
        }
    }
}

impl Proposals {
    pub(crate) fn add(&mut self, proposal: Proposal) {
        if let Some(newest) = self.open.back().filter(|open| !open.cut) {
            assert!(newest.proposal.last < proposal.base, "offsets rise");
        }
        self.open.push_back(Open { proposal, cut: false });
    }

    /// The leadership is over; until `deadline` the outcome is waited for.
    pub(crate) fn wait_until(&mut self, deadline: Instant) {
        if !self.open.is_empty() {
            self.patience = Timer::at(deadline);
        }
    }

    /// This replica leads again: its own high watermark decides.
    pub(crate) fn wait_for_ever(&mut self) {
        self.patience = Timer::NEVER;
    }

    pub(crate) fn patience(&self) -> Timer {
        self.patience
    }

    /// The log ends at `end` now.
    pub(crate) fn truncated(&mut self, end: i64) {
        for open in &mut self.open {
            if !open.cut && open.proposal.last >= end {
                open.cut = true;
                self.cut += 1;
            }
        }
    }

    /// A batch was fetched and appended. If it is a proposal's own, which offsets and epoch prove, the proposal is back.
    pub(crate) fn appended(&mut self, batch: &BatchInfo) {
        if self.cut == 0 {
            return;
        }
        for open in self.open.iter_mut().filter(|open| open.cut) {
            let proposal = &open.proposal;
            if (proposal.epoch, proposal.base, proposal.last) == (batch.epoch, batch.base, batch.last) {
                open.cut = false;
                self.cut -= 1;
            }
        }
    }

    /// Takes out a proposal that the high watermark decides about, the oldest first.
    #[inline(always)]
    pub(crate) fn take_decided(&mut self, high_watermark: i64) -> Option<(ReplyId, ProposalOutcome)> {
        // A follower has none.
        if self.open.is_empty() {
            return None;
        }
        self.decided(high_watermark)
    }

    fn decided(&mut self, high_watermark: i64) -> Option<(ReplyId, ProposalOutcome)> {
        let outcome = |open: &Open| {
            if open.cut && open.proposal.base < high_watermark {
                Some(ProposalOutcome::KnownLost)
            } else if !open.cut && open.proposal.last < high_watermark {
                Some(ProposalOutcome::Committed)
            } else {
                None
            }
        };
        if self.cut == 0 {
            // Offsets rise, so nobody is decided before the oldest.
            let outcome = outcome(self.open.front()?)?;
            return Some((self.take(0)?, outcome));
        }
        // One that was cut off may lie behind younger ones, so the first in the list need not be decided first.
        let (place, outcome) = self
            .open
            .iter()
            .enumerate()
            .find_map(|(place, open)| Some((place, outcome(open)?)))?;
        Some((self.take(place)?, outcome))
    }

    /// Takes out a proposal of an earlier epoch that our log has lost, as the leader of a later `epoch` in which something is
    /// committed. Whoever leads from now on has that record, and with it everything that stands before it in our log; behind
    /// it nothing of an earlier epoch can stand.
    #[inline]
    pub(crate) fn take_lost(&mut self, epoch: Epoch) -> Option<ReplyId> {
        if self.cut == 0 {
            return None;
        }
        let is_lost = |open: &Open| open.cut && open.proposal.epoch < epoch;
        let place = self.open.iter().position(is_lost)?;
        self.take(place)
    }

    /// Takes out the oldest proposal, whatever becomes of it.
    pub(crate) fn take_any(&mut self) -> Option<ReplyId> {
        self.take(0)
    }

    fn take(&mut self, place: usize) -> Option<ReplyId> {
        let open = match place {
            0 => self.open.pop_front()?,
            place => self.open.remove(place)?,
        };
        self.cut -= usize::from(open.cut);
        if self.open.is_empty() {
            self.patience = Timer::NEVER;
        }
        Some(open.proposal.reply)
    }

    /// The proposals that are still in our log.
    pub(crate) fn in_log(&self) -> impl Iterator<Item = &Proposal> {
        self.open
            .iter()
            .filter(|open| !open.cut)
            .map(|open| &open.proposal)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proposals() -> Proposals {
        let mut proposals = Proposals::default();
        for (reply, base, last) in [(1, 3, 4), (2, 5, 7)] {
            proposals.add(Proposal {
                reply: ReplyId(reply),
                base,
                last,
                epoch: Epoch(1),
            });
        }
        proposals
    }

    fn batch(base: i64, last: i64, epoch: i32) -> BatchInfo {
        BatchInfo {
            base,
            last,
            epoch: Epoch(epoch),
            bytes: 1,
            control: None,
        }
    }

    #[test]
    fn a_proposal_is_committed_once_the_high_watermark_is_beyond_its_last_record() {
        let mut proposals = proposals();
        assert_eq!(proposals.take_decided(4), None);
        let committed = |reply| Some((ReplyId(reply), ProposalOutcome::Committed));
        assert_eq!(proposals.take_decided(5), committed(1));
        assert_eq!(proposals.take_decided(7), None);
        assert_eq!(proposals.take_any(), Some(ReplyId(2)));
        assert!(proposals.is_empty());
    }

    #[test]
    fn a_proposal_is_lost_once_something_else_is_committed_in_its_place() {
        let mut proposals = proposals();
        proposals.truncated(6);
        proposals.appended(&batch(5, 5, 2));
        assert_eq!(
            proposals.take_decided(5),
            Some((ReplyId(1), ProposalOutcome::Committed))
        );
        assert_eq!(proposals.take_decided(5), None);
        assert_eq!(
            proposals.take_decided(6),
            Some((ReplyId(2), ProposalOutcome::KnownLost))
        );
    }

    #[test]
    fn a_later_epoch_of_our_own_decides_about_what_was_cut_off_before() {
        let mut proposals = proposals();
        proposals.truncated(5);
        assert_eq!(proposals.take_lost(Epoch(1)), None);
        assert_eq!(proposals.take_lost(Epoch(2)), Some(ReplyId(2)));
        assert_eq!(proposals.take_lost(Epoch(2)), None, "the other one is in the log");
    }

    #[test]
    fn another_batch_at_the_offset_of_a_proposal_is_not_the_proposal() {
        let mut proposals = proposals();
        proposals.truncated(5);
        proposals.appended(&batch(5, 5, 1));
        assert_eq!(proposals.in_log().count(), 1);
        assert_eq!(
            proposals.take_decided(6),
            Some((ReplyId(1), ProposalOutcome::Committed))
        );
        assert_eq!(
            proposals.take_decided(6),
            Some((ReplyId(2), ProposalOutcome::KnownLost))
        );
    }

    #[test]
    fn what_was_cut_off_may_come_back() {
        let mut proposals = proposals();
        proposals.truncated(3);
        proposals.appended(&batch(3, 4, 1));
        proposals.appended(&batch(5, 7, 1));
        assert_eq!(proposals.in_log().count(), 2);
        assert_eq!(
            proposals.take_decided(8),
            Some((ReplyId(1), ProposalOutcome::Committed))
        );
    }
}
