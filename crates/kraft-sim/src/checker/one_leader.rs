//! An epoch has at most one leader.

use super::{Checker, Fact, Violation};
use kraft_core::{Epoch, NodeId, RoleName};
use std::collections::BTreeMap;

/// Remembers who led or was followed in each epoch.
#[derive(Debug, Default)]
pub struct OneLeader {
    leaders: BTreeMap<Epoch, NodeId>,
}

impl OneLeader {
    fn leads(&mut self, node: NodeId, epoch: Epoch, leader: NodeId) -> Result<(), Violation> {
        let known = *self.leaders.entry(epoch).or_insert(leader);
        if known == leader {
            return Ok(());
        }
        Err(self.violated(format!(
            "epoch {epoch} is led by {known}, and by {leader} as node {node} says"
        )))
    }
}

impl Checker for OneLeader {
    fn invariant(&self) -> &'static str {
        "one leader per epoch"
    }

    fn observe(&mut self, fact: &Fact) -> Result<(), Violation> {
        match fact {
            Fact::State {
                node,
                role: RoleName::Leader,
                epoch,
                leader,
                ..
            } if *leader != Some(*node) => {
                Err(self.violated(format!("node {node} leads epoch {epoch} and names {leader:?}")))
            }
            Fact::State {
                node,
                epoch,
                leader: Some(leader),
                ..
            }
            | Fact::Stored {
                node,
                epoch,
                leader: Some(leader),
                ..
            } => self.leads(*node, *epoch, *leader),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(node: i32, role: RoleName, epoch: i32, leader: i32) -> Fact {
        Fact::State {
            node: NodeId(node),
            role,
            epoch: Epoch(epoch),
            leader: NodeId(leader).known(),
            high_watermark: None,
        }
    }

    #[test]
    fn sim_015_no_epoch_has_two_leaders() {
        let mut checker = OneLeader::default();
        assert_eq!(checker.observe(&state(0, RoleName::Leader, 3, 0)), Ok(()));
        assert_eq!(checker.observe(&state(1, RoleName::Leader, 4, 1)), Ok(()));
        assert_eq!(checker.observe(&state(0, RoleName::Follower, 4, 1)), Ok(()));
        assert!(checker.observe(&state(1, RoleName::Leader, 3, 1)).is_err());
        let stored = Fact::Stored {
            node: NodeId(2),
            epoch: Epoch(3),
            leader: Some(NodeId(1)),
            voted: None,
        };
        assert!(checker.observe(&stored).is_err());
    }

    #[test]
    fn fires_when_a_follower_knows_another_leader() {
        let mut checker = OneLeader::default();
        assert_eq!(checker.observe(&state(2, RoleName::Unattached, 3, -1)), Ok(()));
        assert_eq!(checker.observe(&state(0, RoleName::Leader, 3, 0)), Ok(()));
        assert!(checker.observe(&state(2, RoleName::Follower, 3, 1)).is_err());
    }

    #[test]
    fn fires_when_a_leader_names_somebody_else() {
        assert!(
            OneLeader::default()
                .observe(&state(0, RoleName::Leader, 3, 1))
                .is_err()
        );
    }
}
