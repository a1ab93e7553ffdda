//! The stage of a cluster scenario: whole engines over a network on which nothing happens that the scenario does not say.

use super::{
    command::{Command, CommandError, bad},
    names::{self, show_endpoints, show_key, show_leader, show_node},
    show::{peer_request, role_name, show_log_end, watermark},
};
use crate::{
    checker::{self, Fact, StableLeadership, Violation},
    sim::{Journal, Node, Op, Settings, Sight, Simulation},
};
use kraft_core::{Endpoint, Endpoints, Instant, LogView as _, NodeId, PeerRequest, StateMachine as _};
use std::{cell::RefCell, collections::BTreeMap, rc::Rc, time::Duration};

/// The nodes B, C, D, …, and what was seen of them since the last command.
pub(crate) struct Cluster {
    simulation: Simulation<Journal>,
    seen: Rc<RefCell<Seen>>,
}

/// What is printed of a run.
#[derive(Default)]
struct Seen {
    states: BTreeMap<NodeId, Fact>,
    lines: Vec<String>,
    /// Records that clients have just been told of: when, and the first and the last one.
    acknowledged: Option<(Instant, i64, i64)>,
}

/// Nothing that a scenario waits for takes longer.
const PATIENCE: Duration = Duration::from_secs(120);

impl Cluster {
    /// `cluster voters=3`: starts the nodes, unless they are to be `down`.
    pub(crate) fn new(command: &Command) -> Result<Self, CommandError> {
        let settings = Settings {
            voters: command.need("voters", command.number("voters")?)?,
            observers: command.number("observers")?.unwrap_or(0),
            dynamic_voters: Some(command.flag("dynamic")),
            ..Settings::quiet()
        };
        let seed = command.number("seed")?.unwrap_or(1);
        let seen = Rc::new(RefCell::new(Seen::default()));
        let watched = seen.clone();
        let mut checkers = checker::all();
        if command.flag("stable") {
            checkers.push(Box::new(StableLeadership::default()));
        }
        let mut simulation = Simulation::of_journals(seed, settings)
            .with_checkers(checkers)
            .with_witness(move |now, sight| watched.borrow_mut().see(now, sight));
        if !command.flag("down") {
            simulation.start_all().map_err(violated)?;
        }
        Ok(Self { simulation, seen })
    }

