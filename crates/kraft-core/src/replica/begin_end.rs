//! BeginQuorumEpoch and EndQuorumEpoch (KIP-595).

use super::{Replica, turn::Turn};
use crate::{
    answer::Answer,
    endpoints::Endpoints,
    error_code::ErrorCode,
    event::{AnswerContext, PartitionMatch, RequestContext, SuccessorRank},
    ids::{Epoch, NodeId, ReplicaKey},
    role::Role,
    successor_backoff::successor_backoff,
    text::Text,
    timer::Timer,
};

/// A leader that a request speaks of.
pub(super) struct Announcement {
    pub(super) leader_id: NodeId,
    pub(super) leader_epoch: Epoch,
    pub(super) leader_endpoints: Endpoints,
}

impl Replica {
    pub(super) fn handle_begin_quorum_epoch(
        &mut self,
        context: &RequestContext,
        cluster_id: Option<&Text>,
        addressed_to: &ReplicaKey,
        announcement: Announcement,
        turn: &mut Turn<'_>,
    ) {
        if let Some(error) = self.refuse_announcement(context, cluster_id) {
            return self.reply(context.reply, Answer::TopLevel(error), turn);
        }
        let error = match self.hear_of_leader(announcement, turn) {
            Err(error) => error,
            Ok(()) if !self.is_addressed(addressed_to) => ErrorCode::InvalidVoterKey,
            Ok(()) => ErrorCode::None,
        };
        let partition = self.partition_answer(error, &context.listener);
        self.reply(context.reply, Answer::BeginQuorumEpoch(partition), turn);
    }

    pub(super) fn handle_end_quorum_epoch(
        &mut self,
        context: &RequestContext,
        cluster_id: Option<&Text>,
        announcement: Announcement,
        rank: SuccessorRank,
        turn: &mut Turn<'_>,
    ) {
        if let Some(error) = self.refuse_announcement(context, cluster_id) {
            return self.reply(context.reply, Answer::TopLevel(error), turn);
        }
        let resigning = announcement.leader_id;
        let error = match self.hear_of_leader(announcement, turn) {
            Err(error) => error,
            Ok(()) => {
                if let Role::Follower(follower) = &mut self.role
                    && follower.leader == resigning
                {
                    let wait = successor_backoff(rank, self.config.election_backoff_max);
                    follower.fetch = Timer::at(turn.mono().after(wait));
                    follower.leader_resigned = true;
                }
                ErrorCode::None
            }
        };
        let partition = self.partition_answer(error, &context.listener);
        self.reply(context.reply, Answer::EndQuorumEpoch(partition), turn);
    }

    fn refuse_announcement(&self, context: &RequestContext, cluster_id: Option<&Text>) -> Option<ErrorCode> {
        if !self.is_same_cluster(cluster_id) {
            Some(ErrorCode::InconsistentClusterId)
        } else if context.partition != PartitionMatch::Metadata {
            Some(ErrorCode::InvalidRequest)
        } else {
            None
        }
    }

    fn hear_of_leader(&mut self, announcement: Announcement, turn: &mut Turn<'_>) -> Result<(), ErrorCode> {
        let Announcement {
            leader_id,
            leader_epoch,
            leader_endpoints,
        } = announcement;
        self.check_voter_epoch(leader_epoch, leader_id)?;
        if !leader_endpoints.may_be_recorded() {
            return Err(ErrorCode::InvalidRequest);
        }
        let endpoints = if leader_endpoints.is_empty() {
            self.voters().endpoints(leader_id)
        } else {
            leader_endpoints
        };
        self.maybe_transition(Some(leader_id), leader_epoch, endpoints, turn)
            .map_err(|_| ErrorCode::InvalidRequest)
    }

    pub(super) fn handle_begin_quorum_epoch_response(
        &mut self,
        answer: &AnswerContext,
        epoch: Epoch,
        turn: &mut Turn<'_>,
    ) {
        if self.screen(answer, epoch, turn).is_some() {
            // Only a Fetch ends the announcements, so there is nothing to remember.
            let success = answer.error == ErrorCode::None;
            if success && let Role::Leader(leader) = &mut self.role {
                leader.reads.confirmed(answer.request);
            }
            self.connections.finish(answer.request, success, turn.mono());
        }
    }

    pub(super) fn handle_end_quorum_epoch_response(
        &mut self,
        answer: &AnswerContext,
        epoch: Epoch,
        turn: &mut Turn<'_>,
    ) {
        let Some(from) = self.screen(answer, epoch, turn) else {
            return;
        };
        let success = answer.error == ErrorCode::None;
        if success && let Role::Resigned(resigned) = &mut self.role {
            resigned.unacknowledged.remove(&from);
        }
        self.connections.finish(answer.request, success, turn.mono());
    }
}
