//! An epoch has at most one leader.

use super::{Checker, Fact, Violation};
use kraft_core::{Epoch, NodeId, RoleName};
use std::collections::{BTreeMap, btree_map::Entry};

/// Remembers who led or was followed in each epoch.
///
/// A leader is one for itself before its disk has that. What a crash takes away then was nobody's business: neither has it told
/// anybody, nor does it lead that epoch when it comes back, so another one may.
#[derive(Debug, Default)]
pub struct OneLeader {
    leaders: BTreeMap<Epoch, NodeId>,
    /// The epoch in which a node leads for itself alone.
    only_for_itself: BTreeMap<NodeId, Epoch>,
}

impl OneLeader {
    fn becomes_leader(&mut self, node: NodeId, epoch: Epoch) -> Result<(), Violation> {
        if let Entry::Vacant(unknown) = self.leaders.entry(epoch) {
            unknown.insert(node);
            self.only_for_itself.insert(node, epoch);
            return Ok(());
        }
        self.agrees(node, epoch, node)
    }

    fn leads(&mut self, node: NodeId, epoch: Epoch, leader: NodeId) -> Result<(), Violation> {
        self.agrees(node, epoch, leader)?;
        if self.only_for_itself.get(&leader) == Some(&epoch) {
            self.only_for_itself.remove(&leader);
        }
        Ok(())
    }

    fn crashed(&mut self, node: NodeId) {
        if let Some(epoch) = self.only_for_itself.remove(&node) {
            self.leaders.remove(&epoch);
        }
    }

    fn agrees(&mut self, node: NodeId, epoch: Epoch, leader: NodeId) -> Result<(), Violation> {
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
                role: RoleName::Leader,
                epoch,
                ..
            } => self.becomes_leader(*node, *epoch),
            Fact::Told {
                node,
                epoch,
                leads: true,
                ..
            } => self.leads(*node, *epoch, *node),
            Fact::Crashed { node } => {
                self.crashed(*node);
                Ok(())
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

    const CRASHED: Fact = Fact::Crashed { node: NodeId(3) };

    #[test]
    fn a_leadership_that_a_crash_has_taken_away_was_none() {
        let mut checker = OneLeader::default();
        assert_eq!(checker.observe(&state(3, RoleName::Leader, 3, 3)), Ok(()));
        assert_eq!(checker.observe(&CRASHED), Ok(()));
        assert_eq!(checker.observe(&state(1, RoleName::Leader, 3, 1)), Ok(()));
        // Without a crash it still leads.
        assert!(checker.observe(&state(2, RoleName::Leader, 3, 2)).is_err());
    }

    #[test]
    fn a_crash_takes_nothing_from_a_leadership_that_is_stored_or_known_to_others() {
        let stored = Fact::Stored {
            node: NodeId(3),
            epoch: Epoch(3),
            leader: Some(NodeId(3)),
            voted: None,
        };
        let told = Fact::Told {
            node: NodeId(3),
            epoch: Epoch(3),
            campaigns: false,
            leads: true,
            log_end: None,
        };
        let followed = state(2, RoleName::Follower, 3, 3);
        for known in [stored, told, followed] {
            let mut checker = OneLeader::default();
            assert_eq!(checker.observe(&state(3, RoleName::Leader, 3, 3)), Ok(()));
            assert_eq!(checker.observe(&known), Ok(()));
            assert_eq!(checker.observe(&CRASHED), Ok(()));
            assert!(
                checker.observe(&state(1, RoleName::Leader, 3, 1)).is_err(),
                "{known:?}"
            );
        }
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
