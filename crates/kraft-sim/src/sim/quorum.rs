//! The nodes of a quorum, and everything that happens between them.

use super::{
    agenda::Agenda,
    journal::Journal,
    network::Links,
    node::{Asker, Node},
    report::{Counts, Failure},
    rng::Rng,
    settings::{Lie, Settings},
    setup::{config, voter},
};
use crate::checker::{self, Checker, Fact, Violation};
use bytes::Bytes;
use kraft_core::{
    Endpoint, Event, Instant, NodeId, PeerRequest, ReplicaKey, RequestFault, RoleName, StateMachine, Time,
    VoterSet,
};
use kraft_transport::{Command, NodeError, PeerResponse};
use std::time::Duration;

pub(super) const LISTENER: &str = "CONTROLLER";

/// A quorum in virtual time.
pub struct Simulation<S: StateMachine> {
    pub(super) seed: u64,
    pub(super) settings: Settings,
    pub(super) rng: Rng,
    pub(super) now: Instant,
    pub(super) agenda: Agenda<Happening>,
    pub(super) nodes: Vec<Node<S>>,
    pub(super) links: Links,
    pub(super) checkers: Vec<Box<dyn Checker>>,
    pub(super) counts: Counts,
    pub(super) machine: Box<dyn Fn() -> S>,
    pub(super) record: Box<dyn Fn(u64) -> S::Record>,
    pub(super) proposed: u64,
    pub(super) led: Vec<Option<kraft_core::Epoch>>,
    phase: Phase,
    pub(super) witness: Option<Witness>,
}

/// The parts of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nodes crash, the network is cut and loses messages.
    Trouble,
    /// Nothing goes wrong any more, and clients go on.
    Calm,
    /// Clients are silent too, so that all nodes can come to the same state.
    Silence,
}

