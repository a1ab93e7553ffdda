//! Votes and pre-votes (KIP-595, KIP-996).

use super::{Replica, turn::Turn};
use crate::{
    answer::Answer,
    error_code::ErrorCode,
    event::{AnswerContext, PartitionMatch, RequestContext},
    ids::{Epoch, NodeId, ReplicaKey},
    offsets::LogEnd,
    role::{Role, grants_vote},
    text::Text,
    timer::Timer,
};
use core::time::Duration;

/// A request for a vote or pre-vote.
pub(super) struct Ballot {
    pub(super) addressed_to: ReplicaKey,
    pub(super) nominee: ReplicaKey,
    pub(super) epoch: Epoch,
    pub(super) log_end: LogEnd,
    pub(super) pre_vote: bool,
}

impl Ballot {
    /// A candidate has raised the epoch, so its log ends in an older one; a pre-vote may end in the current one.
    fn is_valid(&self) -> bool {
        let LogEnd {
            last_epoch,
            last_offset,
        } = self.log_end;
        let epoch_fits = if self.pre_vote {
            last_epoch <= self.epoch
        } else {
            last_epoch < self.epoch
        };
        last_offset >= 0 && last_epoch >= Epoch(0) && epoch_fits
    }
}

impl Replica {
    pub(super) fn handle_vote(
        &mut self,
        context: &RequestContext,
        cluster_id: Option<&Text>,
        ballot: &Ballot,
        turn: &mut Turn<'_>,
    ) {
        if !self.is_same_cluster(cluster_id) {
            let answer = Answer::TopLevel(ErrorCode::InconsistentClusterId);
            return self.reply(context.reply, answer, turn);
        }
        if context.partition != PartitionMatch::Metadata {
            return self.reply(context.reply, Answer::TopLevel(ErrorCode::InvalidRequest), turn);
        }
        let decision = self.decide(ballot, turn);
        let (error, granted) = match decision {
            Ok(granted) => (ErrorCode::None, granted),
            Err(error) => (error, false),
        };
        let partition = self.partition_answer(error, &context.listener);
        self.reply(context.reply, Answer::Vote { partition, granted }, turn);
    }

    fn decide(&mut self, ballot: &Ballot, turn: &mut Turn<'_>) -> Result<bool, ErrorCode> {
        if !ballot.is_valid() || !self.believes(ballot.epoch) {
            return Err(ErrorCode::InvalidRequest);
        }
        self.check_voter_epoch(ballot.epoch, ballot.nominee.id)?;
        self.leaderless_epoch(ballot.epoch, turn);
        if !self.is_addressed(&ballot.addressed_to) {
            return Err(ErrorCode::InvalidVoterKey);
        }
        let granted = self.would_grant(ballot, turn);
        if ballot.pre_vote {
            self.meet_rival(ballot, turn);
        }
        if granted && !ballot.pre_vote && self.voted().is_none() {
            if ballot.nominee.id == self.config.local.id || self.config.local.id.known().is_none() {
                return Err(ErrorCode::InvalidRequest);
            }
            self.remember_vote(ballot.nominee, turn);
        }
        Ok(granted)
    }

    fn would_grant(&self, ballot: &Ballot, turn: &Turn<'_>) -> bool {
        if self.abstains() {
            return false;
        }
        let log_is_up_to_date = ballot.log_end >= turn.end || mutated!(VoteIgnoresLog);
        match (&self.role, ballot.pre_vote) {
            (Role::Unattached(_) | Role::Prospective(_) | Role::Candidate(_) | Role::Resigned(_), true) => {
                log_is_up_to_date
            }
            (Role::Follower(follower), true) => !follower.has_fetched && log_is_up_to_date,
            (Role::Unattached(_) | Role::Prospective(_), false) => grants_vote(
                self.voted().as_ref(),
                self.leader().is_some(),
                &ballot.nominee,
                log_is_up_to_date,
            ),
            (Role::Leader(_), _) | (Role::Candidate(_) | Role::Follower(_) | Role::Resigned(_), false) => {
                false
            }
        }
    }

    /// Another voter asks for pre-votes while this one does, as all do that have lost the same leader in the same moment.
    ///
    /// Each would grant the other's, both would raise the epoch, and neither would get the other's vote. So one goes first,
    /// whoever has the longer log or else the smaller id, and the other one waits: long enough for a vote to be stored and
    /// to get here, and less than an election timeout, so that the round is not lost if it does not come.
    ///
    /// And what the other one has refused before counts no more. It still believed in the leader then, and may grant now.
    fn meet_rival(&mut self, ballot: &Ballot, turn: &Turn<'_>) {
        let local = self.config.local.id;
        let rival = ballot.nominee.id;
        if rival == local || !self.voters().is_voter(&ballot.nominee) {
            return;
        }
        let wait = self.wait_for_rival();
        let Role::Prospective(prospective) = &mut self.role else {
            return;
        };
        let goes_first = (ballot.log_end, local) > (turn.end, rival);
        if goes_first && prospective.gives_way == Timer::NEVER {
            prospective.gives_way = Timer::at(turn.mono().after(wait));
        }
        if ballot.log_end <= turn.end {
            prospective.tally.forget_refusal(rival);
        }
    }

    /// How long a rival is waited for: half an election timeout, and a little longer the more voters have a smaller id. Of
    /// those that wait for the same one in vain one is then a candidate before the others are, and they do not split the vote.
    fn wait_for_rival(&self) -> Duration {
        let (local, lost) = (self.config.local.id, self.leader());
        let before = self.voters().ids().filter(|id| *id < local && Some(*id) != lost);
        let half = self.config.election_timeout / 2;
        let places = u32::try_from(self.voters().len()).unwrap_or(u32::MAX).max(1);
        let place = u32::try_from(before.count())
            .unwrap_or(u32::MAX)
            .saturating_sub(1);
        half + half / places * place
    }

    /// The check that Vote, BeginQuorumEpoch and EndQuorumEpoch share. Nobody asks whether the sender is a voter.
    pub(super) fn check_voter_epoch(&self, epoch: Epoch, sender: NodeId) -> Result<(), ErrorCode> {
        if epoch < self.epoch {
            return Err(ErrorCode::FencedLeaderEpoch);
        }
        if sender.known().is_none() || !self.believes(epoch) {
            return Err(ErrorCode::InvalidRequest);
        }
        Ok(())
    }

    /// The answer does not say whether it is a vote or a pre-vote; the role and the epoch do.
    pub(super) fn handle_vote_response(
        &mut self,
        answer: &AnswerContext,
        epoch: Epoch,
        granted: bool,
        turn: &mut Turn<'_>,
    ) {
        let Some(from) = self.screen(answer, epoch, turn) else {
            return;
        };
        if answer.error != ErrorCode::None {
            self.connections.finish(answer.request, false, turn.mono());
            return;
        }
        match &mut self.role {
            Role::Prospective(prospective) => prospective.tally.record(from, granted),
            Role::Candidate(candidate) => {
                // A vote is given once; another answer is not a change of mind.
                if candidate.tally.answer(from).is_none() {
                    candidate.tally.record(from, granted);
                }
            }
            Role::Unattached(_) | Role::Leader(_) | Role::Follower(_) | Role::Resigned(_) => {}
        }
        self.connections.finish(answer.request, true, turn.mono());
    }
}
