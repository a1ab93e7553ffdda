//! The leader of an epoch serves one log: what it wrote, or had when it was elected.

use super::{BatchMark, Checker, Fact, Violation};
use kraft_core::{Epoch, NodeId};
use std::collections::BTreeMap;

/// Compares what replicas are served in one epoch. A leader's log only grows, so of two batches at one place one is not of it;
/// nor is one that a later leader wrote.
#[derive(Debug, Default)]
pub struct OneLog {
    /// The batches that were served, by the offset of their first record.
    served: BTreeMap<Epoch, BTreeMap<i64, BatchMark>>,
}

impl OneLog {
    fn served(&mut self, node: NodeId, epoch: Epoch, batch: &BatchMark) -> Result<(), Violation> {
        if batch.epoch > epoch {
            return Err(self.violated(format!(
                "node {node}, as the leader of epoch {epoch}, has served {batch:?}"
            )));
        }
        let log = self.served.entry(epoch).or_default();
        let before = *log.entry(batch.base).or_insert(*batch);
        if before != *batch {
            return Err(self.violated(format!(
                "node {node}, as the leader of epoch {epoch}, has served {batch:?}, and {before:?} before"
            )));
        }
        Ok(())
    }
}

impl Checker for OneLog {
    fn invariant(&self) -> &'static str {
        "one log per epoch"
    }

    fn observe(&mut self, fact: &Fact) -> Result<(), Violation> {
        let Fact::Replicated { node, epoch, batches } = fact else {
            return Ok(());
        };
        batches
            .iter()
            .try_for_each(|batch| self.served(*node, *epoch, batch))
    }
}

#[cfg(test)]
mod tests {
    use super::{super::fact::marks, *};

    fn replicated(epoch: i32, batches: &[(i64, i32, u64)]) -> Fact {
        Fact::Replicated {
            node: NodeId(1),
            epoch: Epoch(epoch),
            batches: marks(batches),
        }
    }

    fn run(facts: &[Fact]) -> Result<(), Violation> {
        let mut checker = OneLog::default();
        facts.iter().try_for_each(|fact| checker.observe(fact))
    }

    #[test]
    fn holds_for_leaders_with_different_logs() {
        let facts = [
            replicated(1, &[(0, 1, 7), (1, 1, 8)]),
            replicated(2, &[(0, 1, 7), (1, 2, 9)]),
            replicated(2, &[(1, 2, 9), (2, 2, 10)]),
        ];
        assert_eq!(run(&facts), Ok(()));
    }

    #[test]
    fn fires_when_one_leader_serves_two_logs() {
        assert!(run(&[replicated(3, &[(0, 1, 7)]), replicated(3, &[(0, 2, 9)])]).is_err());
    }

    #[test]
    fn fires_when_a_leader_serves_what_a_later_one_wrote() {
        assert!(run(&[replicated(3, &[(0, 4, 7)])]).is_err());
    }
}
