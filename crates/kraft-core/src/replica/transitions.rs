//! From role to role.

use super::{MAX_EPOCH, Replica, turn::Turn};
use crate::{
    action::{Action, AppendPayload, DiskOp},
    check_quorum::CheckQuorum,
    control::{BatchInfo, Batches, ControlRecord},
    endpoints::Endpoints,
    epoch_election::EpochElection,
    ids::{Epoch, NodeId, ReplicaKey},
    offsets::LogEnd,
    role::{
        Role, RoleName, candidate::Candidate, follower::Follower, leader::Leader, prospective::Prospective,
        resigned::Resigned, unattached::Unattached,
    },
    time::Instant,
    timer::Timer,
    voter_set::{VoterNode, VoterSet},
};
use alloc::{boxed::Box, collections::BTreeSet, format, vec, vec::Vec};

/// A peer named a leader that cannot be: another one than is known of the epoch, or this replica without its knowing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InconsistentLeader;

impl Replica {
    /// Takes over what a peer says of epoch and leader, if it is news.
    pub(super) fn maybe_transition(
        &mut self,
        leader: Option<NodeId>,
        epoch: Epoch,
        endpoints: Endpoints,
        turn: &mut Turn<'_>,
    ) -> Result<(), InconsistentLeader> {
        if let Some(named) = leader {
            let contradicts = if named == self.config.local.id {
                epoch > self.epoch || !matches!(self.role, Role::Leader(_))
            } else {
                epoch == self.epoch && self.leader().is_some_and(|known| known != named)
            };
            if contradicts {
                return Err(InconsistentLeader);
            }
        }
        if epoch > self.epoch {
            match leader {
                Some(named) if !endpoints.is_empty() => self.become_follower(epoch, named, endpoints, turn),
                // A leader that nobody can say the address of is looked for like an unknown one.
                Some(_) | None => self.leaderless_epoch(epoch, turn),
            }
        } else if let Some(named) = leader
            && named != self.config.local.id
            && !endpoints.is_empty()
            && (self.leader().is_none() || endpoints.len() > self.known_endpoints().map_or(0, Endpoints::len))
        {
            self.become_follower(epoch, named, endpoints, turn);
        }
        Ok(())
    }

    /// A newer epoch has begun and its leader is not known.
    pub(super) fn leaderless_epoch(&mut self, epoch: Epoch, turn: &mut Turn<'_>) {
        if epoch <= self.epoch || !self.believes(epoch) {
            return;
        }
        let election = match &self.role {
            Role::Unattached(unattached) => unattached.election,
            Role::Candidate(candidate) => candidate.election,
            Role::Resigned(resigned) => resigned.election,
            Role::Prospective(prospective) if !prospective.tally.is_rejected() => prospective.election,
            Role::Prospective(_) | Role::Leader(_) | Role::Follower(_) => self.election_timer(turn.mono()),
        };
        let unattached = Unattached {
            leader: None,
            voted: None,
            election,
        };
        self.become_unattached(epoch, unattached, "newer epoch without a known leader", turn);
    }

    pub(super) fn become_unattached(
        &mut self,
        epoch: Epoch,
        mut unattached: Unattached,
        reason: &'static str,
        turn: &mut Turn<'_>,
    ) {
        if !self.is_voter() {
            unattached.election = Timer::NEVER;
        }
        self.connections.reset();
        self.switch(Role::Unattached(unattached), epoch, true, reason, turn);
    }

