//! Three replicas with the network between them.

use crate::{
    history::{Broken, History},
    log::{DAMAGED, SOUND, Snapshot},
    message::{Body, Message, ORPHAN, answer_event, features_event, place, request_event},
    node::{Caller, Node, REPLICAS, Voters, voter},
};
use kraft_core::{
    Action, Answer, BatchInfo, ControlRecord, DiskOp, Epoch, ErrorCode, Event, FetchPlan, PayloadId,
    PeerRequest, ReplyId, RequestId, RoleName, SnapshotId, VoterChange,
};
use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

/// More messages than this from one replica to another push out the oldest one.
const IN_FLIGHT: usize = 2;

/// Whoever is outside of the model and waits for an answer.
const CLIENT: ReplyId = ReplyId(1);

/// What may happen at all.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) voters: Voters,
    /// The replicas whose clocks go on while they do not lead, which is who campaigns.
    pub(crate) clocks: &'static [usize],
    /// The replicas whose disks take their time.
    pub(crate) slow: &'static [usize],
    /// The replicas that may crash.
    pub(crate) crash: &'static [usize],
    /// Whether a crash may come when everything is on disk, so that only the memory is lost.
    pub(crate) quiet_crash: bool,
    /// Whether a Fetch may arrive.
    pub(crate) fetch: bool,
    /// The changes of the voter set that somebody may ask for.
    pub(crate) changes: &'static [Change],
    pub(crate) epochs: Epoch,
    /// The most batches of a log.
    pub(crate) entries: usize,
}

/// A change of the voter set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Add(usize),
    Remove(usize),
}

/// How often each of the things may still happen that could happen for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Budget {
    /// Deadlines that pass.
    pub(crate) timeouts: u8,
    pub(crate) crashes: u8,
    pub(crate) proposals: u8,
    /// Requests to change the voter set.
    pub(crate) changes: u8,
    /// Messages that arrive twice.
    pub(crate) duplicates: u8,
    /// Snapshots that a leader takes.
    pub(crate) snapshots: u8,
    /// Pieces of a snapshot that are damaged on their way.
    pub(crate) damages: u8,
}

#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) rules: &'static Rules,
    /// What a snapshot says of the voters.
    control: Arc<[ControlRecord]>,
    pub(crate) nodes: [Arc<Node>; REPLICAS],
    pub(crate) network: Vec<Message>,
    pub(crate) left: Budget,
    pub(crate) history: Arc<History>,
    pub(crate) broken: Option<Broken>,
}

/// One thing that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A message arrives.
    Deliver(usize),
    /// A message arrives, and will arrive again.
    Duplicate(usize),
    /// A piece of a snapshot arrives damaged.
    Damage(usize),
    /// The next deadline of a replica passes.
    TimeOut(usize),
    /// The disk of a replica has done everything.
    Flush(usize),
    /// A replica crashes and starts again. Only the first so many of the operations that it had ordered are done.
    Crash(usize, usize),
    /// A leader is given something to write.
    Propose(usize),
    /// A leader is asked to change the voter set.
    Change(usize, Change),
    /// A leader takes a snapshot of everything committed, and cleans its log.
    Snapshot(usize),
}

impl World {
    /// Replicas that start with nothing.
    pub(crate) fn new(rules: &'static Rules) -> Self {
        let started: [_; REPLICAS] = std::array::from_fn(|at| Node::start(at, rules.voters));
        let mut world = Self {
            rules,
            control: rules.voters.control().into(),
            nodes: std::array::from_fn(|at| Arc::new(started[at].0.clone())),
            network: Vec::new(),
            left: Budget::default(),
            history: Arc::default(),
            broken: None,
        };
        for (at, (_, out)) in started.into_iter().enumerate() {
            world.perform(at, out);
        }
        world
    }

    /// A quorum that replica 0 leads in epoch 1, with everything written and acknowledged. The others have just started
    /// again and fetch: no leader has answered them yet, so they would give a pre-vote.
    pub(crate) fn settled(rules: &'static Rules) -> Self {
        let mut world = Self::new(rules);
        world.flush_all();
        while world.nodes[0].replica.role() != RoleName::Leader {
            if !world.deliver_all() {
                world.time_out(0);
            }
        }
        world.deliver_all();
        for at in 1..REPLICAS {
            world.crash(at, 0);
        }
        world
    }

    fn flush_all(&mut self) {
        for at in 0..REPLICAS {
            while !self.nodes[at].queue.is_empty() {
                self.flush(at);
            }
        }
    }

