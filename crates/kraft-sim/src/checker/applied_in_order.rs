//! A state machine is given what is committed, all of it, once and in order.

use super::{Checker, Fact, Violation};
use kraft_core::NodeId;
use std::collections::BTreeMap;

/// Remembers how far each state machine is, and compares it with what its node knows to be committed.
#[derive(Debug, Default)]
pub struct AppliedInOrder {
    /// The next offset; none before the first batch or snapshot.
    next: BTreeMap<NodeId, i64>,
    high_watermarks: BTreeMap<NodeId, i64>,
    /// What has to be covered by the high watermark that is told next.
    ahead: BTreeMap<NodeId, i64>,
}

impl AppliedInOrder {
    fn committed(&mut self, node: NodeId, high_watermark: Option<i64>) -> Result<(), Violation> {
        if let Some(offset) = high_watermark {
            self.high_watermarks.insert(node, offset);
        }
        let ahead = self.ahead.remove(&node);
        // A leader that commits its own end knows no high watermark any more when the step is over.
        let (Some(end), Some(mark)) = (ahead, high_watermark) else {
            return Ok(());
        };
        if mark >= end {
            return Ok(());
        }
        Err(self.violated(format!(
            "node {node} has applied up to {end}, only what is below {mark} is committed"
        )))
    }
}

impl Checker for AppliedInOrder {
    fn invariant(&self) -> &'static str {
        "what is committed is applied in order"
    }

    fn observe(&mut self, fact: &Fact) -> Result<(), Violation> {
        match fact {
            Fact::Crashed { node } => {
                self.next.remove(node);
                self.high_watermarks.remove(node);
                self.ahead.remove(node);
                Ok(())
            }
            Fact::Loaded { node, snapshot, .. } => {
                self.next.insert(*node, snapshot.end_offset);
                Ok(())
            }
            Fact::Applied { node, batch, .. } => {
                let next = self.next.insert(*node, batch.last + 1).unwrap_or(0);
                if batch.base != next {
                    return Err(self.violated(format!("node {node} applies {batch:?}, {next} is next")));
                }
                // The step that applies is also the one in which the high watermark moves.
                if self
                    .high_watermarks
                    .get(node)
                    .is_none_or(|mark| *mark <= batch.last)
                {
                    self.ahead.insert(*node, batch.last + 1);
                }
                Ok(())
            }
            Fact::State {
                node, high_watermark, ..
            } => self.committed(*node, *high_watermark),
            _ => Ok(()),
        }
    }

    fn finish(&self) -> Result<(), Violation> {
        match self.ahead.first_key_value() {
            None => Ok(()),
            Some((node, end)) => Err(self.violated(format!(
                "node {node} has applied up to {end}, which was never committed"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::BatchMark, *};
    use kraft_core::{Epoch, RoleName, SnapshotId};

    fn applied(base: i64) -> Fact {
        Fact::Applied {
            node: NodeId(0),
            batch: BatchMark {
                base,
                last: base + 1,
                epoch: Epoch(1),
                digest: 7,
            },
            records: vec![1, 2],
        }
    }

    fn committed(high_watermark: i64) -> Fact {
        Fact::State {
            node: NodeId(0),
            role: RoleName::Follower,
            epoch: Epoch(1),
            leader: None,
            high_watermark: Some(high_watermark),
        }
    }

    fn run(facts: &[Fact]) -> Result<(), Violation> {
        let mut checker = AppliedInOrder::default();
        facts.iter().try_for_each(|fact| checker.observe(fact))?;
        checker.finish()
    }

    #[test]
    fn sim_002_state_machines_get_every_committed_value_once_and_in_order() {
        let crash = || Fact::Crashed { node: NodeId(0) };
        let loaded = Fact::Loaded {
            node: NodeId(0),
            snapshot: SnapshotId {
                end_offset: 2,
                epoch: Epoch(1),
            },
            digest: 7,
        };
        let good = [
            applied(0),
            committed(2),
            applied(2),
            committed(4),
            crash(),
            loaded,
            applied(2),
            committed(4),
        ];
        assert_eq!(run(&good), Ok(()));
        assert!(run(&[applied(0), committed(2), applied(0), committed(2)]).is_err());
        assert!(run(&[applied(0), committed(2), applied(4), committed(6)]).is_err());
    }

    #[test]
    fn fires_when_more_is_applied_than_is_committed() {
        assert!(run(&[applied(0), committed(1)]).is_err());
        assert!(run(&[committed(1), applied(0)]).is_err());
        assert_eq!(run(&[committed(2), applied(0)]), Ok(()));
    }
}
