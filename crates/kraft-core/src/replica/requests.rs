//! The requests that a replica sends.

use super::{Replica, tickets::Tickets, turn::Turn};
use crate::{
    action::Action,
    endpoints::Endpoint,
    handles::{RequestId, Ticket},
    ids::{NodeId, ReplicaKey},
    offsets::LogEnd,
    peer_request::PeerRequest,
    role::{Role, follower::Download},
    text::Text,
};

impl Replica {
    /// Sends a request; its peer is busy from now on until it answers, fails or times out.
    #[inline(always)]
    pub(super) fn send(
        &mut self,
        to: ReplicaKey,
        endpoint: Endpoint,
        body: PeerRequest,
        after: Ticket,
        turn: &mut Turn<'_>,
    ) -> RequestId {
        let request = self.connections.sent(to.id, turn.mono());
        turn.emit(Action::Send {
            request,
            to,
            endpoint,
            body,
            after,
        });
        request
    }

    /// Sends to a voter. One whose set has no endpoint for our listener cannot be reached, and is not.
    fn send_to_voter(
        &mut self,
        to: NodeId,
        body: PeerRequest,
        after: Ticket,
        turn: &mut Turn<'_>,
    ) -> Option<RequestId> {
        let voter = self.voters().get(to)?;
        let endpoint = voter.endpoints.at(&self.config.default_listener).cloned()?;
        let key = voter.key;
        Some(self.send(key, endpoint, body, after, turn))
    }

    /// The key of a voter as its set names it.
    pub(super) fn voter_key(&self, id: NodeId) -> ReplicaKey {
        self.voters()
            .get(id)
            .map_or(ReplicaKey::without_directory(id), |voter| voter.key)
    }

    pub(super) fn cluster_id(&self) -> Text {
        self.config.cluster_id.clone()
    }

    /// The request names the end of the log, so everything up to there, and the epoch and vote, are durable before it
    /// leaves.
    pub(super) fn send_vote(&mut self, voter: NodeId, pre_vote: bool, turn: &mut Turn<'_>) {
        let body = PeerRequest::Vote {
            cluster_id: self.cluster_id(),
            voter: self.voter_key(voter),
            candidate: self.config.local,
            epoch: self.epoch,
            log_end: turn.end,
            pre_vote,
        };
        let mut after = self.tickets.newest();
        if mutated!(AsksBeforeDurable) {
            after = self.tickets.durable();
        }
        self.send_to_voter(voter, body, after, turn);
    }

    pub(super) fn send_begin_quorum_epoch(
        &mut self,
        voter: ReplicaKey,
        turn: &mut Turn<'_>,
    ) -> Option<RequestId> {
        let body = PeerRequest::BeginQuorumEpoch {
            cluster_id: self.cluster_id(),
            voter,
            leader: self.config.local.id,
            epoch: self.epoch,
            endpoints: self.config.listeners.clone(),
        };
        self.send_to_voter(voter.id, body, self.tickets.election(), turn)
    }

    pub(super) fn send_end_quorum_epoch(&mut self, voter: NodeId, turn: &mut Turn<'_>) {
        let Role::Resigned(resigned) = &self.role else {
            return;
        };
        let body = PeerRequest::EndQuorumEpoch {
            cluster_id: self.cluster_id(),
            leader: self.config.local.id,
            epoch: self.epoch,
            preferred_successors: resigned.preferred_successors.clone(),
        };
        self.send_to_voter(voter, body, self.tickets.election(), turn);
    }

    /// The last word of a leader whose disk has failed. It waits for nothing, because nothing will be durable any more;
    /// the epoch it names was stored before anybody voted for it.
    pub(super) fn send_last_end_quorum_epoch(&mut self, turn: &mut Turn<'_>) {
        let Role::Leader(leader) = &self.role else {
            return;
        };
        // A leadership that the disk has not taken is nobody's business: after a restart this replica knows nothing of it, and
        // whoever believes in it would wait for it in vain.
        if self.tickets.election() > self.tickets.durable() {
            return;
        }
        let preferred_successors = leader.successors(self.config.local.id);
        self.connections.reset();
        for voter in self.voters_to_tell() {
            let body = PeerRequest::EndQuorumEpoch {
                cluster_id: self.cluster_id(),
                leader: self.config.local.id,
                epoch: self.epoch,
                preferred_successors: preferred_successors.clone(),
            };
            self.send_to_voter(voter, body, Ticket::NONE, turn);
        }
    }