    /// Lets every message arrive and every disk finish. Returns whether there was a message.
    pub(crate) fn deliver_all(&mut self) -> bool {
        let mut any = false;
        loop {
            self.flush_all();
            self.drop_what_is_late();
            if self.network.is_empty() {
                return any;
            }
            any = true;
            let message = self.network.remove(0);
            self.deliver(message, SOUND);
        }
    }

    /// What can happen next.
    pub(crate) fn steps(&self, steps: &mut Vec<Step>) {
        if self.broken.is_some() {
            return;
        }
        for (at, message) in self.network.iter().enumerate() {
            steps.push(Step::Deliver(at));
            if self.left.duplicates > 0 {
                steps.push(Step::Duplicate(at));
            }
            if self.left.damages > 0 && message.is_piece() {
                steps.push(Step::Damage(at));
            }
        }
        for (at, node) in self.nodes.iter().enumerate() {
            self.steps_of(at, node, steps);
        }
    }

    fn steps_of(&self, at: usize, node: &Node, steps: &mut Vec<Step>) {
        let left = &self.left;
        if !node.queue.is_empty() {
            steps.push(Step::Flush(at));
        }
        let leads = node.replica.role() == RoleName::Leader;
        if left.timeouts > 0 && self.rules.clocks.contains(&at) && !leads {
            steps.push(Step::TimeOut(at));
        }
        if left.crashes > 0 && self.rules.crash.contains(&at) {
            let most = node.queue.len() + usize::from(self.rules.quiet_crash);
            steps.extend((0..most).map(|done| Step::Crash(at, done)));
        }
        if !leads {
            return;
        }
        if left.proposals > 0 {
            steps.push(Step::Propose(at));
        }
        if left.changes > 0 {
            let change = |change: &Change| Step::Change(at, *change);
            steps.extend(self.rules.changes.iter().map(change));
        }
        if left.snapshots > 0 && self.snapshot_of(at).is_some() {
            steps.push(Step::Snapshot(at));
        }
    }

    pub(crate) fn take(&mut self, step: Step) {
        let known = self.high_watermarks();
        match step {
            Step::Deliver(index) => {
                let message = self.network.remove(index);
                self.deliver(message, SOUND);
            }
            Step::Duplicate(index) => {
                self.left.duplicates -= 1;
                let message = self.network[index].clone();
                self.network[index].copy = true;
                self.deliver(message, SOUND);
            }
            Step::Damage(index) => {
                self.left.damages -= 1;
                let message = self.network.remove(index);
                self.deliver(message, DAMAGED);
            }
            Step::TimeOut(at) => {
                self.left.timeouts -= 1;
                self.time_out(at);
            }
            Step::Flush(at) => self.flush(at),
            Step::Crash(at, done) => {
                self.left.crashes -= 1;
                self.crash(at, done);
            }
            Step::Propose(at) => {
                self.left.proposals -= 1;
                self.step(
                    at,
                    Event::Propose {
                        reply: CLIENT,
                        epoch: None,
                        records: 1,
                        bytes: 1,
                        payload: PayloadId(0),
                    },
                );
            }
            Step::Change(at, change) => {
                self.left.changes -= 1;
                self.change(at, change);
            }
            Step::Snapshot(at) => {
                self.left.snapshots -= 1;
                self.snapshot(at);
            }
        }
        self.drop_what_is_late();
        if !matches!(step, Step::Crash(..)) && went_back(known, self.high_watermarks()) {
            self.broken = Some(Broken::HighWatermark);
        }
    }

    fn high_watermarks(&self) -> [(Epoch, Option<i64>); REPLICAS] {
        std::array::from_fn(|at| {
            let replica = &self.nodes[at].replica;
            (replica.epoch(), replica.high_watermark())
        })
    }

    fn node(&mut self, at: usize) -> &mut Node {
        Arc::make_mut(&mut self.nodes[at])
    }

    fn step(&mut self, at: usize, event: Event) {
        let out = self.node(at).step(event);
        self.perform(at, out);
    }

    fn time_out(&mut self, at: usize) {
        let out = self.node(at).time_out();
        self.perform(at, out);
    }

    fn flush(&mut self, at: usize) {
        let control = Arc::clone(&self.control);
        for event in self.node(at).flush(&control) {
            self.step(at, event);
        }
    }