    /// Carries a command out. Returns whether there is such a command.
    pub(crate) fn run(&mut self, command: &Command) -> Result<bool, CommandError> {
        match command.name.as_str() {
            "wait" => self.wait(command.word()?)?,
            "propose" => self.propose(command)?,
            "cut" => self.cut(command)?,
            "heal" => self.simulation.links().heal(),
            "crash" => self.each(command, Simulation::kill)?,
            "start" => self.each(command, start_if_down)?,
            "stop" => self.do_to_each(command, |node| Op::Stop {
                node,
                down: Duration::ZERO,
            })?,
            "snapshot" => self.do_to_each(command, |node| Op::Snapshot { node })?,
            "lose-disk" => self.each(command, Simulation::take_disk)?,
            "add-voter" => self.do_to_each(command, |node| Op::AddVoter { node })?,
            "remove-voter" => self.do_to_each(command, |node| Op::RemoveVoter { node })?,
            "state" => self.show_state(),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// What was seen since the last call.
    pub(crate) fn take_lines(&self) -> Vec<String> {
        let mut seen = self.seen.borrow_mut();
        seen.acknowledged = None;
        std::mem::take(&mut seen.lines)
    }

    /// `wait 500`, `wait leader`, `wait agreement`.
    fn wait(&mut self, text: &str) -> Result<(), CommandError> {
        type Done = fn(&Simulation<Journal>) -> bool;
        let done: Done = match text {
            "leader" => |simulation| has_leader(simulation),
            "agreement" => |simulation| has_leader(simulation) && agrees(simulation),
            _ => {
                let time = text.parse().map_err(|_| bad("wait", text))?;
                let passed = self.simulation.pass(Duration::from_millis(time), |_| false);
                return passed.map_err(violated);
            }
        };
        self.simulation.pass(PATIENCE, done).map_err(violated)?;
        if done(&self.simulation) {
            Ok(())
        } else {
            Err(CommandError::new(format!(
                "no {text} after {} s",
                PATIENCE.as_secs()
            )))
        }
    }

    fn propose(&mut self, command: &Command) -> Result<(), CommandError> {
        let node = self.node(command.text("at").unwrap_or("leader"))?;
        for _ in 0..command.number("records")?.unwrap_or(1) {
            self.simulation.propose_at(node, 1).map_err(violated)?;
        }
        Ok(())
    }

    /// `cut B`: nothing reaches B and nothing leaves it. `cut from=B to=C,D`: one way only.
    fn cut(&mut self, command: &Command) -> Result<(), CommandError> {
        if let Some(from) = command.text("from") {
            let from = self.id(from)?;
            for to in command.need("to", command.keys("to")?)? {
                self.simulation.links().cut(from, to.id);
            }
            return Ok(());
        }
        let group: Vec<NodeId> = command
            .word()?
            .split(',')
            .map(|name| self.id(name))
            .collect::<Result<_, _>>()?;
        let all: Vec<NodeId> = self.simulation.nodes().iter().map(|node| node.id).collect();
        self.simulation.links().cut_off(&group, &all);
        Ok(())
    }

    fn each(
        &mut self,
        command: &Command,
        action: impl Fn(&mut Simulation<Journal>, usize) -> Result<(), Violation>,
    ) -> Result<(), CommandError> {
        let word = command.word()?;
        let nodes: Vec<usize> = if word == "all" {
            (0..self.simulation.nodes().len()).collect()
        } else {
            word.split(',')
                .map(|name| self.node(name))
                .collect::<Result<_, _>>()?
        };
        nodes
            .into_iter()
            .try_for_each(|node| action(&mut self.simulation, node))
            .map_err(violated)
    }

    fn do_to_each(&mut self, command: &Command, op: impl Fn(NodeId) -> Op) -> Result<(), CommandError> {
        self.each(command, |simulation, node| {
            let id = simulation.nodes()[node].id;
            simulation.perform(op(id))
        })
    }

    /// A node by letter, or `leader` for the one that leads the newest epoch.
    fn id(&self, name: &str) -> Result<NodeId, CommandError> {
        if name == "leader" {
            let node = self.node(name)?;
            return Ok(self.simulation.nodes()[node].id);
        }
        names::node(name)
    }

    fn node(&self, name: &str) -> Result<usize, CommandError> {
        let nodes = self.simulation.nodes();
        let found = if name == "leader" {
            let leading = nodes.iter().enumerate().filter(|(_, node)| node.leads());
            leading
                .max_by_key(|(_, node)| node.replica().map(|(replica, _)| replica.epoch()))
                .map(|(at, _)| at)
        } else {
            let id = names::node(name)?;
            nodes.iter().position(|node| node.id == id)
        };
        found.ok_or_else(|| CommandError::new(format!("there is no node {name}")))
    }

    fn show_state(&mut self) {
        let mut lines = vec![format!("at {} ms", self.simulation.now().0 / 1000)];
        for node in self.simulation.nodes() {
            let name = show_node(node.id);
            let text = match (node.replica(), node.machine()) {
                (Some((replica, log)), Some(journal)) => format!(
                    "{name}: {}, epoch {}, {}, log {}..{}, hw {}, {} records",
                    role_name(replica.role()),
                    replica.epoch(),
                    show_leader(replica.leader()),
                    log.start(),
                    show_log_end(log.end()),
                    watermark(replica.high_watermark().unwrap_or(-1)),
                    journal.image().len(),
                ),
                _ => format!("{name}: down"),
            };
            lines.push(text);
        }
        self.seen.borrow_mut().lines.extend(lines);
    }
}

fn start_if_down(simulation: &mut Simulation<Journal>, node: usize) -> Result<(), Violation> {
    if simulation.nodes()[node].is_up() {
        return Ok(());
    }
    simulation.start(node)
}

fn has_leader(simulation: &Simulation<Journal>) -> bool {
    simulation
        .nodes()
        .iter()
        .any(|node| node.leads() && node.high_watermark().is_some())
}

/// All nodes that are up have the same log, all of it is committed and applied, and no client waits.
fn agrees(simulation: &Simulation<Journal>) -> bool {
    if simulation.nodes().iter().any(Node::has_clients) {
        return false;
    }
    let mut ends = simulation.nodes().iter().filter_map(|node| {
        let (replica, log) = node.replica()?;
        let applied = node.machine()?.provenance().last_offset + 1;
        Some((log.end(), replica.high_watermark(), applied))
    });
    let first = ends.next();
    first.is_some_and(|(end, mark, applied)| mark == Some(end.last_offset) && applied == end.last_offset)
        && ends.all(|end| Some(end) == first)
}

impl Seen {
    fn see(&mut self, now: Instant, sight: Sight<'_>) {
        let text = match sight {
            Sight::Request {
                body: PeerRequest::Fetch { .. },
                ..
            } => None,
            Sight::Request { from, to, body } => Some(format!(
                "{} to {}: {}",
                show_node(from),
                show_host(to),
                peer_request(body)
            )),
            Sight::Fact(fact) => self.fact(fact),
            Sight::Step(_) | Sight::Ended { .. } => None,
        };
        if let Some(text) = text {
            self.acknowledged = None;
            self.lines.push(format!("{} ms {text}", now.0 / 1000));
        } else if let Sight::Fact(Fact::Acknowledged { base, last, .. }) = sight {
            self.acknowledge(now, *base, *last);
        }
    }

    /// One line for all that clients are told at one moment.
    fn acknowledge(&mut self, now: Instant, base: i64, last: i64) {
        let first = match self.acknowledged {
            Some((at, first, before)) if at == now && before + 1 == base => {
                self.lines.pop();
                first
            }
            _ => base,
        };
        self.acknowledged = Some((now, first, last));
        let line = format!(
            "{} ms client: records {first} to {last} acknowledged",
            now.0 / 1000
        );
        self.lines.push(line);
    }

    fn fact(&mut self, fact: &Fact) -> Option<String> {
        match fact {
            Fact::State {
                node,
                role,
                epoch,
                leader,
                high_watermark,
            } => {
                let name = show_node(*node);
                let before = self.states.insert(*node, fact.clone());
                let same_role = matches!(&before, Some(Fact::State { role: old, epoch: at, leader: known, .. })
                    if (old, at, known) == (role, epoch, leader));
                let mark = |fact: &Fact| match fact {
                    Fact::State { high_watermark, .. } => *high_watermark,
                    _ => None,
                };
                if !same_role {
                    return Some(format!(
                        "{name}: {}, epoch {epoch}, {}",
                        role_name(*role),
                        show_leader(*leader)
                    ));
                }
                let known = before.as_ref().and_then(mark);
                (*high_watermark != known)
                    .then_some(*high_watermark)
                    .flatten()
                    .map(|offset| format!("{name}: committed below {offset}"))
            }
            Fact::Refused { node, reason, .. } => {
                Some(format!("client: {} says: {reason}", show_node(*node)))
            }
            Fact::Crashed { node } => {
                self.states.remove(node);
                Some(format!("{}: down", show_node(*node)))
            }
            Fact::Loaded { node, snapshot, .. } => Some(format!(
                "{}: loaded snapshot {}-{}",
                show_node(*node),
                snapshot.end_offset,
                snapshot.epoch
            )),
            Fact::Log {
                node, truncated_to, ..
            } if *truncated_to != i64::MAX && *truncated_to > 0 => {
                Some(format!("{}: log cut to {truncated_to}", show_node(*node)))
            }
            Fact::Wiped { node, key, .. } => Some(format!(
                "{}: has lost its disk, is {} from now on",
                show_node(*node),
                show_key(key)
            )),
            _ => None,
        }
    }
}

/// The name of the node that listens at an endpoint.
fn show_host(endpoint: &Endpoint) -> String {
    (1..=10)
        .map(NodeId)
        .find(|id| names::endpoint(*id) == *endpoint)
        .map_or_else(
            || show_endpoints(&Endpoints::single(names::LISTENER, endpoint.clone())),
            show_node,
        )
}

fn violated(violation: Violation) -> CommandError {
    CommandError::new(violation.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stable_cluster_does_not_take_another_leader() {
        let run = |first: &str| {
            let mut cluster = Cluster::new(&Command::parse(first)?)?;
            ["wait leader", "crash leader", "wait leader"]
                .into_iter()
                .try_for_each(|line| cluster.run(&Command::parse(line)?).map(drop))
        };
        assert_eq!(run("cluster voters=3"), Ok(()));
        let error = run("cluster voters=3 stable").expect_err("the leader has changed");
        assert!(error.to_string().starts_with("leadership is stable: "), "{error}");
    }
}
