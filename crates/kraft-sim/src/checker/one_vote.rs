//! A node votes for at most one candidate in an epoch.

use super::{Checker, Fact, Violation};
use kraft_core::{Epoch, NodeId, ReplicaKey};
use std::collections::BTreeMap;

/// Remembers every stored vote. A vote may be forgotten once its epoch has a leader, but not be given to another.
///
/// Below kraft.version 1 the file keeps no directory id, so only node ids are compared.
#[derive(Debug, Default)]
pub struct OneVote {
    votes: BTreeMap<(NodeId, Epoch), ReplicaKey>,
}

impl Checker for OneVote {
    fn invariant(&self) -> &'static str {
        "one vote per epoch"
    }

    fn observe(&mut self, fact: &Fact) -> Result<(), Violation> {
        let Fact::Stored {
            node,
            epoch,
            voted: Some(voted),
            ..
        } = fact
        else {
            if let Fact::Wiped { node, .. } = fact {
                self.votes.retain(|(of, _), _| of != node);
            }
            return Ok(());
        };
        let before = *self.votes.entry((*node, *epoch)).or_insert(*voted);
        if before.id == voted.id {
            return Ok(());
        }
        let detail = format!(
            "node {node} votes for {} and for {} in epoch {epoch}",
            before.id, voted.id
        );
        Err(self.violated(detail))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fires_when_a_vote_goes_to_another() {
        let stored = |epoch, voted| Fact::Stored {
            node: NodeId(0),
            epoch: Epoch(epoch),
            leader: None,
            voted: NodeId(voted).known().map(ReplicaKey::without_directory),
        };
        let mut checker = OneVote::default();
        for fact in [stored(1, 1), stored(1, -1), stored(1, 1), stored(2, 2)] {
            assert_eq!(checker.observe(&fact), Ok(()));
        }
        assert!(checker.observe(&stored(1, 2)).is_err());
    }
}