    /// Asks for pre-votes in the same epoch. Nothing is stored, because nothing changes that has to survive.
    pub(super) fn become_prospective(&mut self, reason: &'static str, turn: &mut Turn<'_>) {
        assert!(self.is_voter(), "observers do not campaign");
        assert!(
            self.installing.is_none(),
            "no campaign while the log is being replaced"
        );
        let (leader, endpoints) = match &self.role {
            Role::Unattached(unattached) => (unattached.leader, Endpoints::empty()),
            Role::Follower(follower) => (Some(follower.leader), follower.endpoints.clone()),
            Role::Candidate(_) | Role::Resigned(_) => (None, Endpoints::empty()),
            Role::Leader(_) | Role::Prospective(_) => {
                unreachable!("neither a leader nor a prospective becomes one")
            }
        };
        let prospective = Prospective {
            leader,
            endpoints,
            voted: self.voted(),
            tally: self.new_tally(),
            gives_way: Timer::NEVER,
            election: self.election_timer(turn.mono()),
        };
        self.connections.reset();
        self.switch(Role::Prospective(prospective), self.epoch, false, reason, turn);
    }

    /// Raises the epoch and votes for itself.
    pub(super) fn become_candidate(&mut self, reason: &'static str, turn: &mut Turn<'_>) {
        assert!(
            matches!(self.role, Role::Prospective(_)),
            "a candidate has asked for pre-votes"
        );
        assert!(self.is_voter(), "observers do not campaign");
        if self.epoch >= MAX_EPOCH {
            return self.epochs_exhausted(turn);
        }
        let candidate = Candidate {
            tally: self.new_tally(),
            election: self.election_timer(turn.mono()),
        };
        self.connections.reset();
        self.switch(Role::Candidate(candidate), self.epoch.next(), true, reason, turn);
    }

    pub(super) fn epochs_exhausted(&mut self, turn: &mut Turn<'_>) {
        let reason = format!("epoch {} is the last one: no election can follow it", self.epoch);
        self.fatal(reason, turn);
    }

    /// Leads the epoch: stores it, opens it in the log and writes its first batch.
    pub(super) fn become_leader(&mut self, turn: &mut Turn<'_>) {
        let Role::Candidate(candidate) = &self.role else {
            unreachable!("only a candidate is elected");
        };
        assert!(
            candidate.tally.is_granted(),
            "a leader has the votes of a majority"
        );
        assert!(self.is_voter(), "observers do not lead");
        let granting = candidate.tally.granting().collect();
        if self.kraft_version() >= 1 && self.control.voters_offset().is_none() {
            let reason = format!(
                "kraft.version {} is in force, but neither snapshot nor log names the voters",
                self.kraft_version()
            );
            return self.fatal(reason, turn);
        }
        if Self::log_is_full(turn) {
            return self.offsets_exhausted(turn);
        }
        let epoch_start = turn.end.last_offset;
        let records = self.first_records(granting);
        let mut leader = Leader::new(
            self.config.local,
            epoch_start,
            self.voters(),
            CheckQuorum::new(self.config.fetch_timeout.saturating_mul(3) / 2, turn.mono()),
            turn.mono(),
        );
        if self.kraft_version() == 0 {
            leader.reported_voters = self.voters().update_ignoring_directory(self.local_node());
        }
        self.connections.reset();
        self.high_watermark = None;
        let epoch = self.epoch;
        self.switch(
            Role::Leader(Box::new(leader)),
            epoch,
            true,
            "elected by a majority",
            turn,
        );
        self.proposals.wait_for_ever();
        self.disk(
            DiskOp::StartEpoch {
                epoch,
                start: epoch_start,
            },
            turn,
        );
        turn.end.last_epoch = epoch;
        self.append_control(records, turn);
        turn.emit(Action::Lead {
            epoch,
            applied: turn.end.last_offset,
        });
        self.advance_leader_high_watermark(turn);
    }

    /// What the first batch of an epoch says. What only the bootstrap checkpoint knows enters the log with it, and so do
    /// this replica's own endpoints and levels when they have changed.
    fn first_records(&self, granting: Vec<NodeId>) -> Vec<ControlRecord> {
        let voters = self.voters();
        let mut records = vec![ControlRecord::LeaderChange {
            leader: self.config.local.id,
            voters: voters.ids().collect(),
            granting,
        }];
        let local = self.local_node();
        if self.kraft_version() >= 1
            && (self.control.voters_only_in_bootstrap() || voters.needs_update(&local))
            && let Some(updated) = voters.update(local)
        {
            records.push(ControlRecord::KRaftVersion(self.kraft_version()));
            records.push(ControlRecord::Voters(updated));
        }
        records
    }