/// Somebody who is told everything that can be seen, with its moment.
type Witness = Box<dyn FnMut(Instant, Sight<'_>)>;

/// Something that can be seen.
#[derive(Debug, Clone, Copy)]
pub enum Sight<'a> {
    /// What the checkers are told.
    Fact(&'a Fact),
    /// A request sets out.
    Request {
        /// From this node.
        from: NodeId,
        /// To the node that listens there.
        to: &'a Endpoint,
        /// With this content.
        body: &'a PeerRequest,
    },
    /// A node ends by itself.
    Ended {
        /// Which one.
        node: NodeId,
        /// How.
        how: &'a Result<(), NodeError>,
    },
}

/// Something that happens at a moment.
pub(super) enum Happening {
    /// A request reaches a node.
    Request {
        to: usize,
        body: Bytes,
        asker: Asker,
    },
    /// An answer reaches the node that asked.
    Answer {
        from: ReplicaKey,
        body: Bytes,
        asker: Asker,
    },
    /// A request has no answer.
    Fault {
        asker: Asker,
        fault: RequestFault,
    },
    /// A node wanted to be woken.
    Wake {
        node: usize,
        life: u64,
    },
    /// The log thread of a node does a round.
    Round {
        node: usize,
        life: u64,
    },
    /// The other threads of a node do what they were asked for.
    Background {
        node: usize,
        life: u64,
    },
    Crash,
    Start {
        node: usize,
    },
    Partition,
    Snapshot,
    Propose,
}

impl Simulation<Journal> {
    /// A quorum that replicates a list of numbers.
    #[must_use]
    pub fn of_journals(seed: u64, settings: Settings) -> Self {
        Self::new(seed, settings, Journal::default, |number| number)
    }
}

impl<S: StateMachine> Simulation<S> {
    /// A quorum of state machines; `record` makes a record of a number, each number another one.
    ///
    /// # Panics
    /// If a disk in memory cannot be formatted.
    pub fn new(
        seed: u64,
        settings: Settings,
        machine: impl Fn() -> S + 'static,
        record: impl Fn(u64) -> S::Record + 'static,
    ) -> Self {
        let mut rng = Rng::new(seed);
        let ids: Vec<NodeId> = (1..=settings.voters + settings.observers)
            .map(|id| NodeId(id.cast_signed()))
            .collect();
        let dynamic = settings.dynamic_voters.unwrap_or_else(|| rng.chance(500));
        let (voting, _) = ids.split_at(settings.voters as usize);
        let voters: VoterSet = voting.iter().map(|id| voter(*id, dynamic)).collect();
        let nodes: Vec<Node<S>> = ids
            .iter()
            .map(|id| {
                let config = config(*id, &voters, dynamic, rng.next());
                let is_old = !dynamic && settings.old_per_mille > 0 && rng.chance(settings.old_per_mille);
                let mut node = Node::new(*id, config, dynamic.then(|| voters.clone()), is_old);
                node.snapshot_after(settings.snapshot_new_bytes);
                node
            })
            .collect();
        Self {
            seed,
            links: Links::new(settings.network.clone()),
            settings,
            rng,
            now: Instant(0),
            agenda: Agenda::new(),
            led: vec![None; nodes.len()],
            nodes,
            checkers: checker::all(),
            counts: Counts::default(),
            machine: Box::new(machine),
            record: Box::new(record),
            proposed: 0,
            phase: Phase::Trouble,
            witness: None,
        }
    }

    /// Puts records into the bootstrap checkpoint of every node, as formatting would.
    ///
    /// # Panics
    /// If a record cannot stand in a checkpoint.
    #[must_use]
    pub fn with_bootstrap(mut self, records: &[Vec<u8>]) -> Self {
        for node in &mut self.nodes {
            node.format(records);
        }
        self
    }

    /// Watches with these checkers instead of all.
    #[must_use]
    pub fn with_checkers(mut self, checkers: Vec<Box<dyn Checker>>) -> Self {
        self.checkers = checkers;
        self
    }

    /// Shows somebody everything that can be seen, facts before the checkers judge them.
    #[must_use]
    pub fn with_witness(mut self, witness: impl FnMut(Instant, Sight<'_>) + 'static) -> Self {
        self.witness = Some(Box::new(witness));
        self
    }

    /// Starts all nodes, for somebody who decides himself what happens.
    pub(crate) fn start_all(&mut self) -> Result<(), Violation> {
        (0..self.nodes.len()).try_for_each(|node| self.start(node))
    }

    /// Lets time pass until a moment, or until something is so.
    pub(crate) fn pass(&mut self, time: Duration, done: impl Fn(&Self) -> bool) -> Result<(), Violation> {
        let end = self.now.after(time);
        self.play_until(end, done)
    }

    pub(crate) fn now(&self) -> Instant {
        self.now
    }

    pub(crate) fn nodes(&self) -> &[Node<S>] {
        &self.nodes
    }

    pub(crate) fn links(&mut self) -> &mut Links {
        &mut self.links
    }

    /// Ends a node without warning, for good until it is started.
    pub(crate) fn kill(&mut self, node: usize) -> Result<(), Violation> {
        self.nodes[node].crash(&mut self.rng, None);
        let id = self.nodes[node].id;
        self.observe(&Fact::Crashed { node: id })
    }

    /// Asks a node to end gracefully.
    pub(crate) fn stop(&mut self, node: usize) -> Result<(), Violation> {
        self.nodes[node].stop(self.now);
        self.turn(node)
    }

    /// Has a node write a snapshot.
    pub(crate) fn snapshot(&mut self, node: usize) -> Result<(), Violation> {
        self.nodes[node].snapshot(self.now);
        self.turn(node)
    }

    /// Lets the disk of a node fail behind so many calls.
    #[cfg(test)]
    pub(crate) fn fail_disk_after(&mut self, node: usize, calls: u64, fault: kraft_fs::Fault) {
        self.nodes[node].fail_disk_after(calls, fault);
    }

    /// What the checkers can only say at the end.
    pub(crate) fn finish_checks(&self) -> Result<(), Violation> {
        self.checkers.iter().try_for_each(|checker| checker.finish())
    }

    /// Proposes a record at a node.
    pub(crate) fn propose_at(&mut self, node: usize) -> Result<(), Violation> {
        let record = self.next_record();
        self.nodes[node].propose(vec![record], self.now);
        self.turn(node)
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// An invariant does not hold, a node ends by itself or cannot start, or the quorum makes no progress in the end.
    pub fn run(mut self) -> Result<Counts, Failure> {
        let outcome = self.play();
        match outcome {
            Ok(()) => Ok(self.counts),
            Err(violation) => Err(Failure {
                seed: self.seed,
                at_ms: self.now.0 / 1000,
                violation,
            }),
        }
    }

    fn play(&mut self) -> Result<(), Violation> {
        for node in 0..self.nodes.len() {
            if self.rng.chance(self.settings.late_per_mille) {
                self.plan(Some(self.settings.duration / 3), Happening::Start { node });
            } else {
                self.start(node)?;
            }
        }
        self.plan(self.settings.snapshot_every, Happening::Snapshot);
        self.plan(self.settings.crash_every, Happening::Crash);
        self.plan(self.settings.partition_every, Happening::Partition);
        self.plan(Some(self.settings.propose_every), Happening::Propose);
        let trouble = Instant(0).after(self.settings.duration);
        self.play_until(trouble, |_| false)?;
        self.calm_down()?;
        let wanted = self.counts.commits + 3;
        let settled = trouble.after(self.settings.settle);
        self.play_until(settled, |simulation| simulation.counts.commits >= wanted)?;
        self.phase = Phase::Silence;
        self.play_until(settled, Self::all_agree)?;
        if self.counts.commits < wanted || !self.all_agree() {
            let seconds = self.settings.settle.as_secs();
            let detail =
                format!("{seconds} s after the network has healed the quorum has not committed on all nodes");
            return Err(violation("progress", detail));
        }
        self.finish_checks()
    }

    fn play_until(&mut self, end: Instant, done: impl Fn(&Self) -> bool) -> Result<(), Violation> {
        while !done(self) {
            let Some((at, happening)) = self.agenda.next() else {
                return Ok(());
            };
            if at > end {
                self.agenda.enter(at, happening);
                self.now = end;
                return Ok(());
            }
            self.now = self.now.max(at);
            self.counts.events += 1;
            self.happen(happening)?;
        }
        Ok(())
    }

    /// The network recovers, and everybody is started.
    fn calm_down(&mut self) -> Result<(), Violation> {
        self.phase = Phase::Calm;
        self.links.recover();
        for node in 0..self.nodes.len() {
            if !self.nodes[node].is_up() {
                self.start(node)?;
            }
        }
        Ok(())
    }

    /// Whether all nodes that are up know the same high watermark.
    pub(crate) fn all_agree(&self) -> bool {
        let up = self.nodes.iter().filter(|node| node.is_up());
        let mut marks = up.map(Node::high_watermark);
        let first = marks.next().flatten();
        first.is_some() && marks.all(|mark| mark == first)
    }

    /// Enters a recurring happening at a random moment around its mean distance.
    fn plan(&mut self, every: Option<Duration>, happening: Happening) {
        if let Some(every) = every {
            let mean = u64::try_from(every.as_micros()).unwrap_or(u64::MAX);
            let wait = self.rng.between(1, mean.saturating_mul(2));
            self.agenda
                .enter(self.now.after(Duration::from_micros(wait)), happening);
        }
    }

    pub(super) fn time(&self) -> Time {
        Time {
            mono: self.now,
            wall_ms: i64::try_from(self.now.0 / 1000).expect("runs are short"),
        }
    }

    fn happen(&mut self, happening: Happening) -> Result<(), Violation> {
        match happening {
            Happening::Request { to, body, asker } => self.request(to, body, asker),
            Happening::Answer { from, body, asker } => {
                let response = PeerResponse {
                    request: asker.request,
                    from,
                    version: asker.version,
                    body,
                };
                match Command::response(asker.api, response) {
                    Some(command) => self.deliver(asker, command),
                    None => Ok(()),
                }
            }
            Happening::Fault { asker, fault } => {
                let event = Event::RequestFailed {
                    request: asker.request,
                    fault,
                };
                self.deliver(asker, Command::Event(event))
            }
            Happening::Wake { node, life } => {
                if self.nodes[node].life == life {
                    self.turn(node)?;
                }
                Ok(())
            }
            Happening::Round { node, life } => self.round(node, life),
            Happening::Background { node, life } => {
                if self.nodes[node].life == life && self.nodes[node].background(self.now) {
                    self.turn(node)?;
                }
                Ok(())
            }
            Happening::Crash => self.crash(),
            Happening::Start { node } => {
                if self.nodes[node].is_up() {
                    Ok(())
                } else {
                    self.start(node)
                }
            }
            Happening::Partition => {
                if self.phase == Phase::Trouble {
                    if self.rng.chance(400) {
                        self.links.heal();
                    } else {
                        let ids: Vec<_> = self.nodes.iter().map(|node| node.id).collect();
                        self.links.cut_at_random(&ids, &mut self.rng);
                        self.counts.partitions += 1;
                    }
                    self.plan(self.settings.partition_every, Happening::Partition);
                }
                Ok(())
            }
            Happening::Propose => self.propose(),
            Happening::Snapshot => {
                let node = self.any_node();
                self.nodes[node].snapshot(self.now);
                self.plan(self.settings.snapshot_every, Happening::Snapshot);
                self.turn(node)
            }
        }
    }

    pub(super) fn index_of(&self, id: NodeId) -> Option<usize> {
        self.nodes.iter().position(|node| node.id == id)
    }

    fn round(&mut self, node: usize, life: u64) -> Result<(), Violation> {
        if self.nodes[node].life != life || !self.nodes[node].is_up() {
            return Ok(());
        }
        if self.settings.lie == Some(Lie::DurableTooSoon) && self.rng.chance(500) {
            if self.nodes[node].claim_durable(self.now) {
                let again = self.disk_time();
                self.agenda
                    .enter(self.now.after(again), Happening::Round { node, life });
            }
        } else {
            let facts = self.nodes[node]
                .round(&mut self.rng, self.now)
                .map_err(|reason| violation("storage works", format!("node {}: {reason}", node + 1)))?;
            facts.iter().try_for_each(|fact| self.observe(fact))?;
        }
        self.turn(node)
    }

    pub(super) fn disk_time(&mut self) -> Duration {
        let most = u64::try_from(self.settings.disk_max.as_micros()).unwrap_or(u64::MAX);
        // Most rounds are fast; now and then the disk stalls.
        let most = if self.rng.chance(20) { most * 20 } else { most };
        Duration::from_micros(self.rng.between(100, most))
    }

    fn crash(&mut self) -> Result<(), Violation> {
        if self.phase != Phase::Trouble {
            return Ok(());
        }
        let node = self.any_node();
        if self.nodes[node].is_up() {
            match self.rng.below(10) {
                0 | 1 => {
                    self.nodes[node].stop(self.now);
                    self.counts.stops += 1;
                    self.turn(node)?;
                }
                2 => {
                    self.nodes[node].break_disk(&mut self.rng);
                    self.counts.disk_failures += 1;
                }
                3 => (0..self.nodes.len()).try_for_each(|node| self.crash_node(node))?,
                _ => self.crash_node(node)?,
            }
        }
        self.plan(self.settings.crash_every, Happening::Crash);
        Ok(())
    }

    fn crash_node(&mut self, node: usize) -> Result<(), Violation> {
        if !self.nodes[node].is_up() {
            return Ok(());
        }
        self.nodes[node].crash(&mut self.rng, self.settings.lie);
        self.counts.crashes += 1;
        self.is_down(node)
    }

    /// A node has ended, in whatever way, and comes back later.
    pub(super) fn is_down(&mut self, node: usize) -> Result<(), Violation> {
        self.led[node] = None;
        let id = self.nodes[node].id;
        self.observe(&Fact::Crashed { node: id })?;
        if self.settings.down_max.is_zero() {
            return Ok(());
        }
        let down = u64::try_from(self.settings.down_max.as_micros()).unwrap_or(u64::MAX);
        let back = Duration::from_micros(self.rng.between(1, down));
        self.agenda.enter(self.now.after(back), Happening::Start { node });
        Ok(())
    }

    fn any_node(&mut self) -> usize {
        usize::try_from(self.rng.below(self.nodes.len() as u64)).expect("few nodes")
    }

    pub(crate) fn start(&mut self, node: usize) -> Result<(), Violation> {
        let machine = (self.machine)();
        let now = self.time();
        let fact = self.nodes[node]
            .start(machine, now)
            .map_err(|reason| violation("a crashed node starts", format!("node {}: {reason}", node + 1)))?;
        self.observe(&fact)?;
        self.turn(node)
    }

    /// A client proposes, mostly to whoever believes to lead.
    fn propose(&mut self) -> Result<(), Violation> {
        if self.phase == Phase::Silence {
            return Ok(());
        }
        self.plan(Some(self.settings.propose_every), Happening::Propose);
        let leaders: Vec<usize> = (0..self.nodes.len())
            .filter(|node| self.nodes[*node].leads())
            .collect();
        let node = if leaders.is_empty() || self.rng.chance(20) {
            self.rng.below(self.nodes.len() as u64)
        } else {
            leaders[usize::try_from(self.rng.below(leaders.len() as u64)).expect("few nodes")] as u64
        };
        let node = usize::try_from(node).expect("few nodes");
        let count = self.rng.between(1, 3);
        let records = (0..count).map(|_| self.next_record()).collect();
        if self.nodes[node].propose(records, self.now) {
            self.turn(node)?;
        }
        Ok(())
    }

    fn next_record(&mut self) -> S::Record {
        self.proposed += 1;
        (self.record)(self.proposed)
    }

    pub(super) fn count(&mut self, node: usize, fact: &Fact) {
        match fact {
            Fact::Acknowledged { .. } => self.counts.commits += 1,
            Fact::Loaded { .. } => self.counts.loads += 1,
            Fact::State {
                role: RoleName::Leader,
                epoch,
                ..
            } if self.led[node] != Some(*epoch) => {
                self.led[node] = Some(*epoch);
                self.counts.elections += 1;
            }
            Fact::State { .. }
            | Fact::Stored { .. }
            | Fact::Refused { .. }
            | Fact::Log { .. }
            | Fact::Applied { .. }
            | Fact::Crashed { .. } => {}
        }
    }

    pub(super) fn observe(&mut self, fact: &Fact) -> Result<(), Violation> {
        if let Some(witness) = &mut self.witness {
            witness(self.now, Sight::Fact(fact));
        }
        self.checkers
            .iter_mut()
            .try_for_each(|checker| checker.observe(fact))
    }
}

pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_millis(2000);

pub(super) fn violation(invariant: &'static str, detail: String) -> Violation {
    Violation { invariant, detail }
}
