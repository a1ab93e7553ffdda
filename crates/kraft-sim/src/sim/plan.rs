//! Everything that is decided before a run begins, as a text that replays it.
//!
//! ```text
//! world seed=17 kraft-version=1 voters=3 observers=0 duration=30000 settle=60000 …
//! node B start=0 clock=-1200
//! …
//! at 1250 propose records=2
//! at 1262 crash B down=500 draw=18
//! ```
//!
//! What the network and the disks do comes from the seed. Everything else is a line, so that a plan can be made shorter
//! until only what matters is left.

use super::{
    draw,
    network::Faults,
    op::Op,
    settings::{Lie, Settings},
};
use crate::scenario::{
    Command, CommandError,
    names::{self, show_node},
};
use kraft_core::NodeId;
use std::{fmt, str::FromStr, time::Duration};

/// A run before it is made: the nodes, how bad network and disks are, and what is done when.
///
/// [`Display`](fmt::Display) writes it and [`FromStr`] reads it, so that a run can be kept in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub(crate) world: World,
    pub(crate) steps: Vec<Step>,
}

/// What is given from the beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct World {
    pub(crate) seed: u64,
    /// 1: the voters stand in the bootstrap checkpoint; 0: in the configuration.
    pub(crate) kraft_version: i16,
    pub(crate) voters: u32,
    pub(crate) nodes: Vec<NodeTraits>,
    pub(crate) duration: Duration,
    pub(crate) settle: Duration,
    pub(crate) network: Faults,
    pub(crate) disk_max: Duration,
    pub(crate) snapshot_new_bytes: Option<u64>,
    pub(crate) append_linger: Duration,
    pub(crate) propose_every: Duration,
    pub(crate) lie: Option<Lie>,
}

/// In what a node differs from others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct NodeTraits {
    /// When it is started first.
    pub(crate) start: Duration,
    /// How much its clock is too fast, in millionths.
    pub(crate) clock_ppm: i64,
    /// Whether it speaks only the versions from before KIP-853.
    pub(crate) old: bool,
    /// Whether it becomes a voter by itself.
    pub(crate) auto_join: bool,
}

/// Something that is done, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    /// In virtual time.
    pub(crate) at: Duration,
    pub(crate) op: Op,
}

impl Plan {
    /// What happens under a seed.
    #[must_use]
    pub fn draw(seed: u64, settings: &Settings) -> Self {
        draw::plan(seed, settings)
    }

    /// The seed of everything that is not written in the plan.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.world.seed
    }

    /// How many things are done.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.steps.len()
    }
}

impl World {
    pub(crate) fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        let count = u32::try_from(self.nodes.len()).expect("few nodes");
        (1..=count).map(|id| NodeId(id.cast_signed()))
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.world)?;
        for step in &self.steps {
            writeln!(f, "at {} {}", step.at.as_millis(), step.op)?;
        }
        Ok(())
    }
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Faults {
            delay_min,
            delay_max,
            lost_per_mille,
            duplicated_per_mille,
            refuses,
        } = &self.network;
        write!(
            f,
            "world seed={} kraft-version={} voters={} observers={} duration={} settle={} delay-us={}-{} lost={lost_per_mille} \
             doubled={duplicated_per_mille} disk-us={} propose-every={}",
            self.seed,
            self.kraft_version,
            self.voters,
            self.nodes.len() - self.voters as usize,
            self.duration.as_millis(),
            self.settle.as_millis(),
            delay_min.as_micros(),
            delay_max.as_micros(),
            self.disk_max.as_micros(),
            self.propose_every.as_millis(),
        )?;
        if let Some(bytes) = self.snapshot_new_bytes {
            write!(f, " snapshot-bytes={bytes}")?;
        }
        if !self.append_linger.is_zero() {
            write!(f, " linger={}", self.append_linger.as_millis())?;
        }
        if *refuses {
            f.write_str(" refuses")?;
        }
        if let Some(lie) = self.lie {
            write!(f, " lie={}", lie.name())?;
        }
        for (id, node) in self.ids().zip(&self.nodes) {
            let flag = |set: bool, name: &'static str| if set { name } else { "" };
            write!(
                f,
                "\nnode {} start={} clock={}{}{}",
                show_node(id),
                node.start.as_millis(),
                node.clock_ppm,
                flag(node.old, " old"),
                flag(node.auto_join, " auto-join"),
            )?;
        }
        Ok(())
    }
}

impl FromStr for Plan {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        let lines = text.lines().map(str::trim).enumerate();
        let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let fault = |number: usize| {
            move |error: CommandError| PlanError {
                line: number + 1,
                reason: error.to_string(),
            }
        };
        let (number, first) = lines.next().ok_or_else(|| PlanError {
            line: 1,
            reason: "there is no world".to_owned(),
        })?;
        let mut world = parse_world(first).map_err(fault(number))?;
        let mut steps = Vec::new();
        for (number, line) in lines {
            let parsed = match line.strip_prefix("at ") {
                Some(step) => parse_step(step, &world).map(|step| steps.push(step)),
                None => parse_node(line, &mut world),
            };
            parsed.map_err(fault(number))?;
        }
        steps.sort_by_key(|step: &Step| step.at);
        Ok(Self { world, steps })
    }
}

