//! Proposals whose outcome is open.

use crate::{handles::ReplyId, ids::Epoch};
use alloc::collections::VecDeque;

/// A proposal that was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Proposal {
    /// Who waits for the outcome.
    pub(crate) reply: ReplyId,
    /// The offset of its last record.
    pub(crate) last: i64,
    /// The epoch that it was appended in.
    pub(crate) epoch: Epoch,
}

/// The proposals of this leadership that are appended and not known to be committed, by offset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Proposals(VecDeque<Proposal>);

impl Proposals {
    pub(crate) fn add(&mut self, proposal: Proposal) {
        if let Some(newest) = self.0.back() {
            assert!(newest.last < proposal.last, "offsets rise");
        }
        self.0.push_back(proposal);
    }

    /// Takes out the oldest proposal if the high watermark has passed it.
    pub(crate) fn take_committed(&mut self, high_watermark: i64) -> Option<Proposal> {
        if self.0.front()?.last < high_watermark {
            self.0.pop_front()
        } else {
            None
        }
    }

    pub(crate) fn take_any(&mut self) -> Option<Proposal> {
        self.0.pop_front()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Proposal> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proposal_is_committed_once_the_high_watermark_is_beyond_its_last_record() {
        let mut proposals = Proposals::default();
        for (reply, last) in [(1, 4), (2, 7)] {
            proposals.add(Proposal {
                reply: ReplyId(reply),
                last,
                epoch: Epoch(1),
            });
        }
        assert_eq!(proposals.take_committed(4), None);
        assert_eq!(
            proposals.take_committed(5).map(|proposal| proposal.reply),
            Some(ReplyId(1))
        );
        assert_eq!(proposals.take_committed(7), None);
        assert_eq!(
            proposals.take_any().map(|proposal| proposal.reply),
            Some(ReplyId(2))
        );
    }
}
