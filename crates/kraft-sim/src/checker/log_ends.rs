//! Where the log on each node's disk ends.

use super::Fact;
use kraft_core::NodeId;
use std::collections::BTreeMap;

/// Follows the logs by what is told of them.
#[derive(Debug, Default)]
pub(super) struct LogEnds(BTreeMap<NodeId, i64>);

impl LogEnds {
    pub(super) fn observe(&mut self, fact: &Fact) {
        let Fact::Log {
            node,
            start,
            truncated_to,
            appended,
        } = fact
        else {
            return;
        };
        let end = self.0.entry(*node).or_default();
        *end = match appended.last() {
            Some(batch) => batch.last + 1,
            None if *truncated_to == i64::MIN => *start,
            None => (*end).min(*truncated_to),
        };
    }

    pub(super) fn of(&self, node: NodeId) -> i64 {
        self.0.get(&node).copied().unwrap_or(0)
    }
}
