//! A leader changes the voter set by one voter at a time.

use super::{Checker, Fact, Violation};
use kraft_core::{Epoch, NodeId, ReplicaKey, RoleName};
use std::collections::BTreeMap;

/// Remembers the voters of each leader, as long as it leads.
#[derive(Debug, Default)]
pub struct ChangeByOne {
    leading: BTreeMap<NodeId, Epoch>,
    /// The voters that each node goes by, and in which epoch it led when it began to.
    voters: BTreeMap<NodeId, (Vec<ReplicaKey>, Option<Epoch>)>,
}

/// How many voters are in one of the sets alone.
fn difference(one: &[ReplicaKey], other: &[ReplicaKey]) -> usize {
    let alone = |some: &[ReplicaKey], others: &[ReplicaKey]| {
        let found = |key: &ReplicaKey| others.iter().any(|other| other.id == key.id);
        some.iter().filter(|key| !found(key)).count()
    };
    alone(one, other) + alone(other, one)
}

impl Checker for ChangeByOne {
    fn invariant(&self) -> &'static str {
        "voters change one by one"
    }

    fn observe(&mut self, fact: &Fact) -> Result<(), Violation> {
        match fact {
            Fact::Crashed { node } => {
                self.leading.remove(node);
                self.voters.remove(node);
                Ok(())
            }
            Fact::State {
                node, role, epoch, ..
            } => {
                if *role == RoleName::Leader {
                    self.leading.insert(*node, *epoch);
                } else {
                    self.leading.remove(node);
                }
                Ok(())
            }
            Fact::Voters { node, voters } => {
                let epoch = self.leading.get(node).copied();
                let before = self.voters.insert(*node, (voters.clone(), epoch));
                match before {
                    Some((before, since))
                        if epoch.is_some() && since == epoch && difference(&before, voters) > 1 =>
                    {
                        Err(self.violated(format!("node {node} goes from {before:?} to {voters:?}")))
                    }
                    Some(_) | None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leads(role: RoleName) -> Fact {
        Fact::State {
            node: NodeId(0),
            role,
            epoch: Epoch(1),
            leader: None,
            high_watermark: None,
        }
    }

    fn voters(ids: &[i32]) -> Fact {
        Fact::Voters {
            node: NodeId(0),
            voters: ids
                .iter()
                .map(|id| ReplicaKey::without_directory(NodeId(*id)))
                .collect(),
        }
    }

    fn run(facts: &[Fact]) -> Result<(), Violation> {
        let mut checker = ChangeByOne::default();
        facts.iter().try_for_each(|fact| checker.observe(fact))
    }

    #[test]
    fn fires_when_a_leader_changes_two_at_once() {
        let leader = || leads(RoleName::Leader);
        assert_eq!(
            run(&[leader(), voters(&[1, 2, 3]), voters(&[1, 2]), voters(&[1, 2, 4])]),
            Ok(())
        );
        assert!(run(&[leader(), voters(&[1, 2, 3]), voters(&[1, 2, 4])]).is_err());
        assert!(run(&[leader(), voters(&[1, 2, 3]), voters(&[1])]).is_err());
        let follower = leads(RoleName::Follower);
        assert_eq!(run(&[follower, voters(&[1, 2, 3]), voters(&[1])]), Ok(()));
    }
}
