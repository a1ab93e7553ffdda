//! What is done to a quorum from outside, and its text.

use crate::scenario::{
    Command, CommandError,
    names::{self, show_node},
};
use kraft_core::NodeId;
use kraft_fs::Fault;
use std::{fmt, time::Duration};

/// Something that is done to a quorum: a fault, a request of a client, a wish of an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Op {
    /// A node ends without warning; `draw` decides what its disk keeps of what was not synced.
    Crash { node: NodeId, down: Duration, draw: u64 },
    /// All nodes end without warning.
    PowerCut { down: Duration, draw: u64 },
    /// A node is asked to end.
    Stop { node: NodeId, down: Duration },
    /// The disk of a node fails at one of its next calls.
    BreakDisk {
        node: NodeId,
        fault: Fault,
        after: u64,
        down: Duration,
    },
    /// Rounds of a node's log thread take up to `round`, for a while.
    SlowDisk {
        node: NodeId,
        time: Duration,
        round: Duration,
    },
    /// A node ends, its disk is lost, and it comes back as another replica.
    LoseDisk { node: NodeId, down: Duration },
    /// A node ends and comes back at another address.
    Move { node: NodeId, down: Duration },
    /// A node stands still for a while.
    Pause { node: NodeId, time: Duration },
    /// The wall time of a node jumps.
    Clock { node: NodeId, by_ms: i64 },
    /// A group is cut off from the rest.
    CutOff { group: Vec<NodeId> },
    /// Single ways are cut.
    Cut { from: NodeId, to: Vec<NodeId> },
    /// Nothing is cut any more.
    Heal,
    /// A node writes a snapshot.
    Snapshot { node: NodeId },
    /// A client proposes records at a node, or at whichever leads.
    Propose { at: Option<NodeId>, records: u32 },
    /// Somebody who is no replica reads committed batches of a node, from somewhere in its log.
    Read { node: NodeId, draw: u64 },
    /// A client reads what its node has applied, behind the read barrier.
    ReadNewest { node: NodeId },
    /// Some of those who wait for answers of a node go away; `draw` says which.
    Leave { node: NodeId, draw: u64 },
    /// The leader gives up its leadership.
    Resign,
    /// A node is to become a voter.
    AddVoter { node: NodeId },
    /// A node is to be a voter no more.
    RemoveVoter { node: NodeId },
    /// A node that does not lead is asked for a change of the voters.
    AskWrongly { node: NodeId },
    /// kraft.version is to be 1.
    Upgrade,
}

impl Op {
    /// Reads it, as [`fmt::Display`] writes it.
    pub(crate) fn parse(command: &Command) -> Result<Self, CommandError> {
        let node = || names::node(command.word()?);
        let time = |name: &str| {
            let ms = command.need(name, command.number(name)?)?;
            Ok::<_, CommandError>(Duration::from_millis(ms))
        };
        let draw = || command.need("draw", command.number("draw")?);
        let op = match command.name.as_str() {
            "crash" => Self::Crash {
                node: node()?,
                down: time("down")?,
                draw: draw()?,
            },
            "power-cut" => Self::PowerCut {
                down: time("down")?,
                draw: draw()?,
            },
            "stop" => Self::Stop {
                node: node()?,
                down: time("down")?,
            },
            "break-disk" => Self::BreakDisk {
                node: node()?,
                fault: fault(command.need("by", command.text("by"))?)?,
                after: command.need("after", command.number("after")?)?,
                down: time("down")?,
            },
            "slow-disk" => Self::SlowDisk {
                node: node()?,
                time: time("for")?,
                round: time("round")?,
            },
            "lose-disk" => Self::LoseDisk {
                node: node()?,
                down: time("down")?,
            },
            "move" => Self::Move {
                node: node()?,
                down: time("down")?,
            },
            "pause" => Self::Pause {
                node: node()?,
                time: time("for")?,
            },
            "clock" => Self::Clock {
                node: node()?,
                by_ms: command.need("by", command.number("by")?)?,
            },
            "cut" => match command.text("from") {
                Some(from) => Self::Cut {
                    from: names::node(from)?,
                    to: node_list(command.need("to", command.text("to"))?)?,
                },
                None => Self::CutOff {
                    group: node_list(command.word()?)?,
                },
            },
            "heal" => Self::Heal,
            "snapshot" => Self::Snapshot { node: node()? },
            "propose" => Self::Propose {
                at: command.node("at")?,
                records: command.number("records")?.unwrap_or(1),
            },
            "read" => Self::Read {
                node: node()?,
                draw: draw()?,
            },
            "read-newest" => Self::ReadNewest { node: node()? },
            "leave" => Self::Leave {
                node: node()?,
                draw: draw()?,
            },
            "resign" => Self::Resign,
            "add-voter" => Self::AddVoter { node: node()? },
            "remove-voter" => Self::RemoveVoter { node: node()? },
            "ask-wrongly" => Self::AskWrongly { node: node()? },
            "upgrade" => Self::Upgrade,
            other => {
                return Err(CommandError::new(format!(
                    "`{other}` is nothing that can be done"
                )));
            }
        };
        command.finish()?;
        Ok(op)
    }

