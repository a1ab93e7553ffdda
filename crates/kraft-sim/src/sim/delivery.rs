//! Between the nodes: requests and answers on their way, and the turns that they cause.

use super::{
    node::{Aftermath, Asker, Served, end_text},
    quorum::{Happening, LISTENER, REQUEST_TIMEOUT, Sight, Simulation, violation},
    recorded::Recorded,
    settings::Lie,
};
use crate::{checker::Violation, scenario::names};
use bytes::Bytes;
use kraft_core::{Instant, NodeId, ReplicaKey, RequestFault, StateMachine, Text};
use kraft_transport::{
    Command, Inbound, OutboundRequest, PeerApi,
    codec::{Topic, encode_request},
    oneshot,
};
use kraft_wire::{Message as _, message::VoteResponse};
use std::{sync::Arc, time::Duration};

impl<S: StateMachine> Simulation<S> {
    /// A request arrives.
    pub(super) fn request(&mut self, to: usize, body: Bytes, asker: Asker) -> Result<(), Violation> {
        if !self.nodes[to].is_up() {
            let refused = self.settings.network.refuses;
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
        self.nodes[to].serve(Served { reply, asker });
        self.nodes[to].enqueue(Command::Inbound(inbound), self.now);
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

    /// Takes a turn of a node, and carries away what it wants.
    pub(super) fn turn(&mut self, node: usize) -> Result<(), Violation> {
        let now = self.time();
        let Some(Aftermath { turn, answers, facts }) = self.nodes[node].turn(now) else {
            return Ok(());
        };
        for fact in facts {
            self.count(node, &fact);
            self.observe(&fact)?;
        }
        for (asker, body) in answers {
            self.answer(node, asker, body);
        }
        for request in self.nodes[node].take_outbox() {
            self.send(node, request);
        }
        if let Some(ended) = turn.ended {
            if let Some(witness) = &mut self.witness {
                let node = self.nodes[node].id;
                witness(self.now, Sight::Ended { node, how: &ended });
            }
            if !self.nodes[node].ended(&ended, &mut self.rng, self.settings.lie) {
                let detail = format!("node {}: {}", node + 1, end_text(&ended));
                return Err(violation("a node goes on", detail));
            }
            return self.is_down(node);
        }
        let life = self.nodes[node].life;
        if self.nodes[node].wants_round() {
            let time = self.disk_time();
            self.agenda
                .enter(self.now.after(time), Happening::Round { node, life });
        }
        let read = Duration::from_micros(self.rng.between(50, 2000));
        self.agenda_background(node, life, read);
        if let Some(next) = turn.next {
            self.wake(node, life, next);
        }
        Ok(())
    }

    pub(super) fn agenda_background(&mut self, node: usize, life: u64, after: Duration) {
        if self.nodes[node].has_background_work() {
            self.agenda
                .enter(self.now.after(after), Happening::Background { node, life });
        }
    }

    pub(super) fn wake(&mut self, node: usize, life: u64, at: Instant) {
        if self.nodes[node].wake_earlier(at, self.now) {
            self.agenda
                .enter(at.max(self.now), Happening::Wake { node, life });
        }
    }

    pub(super) fn send(&mut self, from: usize, request: OutboundRequest) {
        if let Some(witness) = &mut self.witness {
            let sight = Sight::Request {
                from: self.nodes[from].id,
                to: &request.endpoint,
                body: &request.body,
            };
            witness(self.now, sight);
        }
        let api = PeerApi::of(&request.body);
        let mut asker = Asker {
            node: self.nodes[from].id,
            life: self.nodes[from].life,
            request: request.request,
            api,
            version: *api.versions().end(),
        };
        let to = self
            .nodes
            .iter()
            .position(|node| host(node.id) == request.endpoint.host);
        let Some(to) = to else {
            return self.fail(asker, Duration::from_millis(1));
        };
        let is_old = self.nodes[from].is_old || self.nodes[to].is_old;
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
            return self
                .agenda
                .enter(self.now.after(Duration::from_millis(1)), happening);
        };
        let copies = self.links.copies(asker.node, self.nodes[to].id, &mut self.rng);
        if copies.is_empty() {
            return self.fail(asker, REQUEST_TIMEOUT);
        }
        for delay in copies {
            let body = body.clone();
            self.agenda
                .enter(self.now.after(delay), Happening::Request { to, body, asker });
        }
    }

    pub(super) fn answer(&mut self, from: usize, asker: Asker, body: Option<Bytes>) {
        let Some(mut body) = body else {
            return self.fail(asker, Duration::from_millis(1));
        };
        if self.settings.lie == Some(Lie::VotesForAll) && asker.api == PeerApi::Vote {
            body = granted(&body, asker.version);
        }
        let id = self.nodes[from].id;
        let copies = self.links.copies(id, asker.node, &mut self.rng);
        if copies.is_empty() {
            return self.fail(asker, REQUEST_TIMEOUT);
        }
        for delay in copies {
            let happening = Happening::Answer {
                from: ReplicaKey::without_directory(id),
                body: body.clone(),
                asker,
            };
            self.agenda.enter(self.now.after(delay), happening);
        }
    }
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

fn host(id: NodeId) -> Text {
    names::endpoint(id).host
}
