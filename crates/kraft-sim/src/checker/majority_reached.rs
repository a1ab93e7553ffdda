//! What a leader says to be committed is on the disks of a majority of the voters.

use super::{Checker, Fact, Violation, log_ends::LogEnds};
use kraft_core::{NodeId, ReplicaKey, RoleName};
use std::collections::BTreeMap;

/// Counts disks whenever the high watermark of a leader moves.
///
/// It is looked at the moment of the move and not always: a voter set that has just changed may have a majority that is still
/// to reach what its predecessor has committed.
#[derive(Debug, Default)]
pub struct MajorityReached {
    ends: LogEnds,
    /// The voters that each node goes by, and those before them: one step may commit and then change the set.
    voters: BTreeMap<NodeId, [Vec<ReplicaKey>; 2]>,
    /// Where the logs ended that were on disks that are lost. Their leader counts them as long as they are voters: whoever has
    /// them in its set elects nobody without asking all but a minority of the others.
    lost: BTreeMap<ReplicaKey, i64>,
    /// The high watermark of each node that leads.
    leaders: BTreeMap<NodeId, i64>,
}

impl MajorityReached {
    fn is_reached(&self, voters: &[ReplicaKey], high_watermark: i64) -> bool {
        let has_it = |voter: &ReplicaKey| {
            let lost = self.lost.get(voter).copied();
            lost.unwrap_or_else(|| self.ends.of(voter.id)) >= high_watermark
        };
        voters.iter().filter(|voter| has_it(voter)).count() > voters.len() / 2
    }
}

impl Checker for MajorityReached {
    fn invariant(&self) -> &'static str {
        "a majority has what is committed"
    }

    fn observe(&mut self, fact: &Fact) -> Result<(), Violation> {
        self.ends.observe(fact);
        match fact {
            Fact::Wiped { node, former, .. } => {
                self.lost.insert(*former, self.ends.of(*node));
                Ok(())
            }
            Fact::Crashed { node } => {
                self.leaders.remove(node);
                self.voters.remove(node);
                Ok(())
            }
            Fact::Voters { node, voters } => {
                let known = self.voters.entry(*node).or_default();
                known.rotate_left(1);
                known[1].clone_from(voters);
                Ok(())
            }
            Fact::State {
                node,
                role: RoleName::Leader,
                high_watermark: Some(offset),
                ..
            } => {
                if self.leaders.insert(*node, *offset) == Some(*offset) {
                    return Ok(());
                }
                let [before, now] = self.voters.get(node).cloned().unwrap_or_default();
                if self.is_reached(&now, *offset) || self.is_reached(&before, *offset) {
                    return Ok(());
                }
                let ends: Vec<_> = now
                    .iter()
                    .map(|voter| (voter.id.0, self.ends.of(voter.id)))
                    .collect();
                Err(self.violated(format!(
                    "node {node} says that {offset} is committed, the logs of its voters end at {ends:?}"
                )))
            }
            Fact::State { node, .. } => {
                self.leaders.remove(node);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::BatchMark, *};
    use kraft_core::Epoch;
    use uuid::Uuid;

    fn key(id: i32) -> ReplicaKey {
        ReplicaKey::new(NodeId(id), Uuid::from_u128(7))
    }

    fn voters(ids: &[i32]) -> Fact {
        Fact::Voters {
            node: NodeId(1),
            voters: ids.iter().copied().map(key).collect(),
        }
    }

    fn log(node: i32, end: i64) -> Fact {
        Fact::Log {
            node: NodeId(node),
            start: 0,
            truncated_to: i64::MIN,
            appended: vec![BatchMark {
                base: 0,
                last: end - 1,
                epoch: Epoch(1),
                digest: 7,
            }],
        }
    }

    fn leads(high_watermark: i64) -> Fact {
        Fact::State {
            node: NodeId(1),
            role: RoleName::Leader,
            epoch: Epoch(1),
            leader: Some(NodeId(1)),
            high_watermark: Some(high_watermark),
        }
    }

    fn run(facts: &[Fact]) -> Result<(), Violation> {
        let mut checker = MajorityReached::default();
        facts.iter().try_for_each(|fact| checker.observe(fact))
    }

    #[test]
    fn sim_014_a_majority_of_the_voters_has_the_high_watermark() {
        let three = || voters(&[1, 2, 3]);
        assert_eq!(run(&[three(), log(1, 5), log(3, 5), leads(5)]), Ok(()));
        assert!(run(&[three(), log(1, 5), log(3, 4), leads(5)]).is_err());
        assert!(run(&[three(), log(1, 5), log(4, 5), leads(5)]).is_err());
    }

    #[test]
    fn the_voters_may_change_behind_what_is_committed() {
        let facts = [
            voters(&[1, 2, 3]),
            log(1, 5),
            log(3, 5),
            leads(5),
            voters(&[1, 2, 3, 4]),
            leads(5),
        ];
        assert_eq!(run(&facts), Ok(()));
        assert!(run(&[&facts[..], &[leads(6)]].concat()).is_err());
    }

    #[test]
    fn the_disk_of_another_replica_of_the_same_name_does_not_count() {
        let wiped = || Fact::Wiped {
            node: NodeId(3),
            former: key(3),
            key: ReplicaKey::new(NodeId(3), Uuid::from_u128(8)),
        };
        let three = || voters(&[1, 2, 3]);
        assert!(run(&[three(), wiped(), log(1, 5), log(3, 5), leads(5)]).is_err());
        assert_eq!(
            run(&[three(), log(3, 5), wiped(), log(3, 0), log(1, 5), leads(5)]),
            Ok(())
        );
    }
}
