//! The nodes of a quorum, and everything that happens between them.

use super::{
    agenda::Agenda,
    happening::Happening,
    journal::Journal,
    network::Links,
    node::Node,
    plan::{Plan, Step, World},
    report::{Count, Counts, Failure},
    rng::Rng,
    settings::{Lie, Settings},
    setup::{config, voter},
    sight::{Sight, Witness},
    weakness::Weakness,
};
use crate::checker::{self, Checker, Fact, Fate, OpId, Violation};
use kraft_core::{Event, Instant, NodeId, RoleName, StateMachine, VoterSet};
use kraft_transport::{Command, PeerResponse};
use std::time::Duration;

pub(super) const LISTENER: &str = "CONTROLLER";

/// A quorum in virtual time.
pub struct Simulation<S: StateMachine> {
    pub(super) world: World,
    /// What is still to be done, in the order of time.
    steps: std::vec::IntoIter<Step>,
    pub(super) rng: Rng,
    pub(super) now: Instant,
    pub(super) agenda: Agenda<Happening>,
    pub(super) nodes: Vec<Node<S>>,
    pub(super) links: Links,
    checkers: Vec<Box<dyn Checker>>,
    pub(super) counts: Counts,
    machine: Box<dyn Fn() -> S>,
    record: Box<dyn Fn(u64) -> S::Record>,
    proposed: u64,
    ops: u64,
    /// The epoch in which each node was last seen to lead, and the voters that it then went by.
    led: Vec<Option<(kraft_core::Epoch, VoterSet)>>,
    pub(super) weakness: Weakness,
    phase: Phase,
    pub(super) witness: Option<Witness>,
}

/// The parts of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The plan is carried out; the network is cut and loses messages.
    Trouble,
    /// Nothing goes wrong any more, and clients go on.
    Calm,
    /// Clients are silent too, so that all nodes can come to the same state.
    Silence,
}

impl Simulation<Journal> {
    /// A quorum that replicates a list of numbers.
    #[must_use]
    pub fn of_journals(seed: u64, settings: Settings) -> Self {
        Self::new(seed, settings, Journal::default, |number| number)
    }

    /// The same, as a plan says.
    #[must_use]
    pub fn of_planned_journals(plan: Plan) -> Self {
        Self::of_plan(plan, Journal::default, |number| number)
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
        Self::of_plan(Plan::draw(seed, &settings), machine, record)
    }

