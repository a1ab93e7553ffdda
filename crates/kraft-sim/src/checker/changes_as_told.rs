//! Operators are told the truth of what becomes of the voters.

use super::{Checker, Fact, OpId, Violation, VoterMove};
use kraft_core::ReplicaKey;
use std::collections::BTreeMap;

/// Remembers what operators have asked for and were told. Whoever was told of an error may find the change done or not.
#[derive(Debug, Default)]
pub struct ChangesAsTold {
    asked: BTreeMap<OpId, VoterMove>,
    /// Where each change stands that was told to be committed.
    told: BTreeMap<OpId, i64>,
    /// The voters that are committed furthest on, and up to where that is known.
    newest: (i64, Vec<ReplicaKey>),
}

impl ChangesAsTold {
    fn told(
        &mut self,
        op: OpId,
        offset: i64,
        committed: i64,
        voters: &[ReplicaKey],
    ) -> Result<(), Violation> {
        let Some(change) = self.asked.get(&op).copied() else {
            return Err(self.violated(format!("{op:?} was never asked for")));
        };
        if committed <= offset {
            return Err(self.violated(format!(
                "{op:?} is told that {change:?} is committed at {offset}, where nothing from {committed} on is"
            )));
        }
        let done = match change {
            VoterMove::Add(key) => voters.contains(&key),
            VoterMove::Remove(key) => !voters.contains(&key),
        };
        if !done {
            return Err(self.violated(format!(
                "{op:?} is told that {change:?} is committed at {offset}, where the voters are {voters:?}"
            )));
        }
        if self.told.insert(op, offset).is_some() {
            return Err(self.violated(format!("{op:?} is told twice")));
        }
        Ok(())
    }

    /// Whether somebody wanted the voter to go who was not told that this was done before `offset`.
    fn may_have_gone(&self, key: ReplicaKey, offset: i64) -> bool {
        self.asked.iter().any(|(op, change)| {
            *change == VoterMove::Remove(key) && self.told.get(op).is_none_or(|done| *done > offset)
        })
    }
}

impl Checker for ChangesAsTold {
    fn invariant(&self) -> &'static str {
        "changes of the voters are done when they are told to be"
    }

    fn observe(&mut self, fact: &Fact) -> Result<(), Violation> {
        match fact {
            Fact::ChangeAsked { op, change } => {
                self.asked.insert(*op, *change);
                Ok(())
            }
            Fact::ChangeTold {
                op,
                offset,
                committed,
                voters,
                ..
            } => self.told(*op, *offset, *committed, voters),
            Fact::UpgradeTold { op, node, level: 0 } => Err(self.violated(format!(
                "{op:?} is told by node {node} that kraft.version is raised, and no higher one is committed"
            ))),
            Fact::CommittedVoters { end, voters, .. } => {
                if *end > self.newest.0 {
                    self.newest = (*end, voters.clone());
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Whoever was added is still there, unless somebody wanted it to go.
    fn finish(&self) -> Result<(), Violation> {
        let (end, voters) = &self.newest;
        for (op, offset) in &self.told {
            if let Some(VoterMove::Add(key)) = self.asked.get(op)
                && offset < end
                && !voters.contains(key)
                && !self.may_have_gone(*key, *offset)
            {
                return Err(self.violated(format!(
                    "{op:?} was told that {key:?} is a voter from {offset} on, and nobody has removed it from {voters:?}"
                )));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kraft_core::NodeId;
    use uuid::Uuid;

    fn key(id: i32) -> ReplicaKey {
        ReplicaKey::new(NodeId(id), Uuid::from_u128(u128::from(id.unsigned_abs())))
    }

    fn keys(ids: &[i32]) -> Vec<ReplicaKey> {
        ids.iter().map(|id| key(*id)).collect()
    }

    fn asked(op: u64, change: VoterMove) -> Fact {
        Fact::ChangeAsked { op: OpId(op), change }
    }

    fn told(op: u64, offset: i64, committed: i64, voters: &[i32]) -> Fact {
        Fact::ChangeTold {
            op: OpId(op),
            node: NodeId(1),
            offset,
            committed,
            voters: keys(voters),
        }
    }

    fn committed(end: i64, voters: &[i32]) -> Fact {
        Fact::CommittedVoters {
            node: NodeId(1),
            end,
            voters: keys(voters),
        }
    }

    fn run(facts: &[Fact]) -> Result<(), Violation> {
        let mut checker = ChangesAsTold::default();
        facts.iter().try_for_each(|fact| checker.observe(fact))?;
        checker.finish()
    }

    #[test]
    fn holds_for_changes_that_are_done_and_for_errors_of_either_kind() {
        let add = asked(1, VoterMove::Add(key(3)));
        let remove = asked(2, VoterMove::Remove(key(3)));
        let added = [
            add.clone(),
            told(1, 10, 11, &[1, 2, 3]),
            committed(11, &[1, 2, 3]),
        ];
        assert_eq!(run(&added), Ok(()));
        // Nobody is told of the removal, which is done, or of the addition, which is not.
        assert_eq!(
            run(&[&added[..], &[remove.clone(), committed(20, &[1, 2])]].concat()),
            Ok(())
        );
        assert_eq!(run(&[add, committed(20, &[1, 2])]), Ok(()));
        let removed = [remove, told(2, 15, 16, &[1, 2]), committed(16, &[1, 2])];
        assert_eq!(run(&[&added[..], &removed].concat()), Ok(()));
    }

    #[test]
    fn fires_when_a_change_is_told_that_is_not_done() {
        let add = || asked(1, VoterMove::Add(key(3)));
        let remove = || asked(1, VoterMove::Remove(key(3)));
        assert!(
            run(&[add(), told(1, 10, 10, &[1, 2, 3])]).is_err(),
            "not committed"
        );
        assert!(run(&[add(), told(1, 10, 11, &[1, 2])]).is_err());
        assert!(run(&[remove(), told(1, 10, 11, &[1, 3])]).is_err());
        assert!(run(&[told(1, 10, 11, &[1, 2])]).is_err(), "never asked for");
        let twice = [add(), told(1, 10, 11, &[3]), told(1, 10, 11, &[3])];
        assert!(run(&twice).is_err());
        let upgraded = |level| Fact::UpgradeTold {
            op: OpId(1),
            node: NodeId(1),
            level,
        };
        assert!(run(&[upgraded(0)]).is_err());
        assert_eq!(run(&[upgraded(1)]), Ok(()));
    }

    #[test]
    fn fires_when_a_voter_is_gone_in_the_end_that_nobody_has_removed() {
        let added = [asked(2, VoterMove::Add(key(3))), told(2, 10, 11, &[1, 3])];
        let gone = committed(20, &[1]);
        assert!(run(&[&added[..], std::slice::from_ref(&gone)].concat()).is_err());
        let before = [asked(1, VoterMove::Remove(key(3))), told(1, 5, 6, &[1])];
        assert!(run(&[&before[..], &added, &[gone]].concat()).is_err());
    }
}
