//! UpdateRaftVoter: a voter tells the leader its endpoints and kraft.version levels (KIP-853).

use super::{Replica, turn::Turn};
use crate::{
    answer::Answer,
    error_code::ErrorCode,
    event::{AnswerContext, RequestContext},
    ids::Epoch,
    role::Role,
    text::Text,
    timer::Timer,
    voter_set::VoterNode,
};
use core::time::Duration;

impl Replica {
    pub(super) fn update_voter_period(&self) -> Duration {
        self.config.fetch_timeout.saturating_mul(2)
    }

    /// A follower tells the leader what it does not know, if anything. Returns whether it may fetch now.
    pub(super) fn update_leader(&mut self, turn: &mut Turn<'_>) -> bool {
        let wanted = self.leader_needs_update();
        let sent = wanted && self.send_update_voter(turn);
        let next = Timer::at(turn.mono().after(self.update_voter_period()));
        let Role::Follower(follower) = &mut self.role else {
            return true;
        };
        let unreachable = follower.endpoint.is_none();
        if sent || !wanted || unreachable {
            follower.update_due = false;
            follower.update_voter = next;
        }
        !wanted || unreachable
    }

    fn leader_needs_update(&self) -> bool {
        let Role::Follower(follower) = &self.role else {
            return false;
        };
        if self.kraft_version() == 0 {
            !follower.has_updated_leader
        } else {
            self.voters().needs_update(&self.local_node())
        }
    }

    pub(super) fn handle_update_voter_response(
        &mut self,
        answer: &AnswerContext,
        epoch: Epoch,
        turn: &mut Turn<'_>,
    ) {
        if self.screen_flat(answer, epoch, turn).is_none() {
            return;
        }
        let success = matches!(answer.error, ErrorCode::None | ErrorCode::UnsupportedVersion);
        if success {
            let fetch = self.fetch_timer(turn.mono());
            if let Role::Follower(follower) = &mut self.role {
                follower.has_updated_leader = true;
                follower.has_fetched = true;
                follower.fetch = fetch;
            }
        }
        self.connections.finish(answer.request, success, turn.mono());
    }

    /// The leader takes over what a voter tells of itself: into the log at kraft.version 1, into memory at 0.
    pub(super) fn handle_update_voter(
        &mut self,
        context: &RequestContext,
        cluster_id: Option<&Text>,
        epoch: Epoch,
        node: VoterNode,
        turn: &mut Turn<'_>,
    ) {
        let error = if self.is_same_cluster(cluster_id) {
            self.update_voter(epoch, node, turn)
                .err()
                .unwrap_or(ErrorCode::None)
        } else {
            ErrorCode::InconsistentClusterId
        };
        let partition = self.partition_answer(error, &context.listener);
        self.reply(context.reply, Answer::UpdateRaftVoter(partition), turn);
    }

    /// Returns the offset of the new voter set, if one is written.
    pub(super) fn update_voter(
        &mut self,
        epoch: Epoch,
        node: VoterNode,
        turn: &mut Turn<'_>,
    ) -> Result<Option<i64>, ErrorCode> {
        self.expire_change(turn);
        self.check_leads_on(epoch)?;
        let levels = node.kraft_versions;
        if node.key.id.known().is_none() || node.key.directory_id.is_none() {
            return Err(ErrorCode::InvalidRequest);
        }
        if !levels.is_range() {
            return Err(ErrorCode::InvalidRequest);
        }
        let level = self.kraft_version();
        let Role::Leader(leader) = &mut self.role else {
            return Err(ErrorCode::NotLeaderOrFollower);
        };
        let Some(high_watermark) = self.high_watermark.filter(|_| leader.pending_change.is_none()) else {
            return Err(ErrorCode::RequestTimedOut);
        };
        let settled = if level == 0 {
            leader.reported_voters.is_some()
        } else {
            self.control
                .voters_offset()
                .is_some_and(|offset| offset < high_watermark)
        };
        if !settled {
            return Err(ErrorCode::RequestTimedOut);
        }
        if !levels.contains(level)
            || node.endpoints.at(&self.config.default_listener).is_none()
            || !node.endpoints.may_be_recorded()
        {
            return Err(ErrorCode::InvalidRequest);
        }
        let key = node.key;
        let written = if level == 0 {
            // Nobody but this replica knows what it is. With another directory the upgrade would take its vote away.
            let impersonates = key.id == self.config.local.id && key != self.config.local;
            if impersonates {
                return Err(ErrorCode::VoterNotFound);
            }
            let reported = leader.reported_voters.as_ref();
            let updated = reported.and_then(|voters| voters.update_ignoring_directory(node));
            leader.reported_voters = Some(updated.ok_or(ErrorCode::VoterNotFound)?);
            None
        } else {
            let updated = self.voters().update(node).ok_or(ErrorCode::VoterNotFound)?;
            let offset = self.append_voters(updated, turn);
            // The voter needs its connection to fetch the record, so its answer does not wait.
            self.await_commit(offset, None, turn);
            Some(offset)
        };
        if let Role::Leader(leader) = &mut self.role {
            leader.credit(&key, turn.mono());
        }
        Ok(written)
    }
}
