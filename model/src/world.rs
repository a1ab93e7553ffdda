//! Three replicas with the network between them, and what must never be seen.

use crate::{
    message::{Body, Message, answer_event, request_event},
    node::{Caller, Node, VOTERS},
};
use kraft_core::{Action, Answer, Epoch, PeerRequest, ReplyId, RoleName};
use std::{
    collections::BTreeMap,
    hash::{Hash, Hasher},
    sync::Arc,
};

/// More messages than this from one replica to another push out the oldest one.
const IN_FLIGHT: usize = 2;

/// What was promised or seen once and binds from then on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct History {
    pub(crate) leaders: BTreeMap<Epoch, usize>,
    /// The votes of each replica that others have heard of.
    pub(crate) votes: [BTreeMap<Epoch, usize>; VOTERS],
}

/// What must never be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Broken {
    /// Two leaders in one epoch.
    ElectionSafety,
    /// Two votes in one epoch.
    OneVote,
    /// A message reveals what a crash would take away.
    DurableFirst,
    /// The core panicked.
    Assertion,
}

#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) nodes: [Arc<Node>; VOTERS],
    pub(crate) network: Vec<Message>,
    /// How many deadlines may still pass.
    pub(crate) timeouts: u8,
    pub(crate) history: History,
    pub(crate) broken: Option<Broken>,
    /// The replicas whose clocks go on.
    pub(crate) clocks: &'static [usize],
}

/// One thing that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A message arrives.
    Deliver(usize),
    /// The next deadline of a replica passes.
    TimeOut(usize),
    /// The disk of a replica has done everything.
    Flush(usize),
}

impl World {
    /// Three replicas that start with nothing.
    pub(crate) fn new() -> Self {
        let started: [_; VOTERS] = std::array::from_fn(Node::start);
        let mut world = Self {
            nodes: std::array::from_fn(|place| Arc::new(started[place].0.clone())),
            network: Vec::new(),
            timeouts: 0,
            history: History::default(),
            broken: None,
            clocks: &[],
        };
        for (place, (_, out)) in started.into_iter().enumerate() {
            world.perform(place, out);
        }
        world
    }

    /// What can happen next.
    pub(crate) fn steps(&self, steps: &mut Vec<Step>) {
        if self.broken.is_some() {
            return;
        }
        steps.extend((0..self.network.len()).map(Step::Deliver));
        for (place, node) in self.nodes.iter().enumerate() {
            if !node.queue.is_empty() {
                steps.push(Step::Flush(place));
            }
            if self.clocks.contains(&place) && self.timeouts > 0 && node.replica.next_deadline().is_some() {
                steps.push(Step::TimeOut(place));
            }
        }
    }

    pub(crate) fn take(&mut self, step: Step) {
        match step {
            Step::Deliver(index) => {
                let message = self.network.remove(index);
                self.deliver(message);
            }
            Step::TimeOut(place) => {
                self.timeouts -= 1;
                let out = self.node(place).time_out();
                self.perform(place, out);
            }
            Step::Flush(place) => {
                let out = self.node(place).flush();
                self.perform(place, out);
            }
        }
        self.drop_late_answers();
    }

    fn node(&mut self, place: usize) -> &mut Node {
        Arc::make_mut(&mut self.nodes[place])
    }

    fn deliver(&mut self, message: Message) {
        let Message {
            from,
            to,
            request,
            body,
            ..
        } = message;
        let event = match body {
            Body::Request(body) => {
                let votes_in = match &body {
                    PeerRequest::Vote {
                        epoch,
                        pre_vote: false,
                        ..
                    } => Some(*epoch),
                    _ => None,
                };
                let caller = Caller {
                    from,
                    request,
                    votes_in,
                };
                let node = self.node(to);
                let reply = (1..)
                    .map(ReplyId)
                    .find(|reply| !node.callers.contains_key(reply))
                    .expect("there are many numbers");
                node.callers.insert(reply, caller);
                request_event(reply, from, to, body)
            }
            Body::Answer(answer) => answer_event(request, from, answer),
        };
        let out = self.node(to).step(event);
        self.perform(to, out);
    }

    fn perform(&mut self, place: usize, out: Vec<Action>) {
        for action in out {
            match action {
                Action::Disk { ticket, op } => {
                    self.node(place).order(ticket, op);
                }
                Action::Send { request, to, .. } => {
                    let node = self.node(place);
                    node.latest[crate::message::place(to.id)] = Some(request);
                    node.held.push(action);
                }
                Action::Reply { .. } => self.node(place).held.push(action),
                Action::Commit { high_watermark } => {
                    panic!("{high_watermark} is committed, and nobody fetches")
                }
                Action::Transition {
                    role: RoleName::Leader,
                    epoch,
                    ..
                } => self.lead(place, epoch),
                Action::Fatal { reason } => panic!("replica {place} gives up: {reason}"),
                Action::Accept { .. }
                | Action::Refuse { .. }
                | Action::Outcome { .. }
                | Action::ReadBarrier { .. }
                | Action::Transition { .. }
                | Action::Lead { .. }
                | Action::Unlead
                | Action::Discard { .. }
                | Action::AbandonSnapshot { .. }
                | Action::ShutdownComplete { .. } => {}
            }
        }
        let node = &self.nodes[place];
        node.replica.check_invariants(&node.log);
        self.release(place);
        self.node(place).settle();
    }

