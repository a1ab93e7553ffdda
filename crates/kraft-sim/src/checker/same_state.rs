//! State machines that have applied the same hold the same.

use super::{Checker, Fact, Violation};
use std::collections::BTreeMap;

/// Compares what state machines hold that are equally far.
#[derive(Debug, Default)]
pub struct SameState {
    digests: BTreeMap<i64, u64>,
}

impl Checker for SameState {
    fn invariant(&self) -> &'static str {
        "equal logs make equal states"
    }

    fn observe(&mut self, fact: &Fact) -> Result<(), Violation> {
        let Fact::Image {
            node,
            applied,
            digest,
        } = fact
        else {
            return Ok(());
        };
        if *self.digests.entry(*applied).or_insert(*digest) == *digest {
            return Ok(());
        }
        Err(self.violated(format!(
            "what node {node} holds at {applied} is not what others hold there"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kraft_core::NodeId;

    #[test]
    fn fires_when_two_nodes_hold_different_records_at_one_offset() {
        let image = |node, applied, digest| Fact::Image {
            node: NodeId(node),
            applied,
            digest,
        };
        let run = |facts: &[Fact]| {
            let mut checker = SameState::default();
            facts.iter().try_for_each(|fact| checker.observe(fact))
        };
        assert_eq!(run(&[image(0, 5, 7), image(1, 5, 7), image(1, 6, 8)]), Ok(()));
        assert!(run(&[image(0, 5, 7), image(1, 5, 8)]).is_err());
    }
}
