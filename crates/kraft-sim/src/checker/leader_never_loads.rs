//! While a state machine leads it is not replaced by a snapshot.

use super::{Checker, Fact, Violation};
use kraft_core::{Epoch, NodeId};
use std::collections::BTreeMap;

/// Remembers whose state machine leads.
#[derive(Debug, Default)]
pub struct LeaderNeverLoads {
    leading: BTreeMap<NodeId, Epoch>,
}

impl Checker for LeaderNeverLoads {
    fn invariant(&self) -> &'static str {
        "a leader never loads a snapshot"
    }

    fn observe(&mut self, fact: &Fact) -> Result<(), Violation> {
        match fact {
            Fact::Leading { node, epoch } => {
                match epoch {
                    Some(epoch) => self.leading.insert(*node, *epoch),
                    None => self.leading.remove(node),
                };
                Ok(())
            }
            Fact::Crashed { node } => {
                self.leading.remove(node);
                Ok(())
            }
            Fact::Loaded { node, snapshot, .. } => match self.leading.get(node) {
                None => Ok(()),
                Some(epoch) => {
                    Err(self.violated(format!("node {node} leads epoch {epoch} and loads {snapshot:?}")))
                }
            },
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kraft_core::SnapshotId;

    fn leading(epoch: Option<i32>) -> Fact {
        Fact::Leading {
            node: NodeId(0),
            epoch: epoch.map(Epoch),
        }
    }

    fn run(facts: &[Fact]) -> Result<(), Violation> {
        let mut checker = LeaderNeverLoads::default();
        facts.iter().try_for_each(|fact| checker.observe(fact))
    }

    #[test]
    fn sim_017_no_snapshot_is_loaded_while_the_state_machine_leads() {
        let loaded = |node| Fact::Loaded {
            node: NodeId(node),
            snapshot: SnapshotId {
                end_offset: 10,
                epoch: Epoch(1),
            },
            digest: 7,
        };
        let crash = Fact::Crashed { node: NodeId(0) };
        assert_eq!(
            run(&[
                loaded(0),
                leading(Some(3)),
                loaded(1),
                leading(None),
                loaded(0),
                leading(Some(4)),
                crash,
                loaded(0)
            ]),
            Ok(())
        );
        assert!(run(&[leading(Some(3)), loaded(0)]).is_err());
    }
}