    /// The nodes that it names.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = NodeId> {
        let (one, more): (Option<NodeId>, &[NodeId]) = match self {
            Self::Crash { node, .. }
            | Self::Stop { node, .. }
            | Self::BreakDisk { node, .. }
            | Self::SlowDisk { node, .. }
            | Self::LoseDisk { node, .. }
            | Self::Move { node, .. }
            | Self::Pause { node, .. }
            | Self::Clock { node, .. }
            | Self::Snapshot { node }
            | Self::Read { node, .. }
            | Self::ReadNewest { node }
            | Self::Leave { node, .. }
            | Self::AddVoter { node }
            | Self::RemoveVoter { node }
            | Self::AskWrongly { node } => (Some(*node), &[]),
            Self::CutOff { group } => (None, group),
            Self::Cut { from, to } => (Some(*from), to),
            Self::Propose { at, .. } => (*at, &[]),
            Self::PowerCut { .. } | Self::Heal | Self::Resign | Self::Upgrade => (None, &[]),
        };
        one.into_iter().chain(more.iter().copied())
    }

    /// The same with a shorter time in it, if it has a time that can be shorter.
    pub(crate) fn shorter(&self) -> Option<Self> {
        let mut shorter = self.clone();
        let time = match &mut shorter {
            Self::Crash { down, .. }
            | Self::PowerCut { down, .. }
            | Self::Stop { down, .. }
            | Self::BreakDisk { down, .. }
            | Self::LoseDisk { down, .. }
            | Self::Move { down, .. } => down,
            Self::SlowDisk { time, .. } | Self::Pause { time, .. } => time,
            Self::Propose { records, .. } if *records > 1 => {
                *records = 1;
                return Some(shorter);
            }
            Self::Propose { .. }
            | Self::Clock { .. }
            | Self::CutOff { .. }
            | Self::Cut { .. }
            | Self::Heal
            | Self::Snapshot { .. }
            | Self::Read { .. }
            | Self::ReadNewest { .. }
            | Self::Leave { .. }
            | Self::Resign
            | Self::AddVoter { .. }
            | Self::RemoveVoter { .. }
            | Self::AskWrongly { .. }
            | Self::Upgrade => return None,
        };
        let half = time.as_millis() / 2;
        if half == 0 {
            return None;
        }
        *time = Duration::from_millis(u64::try_from(half).ok()?);
        Some(shorter)
    }
}

fn fault_name(fault: Fault) -> &'static str {
    match fault {
        Fault::Io => "error",
        Fault::NoSpace => "full",
        Fault::ShortWrite => "short-write",
        Fault::Interrupted => "interrupted",
    }
}

fn fault(name: &str) -> Result<Fault, CommandError> {
    let mut all = Fault::ALL.into_iter();
    all.find(|fault| fault_name(*fault) == name)
        .ok_or_else(|| CommandError::new(format!("no disk fails by `{name}`")))
}

fn node_list(text: &str) -> Result<Vec<NodeId>, CommandError> {
    text.split(',').map(names::node).collect()
}

fn show_list(nodes: &[NodeId]) -> String {
    nodes
        .iter()
        .map(|id| show_node(*id))
        .collect::<Vec<_>>()
        .join(",")
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |id: &NodeId| show_node(*id);
        match self {
            Self::Crash { node, down, draw } => {
                write!(f, "crash {} down={} draw={draw}", name(node), down.as_millis())
            }
            Self::PowerCut { down, draw } => write!(f, "power-cut down={} draw={draw}", down.as_millis()),
            Self::Stop { node, down } => write!(f, "stop {} down={}", name(node), down.as_millis()),
            Self::BreakDisk {
                node,
                fault,
                after,
                down,
            } => {
                let (name, down) = (name(node), down.as_millis());
                write!(
                    f,
                    "break-disk {name} by={} after={after} down={down}",
                    fault_name(*fault)
                )
            }
            Self::SlowDisk { node, time, round } => write!(
                f,
                "slow-disk {} for={} round={}",
                name(node),
                time.as_millis(),
                round.as_millis()
            ),
            Self::LoseDisk { node, down } => write!(f, "lose-disk {} down={}", name(node), down.as_millis()),
            Self::Move { node, down } => write!(f, "move {} down={}", name(node), down.as_millis()),
            Self::Pause { node, time } => write!(f, "pause {} for={}", name(node), time.as_millis()),
            Self::Clock { node, by_ms } => write!(f, "clock {} by={by_ms}", name(node)),
            Self::CutOff { group } => write!(f, "cut {}", show_list(group)),
            Self::Cut { from, to } => write!(f, "cut from={} to={}", name(from), show_list(to)),
            Self::Heal => f.write_str("heal"),
            Self::Snapshot { node } => write!(f, "snapshot {}", name(node)),
            Self::Propose { at, records } => {
                write!(f, "propose records={records}")?;
                at.as_ref().map_or(Ok(()), |node| write!(f, " at={}", name(node)))
            }
            Self::Read { node, draw } => write!(f, "read {} draw={draw}", name(node)),
            Self::ReadNewest { node } => write!(f, "read-newest {}", name(node)),
            Self::Leave { node, draw } => write!(f, "leave {} draw={draw}", name(node)),
            Self::Resign => f.write_str("resign"),
            Self::AddVoter { node } => write!(f, "add-voter {}", name(node)),
            Self::RemoveVoter { node } => write!(f, "remove-voter {}", name(node)),
            Self::AskWrongly { node } => write!(f, "ask-wrongly {}", name(node)),
            Self::Upgrade => f.write_str("upgrade"),
        }
    }
}
