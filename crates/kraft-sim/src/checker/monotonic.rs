//! High watermark and epoch never go back.

use super::{Checker, Fact, Violation};
use kraft_core::{Epoch, NodeId, RoleName};
use std::collections::BTreeMap;

/// Remembers the largest epoch that each node has stored, and while it is up its epoch and high watermark.
///
/// An epoch that is not stored yet is nobody else's business, so a crash may take it back. A leader's own high watermark
/// begins anew with its epoch, as it knows nothing until a majority has a record of the epoch.
#[derive(Debug, Default)]
pub struct Monotonic {
    stored: BTreeMap<NodeId, Epoch>,
    epochs: BTreeMap<NodeId, Epoch>,
    high_watermarks: BTreeMap<NodeId, i64>,
    /// The largest high watermark of any leader, and that leader's epoch.
    leader_high_watermark: Option<(Epoch, i64)>,
}

impl Checker for Monotonic {
    fn invariant(&self) -> &'static str {
        "epoch and high watermark never go back"
    }

    fn observe(&mut self, fact: &Fact) -> Result<(), Violation> {
        match fact {
            Fact::Crashed { node } => {
                self.epochs.remove(node);
                self.high_watermarks.remove(node);
                Ok(())
            }
            Fact::Stored { node, epoch, .. } => {
                let before = self.stored.insert(*node, *epoch);
                self.never_back(*node, before, *epoch)
            }
            Fact::State {
                node,
                role,
                epoch,
                high_watermark,
                ..
            } => {
                self.never_back(*node, self.stored.get(node).copied(), *epoch)?;
                let before = self.epochs.insert(*node, *epoch);
                self.never_back(*node, before, *epoch)?;
                match high_watermark {
                    None => Ok(()),
                    Some(offset) => self.high_watermark(*node, *role, *epoch, *offset),
                }
            }
            Fact::Log { .. }
            | Fact::Applied { .. }
            | Fact::Loaded { .. }
            | Fact::Refused { .. }
            | Fact::Acknowledged { .. } => Ok(()),
        }
    }
}

impl Monotonic {
    fn never_back(&self, node: NodeId, before: Option<Epoch>, epoch: Epoch) -> Result<(), Violation> {
        match before {
            Some(before) if before > epoch => {
                Err(self.violated(format!("node {node} goes from epoch {before} to {epoch}")))
            }
            Some(_) | None => Ok(()),
        }
    }

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
        match self.leader_high_watermark {
            Some((newest, before)) if epoch >= newest && offset < before => Err(self.violated(format!(
                "node {node}, leader of epoch {epoch}, has the high watermark {offset}, the leader of {newest} had {before}"
            ))),
            Some((newest, before)) if epoch < newest || offset == before => Ok(()),
            Some(_) | None => {
                self.leader_high_watermark = Some((epoch, offset));
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
        let mut checker = Monotonic::default();
        facts.iter().try_for_each(|fact| checker.observe(fact))
    }

    #[test]
    fn fires_when_an_epoch_goes_back() {
        assert!(
            run(&[
                state(0, RoleName::Follower, 3, None),
                state(0, RoleName::Follower, 2, None)
            ])
            .is_err()
        );
    }

    #[test]
    fn fires_when_a_stored_epoch_goes_back_over_a_restart() {
        let stored = |epoch| Fact::Stored {
            node: NodeId(0),
            epoch: Epoch(epoch),
            voted: None,
        };
        let crash = || Fact::Crashed { node: NodeId(0) };
        assert!(run(&[stored(3), crash(), state(0, RoleName::Follower, 2, None)]).is_err());
        assert!(run(&[stored(3), stored(2)]).is_err());
        let not_stored = [
            state(0, RoleName::Follower, 3, None),
            crash(),
            state(0, RoleName::Follower, 2, None),
        ];
        assert_eq!(run(&not_stored), Ok(()));
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
    fn fires_when_a_new_leader_has_less_than_an_older_one() {
        let old = state(0, RoleName::Leader, 3, Some(10));
        assert!(run(&[old.clone(), state(1, RoleName::Leader, 4, Some(9))]).is_err());
        assert_eq!(
            run(&[old.clone(), state(1, RoleName::Leader, 2, Some(9))]),
            Ok(())
        );
        assert_eq!(
            run(&[
                old,
                state(1, RoleName::Leader, 4, None),
                state(1, RoleName::Leader, 4, Some(12))
            ]),
            Ok(())
        );
    }
}
