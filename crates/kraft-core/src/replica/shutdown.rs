//! The end of a replica: graceful, or because the disk has failed.

use super::{Replica, turn::Turn};
use crate::{action::Action, error_code::ErrorCode, ids::Epoch, role::Role, timer::Timer};
use core::time::Duration;

impl Replica {
    /// How long a leader that is shutting down waits for a successor that has everything, or, alone, for its disk. It takes
    /// nothing new meanwhile.
    pub(super) const HANDOVER: Duration = Duration::from_millis(100);

    /// The check of requests that only a leader of the very epoch may answer, and only one that stays.
    pub(super) fn check_leads_on(&self, epoch: Epoch) -> Result<(), ErrorCode> {
        self.check_leader_epoch(epoch)?;
        if self.shutting_down() {
            return Err(ErrorCode::BrokerNotAvailable);
        }
        Ok(())
    }

    pub(super) fn begin_shutdown(&mut self, timeout: Duration, turn: &mut Turn<'_>) {
        if !self.shutting_down() {
            self.shutdown = Timer::at(turn.mono().after(timeout));
        }
    }

    /// Ends a graceful shutdown once others can go on without this replica, or its time is over. Returns whether it has
    /// ended.
    pub(super) fn poll_shutdown(&mut self, turn: &mut Turn<'_>) -> bool {
        if !self.shutting_down() {
            return false;
        }
        let timed_out = self.shutdown.expired(turn.mono());
        let follows = self.leader().is_some_and(|leader| leader != self.config.local.id);
        let others_count = self.is_voter() && !self.is_only_voter() && !follows && !self.nobody_is_left();
        let goes_on = others_count || self.waits_for_its_disk(turn);
        if goes_on && !timed_out {
            return false;
        }
        self.ended = true;
        self.abandon_proposals(turn);
        turn.emit(Action::ShutdownComplete { timed_out });
        true
    }

    /// Whether a lone leader has accepted what its disk has not confirmed yet, and has waited for less than it would for a
    /// successor.
    fn waits_for_its_disk(&self, turn: &Turn<'_>) -> bool {
        let Role::Leader(leader) = &self.role else {
            return false;
        };
        self.is_only_voter() && !self.proposals.is_empty() && !leader.handover.expired(turn.mono())
    }

    /// Whether it looks for votes, or has led, and none of the other voters can be reached.
    fn nobody_is_left(&self) -> bool {
        let asks = matches!(
            self.role,
            Role::Prospective(_) | Role::Candidate(_) | Role::Resigned(_)
        );
        let mut others = self.voters().ids().filter(|id| *id != self.config.local.id);
        asks && others.all(|id| self.unreachable.contains(&id))
    }

    /// The disk has failed: a leader says so, and then nobody hears of this replica any more.
    pub(super) fn storage_failed(&mut self, turn: &mut Turn<'_>) {
        self.send_last_end_quorum_epoch(turn);
        self.abandon_proposals(turn);
        self.ended = true;
    }
}
