//! The high watermark and what follows from it.

use super::{Replica, turn::Turn};
use crate::{
    action::{Action, ProposalOutcome},
    role::Role,
};

impl Replica {
    /// A leader looks whether a majority has more than before.
    ///
    /// Its own share is what it has flushed, and nothing counts before a majority has a record of the leader's epoch.
    pub(super) fn advance_leader_high_watermark(&mut self, turn: &mut Turn<'_>) {
        let Role::Leader(leader) = &mut self.role else {
            return;
        };
        let Some(candidate) = leader.majority_end(&self.config.local, turn.flushed_end()) else {
            return;
        };
        if candidate <= leader.epoch_start || self.high_watermark.is_some_and(|known| candidate <= known) {
            return;
        }
        if leader
            .pending_change
            .is_some_and(|change| change.offset < candidate)
        {
            leader.pending_change = None;
        }
        self.raise_high_watermark(candidate, turn);
        while let Some(proposal) = self.proposals.take_committed(candidate) {
            turn.emit(Action::Outcome {
                reply: proposal.reply,
                outcome: ProposalOutcome::Committed,
            });
        }
        self.complete_all_fetches(turn);
    }

    /// A follower has heard of the leader's high watermark. A smaller one than before is old news.
    pub(super) fn follow_high_watermark(&mut self, offset: i64, turn: &mut Turn<'_>) {
        let reached = offset.min(turn.end.last_offset);
        if self.high_watermark.is_none_or(|known| reached > known) {
            self.raise_high_watermark(reached, turn);
        }
    }

    fn raise_high_watermark(&mut self, offset: i64, turn: &mut Turn<'_>) {
        self.high_watermark = Some(offset);
        if offset > self.committed {
            self.committed = offset;
            turn.emit(Action::Commit {
                high_watermark: offset,
            });
        }
    }

    /// The leadership is over before the outcome of these proposals was known.
    pub(super) fn abandon_proposals(&mut self, turn: &mut Turn<'_>) {
        while let Some(proposal) = self.proposals.take_any() {
            turn.emit(Action::Outcome {
                reply: proposal.reply,
                outcome: ProposalOutcome::Unknown,
            });
        }
    }
}