    /// A leader appends one control batch; what it says is in force at once. Returns the offset of its last record.
    pub(super) fn append_control(&mut self, records: Vec<ControlRecord>, turn: &mut Turn<'_>) -> i64 {
        assert!(!records.is_empty(), "a batch has records");
        let base = turn.end.last_offset;
        let end = base + i64::try_from(records.len()).expect("a handful of records");
        let batch = BatchInfo {
            base,
            last: end - 1,
            epoch: self.epoch,
            bytes: 0,
            control: Some(records.clone()),
        };
        let names_voters = records
            .iter()
            .any(|record| matches!(record, ControlRecord::Voters(_)));
        let voters_before = names_voters.then(|| self.voters().clone());
        self.control.append(&batch);
        self.control.truncate_older(turn.log_start);
        let op = DiskOp::Append {
            base,
            batches: Batches::one(batch),
            payload: AppendPayload::Control {
                records,
                timestamp_ms: turn.now.wall_ms,
            },
        };
        self.disk(op, turn);
        turn.end = LogEnd {
            last_epoch: self.epoch,
            last_offset: end,
        };
        if let Some(before) = voters_before {
            self.adopt_voters(&before, base, turn);
        }
        self.serve_appended(turn);
        if names_voters {
            self.advance_leader_high_watermark(turn);
        }
        end - 1
    }

    /// A leader goes by the voters that its batch at `base` names.
    ///
    /// One that takes the vote of another replica is served to voters once the leader's own disk has it, and to everybody else,
    /// that replica included, once it is committed. Otherwise nobody but that replica may be left with it: whoever still votes
    /// then lacks it, and may need that replica's vote.
    fn adopt_voters(&mut self, before: &VoterSet, base: i64, turn: &Turn<'_>) {
        let voters = self.control.voters();
        let local = self.config.local.id;
        let takes_vote = |voter: &VoterNode| voter.key.id != local && !voters.is_voter(&voter.key);
        if let Role::Leader(leader) = &mut self.role {
            if before.iter().any(takes_vote) {
                leader.open_removal.get_or_insert(base);
            }
            leader.adopt_voters(voters, turn.mono());
            self.parked.regroup(|from| leader.is_voter(from));
        }
    }

    pub(super) fn become_follower(
        &mut self,
        epoch: Epoch,
        leader: NodeId,
        endpoints: Endpoints,
        turn: &mut Turn<'_>,
    ) {
        assert!(leader != self.config.local.id, "nobody follows itself");
        assert!(!endpoints.is_empty(), "a follower knows where its leader listens");
        let voted = if epoch == self.epoch { self.voted() } else { None };
        let follower = self.new_follower(leader, endpoints, voted, turn.mono());
        self.connections.reset();
        self.switch(
            Role::Follower(follower),
            epoch,
            true,
            "learnt of the leader",
            turn,
        );
    }

    /// Gives up the leadership. Nothing is stored: a start finds the same facts and resigns too.
    pub(super) fn become_resigned(&mut self, reason: &'static str, turn: &mut Turn<'_>) {
        let Role::Leader(leader) = &self.role else {
            unreachable!("only a leader resigns");
        };
        let preferred_successors = leader.successors(self.config.local.id);
        let resigned = Resigned {
            unacknowledged: self.voters_to_tell(),
            preferred_successors,
            election: self.election_timer(turn.mono()),
        };
        self.connections.reset();
        self.high_watermark = None;
        self.switch(Role::Resigned(resigned), self.epoch, false, reason, turn);
    }

