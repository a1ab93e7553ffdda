//! What a role does by itself: time-outs, and whatever can be sent now.

use super::{MAX_EPOCH, Replica, turn::Turn, wake::Wake};
use crate::{
    epoch_election::EpochElection,
    ids::NodeId,
    role::{Role, unattached::Unattached},
    time::Instant,
    timer::{Timer, earlier},
};
use alloc::vec::Vec;

impl Replica {
    /// A role may lead to the next one at once. This many steps are more than any chain of roles has; the bound only
    /// matters where an election timeout of 0 would go in circles.
    const POLLS_MAX: usize = 8;

    /// The moment before which [`poll`](Self::poll) would find nothing to do, if nothing happens: no time is over, and the
    /// role waits for nothing but events. In doubt it is asked.
    pub(super) fn next_wake(&self) -> Wake {
        let role = match &self.role {
            Role::Leader(leader) if leader.waits_for_events() => {
                Some(leader.heartbeat.min(leader.check_quorum.deadline()))
            }
            Role::Follower(follower) if !follower.update_due && self.connections.all_in_flight() => {
                earlier(follower.fetch.deadline(), follower.update_voter.deadline())
            }
            _ => return Wake::NOW,
        };
        if self.ended || self.shutting_down() {
            return Wake::NOW;
        }
        let waiting = earlier(self.parked.next_deadline(), self.proposals.patience().deadline());
        let next = earlier(earlier(role, waiting), self.connections.next_change());
        Wake::at(next.unwrap_or(Instant(u64::MAX)))
    }

    /// Asserts that a replica that does not look after itself has nothing to look after.
    pub(super) fn check_rest(&self, turn: &Turn<'_>) {
        let (now, due) = (turn.mono(), self.next_wake());
        assert!(
            due.is_ahead(now) || !self.wake.is_ahead(now) || self.ended,
            "a time-out is missed"
        );
    }

    /// Lets the role act, and finds out when it has to be asked again.
    #[inline(never)]
    pub(super) fn look_after_itself(&mut self, turn: &mut Turn<'_>) {
        self.poll(turn);
        self.wake = self.next_wake();
    }

    /// Lets the role act until it has nothing left to do.
    pub(super) fn poll(&mut self, turn: &mut Turn<'_>) {
        if self.ended {
            return;
        }
        self.expire_fetches(turn);
        self.expire_proposals(turn);
        if turn.cut {
            // Whatever is sent names the end of the log. Its epoch is known again once the truncation has been ordered,
            // and its completion is an event.
            return;
        }
        for _ in 0..Self::POLLS_MAX {
            if self.ended || self.poll_shutdown(turn) {
                return;
            }
            turn.changed = false;
            match &self.role {
                Role::Unattached(_) => self.poll_unattached(turn),
                Role::Prospective(_) => self.poll_prospective(turn),
                Role::Candidate(_) => self.poll_candidate(turn),
                Role::Leader(_) => self.poll_leader(turn),
                Role::Follower(_) => self.poll_follower(turn),
                Role::Resigned(_) => self.poll_resigned(turn),
            }
            if !turn.changed {
                break;
            }
        }
        self.connections.expire(turn.mono());
    }

    fn poll_unattached(&mut self, turn: &mut Turn<'_>) {
        if self.shutting_down() {
            return;
        }
        if !self.may_campaign() {
            self.fetch_from_bootstrap_server(turn);
            return;
        }
        if self.installing.is_some() {
            return;
        }
        let election = self.election_timer_of_new_voter(turn.mono());
        if election.expired(turn.mono()) {
            self.become_prospective("election timeout", turn);
        } else {
            self.fetch_from_bootstrap_server(turn);
        }
    }

    /// The election timer of an unattached replica. An observer that a snapshot made a voter has none yet.
    fn election_timer_of_new_voter(&mut self, now: Instant) -> Timer {
        let Role::Unattached(unattached) = &self.role else {
            return Timer::NEVER;
        };
        if unattached.election != Timer::NEVER {
            return unattached.election;
        }
        let election = self.election_timer(now);
        if let Role::Unattached(unattached) = &mut self.role {
            unattached.election = election;
        }
        election
    }

    fn poll_prospective(&mut self, turn: &mut Turn<'_>) {
        let Role::Prospective(prospective) = &self.role else {
            return;
        };
        if prospective.tally.is_granted() && !prospective.waits_for_rival(turn.mono()) {
            self.become_candidate("pre-votes of a majority", turn);
        } else if prospective.tally.is_rejected() {
            let election = self.election_timer(turn.mono());
            self.give_up_pre_vote(election, "pre-votes refused", turn);
        } else if prospective.election.expired(turn.mono()) && !self.shutting_down() {
            let election = prospective.election;
            self.give_up_pre_vote(election, "pre-votes not answered in time", turn);
        } else {
            self.request_votes(true, turn);
        }
    }