    fn change(&mut self, at: usize, change: Change) {
        let change = match change {
            Change::Add(other) => VoterChange::Add {
                voter: voter(other),
                ack_when_committed: true,
            },
            Change::Remove(other) => VoterChange::Remove {
                voter: voter(other).key,
            },
        };
        self.step(
            at,
            Event::Reconfigure {
                reply: CLIENT,
                change,
            },
        );
    }

    /// The snapshot that a replica could take now: of everything committed and durable.
    fn snapshot_of(&self, at: usize) -> Option<SnapshotId> {
        let node = &self.nodes[at];
        let up_to = node.replica.high_watermark()?.min(node.durable.flushed);
        let batch = node.log.batches.iter().rfind(|batch| batch.last < up_to)?;
        Some(SnapshotId {
            end_offset: batch.last + 1,
            epoch: batch.epoch,
        })
    }

    fn snapshot(&mut self, at: usize) {
        let id = self
            .snapshot_of(at)
            .expect("the step is offered where there is one");
        let control = Arc::clone(&self.control);
        let node = self.node(at);
        for log in [&mut node.log, &mut node.durable] {
            log.add_snapshot(Snapshot {
                id,
                control: control.to_vec(),
            });
            log.clean(id);
        }
        node.settle();
    }

    fn crash(&mut self, at: usize, done: usize) {
        let (node, out) = self.nodes[at].crash(at, self.rules.voters, &self.control, done);
        self.nodes[at] = Arc::new(node);
        for message in &mut self.network {
            if message.asker() == at {
                message.request = ORPHAN;
            }
        }
        for other in 0..REPLICAS {
            let node = self.node(other);
            for caller in node.callers.values_mut().filter(|caller| caller.from == at) {
                caller.request = ORPHAN;
            }
        }
        self.perform(at, out);
    }

    fn deliver(&mut self, message: Message, payload: PayloadId) {
        let Message {
            from, to, request, ..
        } = message;
        match &*message.body {
            Body::Request(PeerRequest::ApiVersions) => {
                self.send(Message::new(to, from, request, Body::Features));
            }
            Body::Request(body) => self.deliver_request(from, to, request, body.clone()),
            Body::Answer(answer, batches) => {
                self.step(to, answer_event(request, from, answer, batches, payload));
            }
            Body::Features => self.step(to, features_event(request, from)),
        }
    }

    fn deliver_request(&mut self, from: usize, to: usize, request: RequestId, body: PeerRequest) {
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
        // By the asker, so that equal states get equal numbers.
        let first = 10 * (from as u64 + 1);
        let reply = (first..)
            .map(ReplyId)
            .find(|reply| !node.callers.contains_key(reply))
            .expect("there are many numbers");
        node.callers.insert(reply, caller);
        self.step(to, request_event(reply, from, to, body));
    }

