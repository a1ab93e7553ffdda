//! What adding and removing a voter have in common: one change at a time, and only by a leader that has committed
//! something in its epoch (KIP-853, Kafka's `ChangeVoterHandlerState`).

use super::{Replica, turn::Turn, wake::Wake};
use crate::{
    answer::Answer,
    control::ControlRecord,
    error_code::ErrorCode,
    handles::ReplyId,
    ids::ReplicaKey,
    kafka_text,
    pending_change::{PendingChange, Stage},
    reconfig::{ChangeRefusal, ReconfigOutcome, VoterChange},
    role::{Role, leader::Leader},
    text::Text,
    voter_set::VoterSet,
};
use alloc::{format, string::String, vec};

const CLUSTER_ID_SHOWN_MAX: usize = 249;

/// Adding or removing, in the words of the answers.
#[derive(Clone, Copy)]
pub(super) enum ChangeName {
    Add,
    Remove,
}

impl ChangeName {
    fn noun(self) -> &'static str {
        match self {
            Self::Add => "Add",
            Self::Remove => "Remove",
        }
    }

    fn gerund(self) -> &'static str {
        match self {
            Self::Add => "adding",
            Self::Remove => "removing",
        }
    }
}

impl Replica {
    /// Whether a change of the voter set is under way here: it was accepted, and neither committed nor given up.
    #[must_use]
    pub fn voter_change_under_way(&self) -> bool {
        matches!(&self.role, Role::Leader(leader) if leader.pending_change.is_some())
    }

    /// The embedder of this node asks for a change: the same path as that of a peer.
    pub(super) fn reconfigure(&mut self, reply: ReplyId, change: VoterChange, turn: &mut Turn<'_>) {
        match change {
            VoterChange::Add {
                voter,
                ack_when_committed,
            } => self.handle_add_voter(reply, None, voter, ack_when_committed, turn),
            VoterChange::Remove { voter } => self.handle_remove_voter(reply, None, &voter, turn),
            VoterChange::Update { voter } => {
                let outcome = match self.update_voter(self.epoch, voter, turn) {
                    Ok(Some(offset)) => Ok(ReconfigOutcome::Appended { offset }),
                    Ok(None) => Ok(ReconfigOutcome::Noted),
                    Err(error) => Err(ChangeRefusal::new(error, "")),
                };
                self.reply(reply, Answer::VoterChange(outcome), turn);
            }
        }
    }

    /// The checks that do not depend on the state of the quorum: cluster, leadership, a complete key.
    pub(super) fn check_change_request(
        &self,
        cluster_id: Option<&Text>,
        voter: &ReplicaKey,
        name: ChangeName,
    ) -> Result<(), ChangeRefusal> {
        if !self.is_same_cluster(cluster_id) {
            // An id may be as long as a frame.
            let given: String = cluster_id
                .map_or("", Text::as_str)
                .chars()
                .take(CLUSTER_ID_SHOWN_MAX)
                .collect();
            let message = format!(
                "The given id \"{given}\" doesn't match the cluster id \"{}\"",
                self.config.cluster_id
            );
            return Err(ChangeRefusal::new(ErrorCode::InconsistentClusterId, message));
        }
        self.check_leads_on(self.epoch)
            .map_err(|error| ChangeRefusal::new(error, ""))?;
        if voter.id.known().is_none() || voter.directory_id.is_none() {
            let message = format!("{} voter request didn't include a valid voter", name.noun());
            return Err(ChangeRefusal::new(ErrorCode::InvalidRequest, message));
        }
        Ok(())
    }

    /// The checks that nothing is under way: no change, nothing of a former leader, no voter set that may yet be lost.
    pub(super) fn check_quorum_is_settled(&self, name: ChangeName) -> Result<(), ChangeRefusal> {
        if mutated!(SecondChange) {
            return Ok(());
        }
        if self.voter_change_under_way() {
            return Err(busy(
                "Request timed out waiting for leader to handle previous voter change request",
            ));
        }
        if mutated!(ChangeBeforeCommit) && self.high_watermark.is_none() {
            return Ok(());
        }
        let Some(high_watermark) = self.high_watermark else {
            return Err(busy("The leader has not committed a record of its epoch yet"));
        };
        if self.kraft_version() == 0 {
            let message = format!(
                "Cluster doesn't support {} voter because the kraft.version feature is 0",
                name.gerund()
            );
            return Err(ChangeRefusal::new(ErrorCode::UnsupportedVersion, message));
        }
        match self.control.voters_offset() {
            Some(offset) if offset < high_watermark => Ok(()),
            Some(offset) => Err(busy(format!(
                "The voter set at offset {offset} is not committed, the high watermark is {high_watermark}"
            ))),
            None => Err(busy("Neither snapshot nor log names the voters")),
        }
    }

