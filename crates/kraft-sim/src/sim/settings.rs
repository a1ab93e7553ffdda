//! What is simulated, and how bad the world is.

use super::network::Faults;
use std::time::Duration;

/// The size of a simulation and everything that can go wrong in it. Of it [`Plan::draw`](super::Plan::draw) makes what happens under a
/// seed.
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
    /// the disk of some fails or is full.
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
    /// How long the proposals of clients gather before a leader appends them.
    pub append_linger: Duration,
    /// How many of a thousand nodes have their first start later, with an empty disk.
    pub late_per_mille: u64,
    /// How many of a thousand nodes speak only the versions from before KIP-853, where the voters are static and stay so.
    pub old_per_mille: u64,
    /// The longest time that a round of the log thread takes.
    pub disk_max: Duration,
    /// The mean time between two times of slowness of any disk; `None` for none. They last up to 6 s, and a round takes as long.
    pub slow_disk_every: Option<Duration>,
    /// The mean time between two pauses of any node; `None` for none. They last up to 4 s.
    pub pause_every: Option<Duration>,
    /// How much faster or slower a clock runs than the true time, at most, in millionths.
    pub clock_drift_ppm: u32,
    /// The mean time between two jumps of the wall time of any node; `None` for none.
    pub clock_jump_every: Option<Duration>,
    /// The mean time between two losses of a whole disk; `None` for none. Only where voters have directory ids, and only of one
    /// voter of three or more at a time: a quorum does not survive more.
    pub lost_disk_every: Option<Duration>,
    /// The mean time between two moves of a node to another address; `None` for none. Only where voters tell their addresses.
    pub move_every: Option<Duration>,
    /// The mean time between two wishes to add or remove a voter; `None` for none.
    pub voter_change_every: Option<Duration>,
    /// How many of a thousand quorums with voters from the configuration are raised to kraft.version 1.
    pub upgrade_per_mille: u64,
    /// How many of a thousand quorums have nodes that become voters by themselves.
    pub auto_join_per_mille: u64,
    /// The mean time between two resignations of a leader that is asked to; `None` for none.
    pub resign_every: Option<Duration>,
    /// The mean time between two reads of committed batches by somebody who is no replica, and between two reads of clients behind
    /// the read barrier; `None` for none.
    pub read_every: Option<Duration>,
    /// The mean time between two moments at which some of those who wait for a node go away; `None` for none.
    pub leave_every: Option<Duration>,
    /// The mean time between two proposals.
    pub propose_every: Duration,
    /// In which way a part of the system does not keep its word. For tests of the checkers.
    pub lie: Option<Lie>,
}

impl Default for Settings {
    fn default() -> Self {
        let seconds = |count| Some(Duration::from_secs(count));
        Self {
            voters: 3,
            observers: 0,
            dynamic_voters: None,
            duration: Duration::from_secs(30),
            settle: Duration::from_secs(60),
            network: Faults::default(),
            crash_every: seconds(4),
            down_max: Duration::from_secs(5),
            partition_every: seconds(3),
            snapshot_every: seconds(4),
            snapshot_new_bytes: None,
            append_linger: Duration::ZERO,
            late_per_mille: 100,
            old_per_mille: 100,
            disk_max: Duration::from_millis(30),
            slow_disk_every: seconds(12),
            pause_every: seconds(8),
            clock_drift_ppm: 20_000,
            clock_jump_every: seconds(10),
            lost_disk_every: seconds(12),
            move_every: seconds(9),
            voter_change_every: seconds(4),
            upgrade_per_mille: 500,
            auto_join_per_mille: 500,
            resign_every: seconds(15),
            read_every: Some(Duration::from_millis(300)),
            leave_every: seconds(1),
            propose_every: Duration::from_millis(25),
            lie: None,
        }
    }
}

impl Settings {
    /// What `cargo xtask sim` simulates under a seed: three voters, every fourth time five, sometimes one or two observers
    /// beside them. Every third time the nodes write snapshots by themselves, the more often the larger the seed is modulo seven.
    /// Two times of eleven proposals gather before they are appended, as long as they do in Kafka or for a shorter time.
    #[must_use]
    pub fn of_seed(seed: u64) -> Self {
        Self {
            voters: if seed % 4 == 3 { 5 } else { 3 },
            observers: [0, 1, 0, 2, 1][usize::try_from(seed % 5).expect("the number is small")],
            snapshot_new_bytes: (seed % 3 == 1).then_some(8192 >> (seed % 7)),
            append_linger: Duration::from_millis(match seed % 11 {
                5 => 25,
                8 => 4,
                _ => 0,
            }),
            ..Self::default()
        }
    }

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
            slow_disk_every: None,
            pause_every: None,
            clock_drift_ppm: 0,
            clock_jump_every: None,
            lost_disk_every: None,
            move_every: None,
            voter_change_every: None,
            upgrade_per_mille: 0,
            auto_join_per_mille: 0,
            resign_every: None,
            read_every: None,
            leave_every: None,
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

impl Lie {
    const ALL: [(Self, &'static str); 3] = [
        (Self::DurableTooSoon, "durable-too-soon"),
        (Self::ElectionForgotten, "election-forgotten"),
        (Self::VotesForAll, "votes-for-all"),
    ];

    pub(crate) fn name(self) -> &'static str {
        let mut all = Self::ALL.iter();
        all.find(|(lie, _)| *lie == self).map_or("", |(_, name)| name)
    }

    pub(crate) fn of(name: &str) -> Option<Self> {
        let mut all = Self::ALL.iter();
        all.find(|(_, known)| *known == name).map(|(lie, _)| *lie)
    }
}