    /// Sends what has waited for the disk and need not wait any longer.
    fn release(&mut self, place: usize) {
        let node = self.node(place);
        let up_to = node.durable_up_to;
        let durable = &node.durable;
        let epoch_on_disk = durable.election.as_ref().map_or(Epoch(0), |state| state.epoch);
        let end_on_disk = durable.end;
        let mut hasty = false;
        let (ready, held) = std::mem::take(&mut node.held)
            .into_iter()
            .partition(|action| match action {
                Action::Send { after, .. } | Action::Reply { after, .. } => *after <= up_to,
                _ => false,
            });
        node.held = held;
        for action in ready {
            match action {
                Action::Send {
                    request, to, body, ..
                } => {
                    if let PeerRequest::Vote { epoch, log_end, .. } = &body {
                        hasty |= *epoch > epoch_on_disk || *log_end != end_on_disk;
                    }
                    if let PeerRequest::Vote {
                        epoch,
                        pre_vote: false,
                        ..
                    } = &body
                    {
                        self.vote(place, *epoch, place);
                    }
                    // This model is about elections: every Fetch is lost.
                    if matches!(body, PeerRequest::Fetch { .. }) {
                        continue;
                    }
                    let to = crate::message::place(to.id);
                    self.send(Message::new(place, to, request, Body::Request(body)));
                }
                Action::Reply { reply, answer, .. } => {
                    if let Answer::Vote { partition, .. } = &answer {
                        hasty |= partition.epoch > epoch_on_disk;
                    }
                    self.answer(place, reply, answer);
                }
                _ => {}
            }
        }
        if hasty {
            self.broken = Some(Broken::DurableFirst);
        }
    }

    fn answer(&mut self, place: usize, reply: ReplyId, answer: Answer) {
        let Some(caller) = self.node(place).callers.remove(&reply) else {
            return;
        };
        if let (Some(epoch), Answer::Vote { granted: true, .. }) = (caller.votes_in, &answer) {
            self.vote(place, epoch, caller.from);
        }
        let body = Body::Answer(answer);
        self.send(Message::new(place, caller.from, caller.request, body));
    }

    fn send(&mut self, message: Message) {
        let same_link = |other: &Message| (other.from, other.to) == (message.from, message.to);
        if self.network.iter().filter(|other| same_link(other)).count() >= IN_FLIGHT {
            let oldest = self.network.iter().position(same_link).expect("the link is full");
            self.network.remove(oldest);
        }
        self.network.push(message);
    }

    fn vote(&mut self, place: usize, epoch: Epoch, candidate: usize) {
        if *self.history.votes[place].entry(epoch).or_insert(candidate) != candidate {
            self.broken = Some(Broken::OneVote);
        }
    }

    fn lead(&mut self, place: usize, epoch: Epoch) {
        if *self.history.leaders.entry(epoch).or_insert(place) != place {
            self.broken = Some(Broken::ElectionSafety);
        }
    }

    /// The core knows an answer that it does not wait for by its number and ignores it.
    fn drop_late_answers(&mut self) {
        let mut network = std::mem::take(&mut self.network);
        network.retain(|message| {
            matches!(message.body, Body::Request(_))
                || self.is_awaited(message.to, message.from, message.request)
        });
        self.network = network;
    }

    /// Whether the asking replica may still wait for an answer to this.
    fn is_awaited(&self, asker: usize, asked: usize, request: kraft_core::RequestId) -> bool {
        self.nodes[asker].latest[asked] == Some(request)
    }
}

impl Hash for World {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for (at, node) in self.nodes.iter().enumerate() {
            node.folded.hash(state);
            for (reply, caller) in &node.callers {
                let awaited = self.is_awaited(caller.from, at, caller.request);
                (reply, caller.from, caller.votes_in, awaited).hash(state);
            }
        }
        // The order on a link decides which message is pushed out; between links there is none.
        let mut links: [[Vec<(u64, bool)>; VOTERS]; VOTERS] = Default::default();
        for message in &self.network {
            let asker = message.asker();
            let asked = message.from + message.to - asker;
            let awaited = self.is_awaited(asker, asked, message.request);
            links[message.from][message.to].push((message.folded, awaited));
        }
        links.hash(state);
        (self.timeouts, &self.history, self.broken).hash(state);
    }
}

/// Equal is what goes on alike, which is what the fold says.
impl PartialEq for World {
    fn eq(&self, other: &Self) -> bool {
        let fold = |world: &Self| {
            let mut hasher = std::collections::hash_map::DefaultHasher::new();
            world.hash(&mut hasher);
            hasher.finish()
        };
        fold(self) == fold(other)
    }
}
