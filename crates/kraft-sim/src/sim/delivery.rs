//! Between the nodes: requests and answers on their way, and the turns that they cause.

use super::{
    disk::marks,
    happening::Happening,
    node::{Aftermath, Asker, Served, end_text},
    quorum::{LISTENER, REQUEST_TIMEOUT, Simulation, violation},
    recorded::Recorded,
    report::Count,
    settings::Lie,
    sight::Sight,
};
use crate::checker::{Fact, Violation};
use bytes::Bytes;
use kraft_core::{Epoch, Instant, NodeId, PeerRequest, ReplicaKey, RequestFault, StateMachine};
use kraft_transport::{
    Command, Inbound, OutboundRequest, PeerApi,
    codec::{Topic, encode_request},
    oneshot,
};
use kraft_wire::{
    Message as _,
    message::{FetchResponse, VoteResponse},
};
use std::{sync::Arc, time::Duration};

impl<S: StateMachine> Simulation<S> {
    /// A request arrives.
    pub(super) fn request(&mut self, to: usize, body: Bytes, asker: Asker) -> Result<(), Violation> {
        if !self.nodes[to].is_up() {
            let refused = self.world.network.refuses;
            let after = if refused {
                Duration::from_millis(1)
            } else {
                REQUEST_TIMEOUT
            };
            self.fail(asker, after);
            return Ok(());
        }
        let (sender, reply) = oneshot::channel();
        let inbound = Inbound::new(asker.api, body, asker.version, Arc::from(LISTENER), sender);
        let until = self.now.after(REQUEST_TIMEOUT);
        self.nodes[to].serve(Served { reply, asker, until });
        self.nodes[to].enqueue(Command::Inbound(inbound), self.now);
        if self.nodes[to].paused.is_some() {
            // Whoever asks does not wait for ever.
            self.fail(asker, REQUEST_TIMEOUT);
        }
        self.turn(to)
    }

    /// An outcome arrives at the node that asked, if it still lives the same life.
    pub(super) fn deliver(&mut self, asker: Asker, command: Command<Recorded<S>>) -> Result<(), Violation> {
        let Some(node) = self.index_of(asker.node) else {
            return Ok(());
        };
        if self.nodes[node].life != asker.life {
            return Ok(());
        }
        self.nodes[node].enqueue(command, self.now);
        self.turn(node)
    }

    pub(super) fn fail(&mut self, asker: Asker, after: Duration) {
        let happening = Happening::Fault {
            asker,
            fault: RequestFault::Disconnected,
        };
        self.agenda.enter(self.now.after(after), happening);
    }

    /// Takes a turn of a node, unless it stands still, and carries away what it wants.
    pub(super) fn turn(&mut self, node: usize) -> Result<(), Violation> {
        if self.nodes[node].paused.is_some() {
            return Ok(());
        }
        self.hang_up(node);
        let Some(Aftermath { turn, answers, facts }) = self.nodes[node].turn(self.now) else {
            return Ok(());
        };
        self.counts.add(Count::Turns);
        for fact in facts {
            self.count(node, &fact);
            self.observe(&fact)?;
        }
        for (asker, body) in answers {
            self.answer(node, asker, body)?;
        }
        for request in self.nodes[node].take_outbox() {
            self.send(node, request)?;
        }
        if let Some(ended) = turn.ended {
            if let Some(witness) = &mut self.witness {
                let node = self.nodes[node].id;
                witness(self.now, Sight::Ended { node, how: &ended });
            }
            if !self.nodes[node].ended(&ended, &mut self.rng, self.world.lie) {
                let detail = format!("node {}: {}", node + 1, end_text(&ended));
                return Err(violation("a node goes on", detail));
            }
            return self.is_down(node);
        }
        let life = self.nodes[node].life;
        if self.nodes[node].wants_round() {
            let time = self.disk_time(node);
            self.agenda
                .enter(self.now.after(time), Happening::Round { node, life });
        }
        let time = self.read_time(node);
        if self.nodes[node].wants_background() {
            self.agenda
                .enter(self.now.after(time), Happening::Background { node, life });
        }
        if let Some(next) = turn.next {
            self.wake(node, life, next);
        }
        Ok(())
    }