    fn perform(&mut self, at: usize, out: Vec<Action>) {
        let control = Arc::clone(&self.control);
        for action in out {
            match action {
                Action::Disk { ticket, op } => {
                    if let DiskOp::TruncateFully { snapshot } = &op
                        && !self.nodes[at].durable.holds(*snapshot)
                    {
                        self.broken = Some(Broken::UnverifiedSnapshot);
                        return;
                    }
                    self.node(at).order(ticket, op, &control);
                }
                Action::Send { to, ref body, .. } => {
                    let is_fetch = matches!(body, PeerRequest::Fetch { .. });
                    if place(to.id).is_some() && (self.rules.fetch || !is_fetch) {
                        self.node(at).held.push(action);
                    }
                }
                Action::Reply { reply, .. } => {
                    if self.nodes[at].callers.contains_key(&reply) {
                        self.node(at).held.push(action);
                    }
                }
                Action::Commit { high_watermark } => self.commit(at, high_watermark),
                Action::Transition {
                    role: RoleName::Leader,
                    epoch,
                    ..
                } => {
                    let led = Arc::make_mut(&mut self.history).lead(at, epoch);
                    self.note(led);
                }
                Action::Fatal { reason } => panic!("replica {at} gives up: {reason}"),
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
        let node = &self.nodes[at];
        node.replica.check_invariants(&node.log);
        self.release(at);
        if !self.rules.slow.contains(&at) && !self.nodes[at].queue.is_empty() {
            return self.flush(at);
        }
        self.node(at).settle();
    }

    fn note(&mut self, seen: Result<(), Broken>) {
        if let Err(broken) = seen {
            self.broken = Some(broken);
        }
    }

    fn commit(&mut self, at: usize, high_watermark: i64) {
        let node = Arc::clone(&self.nodes[at]);
        let new = node
            .log
            .batches
            .iter()
            .filter(|batch| batch.last < high_watermark);
        for batch in new {
            let known = self.history.end();
            let committed = Arc::make_mut(&mut self.history).commit(batch, node.replica.epoch());
            self.note(committed);
            let is_new = self.history.end() > known;
            let voters = node.replica.voters();
            let on_disk = voters.ids().filter(|id| {
                place(*id).is_some_and(|at| {
                    let log = &self.nodes[at].durable;
                    log.start > batch.base
                        || log
                            .batch_at(batch.base)
                            .is_some_and(|own| own.epoch == batch.epoch)
                })
            });
            if is_new && on_disk.count() < voters.majority() {
                self.broken = Some(Broken::CommittedByFew);
            }
        }
    }

    /// Sends what has waited for the disk and need not wait any longer.
    fn release(&mut self, at: usize) {
        let node = self.node(at);
        let up_to = node.durable_up_to;
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
                    self.check_request(at, &body);
                    let to = place(to.id).expect("others are not held");
                    self.send(Message::new(at, to, request, Body::Request(body)));
                }
                Action::Reply { reply, answer, .. } => self.answer(at, reply, answer),
                _ => {}
            }
        }
    }

    /// Looks whether what a request says of its sender is on disk.
    fn check_request(&mut self, at: usize, body: &PeerRequest) {
        let node = &self.nodes[at];
        let is_durable = match body {
            PeerRequest::Vote { epoch, log_end, .. } | PeerRequest::Fetch { epoch, log_end, .. } => {
                // In a later epoch the log may have been cut since.
                let is_over = node.replica.epoch() > *epoch;
                self.epoch_on_disk(at) >= *epoch && (is_over || node.durable.reaches(*log_end))
            }
            PeerRequest::BeginQuorumEpoch { epoch, .. }
            | PeerRequest::EndQuorumEpoch { epoch, .. }
            | PeerRequest::FetchSnapshot { epoch, .. }
            | PeerRequest::UpdateRaftVoter { epoch, .. } => self.epoch_on_disk(at) >= *epoch,
            PeerRequest::ApiVersions
            | PeerRequest::AddRaftVoter { .. }
            | PeerRequest::RemoveRaftVoter { .. } => true,
        };
        if !is_durable {
            self.broken = Some(Broken::DurableFirst);
        }
        if let PeerRequest::Vote {
            epoch,
            pre_vote: false,
            ..
        } = body
        {
            let voted = Arc::make_mut(&mut self.history).vote(at, *epoch, at);
            self.note(voted);
        }
    }

    fn epoch_on_disk(&self, at: usize) -> Epoch {
        let stored = self.nodes[at].durable.election.as_ref();
        stored.map_or(Epoch(0), |state| state.epoch)
    }

    fn answer(&mut self, at: usize, reply: ReplyId, mut answer: Answer) {
        let Some(caller) = self.node(at).callers.remove(&reply) else {
            return;
        };
        let mut batches = Vec::new();
        let revealed = match &mut answer {
            Answer::Vote { partition, granted } => {
                if let Some(epoch) = caller.votes_in.filter(|_| *granted) {
                    let voted = Arc::make_mut(&mut self.history).vote(at, epoch, caller.from);
                    self.note(voted);
                }
                partition.epoch
            }
            Answer::Fetch { partition, plan, .. } => {
                if let FetchPlan::Read { from, up_to, .. } = plan {
                    let log = &self.nodes[at].log;
                    let stops = |batch: &BatchInfo| up_to.is_some_and(|end| batch.last >= end);
                    let asked = log
                        .batches
                        .iter()
                        .filter(|batch| batch.base >= *from && !stops(batch));
                    batches.extend(asked.map(|batch| BatchInfo::clone(batch)));
                    if batches.first().is_none_or(|first| first.base != *from) {
                        // The read meets a newer truncation.
                        batches.clear();
                        *plan = FetchPlan::Empty;
                        partition.error = ErrorCode::NotLeaderOrFollower;
                    }
                }
                partition.epoch
            }
            Answer::BeginQuorumEpoch(partition)
            | Answer::EndQuorumEpoch(partition)
            | Answer::UpdateRaftVoter(partition)
            | Answer::FetchSnapshot { partition, .. } => partition.epoch,
            Answer::TopLevel(_)
            | Answer::VoterChange(_)
            | Answer::UpgradeKRaftVersion(_)
            | Answer::DescribeQuorum(_) => Epoch(0),
        };
        if revealed > self.epoch_on_disk(at) {
            self.broken = Some(Broken::DurableFirst);
        }
        if is_mere_consent(&answer) {
            // It would only say that the next announcement may leave, and there is none while the clock of the leader
            // stands still. It is lost, always.
            return;
        }
        let body = Body::Answer(answer, batches);
        self.send(Message::new(at, caller.from, caller.request, body));
    }

    fn send(&mut self, message: Message) {
        let same_link = |other: &Message| (other.from, other.to) == (message.from, message.to);
        if self.network.iter().filter(|other| same_link(other)).count() >= IN_FLIGHT {
            let oldest = self.network.iter().position(same_link).expect("the link is full");
            self.network.remove(oldest);
        }
        self.network.push(message);
    }

    /// The core knows an answer that it does not wait for by its number and ignores it. Whoever does not wait any more
    /// has closed the connection, so that requests of no consequence are lost, other than copies, and nothing is kept for it. A vote that
    /// binds and the announcements of leaders arrive all the same, unless they are of an epoch that is over for good and
    /// would only be refused.
    fn drop_what_is_late(&mut self) {
        for at in 0..REPLICAS {
            while let Some(reply) = self.gone_caller(at) {
                let node = self.node(at);
                node.callers.remove(&reply);
                node.held
                    .retain(|action| !matches!(action, Action::Reply { reply: held, .. } if *held == reply));
                self.step(at, Event::CallerGone { reply });
            }
        }
        let mut network = std::mem::take(&mut self.network);
        network.retain(|message| {
            let is_request = matches!(*message.body, Body::Request(_));
            self.is_awaited(message.asker(), message.request)
                || (message.copy && is_request)
                || message
                    .binds_in()
                    .is_some_and(|epoch| epoch >= self.epoch_on_disk(message.to))
        });
        self.network = network;
    }

    /// Somebody whose request is in the hands of `at` and who does not wait for the answer.
    fn gone_caller(&self, at: usize) -> Option<ReplyId> {
        let mut callers = self.nodes[at].callers.iter();
        let gone = callers.find(|(_, caller)| !self.is_awaited(caller.from, caller.request));
        gone.map(|(reply, _)| *reply)
    }

    /// Whether the asking replica still waits for an answer to this.
    fn is_awaited(&self, asker: usize, request: RequestId) -> bool {
        self.nodes[asker].replica.awaits(request)
    }

    /// The leaders, whatever their epochs.
    pub(crate) fn leaders(&self) -> impl Iterator<Item = &Arc<Node>> {
        self.nodes
            .iter()
            .filter(|node| node.replica.role() == RoleName::Leader)
    }
}

