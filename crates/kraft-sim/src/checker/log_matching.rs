//! Two logs that have a batch of the same epoch at the same place are equal up to there.

use super::{BatchMark, Checker, Fact, Violation};
use kraft_core::{Epoch, NodeId};
use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
};

/// Keeps a running digest of each log; whatever two logs end in the same batch has to have the same one.
///
/// Of a log that begins with a snapshot the digest of what the snapshot contains is not known. It is taken from other logs
/// as soon as one of them has the same batch.
#[derive(Debug, Default)]
pub struct LogMatching {
    logs: BTreeMap<NodeId, Vec<(BatchMark, Option<u64>)>>,
    /// The digest of everything up to and including the batch that ends here.
    prefixes: BTreeMap<(i64, Epoch), u64>,
}

impl LogMatching {
    /// Appends a batch to the log of a node. Returns what is wrong with it.
    fn append(&mut self, node: NodeId, batch: &BatchMark) -> Option<String> {
        let log = self.logs.entry(node).or_default();
        let last = log.last().copied();
        if let Some((last, _)) = last
            && last.last >= batch.base
        {
            return Some(format!("node {node} has {batch:?} behind {last:?}"));
        }
        let digest = match last {
            Some((_, Some(before))) => Some(digest_of(Some(before), batch)),
            None if batch.base == 0 => Some(digest_of(None, batch)),
            Some((_, None)) | None => self.prefixes.get(&(batch.last, batch.epoch)).copied(),
        };
        log.push((*batch, digest));
        let digest = digest?;
        let known = *self.prefixes.entry((batch.last, batch.epoch)).or_insert(digest);
        (known != digest).then(|| format!("node {node} has another log than others up to {batch:?}"))
    }
}

impl Checker for LogMatching {
    fn invariant(&self) -> &'static str {
        "logs match"
    }

    fn observe(&mut self, fact: &Fact) -> Result<(), Violation> {
        let Fact::Log {
            node,
            start: _,
            truncated_to,
            appended,
        } = fact
        else {
            return Ok(());
        };
        let log = self.logs.entry(*node).or_default();
        while log.pop_if(|(batch, _)| batch.last >= *truncated_to).is_some() {}
        let fault = appended.iter().find_map(|batch| self.append(*node, batch));
        fault.map_or(Ok(()), |detail| Err(self.violated(detail)))
    }
}

fn digest_of(before: Option<u64>, batch: &BatchMark) -> u64 {
    let mut hasher = DefaultHasher::new();
    (before, batch).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::{super::fact::marks, *};

    fn log(node: i32, truncated_to: i64, batches: &[(i64, i32, u64)]) -> Fact {
        Fact::Log {
            node: NodeId(node),
            start: 0,
            truncated_to,
            appended: marks(batches),
        }
    }

    fn run(facts: &[Fact]) -> Result<(), Violation> {
        let mut checker = LogMatching::default();
        facts.iter().try_for_each(|fact| checker.observe(fact))
    }

    #[test]
    fn holds_for_logs_that_part_and_come_together() {
        let facts = [
            log(0, 0, &[(0, 1, 7), (1, 1, 8)]),
            log(1, 0, &[(0, 1, 7), (1, 2, 9)]),
            log(0, 1, &[(1, 2, 9), (2, 2, 10)]),
        ];
        assert_eq!(run(&facts), Ok(()));
    }

    #[test]
    fn fires_when_one_batch_differs() {
        assert!(run(&[log(0, 0, &[(0, 1, 7)]), log(1, 0, &[(0, 1, 8)])]).is_err());
    }

    #[test]
    fn fires_when_an_earlier_batch_differs() {
        assert!(
            run(&[
                log(0, 0, &[(0, 1, 7), (1, 2, 9)]),
                log(1, 0, &[(0, 2, 8), (1, 2, 9)])
            ])
            .is_err()
        );
    }

    #[test]
    fn fires_when_offsets_go_back() {
        assert!(run(&[log(0, 0, &[(0, 1, 7)]), log(0, 1, &[(0, 1, 7)])]).is_err());
    }
}
