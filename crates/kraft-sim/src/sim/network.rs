//! The network between the nodes: delay, loss, duplication, reordering, and partitions that may go one way only.

use super::rng::Rng;
use kraft_core::NodeId;
use std::{collections::BTreeSet, time::Duration};

/// How bad a network is. Chances are per thousand messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults {
    /// The shortest time that a message takes.
    pub delay_min: Duration,
    /// The longest time; messages overtake each other.
    pub delay_max: Duration,
    /// How many are lost.
    pub lost_per_mille: u64,
    /// How many arrive twice.
    pub duplicated_per_mille: u64,
    /// Whether a node that is down refuses connections at once; otherwise requests to it run into their time-out.
    pub refuses: bool,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            delay_min: Duration::from_micros(200),
            delay_max: Duration::from_millis(20),
            lost_per_mille: 20,
            duplicated_per_mille: 20,
            refuses: true,
        }
    }
}

/// Which ways are cut, and what becomes of a message.
#[derive(Debug)]
pub(crate) struct Links {
    faults: Faults,
    cut: BTreeSet<(NodeId, NodeId)>,
}

impl Links {
    pub(crate) fn new(faults: Faults) -> Self {
        Self {
            faults,
            cut: BTreeSet::new(),
        }
    }

    /// How long each copy of a message takes: no entry when it is lost.
    pub(crate) fn copies(&self, from: NodeId, to: NodeId, rng: &mut Rng) -> Vec<Duration> {
        if self.is_cut(from, to) || rng.chance(self.faults.lost_per_mille) {
            return Vec::new();
        }
        let copies = 1 + usize::from(rng.chance(self.faults.duplicated_per_mille));
        (0..copies).map(|_| self.delay(rng)).collect()
    }

    pub(crate) fn is_cut(&self, from: NodeId, to: NodeId) -> bool {
        self.cut.contains(&(from, to))
    }

    fn delay(&self, rng: &mut Rng) -> Duration {
        let micros = |duration: Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        Duration::from_micros(rng.between(micros(self.faults.delay_min), micros(self.faults.delay_max)))
    }

    /// Cuts one way.
    pub(crate) fn cut(&mut self, from: NodeId, to: NodeId) {
        self.cut.insert((from, to));
    }

    pub(crate) fn heal(&mut self) {
        self.cut.clear();
    }

    /// Nothing is cut, lost or doubled any more.
    pub(crate) fn recover(&mut self) {
        self.heal();
        self.faults.lost_per_mille = 0;
        self.faults.duplicated_per_mille = 0;
    }

    /// Cuts at random: a group off from the rest in both directions, or single ways.
    pub(crate) fn cut_at_random(&mut self, nodes: &[NodeId], rng: &mut Rng) {
        self.heal();
        if rng.chance(500) {
            let group = rng.next();
            let side = |id: &NodeId| group >> (id.0.unsigned_abs() % 64) & 1;
            for from in nodes {
                for to in nodes.iter().filter(|to| side(from) != side(to)) {
                    self.cut(*from, *to);
                }
            }
        } else {
            for from in nodes {
                for to in nodes.iter().filter(|to| from != *to) {
                    if rng.chance(250) {
                        self.cut(*from, *to);
                    }
                }
            }
        }
    }
}