    /// Whoever asks a node and has ended, or has waited for long enough, closes its connection.
    fn hang_up(&mut self, node: usize) {
        let is_gone = |served: &Served| {
            let asker = self.index_of(served.asker.node).map(|asker| &self.nodes[asker]);
            let lives = asker.is_some_and(|asker| asker.is_up() && asker.life == served.asker.life);
            !lives || served.until <= self.now
        };
        let served = self.nodes[node].served().filter(|served| is_gone(served));
        let gone: Vec<Asker> = served.map(|served| served.asker).collect();
        if gone.is_empty() {
            return;
        }
        for _ in 0..self.nodes[node].hang_up(|served| !gone.contains(&served.asker)) {
            self.counts.add(Count::Left);
        }
    }

    pub(super) fn wake(&mut self, node: usize, life: u64, at: Instant) {
        if let Some(at) = self.nodes[node].wake_earlier(at, self.now) {
            self.agenda.enter(at, Happening::Wake { node, life });
        }
    }

    fn send(&mut self, from: usize, request: OutboundRequest) -> Result<(), Violation> {
        let id = self.nodes[from].id;
        if let Some(witness) = &mut self.witness {
            let sight = Sight::Request {
                from: id,
                to: &request.endpoint,
                body: &request.body,
            };
            witness(self.now, sight);
        }
        if let PeerRequest::AddRaftVoter { voter, .. } = &request.body {
            self.weakness.may_be_added(*voter, self.now);
        }
        if let Some(fact) = told(id, &request.body) {
            self.observe(&fact)?;
        }
        let api = PeerApi::of(&request.body);
        let mut asker = Asker {
            node: id,
            life: self.nodes[from].life,
            request: request.request,
            api,
            version: *api.versions().end(),
            campaigns: matches!(request.body, PeerRequest::Vote { pre_vote: false, .. }),
        };
        let Some(to) = self.listens_at(&request) else {
            self.fail(asker, Duration::from_millis(1));
            return Ok(());
        };
        let is_old = self.nodes[from].traits.old || self.nodes[to].traits.old;
        let version = if is_old {
            old_version(api)
        } else {
            Some(asker.version)
        };
        let encoded = version.and_then(|version| {
            asker.version = version;
            encode_request(&Topic::default(), &request.body, version).ok()
        });
        let Some(body) = encoded else {
            let happening = Happening::Fault {
                asker,
                fault: RequestFault::UnsupportedVersion,
            };
            self.agenda
                .enter(self.now.after(Duration::from_millis(1)), happening);
            return Ok(());
        };
        for at in self.copies(asker, id, self.nodes[to].id) {
            let body = body.clone();
            self.agenda.enter(at, Happening::Request { to, body, asker });
        }
        Ok(())
    }

    /// The node that a request is for. A bootstrap server is a name behind which its node is found wherever it is. In the end the
    /// addresses that nodes have left lead to them again: a follower that knows its leader by such a one can stay with it for ever.
    fn listens_at(&self, request: &OutboundRequest) -> Option<usize> {
        let endpoint = &request.endpoint;
        self.nodes.iter().position(|node| {
            let own = node.endpoints().of(LISTENER);
            own.is_some_and(|own| {
                own.host == endpoint.host && (request.to.id.0 < 0 || own == endpoint || self.is_calm())
            })
        })
    }

    /// When the copies of a message arrive. Of one that is lost the asker learns nothing until its time is over.
    fn copies(&mut self, asker: Asker, from: NodeId, to: NodeId) -> Vec<Instant> {
        let copies = self.links.copies(from, to, self.now, &mut self.rng);
        for (happened, what) in [
            (copies.lost, Count::Lost),
            (copies.doubled, Count::Doubled),
            (copies.overtakes, Count::Overtaken),
        ] {
            if happened {
                self.counts.add(what);
            }
        }
        if copies.arrivals.is_empty() {
            self.fail(asker, REQUEST_TIMEOUT);
        }
        copies.arrivals
    }

