//! What clients are told is linearizable, and never a lie.
//!
//! A log makes the general search for an order of operations needless: whoever was told where its records stand has named its
//! place in the order. So the history is linearizable exactly if places are unique, if every operation stands behind all
//! that was known to be done when it began, and if what was told not to be in the log never gets there.

use super::{BatchMark, Checker, Fact, Fate, OpId, Violation};
use kraft_core::{Epoch, NodeId};
use std::collections::BTreeMap;

/// Where a leader has put records: epoch, and offset of the first one. No other records ever have the same place, as an epoch
/// has one leader and a leader never goes back.
type Place = (Epoch, i64);

/// Follows every client from its request to what it is told.
#[derive(Debug, Default)]
pub struct History {
    /// Clients that have not been told anything.
    waiting: BTreeMap<OpId, Waiting>,
    /// Everything below was known to be done by somebody: a request that begins later stands behind it.
    known: i64,
    /// Clients that read: at which node, and what they have to see.
    reading: BTreeMap<OpId, (NodeId, i64)>,
    /// What was appended for clients, by its place.
    places: BTreeMap<Place, Placed>,
    /// Last offset and epoch of each committed batch, by the offset of its first record.
    committed: BTreeMap<i64, (i64, Epoch)>,
}

#[derive(Debug)]
struct Waiting {
    node: NodeId,
    /// Its records stand at or behind this offset.
    floor: i64,
    place: Option<Place>,
}

#[derive(Debug)]
struct Placed {
    op: OpId,
    last: i64,
    floor: i64,
    /// The client was told that its records are not in the log.
    denied: bool,
}

impl History {
    fn is_committed(&self, (epoch, base): Place) -> bool {
        let batch = self.committed.range(..=base).next_back();
        batch.is_some_and(|(_, (last, of))| *last >= base && *of == epoch)
    }

    fn appended(&mut self, op: OpId, place: Place, last: i64) -> Result<(), Violation> {
        let Some(waiting) = self.waiting.get_mut(&op) else {
            return Err(self.violated(format!("{op:?} is appended, but nobody waits for it")));
        };
        if let Some(before) = waiting.place.replace(place) {
            return Err(self.violated(format!("{op:?} is appended at {before:?} and at {place:?}")));
        }
        let placed = Placed {
            op,
            last,
            floor: waiting.floor,
            denied: false,
        };
        if let Some(before) = self.places.insert(place, placed) {
            return Err(self.violated(format!(
                "{:?} and {op:?} are both appended at {place:?}",
                before.op
            )));
        }
        Ok(())
    }

    fn acknowledged(&mut self, op: OpId, told: Place, last: i64) -> Result<(), Violation> {
        let Some(waiting) = self.waiting.remove(&op) else {
            return Err(self.violated(format!("{op:?} is told twice, or was never asked for")));
        };
        let placed = waiting.place.and_then(|place| self.places.get(&place));
        if waiting.place != Some(told) || placed.is_none_or(|placed| placed.last != last) {
            return Err(self.violated(format!(
                "{op:?} is told {told:?} to {last}, its records are at {:?}",
                waiting.place
            )));
        }
        if !self.is_committed(told) {
            return Err(self.violated(format!("{op:?} is told {told:?}, which nobody has applied")));
        }
        if told.1 < waiting.floor {
            return Err(self.violated(format!(
                "{op:?} stands at {told:?}, everything below {} was known to be done when it began",
                waiting.floor
            )));
        }
        self.known = self.known.max(last + 1);
        Ok(())
    }