    /// Writes a new voter set, which is in force at once. Returns its offset.
    pub(super) fn append_voters(&mut self, voters: VoterSet, turn: &mut Turn<'_>) -> i64 {
        self.append_control(vec![ControlRecord::Voters(voters)], turn)
    }

    /// Takes note of a voter set that was written; until it is committed no other change begins.
    pub(super) fn await_commit(&mut self, offset: i64, waiting: Option<ReplyId>, turn: &Turn<'_>) {
        let expires = turn.mono().after(self.config.request_timeout);
        if let Role::Leader(leader) = &mut self.role {
            leader.pending_change = Some(PendingChange {
                stage: Stage::Appended { offset },
                expires,
                waiting,
            });
        }
    }

    pub(super) fn refuse_change(&self, reply: ReplyId, refusal: ChangeRefusal, turn: &mut Turn<'_>) {
        self.reply(reply, Answer::VoterChange(Err(refusal)), turn);
    }

    /// Gives up the change that is under way; what is written of it stays and may still be committed.
    pub(super) fn abandon_change(&mut self, refusal: ChangeRefusal, turn: &mut Turn<'_>) {
        let Role::Leader(leader) = &mut self.role else {
            return;
        };
        let Some(change) = leader.pending_change.take() else {
            return;
        };
        if let Some(reply) = change.waiting {
            self.refuse_change(reply, refusal.open(change.offset().is_some()), turn);
        }
    }

    /// Gives up a change whose time is over.
    pub(super) fn expire_change(&mut self, turn: &mut Turn<'_>) {
        let Role::Leader(leader) = &self.role else {
            return;
        };
        let expires = leader.pending_change.as_ref().map(|change| change.expires);
        if expires.is_some_and(|at| turn.mono() >= at) {
            self.abandon_change(busy("The request timed out."), turn);
        }
    }

    /// The high watermark has moved: a change that it covers is done, and a leader that is no voter any more steps down.
    ///
    /// It steps down also when nobody waits for its removal any more, so that it cannot lead a quorum for ever that it is
    /// no part of.
    pub(super) fn complete_change(&mut self, high_watermark: i64, turn: &mut Turn<'_>) {
        let Role::Leader(leader) = &mut self.role else {
            return;
        };
        if !leader.votes() && self.control.voters_offset().is_some_and(|at| at < high_watermark) {
            leader.resign_requested = true;
            self.wake = Wake::NOW;
        }
        let Some(change) = &leader.pending_change else {
            return;
        };
        if let Some(offset) = change.offset().filter(|offset| *offset < high_watermark) {
            let waiting = change.waiting;
            leader.pending_change = None;
            if let Some(reply) = waiting {
                let done = Answer::VoterChange(Ok(ReconfigOutcome::Committed { offset }));
                self.reply(reply, done, turn);
            }
        }
    }

    /// The leadership is over, and with it everything that it had under way.
    pub(super) fn fail_change(&self, former: &Leader, turn: &mut Turn<'_>) {
        let lost = ChangeRefusal::new(
            ErrorCode::NotLeaderOrFollower,
            "This node does not lead any more.",
        );
        if let Some(change) = &former.pending_change
            && let Some(reply) = change.waiting
        {
            self.refuse_change(reply, lost.clone().open(change.offset().is_some()), turn);
        }
        for (reply, _) in &former.upgrade_callers {
            let refusal = lost.clone().open(true);
            self.reply(*reply, Answer::UpgradeKRaftVersion(Err(refusal)), turn);
        }
    }

    /// Somebody does not wait any more. What was begun goes on.
    pub(super) fn forget_change_caller(&mut self, reply: ReplyId) {
        let Role::Leader(leader) = &mut self.role else {
            return;
        };
        if let Some(change) = &mut leader.pending_change
            && change.waiting == Some(reply)
        {
            change.waiting = None;
        }
        leader.upgrade_callers.retain(|(caller, _)| *caller != reply);
    }
}

/// Kafka's answer where a later attempt may succeed.
pub(super) fn busy(message: impl Into<alloc::string::String>) -> ChangeRefusal {
    ChangeRefusal::new(ErrorCode::RequestTimedOut, message)
}

/// Names a voter set in a refusal.
pub(super) fn already_a_voter(voter: &ReplicaKey, voters: &VoterSet) -> ChangeRefusal {
    let message = format!(
        "The voter id for {} is already part of the set of voters {}.",
        kafka_text::replica_key(voter),
        kafka_text::voter_keys(voters)
    );
    ChangeRefusal::new(ErrorCode::DuplicateVoter, message)
}
