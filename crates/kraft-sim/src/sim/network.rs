//! The network between the nodes: delay, loss, duplication, reordering, and partitions that may go one way only.

use super::rng::Rng;
use kraft_core::{Instant, NodeId};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

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
    /// When the last message on each way arrives.
    last: BTreeMap<(NodeId, NodeId), Instant>,
}

/// What becomes of one message.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// When each copy arrives: none when it is lost.
    pub(super) arrivals: Vec<Instant>,
    pub(super) lost: bool,
    pub(super) doubled: bool,
    pub(super) overtakes: bool,
}

impl Links {
    pub(crate) fn new(faults: Faults) -> Self {
        Self {
            faults,
            cut: BTreeSet::new(),
            last: BTreeMap::new(),
        }
    }

    /// What becomes of a message that is sent now.
    pub(super) fn copies(&mut self, from: NodeId, to: NodeId, now: Instant, rng: &mut Rng) -> Copies {
        if self.is_cut(from, to) {
            return Copies::default();
        }
        if rng.chance(self.faults.lost_per_mille) {
            return Copies {
                lost: true,
                ..Copies::default()
            };
        }
        let doubled = rng.chance(self.faults.duplicated_per_mille);
        let arrivals: Vec<_> = (0..=u8::from(doubled))
            .map(|_| now.after(self.delay(rng)))
            .collect();
        let first = arrivals.iter().min().copied().unwrap_or(now);
        let last = self.last.entry((from, to)).or_default();
        let overtakes = first < *last;
        *last = first.max(*last);
        Copies {
            arrivals,
            lost: false,
            doubled,
            overtakes,
        }
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

    /// Cuts a group off from all others, in both directions.
    pub(crate) fn cut_off(&mut self, group: &[NodeId], all: &[NodeId]) {
        for other in all.iter().filter(|id| !group.contains(id)) {
            for member in group {
                self.cut(*member, *other);
                self.cut(*other, *member);
            }
        }
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(links: &mut Links, from: i32, to: i32) -> usize {
        let mut rng = Rng::new(1);
        let copies = links.copies(NodeId(from), NodeId(to), Instant(0), &mut rng);
        copies.arrivals.len()
    }

    fn sound() -> Faults {
        Faults {
            lost_per_mille: 0,
            duplicated_per_mille: 0,
            ..Faults::default()
        }
    }

    #[test]
    fn sim_020_what_is_cut_off_is_dropped_in_one_direction_or_in_both() {
        let mut links = Links::new(sound());
        links.cut(NodeId(1), NodeId(2));
        assert_eq!((arrivals(&mut links, 1, 2), arrivals(&mut links, 2, 1)), (0, 1));
        links.heal();
        let all = [1, 2, 3].map(NodeId);
        links.cut_off(&all[..1], &all);
        for (from, to, through) in [(1, 2, 0), (2, 1, 0), (1, 3, 0), (3, 1, 0), (2, 3, 1), (3, 2, 1)] {
            assert_eq!(arrivals(&mut links, from, to), through, "{from} to {to}");
        }
        links.recover();
        assert_eq!(arrivals(&mut links, 1, 2), 1);
    }

    #[test]
    fn messages_are_lost_doubled_and_overtake_each_other() {
        let mut links = Links::new(Faults {
            lost_per_mille: 100,
            duplicated_per_mille: 100,
            ..Faults::default()
        });
        let mut rng = Rng::new(7);
        let (mut lost, mut doubled, mut overtakes) = (0, 0, 0);
        for moment in 0..1000 {
            let copies = links.copies(NodeId(1), NodeId(2), Instant(moment * 1000), &mut rng);
            assert_eq!(copies.arrivals.is_empty(), copies.lost);
            assert_eq!(copies.arrivals.len() == 2, copies.doubled);
            lost += u32::from(copies.lost);
            doubled += u32::from(copies.doubled);
            overtakes += u32::from(copies.overtakes);
        }
        assert!(
            lost > 50 && doubled > 50 && overtakes > 50,
            "{lost} {doubled} {overtakes}"
        );
    }
}