    fn read(&mut self, op: OpId, end: Option<i64>) -> Result<(), Violation> {
        let Some((node, floor)) = self.reading.remove(&op) else {
            return Err(self.violated(format!("{op:?} has read twice, or never begun")));
        };
        match end {
            Some(end) if end < floor => Err(self.violated(format!(
                "{op:?} has read what is below {end} at node {node}, everything below {floor} was known to be done when it began"
            ))),
            Some(end) => {
                self.known = self.known.max(end);
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn refused(&mut self, op: OpId, fate: Fate, reason: &str) -> Result<(), Violation> {
        let Some(waiting) = self.waiting.remove(&op) else {
            return Err(self.violated(format!("{op:?} is told twice, or was never asked for")));
        };
        let (Fate::Not, Some(place)) = (fate, waiting.place) else {
            return Ok(());
        };
        if self.is_committed(place) {
            return Err(self.violated(format!("{op:?} is committed at {place:?} and was told: {reason}")));
        }
        if let Some(placed) = self.places.get_mut(&place) {
            placed.denied = true;
        }
        Ok(())
    }

    fn applied(&mut self, batch: &BatchMark) -> Result<(), Violation> {
        if self
            .committed
            .insert(batch.base, (batch.last, batch.epoch))
            .is_some()
        {
            return Ok(());
        }
        let range = (batch.epoch, batch.base)..=(batch.epoch, batch.last);
        for (place, placed) in self.places.range(range) {
            let fault = if placed.denied {
                "was told that it is not in the log".to_owned()
            } else if place.1 < placed.floor {
                format!(
                    "began when everything below {} was known to be done",
                    placed.floor
                )
            } else {
                continue;
            };
            return Err(self.violated(format!("{:?} is committed at {place:?} and {fault}", placed.op)));
        }
        Ok(())
    }
}

impl Checker for History {
    fn invariant(&self) -> &'static str {
        "clients see one history"
    }

    fn observe(&mut self, fact: &Fact) -> Result<(), Violation> {
        match fact {
            Fact::Invoked { op, node } => {
                let waiting = Waiting {
                    node: *node,
                    floor: self.known,
                    place: None,
                };
                self.waiting.insert(*op, waiting);
                Ok(())
            }
            Fact::Appended {
                op,
                epoch,
                base,
                last,
            } => self.appended(*op, (*epoch, *base), *last),
            Fact::Acknowledged {
                op,
                epoch,
                base,
                last,
                ..
            } => self.acknowledged(*op, (*epoch, *base), *last),
            Fact::Refused { op, fate, reason, .. } => self.refused(*op, *fate, reason),
            Fact::Forgotten { op, node } => {
                Err(self.violated(format!("node {node} goes on and has forgotten {op:?}")))
            }
            Fact::Left { op, .. } => {
                self.waiting.remove(op);
                self.reading.remove(op);
                Ok(())
            }
            // Whoever waited learns nothing.
            Fact::Crashed { node } => {
                self.waiting.retain(|_, waiting| waiting.node != *node);
                self.reading.retain(|_, (of, _)| of != node);
                Ok(())
            }
            Fact::Applied { batch, .. } => self.applied(batch),
            Fact::ReadBegan { op, node } => {
                self.reading.insert(*op, (*node, self.known));
                Ok(())
            }
            Fact::ReadDone { op, end, .. } => self.read(*op, *end),
            _ => Ok(()),
        }
    }

    fn finish(&self) -> Result<(), Violation> {
        let writers = self.waiting.iter().map(|(op, waiting)| (op, waiting.node));
        let readers = self.reading.iter().map(|(op, (node, _))| (op, *node));
        match writers.chain(readers).next() {
            None => Ok(()),
            Some((op, node)) => Err(self.violated(format!("{op:?} is never told anything by node {node}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn invoked(op: u64) -> Fact {
        Fact::Invoked {
            op: OpId(op),
            node: NodeId(0),
        }
    }

    fn appended(op: u64, base: i64) -> Fact {
        Fact::Appended {
            op: OpId(op),
            epoch: Epoch(1),
            base,
            last: base,
        }
    }

    fn acknowledged(op: u64, base: i64) -> Fact {
        Fact::Acknowledged {
            op: OpId(op),
            epoch: Epoch(1),
            base,
            last: base,
            records: vec![7],
        }
    }

    fn applied(base: i64) -> Fact {
        Fact::Applied {
            node: NodeId(0),
            batch: BatchMark {
                base,
                last: base,
                epoch: Epoch(1),
                digest: 7,
            },
            records: vec![7],
        }
    }

    fn refused(op: u64, fate: Fate) -> Fact {
        Fact::Refused {
            op: OpId(op),
            node: NodeId(0),
            fate,
            reason: String::new(),
        }
    }

    fn run(facts: &[Fact]) -> Result<(), Violation> {
        let mut checker = History::default();
        facts.iter().try_for_each(|fact| checker.observe(fact))?;
        checker.finish()
    }

    #[test]
    fn holds_for_clients_one_behind_and_one_beside_the_other() {
        let facts = [
            invoked(1),
            appended(1, 0),
            applied(0),
            acknowledged(1, 0),
            invoked(2),
            invoked(3),
            appended(3, 1),
            appended(2, 2),
            applied(1),
            applied(2),
            acknowledged(2, 2),
            acknowledged(3, 1),
        ];
        assert_eq!(run(&facts), Ok(()));
    }

    #[test]
    fn fires_when_a_client_stands_before_one_that_was_done() {
        let facts = [
            invoked(1),
            appended(1, 5),
            applied(5),
            acknowledged(1, 5),
            invoked(2),
            appended(2, 4),
        ];
        assert_eq!(run(&[&facts[..], &[refused(2, Fate::Unknown)]].concat()), Ok(()));
        assert!(run(&[&facts[..], &[applied(4), acknowledged(2, 4)]].concat()).is_err());
        assert!(run(&[&facts[..], &[refused(2, Fate::Unknown), applied(4)]].concat()).is_err());
    }

    #[test]
    fn fires_when_a_client_is_told_something_else_than_what_happened() {
        let begun = [invoked(1), appended(1, 0)];
        let with = |more: &[Fact]| run(&[&begun[..], more].concat());
        assert!(with(&[acknowledged(1, 0)]).is_err(), "nobody has applied it");
        assert!(with(&[applied(0), acknowledged(1, 1)]).is_err(), "another place");
        assert!(with(&[applied(0), refused(1, Fate::Not)]).is_err());
        assert!(with(&[refused(1, Fate::Not), applied(0)]).is_err());
        assert_eq!(with(&[refused(1, Fate::Unknown), applied(0)]), Ok(()));
        assert_eq!(with(&[refused(1, Fate::Not)]), Ok(()));
        assert!(with(&[applied(0), acknowledged(1, 0), refused(1, Fate::Not)]).is_err());
    }

    #[test]
    fn fires_when_a_read_misses_what_was_done_or_read_before() {
        let began = |op| Fact::ReadBegan {
            op: OpId(op),
            node: NodeId(0),
        };
        let done = |op, end| Fact::ReadDone {
            op: OpId(op),
            node: NodeId(0),
            end,
        };
        let written = [invoked(1), appended(1, 4), applied(4), acknowledged(1, 4)];
        let with = |more: &[Fact]| run(&[&written[..], more].concat());
        assert_eq!(with(&[began(2), done(2, Some(5))]), Ok(()));
        assert_eq!(with(&[began(2), done(2, None)]), Ok(()));
        assert!(with(&[began(2), done(2, Some(4))]).is_err());
        assert!(with(&[began(2), done(2, Some(7)), began(3), done(3, Some(6))]).is_err());
        assert!(with(&[began(2)]).is_err());
        assert_eq!(
            run(&[&[began(2)], &written[..], &[done(2, Some(0))]].concat()),
            Ok(())
        );
    }

    #[test]
    fn fires_when_the_records_of_a_client_that_has_left_are_appended_after_that() {
        let left = Fact::Left {
            op: OpId(1),
            node: NodeId(0),
        };
        assert_eq!(run(&[invoked(1), left.clone()]), Ok(()));
        assert_eq!(
            run(&[invoked(1), appended(1, 0), left.clone(), applied(0)]),
            Ok(())
        );
        assert!(run(&[invoked(1), left, appended(1, 0)]).is_err());
    }

    #[test]
    fn fires_when_a_client_is_forgotten_or_appended_twice() {
        assert!(run(&[invoked(1)]).is_err());
        let forgotten = Fact::Forgotten {
            op: OpId(1),
            node: NodeId(0),
        };
        assert!(run(&[invoked(1), forgotten]).is_err());
        assert_eq!(run(&[invoked(1), Fact::Crashed { node: NodeId(0) }]), Ok(()));
        assert!(run(&[invoked(1), appended(1, 0), appended(1, 1)]).is_err());
        assert!(run(&[invoked(1), invoked(2), appended(1, 0), appended(2, 0)]).is_err());
    }
}