    /// Asks a bootstrap server where the leader is. Returns whether one was ready.
    pub(super) fn fetch_from_bootstrap_server(&mut self, turn: &mut Turn<'_>) -> bool {
        if self.may_not_fetch() {
            return false;
        }
        let now = turn.mono();
        let found = self
            .connections
            .ready_bootstrap_server(&self.bootstrap, &mut self.rng, now);
        let Some(index) = found else {
            return false;
        };
        let to = ReplicaKey::without_directory(self.bootstrap[index]);
        let endpoint = self.bootstrap_endpoints[index].clone();
        let after = Self::fetch_waits_for(self.may_vote(), self.tickets, &mut self.observed);
        self.send(to, endpoint, self.fetch(turn.end), after, turn);
        true
    }

    /// Asks the leader for the next piece of the snapshot that is being fetched, else for records. Returns whether it
    /// could be asked.
    #[inline(always)]
    pub(super) fn send_fetch_to_leader(&mut self, turn: &mut Turn<'_>) -> bool {
        let Role::Follower(follower) = &self.role else {
            return false;
        };
        let Some(endpoint) = &follower.endpoint else {
            return false;
        };
        if let Some(download) = follower.download {
            let (to, endpoint) = (follower.key, endpoint.clone());
            self.send_fetch_snapshot(to, endpoint, download, turn);
            return true;
        }
        let after = Self::fetch_waits_for(self.may_vote(), self.tickets, &mut self.observed);
        let request = self.connections.sent(follower.key.id, turn.mono());
        turn.emit(Action::Send {
            request,
            to: follower.key,
            endpoint: endpoint.clone(),
            body: self.fetch(turn.end),
            after,
        });
        true
    }

    /// Waits for the piece before, so that a fast leader does not fill the queue of a slow disk.
    fn send_fetch_snapshot(
        &mut self,
        to: ReplicaKey,
        endpoint: Endpoint,
        download: Download,
        turn: &mut Turn<'_>,
    ) {
        let body = PeerRequest::FetchSnapshot {
            cluster_id: self.cluster_id(),
            replica: self.config.local,
            epoch: self.epoch,
            snapshot: download.snapshot,
            position: i64::try_from(download.position).unwrap_or(i64::MAX),
            max_bytes: self.config.fetch_snapshot_max_bytes,
        };
        self.send(to, endpoint, body, self.tickets.newest(), turn);
    }

    #[inline(always)]
    fn fetch(&self, log_end: LogEnd) -> PeerRequest {
        PeerRequest::Fetch {
            cluster_id: self.cluster_id(),
            replica: self.config.local,
            epoch: self.epoch,
            log_end,
            high_watermark: self.high_watermark.unwrap_or(-1),
            max_wait_ms: self.fetch_max_wait_ms,
            max_bytes: self.config.fetch_max_bytes,
        }
    }

    fn may_vote(&self) -> bool {
        self.config.can_become_voter || self.is_voter()
    }

    /// The leader counts on what a Fetch says being durable, so that of a replica that may vote waits for everything. On that of
    /// others nobody counts: it waits for what the answer before the last one has brought, `observed`, so that not all of a fast
    /// leader's log gathers before a slow disk.
    #[inline(always)]
    fn fetch_waits_for(may_vote: bool, tickets: Tickets, observed: &mut Ticket) -> Ticket {
        if mutated!(FetchNotFlushed) {
            tickets.election()
        } else if may_vote {
            tickets.newest()
        } else {
            let before = core::mem::replace(observed, tickets.newest());
            tickets.election().max(before)
        }
    }

    pub(super) fn send_update_voter(&mut self, turn: &mut Turn<'_>) -> bool {
        let body = PeerRequest::UpdateRaftVoter {
            cluster_id: self.cluster_id(),
            epoch: self.epoch,
            voter: self.config.local,
            endpoints: self.config.listeners.clone(),
            kraft_versions: self.config.kraft_versions,
        };
        self.send_to_leader(body, turn)
    }

    /// Sends something other than a Fetch to the leader. Returns whether it could be sent.
    pub(super) fn send_to_leader(&mut self, body: PeerRequest, turn: &mut Turn<'_>) -> bool {
        let Role::Follower(follower) = &self.role else {
            return false;
        };
        let (leader, to) = (follower.leader, follower.key);
        if !self.connections.ready(leader, turn.mono()) {
            return false;
        }
        let Some(endpoint) = follower.endpoint.clone() else {
            return false;
        };
        self.send(to, endpoint, body, self.tickets.election(), turn);
        true
    }
}
