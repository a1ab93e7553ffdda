//! What is simulated, and how bad the world is.

use super::network::Faults;
use std::time::Duration;

/// The size of a simulation and everything that can go wrong in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// How many voters there are.
    pub voters: u32,
    /// How many more nodes there are that do not vote.
    pub observers: u32,
    /// Whether the voters come from the bootstrap checkpoint, with kraft.version 1, or from the configuration. The seed decides
    /// if nothing is said.
    pub dynamic_voters: Option<bool>,
    /// For how long things go wrong. Then the network heals, all nodes are up, and the quorum has to make progress.
    pub duration: Duration,
    /// How long it may take until then.
    pub settle: Duration,
    /// The network.
    pub network: Faults,
    /// The mean time between two ends of any node; `None` for none. Most are crashes; some nodes are stopped gracefully, and
    /// the disk of some fails.
    pub crash_every: Option<Duration>,
    /// The longest time that a node stays down; zero: until somebody starts it.
    pub down_max: Duration,
    /// The mean time between two changes of what is cut in the network; `None` for none.
    pub partition_every: Option<Duration>,
    /// The mean time between two snapshots of any node; `None` for none.
    pub snapshot_every: Option<Duration>,
    /// How many bytes of new batches have a node write a snapshot by itself; `None` for as many as Kafka's default, which
    /// no run reaches.
    pub snapshot_new_bytes: Option<u64>,
    /// How many of a thousand nodes have their first start later, with an empty disk.
    pub late_per_mille: u64,
    /// How many of a thousand nodes speak only the versions from before KIP-853, where the voters are static.
    pub old_per_mille: u64,
    /// The longest time that a round of the log thread takes.
    pub disk_max: Duration,
    /// The mean time between two proposals.
    pub propose_every: Duration,
    /// In which way a part of the system does not keep its word. For tests of the checkers.
    pub lie: Option<Lie>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            voters: 3,
            observers: 0,
            dynamic_voters: None,
            duration: Duration::from_secs(30),
            settle: Duration::from_secs(60),
            network: Faults::default(),
            crash_every: Some(Duration::from_secs(4)),
            down_max: Duration::from_secs(5),
            partition_every: Some(Duration::from_secs(3)),
            snapshot_every: Some(Duration::from_secs(4)),
            snapshot_new_bytes: None,
            late_per_mille: 100,
            old_per_mille: 100,
            disk_max: Duration::from_millis(30),
            propose_every: Duration::from_millis(25),
            lie: None,
        }
    }
}

impl Settings {
    /// A world in which nothing goes wrong by itself, for somebody who decides himself what happens.
    pub(crate) fn quiet() -> Self {
        Self {
            network: Faults {
                delay_min: Duration::from_millis(1),
                delay_max: Duration::from_millis(1),
                lost_per_mille: 0,
                duplicated_per_mille: 0,
                refuses: false,
            },
            crash_every: None,
            down_max: Duration::ZERO,
            partition_every: None,
            snapshot_every: None,
            late_per_mille: 0,
            old_per_mille: 0,
            disk_max: Duration::from_millis(1),
            ..Self::default()
        }
    }
}

/// A part that does not keep its word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lie {
    /// The log thread reports operations as durable before they are.
    DurableTooSoon,
    /// A crash takes vote and leader out of `quorum-state`, sometimes the newest epoch too.
    ElectionForgotten,
    /// Whoever asks for a vote is told that it is granted.
    VotesForAll,
}
