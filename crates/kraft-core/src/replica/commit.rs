//! The high watermark and what follows from it.

use super::{Replica, turn::Turn};
use crate::{
    action::{Action, ProposalOutcome},
    role::Role,
};

impl Replica {
    /// A voter has everything before `offset`, so a majority may have more than before; not if that is committed already.
    #[inline(always)]
    pub(super) fn share_has_grown(&mut self, offset: i64, turn: &mut Turn<'_>) {
        let leads = matches!(self.role, Role::Leader(_));
        if leads && self.high_watermark.is_none_or(|known| offset > known) {
            self.advance_leader_high_watermark(turn);
        }
    }

    /// A leader looks whether a majority has more than before.
    ///
    /// Its own share is what it has flushed, and nothing counts before a majority has a record of the leader's epoch.
    pub(super) fn advance_leader_high_watermark(&mut self, turn: &mut Turn<'_>) {
        let Role::Leader(leader) = &self.role else {
            return;
        };
        let Some(candidate) = leader.majority_end(turn.flushed_end()) else {
            return;
        };
        let of_this_epoch = candidate > leader.epoch_start || mutated!(CommitsOlderEpoch);
        let rises = self.high_watermark.is_none_or(|known| candidate > known) || mutated!(HighWatermarkFalls);
        if !of_this_epoch || !rises {
            return;
        }
        self.raise_high_watermark(candidate, turn);
        if let Role::Leader(leader) = &mut self.role {
            leader.open_removal.take_if(|base| *base < candidate);
        }
        let outcome = ProposalOutcome::KnownLost;
        while let Some(reply) = self.proposals.take_lost(self.epoch) {
            turn.emit(Action::Outcome { reply, outcome });
        }
        self.complete_change(candidate, turn);
        self.complete_upgrade(candidate, turn);
        self.complete_fetches(turn);
    }

    /// A follower has heard of the leader's high watermark. A smaller one than before is old news.
    #[inline(always)]
    pub(super) fn follow_high_watermark(&mut self, offset: i64, turn: &mut Turn<'_>) {
        let reached = offset.min(turn.end.last_offset);
        if self.high_watermark.is_none_or(|known| reached > known) {
            self.raise_high_watermark(reached, turn);
        }
    }

    #[inline(always)]
    fn raise_high_watermark(&mut self, offset: i64, turn: &mut Turn<'_>) {
        self.high_watermark = Some(offset);
        if offset > self.committed {
            self.committed = offset;
            turn.emit(Action::Commit {
                high_watermark: offset,
            });
        }
        while let Some((reply, outcome)) = self.proposals.take_decided(offset) {
            turn.emit(Action::Outcome { reply, outcome });
        }
    }

    /// What became of the open proposals cannot be found out any more.
    pub(super) fn abandon_proposals(&mut self, turn: &mut Turn<'_>) {
        let outcome = ProposalOutcome::Unknown;
        while let Some(reply) = self.proposals.take_any() {
            turn.emit(Action::Outcome { reply, outcome });
        }
    }

    /// Gives up on proposals of an earlier leadership that nobody has decided about for too long.
    pub(super) fn expire_proposals(&mut self, turn: &mut Turn<'_>) {
        if self.proposals.patience().expired(turn.mono()) {
            self.abandon_proposals(turn);
        }
    }
}