    /// Back to the leader if there is one to go back to.
    fn give_up_pre_vote(&mut self, election: Timer, reason: &'static str, turn: &mut Turn<'_>) {
        let Role::Prospective(prospective) = &mut self.role else {
            return;
        };
        let endpoints = core::mem::take(&mut prospective.endpoints);
        match prospective.leader {
            Some(leader) if !endpoints.is_empty() => {
                self.become_follower(self.epoch, leader, endpoints, turn)
            }
            leader => {
                let voted = prospective.voted;
                let unattached = Unattached {
                    leader,
                    voted,
                    election,
                };
                self.become_unattached(self.epoch, unattached, reason, turn);
            }
        }
    }

    fn poll_candidate(&mut self, turn: &mut Turn<'_>) {
        let Role::Candidate(candidate) = &self.role else {
            return;
        };
        if candidate.tally.is_granted() {
            self.become_leader(turn);
        } else if candidate.election.expired(turn.mono()) && !self.shutting_down() {
            self.become_prospective("votes not answered in time", turn);
        } else if !candidate.tally.is_rejected() {
            self.request_votes(false, turn);
        }
    }

    fn tally(&self) -> Option<&EpochElection> {
        match &self.role {
            Role::Prospective(prospective) => Some(&prospective.tally),
            Role::Candidate(candidate) => Some(&candidate.tally),
            Role::Unattached(_) | Role::Leader(_) | Role::Follower(_) | Role::Resigned(_) => None,
        }
    }

    fn request_votes(&mut self, pre_vote: bool, turn: &mut Turn<'_>) {
        let now = turn.mono();
        let ready: Vec<NodeId> = self
            .tally()
            .into_iter()
            .flat_map(EpochElection::unrecorded)
            .filter(|id| self.connections.ready(*id, now))
            .collect();
        for voter in ready {
            self.send_vote(voter, pre_vote, turn);
        }
    }

    fn poll_leader(&mut self, turn: &mut Turn<'_>) {
        let now = turn.mono();
        self.expire_change(turn);
        let shutting_down = self.shutting_down();
        let unfinished = turn.unfinished;
        let Role::Leader(leader) = &self.role else {
            return;
        };
        let window = leader.check_quorum.window();
        let no_majority = now >= leader.check_quorum.deadline();
        // A lone voter has nobody who could lead in its place.
        let replaceable = (no_majority || unfinished.is_some()) && !self.is_only_voter();
        let Role::Leader(leader) = &mut self.role else {
            return;
        };
        leader.disk_patience = unfinished
            .filter(|_| replaceable)
            .map_or(Timer::NEVER, |since| Timer::at(since.plus(window)));
        if let Some(end) = self.shutdown.deadline()
            && leader.handover == Timer::NEVER
        {
            // Half of a short time is left for telling the others.
            let wait = Self::HANDOVER.min(end.since(now) / 2);
            leader.handover = Timer::at(now.after(wait));
        }
        let reason = if leader.handover.expired(now) {
            "shutting down; no successor has everything"
        } else if shutting_down && leader.has_successor_at(self.config.local.id, turn.end.last_offset) {
            "shutting down"
        } else if leader.resign_requested {
            "asked to resign"
        } else if replaceable && no_majority {
            "no majority fetches"
        } else if leader.disk_patience.expired(now) {
            "the disk does not answer"
        } else {
            let (reads, beats) = (!leader.reads.is_idle(), now >= leader.heartbeat);
            if reads {
                self.advance_reads(turn);
            }
            if beats {
                self.heartbeat(turn);
            }
            return;
        };
        self.become_resigned(reason, turn);
    }

    /// Tells the voters that do not fetch who leads.
    fn heartbeat(&mut self, turn: &mut Turn<'_>) {
        let now = turn.mono();
        let period = self.heartbeat_period();
        let Role::Leader(leader) = &mut self.role else {
            return;
        };
        leader.heartbeat = now.after(period);
        let silent = leader.silent_voters(self.config.local.id, period, now);
        for voter in silent {
            if self.connections.ready(voter.id, now) {
                self.send_begin_quorum_epoch(voter, turn);
            }
        }
    }

    fn poll_follower(&mut self, turn: &mut Turn<'_>) {
        if self.shutting_down() {
            return;
        }
        let now = turn.mono();
        let Role::Follower(follower) = &self.role else {
            return;
        };
        let tells = follower.update_due || follower.update_voter.expired(now);
        if follower.fetch.expired(now) && self.may_campaign() && self.installing.is_none() {
            return self.become_prospective("fetch timeout", turn);
        }
        if tells && !self.tell_leader(turn) {
            return;
        }
        self.fetch_from_best_node(turn);
    }

