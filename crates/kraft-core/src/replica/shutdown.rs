//! The end of a replica: graceful, or because the disk has failed.

use super::{Replica, turn::Turn};
use crate::{action::Action, timer::Timer};
use core::time::Duration;

impl Replica {
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
        let only_voter = self.is_only_voter();
        if !timed_out && self.is_voter() && !only_voter && !follows {
            return false;
        }
        self.ended = true;
        self.abandon_proposals(turn);
        turn.emit(Action::ShutdownComplete { timed_out });
        true
    }

    /// The disk has failed: a leader says so, and then nobody hears of this replica any more.
    pub(super) fn storage_failed(&mut self, turn: &mut Turn<'_>) {
        self.send_last_end_quorum_epoch(turn);
        self.abandon_proposals(turn);
        self.ended = true;
    }
}