    /// The same, as a plan says.
    ///
    /// # Panics
    /// If a disk in memory cannot be formatted.
    pub fn of_plan(
        plan: Plan,
        machine: impl Fn() -> S + 'static,
        record: impl Fn(u64) -> S::Record + 'static,
    ) -> Self {
        let Plan { world, steps } = plan;
        let mut rng = Rng::new(world.seed);
        let dynamic = world.kraft_version > 0;
        let voting = || world.ids().take(world.voters as usize);
        let voters: VoterSet = voting().map(|id| voter(id, dynamic)).collect();
        let nodes: Vec<Node<S>> = world
            .ids()
            .zip(&world.nodes)
            .map(|(id, traits)| {
                let config = config(id, &voters, dynamic, traits.auto_join, rng.next());
                let votes = dynamic && voters.get(id).is_some();
                let mut node = Node::new(config, votes.then(|| voters.clone()), *traits);
                node.snapshot_after(world.snapshot_new_bytes);
                node.linger(world.append_linger);
                node
            })
            .collect();
        Self {
            links: Links::new(world.network.clone()),
            world,
            steps: steps.into_iter(),
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
            ops: 0,
            weakness: Weakness::default(),
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

    /// Runs to the end.
    ///
    /// # Errors
    /// An invariant does not hold, a node ends by itself or cannot start, or the quorum makes no progress in the end.
    pub fn run(mut self) -> Result<Counts, Failure> {
        let outcome = self.play();
        match outcome {
            Ok(()) => Ok(self.counts),
            Err(violation) => Err(Failure {
                seed: self.world.seed,
                at_ms: self.now.0 / 1000,
                violation,
            }),
        }
    }

    /// What the checkers can only say at the end.
    pub(crate) fn finish_checks(&self) -> Result<(), Violation> {
        self.checkers.iter().try_for_each(|checker| checker.finish())
    }

    fn play(&mut self) -> Result<(), Violation> {
        for node in 0..self.nodes.len() {
            let start = self.nodes[node].traits.start;
            if start.is_zero() {
                self.start(node)?;
            } else {
                self.agenda
                    .enter(self.now.after(start), Happening::Start { node });
            }
        }
        self.enter_step();
        let trouble = Instant(0).after(self.world.duration);
        self.play_until(trouble, |_| false)?;
        self.calm_down()?;
        let wanted = self.counts.of(Count::Commits) + 3;
        let settled = trouble.after(self.world.settle);
        self.play_until(settled, |simulation| {
            simulation.counts.of(Count::Commits) >= wanted
        })?;
        self.phase = Phase::Silence;
        self.play_until(settled, Self::has_settled)?;
        if self.counts.of(Count::Commits) < wanted || !self.has_settled() {
            let seconds = self.world.settle.as_secs();
            let detail = format!(
                "{seconds} s after the network has healed the quorum has not committed on all nodes and answered everybody"
            );
            return Err(violation("progress", detail));
        }
        let images: Vec<Fact> = self.nodes.iter().filter_map(Node::image).collect();
        images.iter().try_for_each(|image| self.observe(image))?;
        self.finish_checks()
    }

    /// Whether the plan is done, and nothing goes wrong any more.
    pub(super) fn is_calm(&self) -> bool {
        self.phase != Phase::Trouble
    }

    fn enter_step(&mut self) {
        if let Some(step) = self.steps.next() {
            let at = Instant(0).after(step.at);
            self.agenda.enter(at, Happening::Step(step));
        }
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
            self.happen(happening)?;
        }
        Ok(())
    }

    /// The network and the disks recover, and everybody is started.
    fn calm_down(&mut self) -> Result<(), Violation> {
        self.phase = Phase::Calm;
        self.links.recover();
        self.agenda.enter(self.now, Happening::Propose);
        for node in 0..self.nodes.len() {
            self.nodes[node].slow = None;
            if self.nodes[node].paused.take().is_some() {
                self.turn(node)?;
            }
            if !self.nodes[node].is_up() {
                self.start(node)?;
            }
        }
        Ok(())
    }

    /// Whether all nodes that are up know the same high watermark, and nobody waits for an answer.
    fn has_settled(&self) -> bool {
        self.all_agree() && !self.nodes.iter().any(Node::has_clients)
    }

    /// Whether all nodes that are up know the same high watermark.
    pub(crate) fn all_agree(&self) -> bool {
        let up = self.nodes.iter().filter(|node| node.is_up());
        let mut marks = up.map(Node::high_watermark);
        let first = marks.next().flatten();
        first.is_some() && marks.all(|mark| mark == first)
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
            Happening::Background { node, life } => self.background(node, life),
            Happening::Start { node } => {
                if self.nodes[node].is_up() {
                    Ok(())
                } else {
                    self.start(node)
                }
            }
            Happening::Resume { node, life } => {
                let due = self.nodes[node].paused.is_some_and(|until| until <= self.now);
                if self.nodes[node].life == life && due {
                    self.nodes[node].paused = None;
                    self.turn(node)?;
                }
                Ok(())
            }
            Happening::Step(step) => {
                self.enter_step();
                if let Some(witness) = &mut self.witness {
                    witness(self.now, Sight::Step(&step.op.to_string()));
                }
                self.perform(step.op)
            }
            Happening::Propose => {
                if self.phase == Phase::Silence {
                    return Ok(());
                }
                self.agenda
                    .enter(self.now.after(self.world.propose_every), Happening::Propose);
                self.propose(None, 1)
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
        if let Some(until) = self.nodes[node].paused {
            self.agenda.enter(until, Happening::Round { node, life });
            return Ok(());
        }
        if self.world.lie == Some(Lie::DurableTooSoon) && self.rng.chance(500) {
            if self.nodes[node].claim_durable(self.now) {
                let again = self.disk_time(node);
                self.agenda
                    .enter(self.now.after(again), Happening::Round { node, life });
            }
        } else {
            let round = self.nodes[node]
                .round(&mut self.rng, self.now)
                .map_err(|reason| violation("storage works", format!("node {}: {reason}", node + 1)))?;
            for _ in 0..round.installs {
                self.counts.add(Count::SnapshotInstalls);
            }
            round.facts.iter().try_for_each(|fact| self.observe(fact))?;
        }
        self.turn(node)
    }

    fn background(&mut self, node: usize, life: u64) -> Result<(), Violation> {
        if self.nodes[node].life != life {
            return Ok(());
        }
        if let Some(until) = self.nodes[node].paused {
            self.agenda.enter(until, Happening::Background { node, life });
            return Ok(());
        }
        if self.nodes[node].background(self.now) {
            self.turn(node)?;
        }
        Ok(())
    }

    pub(super) fn disk_time(&mut self, node: usize) -> Duration {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        if let Some((until, round)) = self.nodes[node].slow
            && self.now < until
        {
            return Duration::from_micros(self.rng.between(100, micros(round)));
        }
        let most = micros(self.world.disk_max);
        // Most rounds are fast; now and then the disk stalls.
        let most = if self.rng.chance(20) { most * 20 } else { most };
        Duration::from_micros(self.rng.between(100, most))
    }

    pub(super) fn read_time(&mut self, node: usize) -> Duration {
        match self.nodes[node].slow {
            Some((until, _)) if self.now < until => self.disk_time(node),
            Some(_) | None => Duration::from_micros(self.rng.between(50, 2000)),
        }
    }

    /// A node has ended, in whatever way, and comes back later.
    pub(super) fn is_down(&mut self, node: usize) -> Result<(), Violation> {
        self.led[node] = None;
        let id = self.nodes[node].id;
        self.observe(&Fact::Crashed { node: id })?;
        let back = self.nodes[node].down;
        if !back.is_zero() {
            self.agenda.enter(self.now.after(back), Happening::Start { node });
        }
        Ok(())
    }

    pub(crate) fn start(&mut self, node: usize) -> Result<(), Violation> {
        let machine = (self.machine)();
        let facts = self.nodes[node]
            .start(machine, self.now)
            .map_err(|reason| violation("a crashed node starts", format!("node {}: {reason}", node + 1)))?;
        facts.iter().try_for_each(|fact| self.observe(fact))?;
        self.turn(node)
    }

    /// A client proposes, at a node or at one that believes to lead.
    pub(super) fn propose(&mut self, at: Option<NodeId>, records: u32) -> Result<(), Violation> {
        let at = at.and_then(|id| self.index_of(id));
        let leaders: Vec<usize> = (0..self.nodes.len())
            .filter(|node| self.nodes[*node].leads())
            .collect();
        let node = match (at, leaders.len() as u64) {
            (Some(node), _) => node,
            (None, 0) => self.draw_below(self.nodes.len() as u64),
            (None, 1) => leaders[0],
            (None, several) => leaders[self.draw_below(several)],
        };
        self.propose_at(node, records)
    }

    fn draw_below(&mut self, bound: u64) -> usize {
        usize::try_from(self.rng.below(bound)).expect("few nodes")
    }

    /// Proposes records at a node.
    pub(crate) fn propose_at(&mut self, node: usize, records: u32) -> Result<(), Violation> {
        let records = (0..records).map(|_| self.next_record()).collect();
        let op = self.next_op();
        if self.nodes[node].propose(op, records, self.now) {
            let id = self.nodes[node].id;
            self.observe(&Fact::Invoked { op, node: id })?;
            self.turn(node)?;
        }
        Ok(())
    }

    pub(super) fn next_op(&mut self) -> OpId {
        self.ops += 1;
        OpId(self.ops)
    }

    fn next_record(&mut self) -> S::Record {
        self.proposed += 1;
        (self.record)(self.proposed)
    }

    pub(super) fn count(&mut self, node: usize, fact: &Fact) {
        match fact {
            Fact::Acknowledged { .. } => self.counts.add(Count::Commits),
            Fact::Refused { fate: Fate::Not, .. } => self.counts.add(Count::Refusals),
            Fact::Refused { .. } => self.counts.add(Count::Unknown),
            Fact::State {
                role: RoleName::Leader,
                epoch,
                ..
            } if self.led[node].as_ref().map(|(led, _)| *led) != Some(*epoch) => {
                self.led[node] = Some((*epoch, self.nodes[node].voters().clone()));
                self.counts.add(Count::Elections);
            }
            Fact::Voters { .. } if self.nodes[node].leads() => {
                if let Some((_, voters)) = &mut self.led[node]
                    && voters != self.nodes[node].voters()
                {
                    voters.clone_from(self.nodes[node].voters());
                    self.counts.add(Count::VoterChanges);
                }
            }
            _ => {}
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