    fn answer(&mut self, from: usize, asker: Asker, body: Option<Bytes>) -> Result<(), Violation> {
        let Some(mut body) = body else {
            self.fail(asker, Duration::from_millis(1));
            return Ok(());
        };
        if self.world.lie == Some(Lie::VotesForAll) && asker.api == PeerApi::Vote {
            body = granted(&body, asker.version);
        }
        let id = self.nodes[from].id;
        if let Some(fact) = vote_granted(id, &asker, &body).or_else(|| replicated(id, &asker, &body)) {
            self.observe(&fact)?;
        }
        for at in self.copies(asker, id, asker.node) {
            let happening = Happening::Answer {
                from: ReplicaKey::without_directory(id),
                body: body.clone(),
                asker,
            };
            self.agenda.enter(at, happening);
        }
        Ok(())
    }
}

/// What a request tells of its sender.
fn told(node: NodeId, body: &PeerRequest) -> Option<Fact> {
    let leads = matches!(
        body,
        PeerRequest::BeginQuorumEpoch { .. } | PeerRequest::EndQuorumEpoch { .. }
    );
    let (epoch, campaigns, log_end) = match body {
        PeerRequest::Vote {
            epoch,
            log_end,
            pre_vote,
            ..
        } => (*epoch, !pre_vote, Some(*log_end)),
        PeerRequest::Fetch { epoch, log_end, .. } => (*epoch, false, Some(*log_end)),
        PeerRequest::BeginQuorumEpoch { epoch, .. }
        | PeerRequest::EndQuorumEpoch { epoch, .. }
        | PeerRequest::FetchSnapshot { epoch, .. }
        | PeerRequest::UpdateRaftVoter { epoch, .. } => (*epoch, false, None),
        PeerRequest::ApiVersions | PeerRequest::AddRaftVoter { .. } | PeerRequest::RemoveRaftVoter { .. } => {
            return None;
        }
    };
    Some(Fact::Told {
        node,
        epoch,
        campaigns,
        leads,
        log_end,
    })
}

/// The vote that an answer gives.
fn vote_granted(node: NodeId, asker: &Asker, body: &Bytes) -> Option<Fact> {
    if !asker.campaigns {
        return None;
    }
    let response = VoteResponse::from_bytes(body, asker.version).ok()?;
    let partition = response.topics.first()?.partitions.first()?;
    partition.vote_granted.then_some(Fact::Granted {
        node,
        epoch: Epoch(partition.leader_epoch),
        candidate: asker.node,
    })
}

/// The batches that an answer brings of the log of a leader.
fn replicated(node: NodeId, asker: &Asker, body: &Bytes) -> Option<Fact> {
    if asker.api != PeerApi::Fetch {
        return None;
    }
    let mut response = FetchResponse::from_bytes(body, asker.version).ok()?;
    let partition = response.responses.pop()?.partitions.pop()?;
    let records = partition.records.filter(|records| !records.is_empty())?;
    Some(Fact::Replicated {
        node,
        epoch: Epoch(partition.current_leader.leader_epoch),
        batches: marks(records),
    })
}

/// The version at which a node from before KIP-853 is asked and asks, if it knows the request at all.
fn old_version(api: PeerApi) -> Option<i16> {
    match api {
        PeerApi::Fetch => Some(16),
        PeerApi::DescribeQuorum => Some(1),
        PeerApi::Vote
        | PeerApi::BeginQuorumEpoch
        | PeerApi::EndQuorumEpoch
        | PeerApi::FetchSnapshot
        | PeerApi::ApiVersions => Some(0),
        PeerApi::AddRaftVoter | PeerApi::RemoveRaftVoter | PeerApi::UpdateRaftVoter => None,
    }
}

/// An answer to a Vote, turned into a grant.
fn granted(body: &Bytes, version: i16) -> Bytes {
    let mut response = VoteResponse::from_bytes(body, version).expect("our own answer can be read");
    for partition in response.topics.iter_mut().flat_map(|topic| &mut topic.partitions) {
        partition.vote_granted = true;
    }
    response.to_bytes(version).expect("what was read can be written")
}
