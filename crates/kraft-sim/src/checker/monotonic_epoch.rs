//! Epochs never go back.

use super::{Checker, Fact, Violation};
use kraft_core::{Epoch, NodeId};
use std::collections::BTreeMap;

/// Remembers the largest epoch that each node has stored, and while it is up its own.
///
/// An epoch that is not stored yet is nobody else's business, so a crash may take it back.
#[derive(Debug, Default)]
pub struct MonotonicEpoch {
    stored: BTreeMap<NodeId, Epoch>,
    epochs: BTreeMap<NodeId, Epoch>,
}

impl Checker for MonotonicEpoch {
    fn invariant(&self) -> &'static str {
        "epochs never go back"
    }

    fn observe(&mut self, fact: &Fact) -> Result<(), Violation> {
        match fact {
            Fact::Crashed { node } => {
                self.epochs.remove(node);
                Ok(())
            }
            Fact::Wiped { node, .. } => {
                self.stored.remove(node);
                Ok(())
            }
            Fact::Stored { node, epoch, .. } => {
                let before = self.stored.insert(*node, *epoch);
                self.never_back(*node, before, *epoch)
            }
            Fact::State { node, epoch, .. } => {
                self.never_back(*node, self.stored.get(node).copied(), *epoch)?;
                let before = self.epochs.insert(*node, *epoch);
                self.never_back(*node, before, *epoch)
            }
            _ => Ok(()),
        }
    }
}

impl MonotonicEpoch {
    fn never_back(&self, node: NodeId, before: Option<Epoch>, epoch: Epoch) -> Result<(), Violation> {
        match before {
            Some(before) if before > epoch => {
                Err(self.violated(format!("node {node} goes from epoch {before} to {epoch}")))
            }
            Some(_) | None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kraft_core::{ReplicaKey, RoleName};

    fn state(epoch: i32) -> Fact {
        Fact::State {
            node: NodeId(0),
            role: RoleName::Follower,
            epoch: Epoch(epoch),
            leader: None,
            high_watermark: None,
        }
    }

    fn stored(epoch: i32) -> Fact {
        Fact::Stored {
            node: NodeId(0),
            epoch: Epoch(epoch),
            leader: None,
            voted: None,
        }
    }

    fn run(facts: &[Fact]) -> Result<(), Violation> {
        let mut checker = MonotonicEpoch::default();
        facts.iter().try_for_each(|fact| checker.observe(fact))
    }

    #[test]
    fn sim_013_a_stored_epoch_never_falls_and_a_running_node_is_not_behind_it() {
        let crash = || Fact::Crashed { node: NodeId(0) };
        assert_eq!(run(&[stored(3), state(3), crash(), state(3), stored(4)]), Ok(()));
        assert!(run(&[stored(3), stored(2)]).is_err());
        assert!(run(&[stored(3), crash(), state(2)]).is_err());
        assert!(run(&[state(3), state(2)]).is_err());
    }

    #[test]
    fn what_was_not_stored_may_be_forgotten() {
        let crash = Fact::Crashed { node: NodeId(0) };
        assert_eq!(run(&[state(3), crash, state(2)]), Ok(()));
        let wiped = Fact::Wiped {
            node: NodeId(0),
            former: ReplicaKey::without_directory(NodeId(0)),
            key: ReplicaKey::without_directory(NodeId(0)),
        };
        assert_eq!(run(&[stored(3), wiped, state(0)]), Ok(()));
    }
}
