//! Nobody tells others what his disk has not taken.

use super::{Checker, Fact, Violation, log_ends::LogEnds};
use kraft_core::{Epoch, NodeId};
use std::collections::BTreeMap;

/// Compares what nodes tell with what they have stored: epochs, votes, and how far their logs reach.
#[derive(Debug, Default)]
pub struct DurableFirst {
    /// The newest stored epoch, who has the node's vote in it, and who leads it.
    stored: BTreeMap<NodeId, (Epoch, Option<NodeId>, Option<NodeId>)>,
    ends: LogEnds,
}

impl DurableFirst {
    fn has_stored(&self, node: NodeId, epoch: Epoch, candidate: Option<NodeId>) -> bool {
        match self.stored.get(&node) {
            None => epoch == Epoch(0) && candidate.is_none(),
            Some((stored, voted, _)) => {
                *stored >= epoch && (candidate.is_none() || (*stored == epoch && *voted == candidate))
            }
        }
    }
}

impl Checker for DurableFirst {
    fn invariant(&self) -> &'static str {
        "durable before visible"
    }

    fn observe(&mut self, fact: &Fact) -> Result<(), Violation> {
        self.ends.observe(fact);
        match fact {
            Fact::Wiped { node, .. } => {
                self.stored.remove(node);
                Ok(())
            }
            Fact::Stored {
                node,
                epoch,
                leader,
                voted,
            } => {
                self.stored
                    .insert(*node, (*epoch, voted.as_ref().map(|key| key.id), *leader));
                Ok(())
            }
            Fact::Told {
                node,
                epoch,
                campaigns,
                leads,
                log_end,
            } => {
                let stored = self.stored.get(node);
                if *leads && !stored.is_some_and(|(of, _, leader)| of > epoch || *leader == Some(*node)) {
                    return Err(self.violated(format!(
                        "node {node} says that it leads epoch {epoch}, stored is {stored:?}"
                    )));
                }
                if !self.has_stored(*node, *epoch, campaigns.then_some(*node)) {
                    return Err(self.violated(format!("node {node} tells of epoch {epoch} too soon")));
                }
                let end = self.ends.of(*node);
                match log_end {
                    Some(told) if told.last_offset > end => Err(self.violated(format!(
                        "node {node} tells of its log up to {}, only {end} is durable",
                        told.last_offset
                    ))),
                    Some(_) | None => Ok(()),
                }
            }
            Fact::Granted {
                node,
                epoch,
                candidate,
            } => {
                // Its epoch may have moved on since the vote was stored and granted, never back.
                let newer = self.stored.get(node).is_some_and(|(stored, _, _)| stored > epoch);
                if newer || self.has_stored(*node, *epoch, Some(*candidate)) {
                    return Ok(());
                }
                Err(self.violated(format!(
                    "node {node} gives {candidate} a vote of epoch {epoch} that is not stored"
                )))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kraft_core::{LogEnd, ReplicaKey};

    const NODE: NodeId = NodeId(0);

    fn stored(epoch: i32, voted: Option<i32>) -> Fact {
        Fact::Stored {
            node: NODE,
            epoch: Epoch(epoch),
            leader: None,
            voted: voted.map(|id| ReplicaKey::without_directory(NodeId(id))),
        }
    }

    fn told(epoch: i32, campaigns: bool, end: Option<i64>) -> Fact {
        Fact::Told {
            node: NODE,
            epoch: Epoch(epoch),
            campaigns,
            leads: false,
            log_end: end.map(|last_offset| LogEnd {
                last_offset,
                last_epoch: Epoch(0),
            }),
        }
    }

    fn granted(epoch: i32, candidate: i32) -> Fact {
        Fact::Granted {
            node: NODE,
            epoch: Epoch(epoch),
            candidate: NodeId(candidate),
        }
    }

    fn run(facts: &[Fact]) -> Result<(), Violation> {
        let mut checker = DurableFirst::default();
        facts.iter().try_for_each(|fact| checker.observe(fact))
    }

    #[test]
    fn holds_for_what_is_stored() {
        let facts = [
            told(0, false, Some(0)),
            stored(3, Some(0)),
            told(3, true, Some(0)),
            granted(3, 0),
            stored(4, None),
            granted(3, 0),
        ];
        assert_eq!(run(&facts), Ok(()));
    }

    #[test]
    fn fires_when_an_epoch_a_vote_or_a_record_is_told_too_soon() {
        assert!(run(&[told(1, false, None)]).is_err());
        assert!(run(&[stored(3, None), told(4, false, None)]).is_err());
        assert!(run(&[stored(3, None), told(3, true, None)]).is_err());
        assert!(run(&[stored(3, Some(1)), granted(3, 2)]).is_err());
        assert!(run(&[told(0, false, Some(1))]).is_err());
    }

    #[test]
    fn fires_when_a_leadership_is_told_too_soon() {
        let leads = || Fact::Told {
            node: NODE,
            epoch: Epoch(3),
            campaigns: false,
            leads: true,
            log_end: None,
        };
        let leader = Fact::Stored {
            node: NODE,
            epoch: Epoch(3),
            leader: Some(NODE),
            voted: None,
        };
        assert!(run(&[stored(3, Some(0)), leads()]).is_err());
        assert_eq!(run(&[stored(3, Some(0)), leader, leads()]), Ok(()));
    }
}