/// Whether an answer says nothing but that an announcement has been heard.
fn is_mere_consent(answer: &Answer) -> bool {
    let (Answer::BeginQuorumEpoch(partition) | Answer::EndQuorumEpoch(partition)) = answer else {
        return false;
    };
    partition.error == ErrorCode::None
}

/// Whether somebody's high watermark has gone back within an epoch. A new leader and one that resigns know none.
fn went_back(before: [(Epoch, Option<i64>); REPLICAS], after: [(Epoch, Option<i64>); REPLICAS]) -> bool {
    before
        .into_iter()
        .zip(after)
        .any(|((old_epoch, old), (new_epoch, new))| {
            old_epoch == new_epoch && new.is_some_and(|new| old.is_some_and(|old| new < old))
        })
}

impl Hash for World {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for node in &self.nodes {
            node.folded.hash(state);
            for (reply, caller) in &node.callers {
                (reply, caller.from, caller.votes_in).hash(state);
            }
        }
        // The order on a link decides which message is pushed out; between links there is none.
        let mut links: [[[(u64, bool, bool); IN_FLIGHT]; REPLICAS]; REPLICAS] = Default::default();
        for message in &self.network {
            let awaited = self.is_awaited(message.asker(), message.request);
            let link = &mut links[message.from][message.to];
            let free = link
                .iter()
                .position(|place| place.0 == 0)
                .expect("links are short");
            link[free] = (message.folded | 1, awaited, message.copy);
        }
        links.hash(state);
        (self.left, &self.history, self.broken).hash(state);
    }
}

/// Equal is what goes on alike, which is what the fold says.
impl PartialEq for World {
    fn eq(&self, other: &Self) -> bool {
        let fold = |world: &Self| {
            let mut hasher = DefaultHasher::new();
            world.hash(&mut hasher);
            hasher.finish()
        };
        fold(self) == fold(other)
    }
}
