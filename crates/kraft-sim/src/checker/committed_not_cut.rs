//! Nobody cuts his log below what he knows to be committed, and a leader does not cut its log at all.

use super::{Checker, Fact, Violation};
use kraft_core::{NodeId, RoleName};
use std::collections::BTreeMap;

/// Remembers role and high watermark of each node while it is up.
#[derive(Debug, Default)]
pub struct CommittedNotCut {
    nodes: BTreeMap<NodeId, (RoleName, Option<i64>)>,
}

impl Checker for CommittedNotCut {
    fn invariant(&self) -> &'static str {
        "what is committed is not cut off"
    }

    fn observe(&mut self, fact: &Fact) -> Result<(), Violation> {
        match fact {
            Fact::Crashed { node } => {
                self.nodes.remove(node);
                Ok(())
            }
            Fact::State {
                node,
                role,
                high_watermark,
                ..
            } => {
                self.nodes.insert(*node, (*role, *high_watermark));
                Ok(())
            }
            // A whole log goes only when a snapshot takes its place.
            Fact::Log {
                node, truncated_to, ..
            } if !matches!(*truncated_to, i64::MIN | i64::MAX) => match self.nodes.get(node) {
                Some((RoleName::Leader, _)) => {
                    Err(self.violated(format!("node {node} leads and cuts its log at {truncated_to}")))
                }
                Some((_, Some(mark))) if mark > truncated_to => Err(self.violated(format!(
                    "node {node} cuts its log at {truncated_to}, everything below {mark} is committed"
                ))),
                Some(_) | None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kraft_core::Epoch;

    fn run(role: RoleName, high_watermark: Option<i64>, truncated_to: i64) -> Result<(), Violation> {
        let mut checker = CommittedNotCut::default();
        checker.observe(&Fact::State {
            node: NodeId(0),
            role,
            epoch: Epoch(1),
            leader: None,
            high_watermark,
        })?;
        checker.observe(&Fact::Log {
            node: NodeId(0),
            start: 0,
            truncated_to,
            appended: Vec::new(),
        })
    }

    #[test]
    fn fires_below_the_high_watermark_and_on_a_leader() {
        assert_eq!(run(RoleName::Follower, Some(5), 5), Ok(()));
        assert_eq!(run(RoleName::Follower, None, 5), Ok(()));
        assert_eq!(run(RoleName::Leader, Some(5), i64::MAX), Ok(()));
        assert!(run(RoleName::Follower, Some(6), 5).is_err());
        assert!(run(RoleName::Leader, Some(5), 5).is_err());
    }
}
