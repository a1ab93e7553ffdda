//! Whoever is no replica is served only what is committed.

use super::{BatchMark, Checker, Fact, Violation};
use kraft_core::{Epoch, NodeId};
use std::collections::BTreeMap;

/// Compares what is served with what state machines are given, whichever comes first.
#[derive(Debug, Default)]
pub struct ServedIsCommitted {
    /// Last offset and epoch of each batch that was applied, by the offset of its first record.
    committed: BTreeMap<i64, (i64, Epoch)>,
    /// What was served and nobody has applied yet, and who has served it.
    open: BTreeMap<i64, (BatchMark, NodeId)>,
}

impl ServedIsCommitted {
    /// Whether a batch stands where it was served. Nothing is known where nobody has applied anything.
    fn stands(&self, batch: &BatchMark) -> Option<bool> {
        let (base, (last, epoch)) = self.committed.range(..=batch.last).next_back()?;
        (*last >= batch.base).then_some((*base, *last, *epoch) == (batch.base, batch.last, batch.epoch))
    }

    fn served(&mut self, node: NodeId, batch: &BatchMark) -> Result<(), Violation> {
        match self.stands(batch) {
            Some(true) => Ok(()),
            Some(false) => Err(self.violated(format!("node {node} has served {batch:?}"))),
            None => {
                self.open.insert(batch.base, (*batch, node));
                Ok(())
            }
        }
    }
}

impl Checker for ServedIsCommitted {
    fn invariant(&self) -> &'static str {
        "what is served is committed"
    }

    fn observe(&mut self, fact: &Fact) -> Result<(), Violation> {
        match fact {
            Fact::Served { node, batches } => batches.iter().try_for_each(|batch| self.served(*node, batch)),
            Fact::Applied { batch, .. } => {
                if self
                    .committed
                    .insert(batch.base, (batch.last, batch.epoch))
                    .is_some()
                {
                    return Ok(());
                }
                while let Some((base, _)) = self.open.range(..=batch.last).next_back() {
                    let base = *base;
                    let (served, node) = self.open.remove(&base).expect("it was just there");
                    if self.stands(&served) == Some(false) {
                        return Err(self.violated(format!("node {node} has served {served:?}")));
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn finish(&self) -> Result<(), Violation> {
        match self.open.first_key_value() {
            None => Ok(()),
            Some((_, (batch, node))) => Err(self.violated(format!(
                "node {node} has served {batch:?}, which nobody has applied"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(base: i64, epoch: i32) -> BatchMark {
        BatchMark {
            base,
            last: base + 1,
            epoch: Epoch(epoch),
            digest: 7,
        }
    }

    fn applied(base: i64, epoch: i32) -> Fact {
        Fact::Applied {
            node: NodeId(0),
            batch: batch(base, epoch),
            records: Vec::new(),
        }
    }

    fn served(base: i64, epoch: i32) -> Fact {
        Fact::Served {
            node: NodeId(1),
            batches: vec![batch(base, epoch)],
        }
    }

    fn run(facts: &[Fact]) -> Result<(), Violation> {
        let mut checker = ServedIsCommitted::default();
        facts.iter().try_for_each(|fact| checker.observe(fact))?;
        checker.finish()
    }

    #[test]
    fn holds_whichever_comes_first() {
        assert_eq!(
            run(&[applied(0, 1), served(0, 1), served(2, 1), applied(2, 1)]),
            Ok(())
        );
    }

    #[test]
    fn fires_when_something_else_is_committed_or_nothing() {
        assert!(run(&[applied(0, 2), served(0, 1)]).is_err());
        assert!(run(&[served(0, 1), applied(0, 2)]).is_err());
        assert!(run(&[served(0, 1)]).is_err());
    }
}
