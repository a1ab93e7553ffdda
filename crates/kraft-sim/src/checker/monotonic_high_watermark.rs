//! High watermarks never go back.

use super::{Checker, Fact, Violation};
use kraft_core::{Epoch, NodeId, RoleName};
use std::collections::BTreeMap;

/// Remembers the high watermark of each node while it is up, and the largest of any leader.
///
/// A leader's own high watermark begins anew with its epoch, as it knows nothing until a majority has a record of the epoch.
#[derive(Debug, Default)]
pub struct MonotonicHighWatermark {
    high_watermarks: BTreeMap<NodeId, i64>,
    /// The largest high watermark of any leader, and that leader's epoch.
    leader: Option<(Epoch, i64)>,
}

impl Checker for MonotonicHighWatermark {
    fn invariant(&self) -> &'static str {
        "high watermarks never go back"
    }

    fn observe(&mut self, fact: &Fact) -> Result<(), Violation> {
        match fact {
            Fact::Crashed { node } => {
                self.high_watermarks.remove(node);
                Ok(())
            }
            Fact::State {
                node,
                role,
                epoch,
                high_watermark: Some(offset),
                ..
            } => self.high_watermark(*node, *role, *epoch, *offset),
            _ => Ok(()),
        }
    }
}

impl MonotonicHighWatermark {
    fn high_watermark(
        &mut self,
        node: NodeId,
        role: RoleName,
        epoch: Epoch,
        offset: i64,
    ) -> Result<(), Violation> {
        if let Some(before) = self.high_watermarks.insert(node, offset)
            && before > offset
        {
            return Err(self.violated(format!(
                "the high watermark of node {node} goes from {before} to {offset}"
            )));
        }
        if role != RoleName::Leader {
            return Ok(());
        }
        match self.leader {
            Some((newest, before)) if epoch >= newest && offset < before => Err(self.violated(format!(
                "node {node}, leader of epoch {epoch}, has the high watermark {offset}, the leader of {newest} had {before}"
            ))),
            Some((newest, _)) if epoch < newest => Ok(()),
            Some(_) | None => {
                self.leader = Some((epoch, offset));
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(node: i32, role: RoleName, epoch: i32, high_watermark: Option<i64>) -> Fact {
        Fact::State {
            node: NodeId(node),
            role,
            epoch: Epoch(epoch),
            leader: None,
            high_watermark,
        }
    }

    fn run(facts: &[Fact]) -> Result<(), Violation> {
        let mut checker = MonotonicHighWatermark::default();
        facts.iter().try_for_each(|fact| checker.observe(fact))
    }

    #[test]
    fn fires_when_a_high_watermark_goes_back_without_a_restart() {
        let high = state(0, RoleName::Follower, 3, Some(10));
        let low = state(0, RoleName::Follower, 3, Some(9));
        let crash = Fact::Crashed { node: NodeId(0) };
        assert!(run(&[high.clone(), low.clone()]).is_err());
        assert_eq!(run(&[high, crash, low]), Ok(()));
    }

    #[test]
    fn sim_012_no_leader_has_a_lower_high_watermark_than_one_before() {
        let old = state(0, RoleName::Leader, 3, Some(10));
        let new = |mark| state(1, RoleName::Leader, 4, mark);
        assert!(run(&[old.clone(), new(Some(9))]).is_err());
        // Of two that believe to lead, the older one stands still.
        let late = state(1, RoleName::Leader, 2, Some(9));
        assert_eq!(run(&[old.clone(), late]), Ok(()));
        assert_eq!(run(&[old, new(None), new(Some(12))]), Ok(()));
    }
}
