//! A log that does not begin at 0 begins with a snapshot, and a snapshot fits the log beside it.

use super::{Checker, Fact, Violation};

/// Looks at the beginning of each log. It keeps nothing: each fact is right or wrong by itself.
#[derive(Debug, Default)]
pub struct SnapshotAtLogStart {}

impl Checker for SnapshotAtLogStart {
    fn invariant(&self) -> &'static str {
        "a log begins with a snapshot"
    }

    fn observe(&mut self, fact: &Fact) -> Result<(), Violation> {
        let Fact::LogStart {
            node,
            start,
            snapshot,
            fits,
        } = fact
        else {
            return Ok(());
        };
        match snapshot {
            None if *start == 0 => Ok(()),
            None => Err(self.violated(format!(
                "the log of node {node} begins at {start}, with no snapshot"
            ))),
            Some(id) if *start > id.end_offset || (*start > 0 && *start != id.end_offset) => Err(self
                .violated(format!(
                    "the log of node {node} begins at {start}, its earliest snapshot is {id:?}"
                ))),
            Some(id) if !fits => {
                Err(self.violated(format!("{id:?} of node {node} does not fit the log beside it")))
            }
            Some(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kraft_core::{Epoch, NodeId, SnapshotId};

    fn run(start: i64, snapshot: Option<i64>, fits: bool) -> Result<(), Violation> {
        SnapshotAtLogStart::default().observe(&Fact::LogStart {
            node: NodeId(0),
            start,
            snapshot: snapshot.map(|end_offset| SnapshotId {
                end_offset,
                epoch: Epoch(1),
            }),
            fits,
        })
    }

    #[test]
    fn sim_016_a_log_begins_at_zero_or_with_its_earliest_snapshot() {
        assert_eq!(run(0, None, true), Ok(()));
        assert_eq!(run(0, Some(10), true), Ok(()));
        assert_eq!(run(10, Some(10), true), Ok(()));
        assert!(run(10, None, true).is_err());
        assert!(run(5, Some(10), true).is_err());
        assert!(run(11, Some(10), true).is_err());
        assert!(run(10, Some(10), false).is_err());
    }
}
