//! The upgrade of kraft.version at run time (KIP-853, Kafka's `LeaderState.maybeAppendUpgradedKRaftVersion`).

use super::{Replica, turn::Turn, voter_change::busy};
use crate::{
    answer::Answer,
    control::ControlRecord,
    error_code::ErrorCode,
    handles::ReplyId,
    ids::Epoch,
    reconfig::{ChangeRefusal, UpgradeOutcome},
    role::Role,
};
use alloc::{format, vec};

/// This many may wait for the commit of an upgrade.
const CALLERS_MAX: usize = 64;

impl Replica {
    /// Raises kraft.version once every voter has told that it supports the level, and with it the directories of all.
    pub(super) fn upgrade_kraft_version(
        &mut self,
        reply: ReplyId,
        epoch: Option<Epoch>,
        level: i16,
        validate_only: bool,
        turn: &mut Turn<'_>,
    ) {
        let answer = match self.raise_kraft_version(epoch, level, validate_only, turn) {
            Ok(Some(offset)) if !validate_only => match self.await_upgrade(reply, offset) {
                Ok(()) => return,
                Err(refusal) => Err(refusal),
            },
            Ok(_) if validate_only => Ok(UpgradeOutcome::Possible),
            Ok(_) => Ok(UpgradeOutcome::InForce),
            Err(refusal) => Err(refusal),
        };
        self.reply(reply, Answer::UpgradeKRaftVersion(answer), turn);
    }

    /// Returns the offset that has to be committed before the level is in force for good; `None` if it is.
    fn raise_kraft_version(
        &mut self,
        epoch: Option<Epoch>,
        level: i16,
        validate_only: bool,
        turn: &mut Turn<'_>,
    ) -> Result<Option<i64>, ChangeRefusal> {
        let epoch = epoch.unwrap_or(self.epoch);
        let Role::Leader(leader) = &self.role else {
            return Err(ChangeRefusal::new(ErrorCode::NotLeaderOrFollower, ""));
        };
        // One that hands over sends to the next leader, like one that does not lead.
        if epoch < self.epoch || self.shutting_down() {
            return Err(ChangeRefusal::new(ErrorCode::NotLeaderOrFollower, ""));
        }
        if epoch > self.epoch {
            let message = format!(
                "Epoch {epoch} has not begun, the leader's epoch is {}",
                self.epoch
            );
            return Err(invalid(message));
        }
        let supported = self.config.kraft_versions;
        if !supported.contains(level) {
            return Err(invalid(format!(
                "Invalid update version {level} for feature kraft.version. Local controller {} only supports versions \
                 {}-{}",
                self.config.local.id, supported.min, supported.max
            )));
        }
        let current = self.kraft_version();
        if level == current {
            let written = self.control.kraft_version_offset();
            return Ok(written.filter(|offset| self.high_watermark.is_none_or(|known| known <= *offset)));
        }
        if level < current {
            return Err(invalid(format!(
                "Invalid update version {level} for feature kraft.version. Can't downgrade the version of this feature."
            )));
        }
        let voters = leader
            .reported_voters
            .clone()
            .filter(|voters| voters.supports(level));
        let Some(voters) = voters else {
            return Err(invalid(format!(
                "Invalid upgrade of kraft.version to KRAFT_VERSION_{level} because not all of the voters support it"
            )));
        };
        assert!(
            voters.ids().eq(self.voters().ids()),
            "the static voters do not change while one of them leads"
        );
        if validate_only {
            return Ok(None);
        }
        let records = vec![ControlRecord::KRaftVersion(level), ControlRecord::Voters(voters)];
        let offset = self.append_control(records, turn);
        if let Role::Leader(leader) = &mut self.role {
            leader.reported_voters = None;
        }
        Ok(Some(offset))
    }

    fn await_upgrade(&mut self, reply: ReplyId, offset: i64) -> Result<(), ChangeRefusal> {
        let Role::Leader(leader) = &mut self.role else {
            return Err(ChangeRefusal::new(ErrorCode::NotLeaderOrFollower, ""));
        };
        if leader.upgrade_callers.len() >= CALLERS_MAX {
            return Err(busy("Too many wait for the upgrade already"));
        }
        leader.upgrade_callers.push((reply, offset));
        Ok(())
    }

    /// The high watermark has moved.
    pub(super) fn complete_upgrade(&mut self, high_watermark: i64, turn: &mut Turn<'_>) {
        let Role::Leader(leader) = &mut self.role else {
            return;
        };
        if leader.upgrade_callers.is_empty() {
            return;
        }
        let (done, open) = core::mem::take(&mut leader.upgrade_callers)
            .into_iter()
            .partition(|(_, offset)| *offset < high_watermark);
        leader.upgrade_callers = open;
        let done: alloc::vec::Vec<(ReplyId, i64)> = done;
        for (reply, _) in done {
            let answer = Answer::UpgradeKRaftVersion(Ok(UpgradeOutcome::InForce));
            self.reply(reply, answer, turn);
        }
    }
}

fn invalid(message: impl Into<alloc::string::String>) -> ChangeRefusal {
    ChangeRefusal::new(ErrorCode::InvalidUpdateVersion, message)
}