/// A text that is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct PlanError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

fn parse_world(line: &str) -> Result<World, CommandError> {
    let command = Command::parse(line)?;
    if command.name != "world" {
        return Err(CommandError::new("a plan begins with `world`"));
    }
    let number = |name: &str| command.need(name, command.number::<u64>(name)?);
    let millis = |name: &str| number(name).map(Duration::from_millis);
    let micros = |name: &str| number(name).map(Duration::from_micros);
    let delays = command.need("delay-us", command.text("delay-us"))?;
    let delays: Vec<u64> = delays.split('-').filter_map(|part| part.parse().ok()).collect();
    let [delay_min, delay_max] = delays[..] else {
        return Err(CommandError::new("`delay-us` is a range"));
    };
    let count = |name: &str| match number(name)? {
        count @ 0..=NODES_MAX => Ok(u32::try_from(count).expect("the number is small")),
        _ => Err(CommandError::new(format!("more than {NODES_MAX} {name}"))),
    };
    let voters = count("voters")?;
    let nodes = vec![NodeTraits::default(); (voters + count("observers")?) as usize];
    let lie = match command.text("lie") {
        None => None,
        Some(name) => {
            Some(Lie::of(name).ok_or_else(|| CommandError::new(format!("there is no lie `{name}`")))?)
        }
    };
    let world = World {
        seed: number("seed")?,
        kraft_version: command.need("kraft-version", command.number("kraft-version")?)?,
        voters,
        nodes,
        duration: millis("duration")?,
        settle: millis("settle")?,
        network: Faults {
            delay_min: Duration::from_micros(delay_min),
            delay_max: Duration::from_micros(delay_max),
            lost_per_mille: number("lost")?,
            duplicated_per_mille: number("doubled")?,
            refuses: command.flag("refuses"),
        },
        disk_max: micros("disk-us")?,
        snapshot_new_bytes: command.number("snapshot-bytes")?,
        append_linger: Duration::from_millis(command.number("linger")?.unwrap_or(0)),
        propose_every: millis("propose-every")?,
        lie,
    };
    command.finish()?;
    Ok(world)
}

fn parse_node(line: &str, world: &mut World) -> Result<(), CommandError> {
    let command = Command::parse(line)?;
    if command.name != "node" {
        return Err(CommandError::new(format!(
            "`{}` is no line of a plan",
            command.name
        )));
    }
    let id = names::node(command.word()?)?;
    let place = place_of(id, world)?;
    world.nodes[place] = NodeTraits {
        start: Duration::from_millis(command.need("start", command.number("start")?)?),
        clock_ppm: command.need("clock", command.number("clock")?)?,
        old: command.flag("old"),
        auto_join: command.flag("auto-join"),
    };
    command.finish()
}

fn parse_step(text: &str, world: &World) -> Result<Step, CommandError> {
    let (at, what) = text
        .split_once(' ')
        .ok_or_else(|| CommandError::new("nothing is done"))?;
    let at = at
        .parse()
        .map_err(|_| CommandError::new(format!("`{at}` is no time")))?;
    let op = Op::parse(&Command::parse(what)?)?;
    op.nodes().try_for_each(|id| place_of(id, world).map(drop))?;
    Ok(Step {
        at: Duration::from_millis(at),
        op,
    })
}

fn place_of(id: NodeId, world: &World) -> Result<usize, CommandError> {
    world
        .ids()
        .position(|known| known == id)
        .ok_or_else(|| CommandError::new(format!("there is no node {}", show_node(id))))
}

const NODES_MAX: u64 = 9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_reads_back() {
        for seed in 0..40 {
            let plan = Plan::draw(seed, &Settings::of_seed(seed));
            assert!(plan.steps() > 100);
            assert_eq!(plan.to_string().parse(), Ok(plan));
        }
    }

    #[test]
    fn what_is_no_plan_is_refused_with_its_line() {
        let plan = Plan::draw(1, &Settings::default()).to_string();
        let refused = |more: &str| {
            let text = format!("{plan}{more}\n");
            text.parse::<Plan>().map_err(|error| error.reason)
        };
        for (line, reason) in [
            ("at x heal", "`x` is no time"),
            ("at 5 crash B down=5", "`crash` needs `draw=`"),
            ("at 5 heal B", "`heal` does not know `B`"),
            ("at 5 snapshot K", "there is no node K"),
            ("at 5 dance", "`dance` is nothing that can be done"),
            ("dance", "`dance` is no line of a plan"),
        ] {
            assert_eq!(refused(line), Err(reason.to_owned()));
        }
        assert_eq!("".parse::<Plan>().map_err(|error| error.line), Err(1));
    }
}