    /// The voters that a resigned leader has to tell.
    pub(super) fn voters_to_tell(&self) -> BTreeSet<NodeId> {
        self.voters()
            .ids()
            .filter(|id| *id != self.config.local.id)
            .collect()
    }

    /// Remembers a vote, in the same epoch and role.
    pub(super) fn remember_vote(&mut self, nominee: ReplicaKey, turn: &mut Turn<'_>) {
        let election = self.election_timer(turn.mono());
        let tally = self.new_tally();
        match &mut self.role {
            Role::Unattached(unattached) => {
                unattached.voted = Some(nominee);
                unattached.election = election;
            }
            Role::Prospective(prospective) => {
                prospective.voted = Some(nominee);
                prospective.election = election;
                prospective.tally = tally;
            }
            Role::Candidate(_) | Role::Leader(_) | Role::Follower(_) | Role::Resigned(_) => {
                unreachable!("only a replica without a leader grants a new vote")
            }
        }
        self.store_election(turn);
    }

    /// A follower that has not heard from its leader yet, with all its timers ahead.
    pub(super) fn new_follower(
        &self,
        leader: NodeId,
        endpoints: Endpoints,
        voted: Option<ReplicaKey>,
        now: Instant,
    ) -> Follower {
        Follower {
            leader,
            key: self.voter_key(leader),
            endpoint: endpoints.at(&self.config.default_listener).cloned(),
            endpoints,
            voted,
            fetch: self.fetch_timer(now),
            update_voter: Timer::at(now.after(self.update_voter_period())),
            update_due: false,
            leader_resigned: false,
            has_fetched: false,
            has_updated_leader: false,
            download: None,
        }
    }

    /// A follower's log says something else of the voters than before.
    pub(super) fn voters_may_have_changed(&mut self) {
        let Some(key) = self.leader().map(|leader| self.voter_key(leader)) else {
            return;
        };
        if let Role::Follower(follower) = &mut self.role {
            follower.key = key;
        }
    }

    /// An election in which only this replica has voted, for itself.
    pub(super) fn new_tally(&self) -> EpochElection {
        EpochElection::new(self.voters().ids(), self.config.local.id)
    }

    pub(super) fn store_election(&mut self, turn: &mut Turn<'_>) {
        let state = self.election_state();
        self.disk(DiskOp::StoreElection(state), turn);
    }

    /// Puts a new role in place: stores what has to survive first, then lets go of what the old role held.
    pub(super) fn switch(
        &mut self,
        role: Role,
        epoch: Epoch,
        durable: bool,
        reason: &'static str,
        turn: &mut Turn<'_>,
    ) {
        assert!(epoch >= self.epoch, "epochs rise");
        let before = (self.role.name(), self.epoch, self.leader());
        self.epoch = epoch;
        let old = core::mem::replace(&mut self.role, role);
        turn.changed = true;
        if durable && !(mutated!(CandidateNotStored) && self.role.name() == RoleName::Candidate) {
            self.store_election(turn);
        }
        if let Role::Follower(follower) = &old
            && let Some(download) = follower.download
        {
            turn.emit(Action::AbandonSnapshot {
                snapshot: download.snapshot,
            });
        }
        if before.0 == RoleName::Leader {
            turn.emit(Action::Unlead);
            self.proposals
                .wait_until(turn.mono().after(self.config.fetch_timeout.saturating_mul(2)));
        }
        let after = (self.role.name(), self.epoch, self.leader());
        if before != after {
            turn.emit(Action::Transition {
                role: after.0,
                epoch,
                leader: after.2,
                reason,
            });
        }
        if before.0 == RoleName::Leader {
            self.fail_all_fetches(turn);
        }
        if let Role::Leader(leader) = old {
            self.fail_change(&leader, turn);
            let refused = |reply| Action::ReadBarrier { reply, applied: None };
            leader
                .reads
                .all()
                .map(refused)
                .for_each(|action| turn.emit(action));
        }
    }
}
