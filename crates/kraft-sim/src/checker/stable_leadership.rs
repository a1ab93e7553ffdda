//! Where nothing cuts a leader off from its majority, leadership never changes.

use super::{Checker, Fact, Violation};
use kraft_core::{Epoch, NodeId};

/// Remembers the first leader that anybody has stored, and its epoch.
#[derive(Debug, Default)]
pub struct StableLeadership {
    first: Option<(NodeId, Epoch)>,
}

impl Checker for StableLeadership {
    fn invariant(&self) -> &'static str {
        "leadership is stable"
    }

    fn observe(&mut self, fact: &Fact) -> Result<(), Violation> {
        let Fact::Stored {
            node,
            epoch,
            leader: Some(leader),
            ..
        } = fact
        else {
            return Ok(());
        };
        let first = *self.first.get_or_insert((*leader, *epoch));
        if first == (*leader, *epoch) {
            return Ok(());
        }
        Err(self.violated(format!(
            "node {node} knows {leader} as leader of epoch {epoch}, the first was {} of epoch {}",
            first.0, first.1
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sim_018_the_first_leader_and_its_epoch_are_the_only_ones() {
        let stored = |node, epoch, leader: Option<i32>| Fact::Stored {
            node: NodeId(node),
            epoch: Epoch(epoch),
            leader: leader.map(NodeId),
            voted: None,
        };
        let run = |facts: &[Fact]| {
            let mut checker = StableLeadership::default();
            facts.iter().try_for_each(|fact| checker.observe(fact))
        };
        let elected = [
            stored(0, 2, None),
            stored(0, 2, Some(0)),
            stored(1, 2, Some(0)),
            stored(1, 3, None),
        ];
        assert_eq!(run(&elected), Ok(()));
        assert!(run(&[stored(0, 2, Some(0)), stored(1, 3, Some(0))]).is_err());
        assert!(run(&[stored(0, 2, Some(0)), stored(1, 2, Some(1))]).is_err());
    }
}