    /// It is time to tell the leader of this replica, or to ask it to become a voter. Returns whether it may fetch now.
    fn tell_leader(&mut self, turn: &mut Turn<'_>) -> bool {
        let is_voter = self.is_voter();
        if !is_voter && !self.auto_joins() {
            return true;
        }
        let Role::Follower(follower) = &mut self.role else {
            return true;
        };
        if follower.update_voter.expired(turn.mono()) {
            follower.update_voter = Timer::NEVER;
            follower.update_due = true;
        }
        if is_voter {
            self.update_leader(turn)
        } else {
            self.join(turn)
        }
    }

    fn fetch_from_best_node(&mut self, turn: &mut Turn<'_>) {
        if self.may_not_fetch() {
            return;
        }
        let now = turn.mono();
        let Role::Follower(follower) = &self.role else {
            return;
        };
        let leader = follower.leader;
        if self.connections.is_idle() && follower.endpoint.is_some() {
            self.send_fetch_to_leader(turn);
            return;
        }
        if self.connections.any_in_flight(now) {
            return;
        }
        let reachable = !self.connections.timed_out(leader, now)
            && !self.connections.backing_off(leader, now)
            && follower.endpoint.is_some();
        if self.connections.timed_out(leader, now) {
            self.connections.forget(leader);
        }
        if !reachable && self.fetch_from_bootstrap_server(turn) {
            return;
        }
        if self.connections.ready(leader, now) {
            self.send_fetch_to_leader(turn);
        }
    }

    /// A truncation is not durable yet, or the log is being replaced: what a Fetch would say is about to change.
    pub(super) fn may_not_fetch(&self) -> bool {
        self.installing.is_some() || self.tickets.durable() < self.truncation
    }

    fn poll_resigned(&mut self, turn: &mut Turn<'_>) {
        let now = turn.mono();
        let Role::Resigned(resigned) = &self.role else {
            return;
        };
        if resigned.election.expired(now) && !self.shutting_down() {
            let election = resigned.election;
            let unattached = Unattached {
                leader: None,
                voted: None,
                election,
            };
            if self.epoch >= MAX_EPOCH {
                return self.epochs_exhausted(turn);
            }
            return self.become_unattached(self.epoch.next(), unattached, "left the epoch that it led", turn);
        }
        let ready: Vec<NodeId> = resigned
            .unacknowledged
            .iter()
            .copied()
            .filter(|id| self.connections.ready(*id, now))
            .collect();
        for voter in ready {
            self.send_end_quorum_epoch(voter, turn);
        }
    }

    /// When the role has something to do by itself.
    pub(super) fn role_deadline(&self) -> Option<Instant> {
        let shutting_down = self.shutting_down();
        let campaigns = self.may_campaign() && !shutting_down && self.installing.is_none();
        let election = |timer: &Timer| if campaigns { timer.deadline() } else { None };
        let connections = self.connections.next_change();
        match &self.role {
            Role::Unattached(unattached) => {
                let silent = self.may_not_fetch() || (shutting_down && self.is_voter());
                earlier(election(&unattached.election), connections.filter(|_| !silent))
            }
            Role::Prospective(prospective) => {
                let waits = prospective.tally.is_granted();
                let gives_way = prospective.gives_way.deadline().filter(|_| waits);
                earlier(earlier(election(&prospective.election), gives_way), connections)
            }
            Role::Candidate(candidate) => {
                let asks = !candidate.tally.is_rejected();
                earlier(election(&candidate.election), connections.filter(|_| asks))
            }
            Role::Leader(leader) => {
                let check = (!self.is_only_voter()).then(|| leader.check_quorum.deadline());
                let change = leader.pending_change.as_ref().map(|change| change.expires);
                let disk = leader.disk_patience.deadline();
                let own = earlier(Some(leader.heartbeat), leader.handover.deadline());
                let asks = connections.filter(|_| !leader.reads.is_idle());
                earlier(earlier(own, check), earlier(earlier(change, disk), asks))
            }
            Role::Follower(_) if shutting_down => None,
            Role::Follower(follower) => {
                let tells = self.is_voter() || self.auto_joins();
                let update = follower.update_voter.deadline().filter(|_| tells);
                let asks = tells && follower.update_due;
                let fetches = connections.filter(|_| !self.may_not_fetch() || asks);
                earlier(election(&follower.fetch), earlier(update, fetches))
            }
            Role::Resigned(resigned) => {
                let leaves = resigned.election.deadline().filter(|_| !shutting_down);
                earlier(leaves, connections)
            }
        }
    }
}
