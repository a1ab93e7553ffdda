//! Linearizable reads: a leader asks a majority of the voters whether they still follow it.
//!
//! BeginQuorumEpoch is the question. A voter that answers it without an error was in the leader's epoch at that moment, so
//! before it came nobody can have been elected, and have committed anything, in a later epoch. Fetches prove less: one may
//! have been on its way for as long as a network takes, and its voter may have elected somebody else meanwhile.

use super::{Replica, turn::Turn};
use crate::{action::Action, handles::ReplyId, role::Role};
use alloc::vec::Vec;

impl Replica {
    /// Somebody wants to read what is committed now.
    pub(super) fn read_barrier(&mut self, reply: ReplyId, turn: &mut Turn<'_>) {
        match &mut self.role {
            Role::Leader(leader) => leader.reads.wait(reply),
            Role::Unattached(_)
            | Role::Prospective(_)
            | Role::Candidate(_)
            | Role::Follower(_)
            | Role::Resigned(_) => turn.emit(Action::ReadBarrier { reply, applied: None }),
        }
    }

    /// Somebody does not want to read any more.
    pub(super) fn forget_reader(&mut self, reply: ReplyId) {
        if let Role::Leader(leader) = &mut self.role {
            leader.reads.forget(reply);
        }
    }

    /// Asks whoever of the voters can be asked now, and lets those read who may.
    ///
    /// A leader that has committed nothing in its epoch does not know yet what earlier ones have committed.
    pub(super) fn advance_reads(&mut self, turn: &mut Turn<'_>) {
        while let Role::Leader(leader) = &mut self.role
            && !leader.reads.is_idle()
            && let Some(committed) = self.high_watermark
        {
            leader.reads.begin(committed);
            self.ask_whether_voters_follow(turn);
            let Role::Leader(leader) = &mut self.role else {
                return;
            };
            let voters = self.control.voters().ids();
            let decided =
                |round: &crate::read_barriers::Round| round.is_decided(voters, self.config.local.id);
            if !leader.reads.round().is_some_and(decided) {
                return;
            }
            if let Some((index, readers)) = leader.reads.finish() {
                let applied = Some(index);
                readers
                    .into_iter()
                    .for_each(|reply| turn.emit(Action::ReadBarrier { reply, applied }));
            }
        }
    }

    fn ask_whether_voters_follow(&mut self, turn: &mut Turn<'_>) {
        let Role::Leader(leader) = &self.role else {
            return;
        };
        let now = turn.mono();
        let open = |id| leader.reads.round().is_some_and(|round| !round.has_confirmed(id));
        let voters = self.control.voters().iter().map(|voter| voter.key);
        let ready: Vec<_> = voters
            .filter(|key| {
                key.id != self.config.local.id && open(key.id) && self.connections.ready(key.id, now)
            })
            .collect();
        for voter in ready {
            let request = self.send_begin_quorum_epoch(voter, turn);
            if let Role::Leader(leader) = &mut self.role
                && let Some(request) = request
            {
                leader.reads.asked(request, voter.id);
            }
        }
    }
}
