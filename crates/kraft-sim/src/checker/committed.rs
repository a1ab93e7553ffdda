//! What is committed is never lost and never changes, and what was acknowledged is committed.

use super::{BatchMark, Checker, Fact, Violation};
use kraft_core::{Epoch, NodeId, RoleName, SnapshotId};
use std::collections::BTreeMap;

/// Remembers every batch that any state machine was given, and compares all others with it.
#[derive(Debug, Default)]
pub struct CommittedStays {
    /// By the offset of the first record, each with an epoch that had begun when it was committed.
    committed: BTreeMap<i64, (BatchMark, Epoch)>,
    /// The digest of each committed record.
    records: BTreeMap<i64, u64>,
    /// The digest of each acknowledged record.
    acknowledged: BTreeMap<i64, u64>,
    /// The digest of each snapshot.
    snapshots: BTreeMap<SnapshotId, u64>,
    /// The batches of each log, by the offset of the first record, and where the log begins.
    logs: BTreeMap<NodeId, (i64, BTreeMap<i64, BatchMark>)>,
    /// The newest epoch in which each node was seen to lead.
    led: BTreeMap<NodeId, Epoch>,
    /// The newest of them all.
    newest_led: Epoch,
}

impl CommittedStays {
    fn applied(&mut self, node: NodeId, batch: BatchMark, records: &[u64]) -> Result<(), Violation> {
        let overlapping = self
            .committed
            .range(..=batch.last)
            .next_back()
            .map(|(_, (known, _))| *known)
            .filter(|known| known.last >= batch.base);
        match overlapping {
            Some(known) if known == batch => return Ok(()),
            Some(known) => {
                return Err(self.violated(format!("node {node} applied {batch:?}, others {known:?}")));
            }
            None => {}
        }
        let committed_in = batch.epoch.max(self.newest_led);
        self.committed.insert(batch.base, (batch, committed_in));
        for (offset, digest) in (batch.base..).zip(records) {
            if self
                .acknowledged
                .get(&offset)
                .is_some_and(|known| known != digest)
            {
                let detail =
                    format!("the record at {offset} on node {node} is not the one acknowledged there");
                return Err(self.violated(detail));
            }
            self.records.insert(offset, *digest);
        }
        Ok(())
    }

    fn acknowledged(&mut self, base: i64, records: &[u64]) -> Result<(), Violation> {
        for (offset, digest) in (base..).zip(records) {
            if self.records.get(&offset).is_some_and(|known| known != digest) {
                let detail = format!("what was acknowledged at {offset} is not what is committed there");
                return Err(self.violated(detail));
            }
            if self.acknowledged.insert(offset, *digest).is_some() {
                return Err(self.violated(format!("two records were acknowledged at {offset}")));
            }
        }
        Ok(())
    }

    fn log_changed(&mut self, node: NodeId, start: i64, truncated_to: i64, appended: &[BatchMark]) {
        let (log_start, log) = self.logs.entry(node).or_default();
        if *log_start != start {
            *log_start = start;
            log.retain(|base, _| *base >= start);
        }
        while log
            .last_entry()
            .is_some_and(|entry| entry.get().last >= truncated_to)
        {
            log.pop_last();
        }
        log.extend(appended.iter().map(|batch| (batch.base, *batch)));
    }

    /// A new leader has to have everything that was committed in older epochs. What an older epoch has written may be
    /// committed in a newer one only, and a leader between the two need not have it, which happens where a voter is paused
    /// between its last vote and its leadership.
    fn leads(&mut self, node: NodeId, epoch: Epoch) -> Result<(), Violation> {
        if self.led.insert(node, epoch) == Some(epoch) {
            return Ok(());
        }
        self.newest_led = self.newest_led.max(epoch);
        let empty = (0, BTreeMap::new());
        let (start, log) = self.logs.get(&node).unwrap_or(&empty);
        let missing = self
            .committed
            .range(start..)
            .map(|(_, committed)| committed)
            .find(|(batch, committed_in)| {
                *committed_in < epoch && log.get(&batch.base).is_none_or(|own| !own.says_the_same(batch))
            });
        match missing {
            None => Ok(()),
            Some((batch, _)) => {
                Err(self.violated(format!("node {node} leads epoch {epoch} without {batch:?}")))
            }
        }
    }
}

impl BatchMark {
    /// Same place and writer. Digests are not compared: that of a log is taken of its bytes, that of an applied batch of
    /// what the state machine was given.
    fn says_the_same(&self, other: &Self) -> bool {
        (self.base, self.last, self.epoch) == (other.base, other.last, other.epoch)
    }
}

impl Checker for CommittedStays {
    fn invariant(&self) -> &'static str {
        "what is committed stays"
    }

    fn observe(&mut self, fact: &Fact) -> Result<(), Violation> {
        match fact {
            Fact::Applied { node, batch, records } => self.applied(*node, *batch, records),
            Fact::Loaded {
                node,
                snapshot,
                digest,
            } => {
                if *self.snapshots.entry(*snapshot).or_insert(*digest) == *digest {
                    return Ok(());
                }
                Err(self.violated(format!("node {node} has loaded another {snapshot:?} than others")))
            }
            Fact::Acknowledged { base, records, .. } => self.acknowledged(*base, records),
            Fact::Log {
                node,
                start,
                truncated_to,
                appended,
            } => {
                self.log_changed(*node, *start, *truncated_to, appended);
                Ok(())
            }
            Fact::State {
                node,
                role: RoleName::Leader,
                epoch,
                ..
            } => self.leads(*node, *epoch),
            _ => Ok(()),
        }
    }

    fn finish(&self) -> Result<(), Violation> {
        let lost = self
            .acknowledged
            .keys()
            .find(|offset| !self.records.contains_key(offset));
        match lost {
            None => Ok(()),
            Some(offset) => Err(self.violated(format!("what was acknowledged at {offset} is on no node"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::OpId, *};

    fn batch(base: i64, epoch: i32, digest: u64) -> BatchMark {
        BatchMark {
            base,
            last: base + 1,
            epoch: Epoch(epoch),
            digest,
        }
    }

    fn applied(node: i32, batch: BatchMark) -> Fact {
        Fact::Applied {
            node: NodeId(node),
            batch,
            records: vec![batch.digest, batch.digest],
        }
    }

    fn acknowledged(base: i64, digest: u64) -> Fact {
        Fact::Acknowledged {
            op: OpId(0),
            epoch: Epoch(1),
            base,
            last: base,
            records: vec![digest],
        }
    }

    fn run(facts: &[Fact]) -> Result<(), Violation> {
        let mut checker = CommittedStays::default();
        facts.iter().try_for_each(|fact| checker.observe(fact))?;
        checker.finish()
    }

    #[test]
    fn sim_019_all_nodes_apply_the_same_at_every_committed_offset() {
        let facts = [
            applied(0, batch(0, 1, 7)),
            acknowledged(0, 7),
            applied(1, batch(0, 1, 7)),
            applied(1, batch(2, 1, 8)),
        ];
        assert_eq!(run(&facts), Ok(()));
    }

    #[test]
    fn fires_when_two_nodes_apply_different_records() {
        assert!(run(&[applied(0, batch(0, 1, 7)), applied(1, batch(0, 1, 8))]).is_err());
        assert!(run(&[applied(0, batch(0, 1, 7)), applied(1, batch(0, 2, 7))]).is_err());
        assert!(run(&[applied(0, batch(0, 1, 7)), applied(1, batch(1, 1, 7))]).is_err());
    }

    #[test]
    fn fires_when_an_acknowledged_record_is_lost_or_changed() {
        assert!(run(&[acknowledged(0, 7)]).is_err());
        assert!(run(&[acknowledged(0, 7), applied(0, batch(0, 1, 8))]).is_err());
        assert!(run(&[applied(0, batch(0, 1, 8)), acknowledged(1, 7)]).is_err());
        assert!(run(&[applied(0, batch(0, 1, 7)), acknowledged(0, 7), acknowledged(0, 7)]).is_err());
    }

    #[test]
    fn fires_when_two_nodes_load_different_snapshots() {
        let loaded = |node, digest| Fact::Loaded {
            node: NodeId(node),
            snapshot: SnapshotId {
                end_offset: 10,
                epoch: Epoch(1),
            },
            digest,
        };
        assert_eq!(run(&[loaded(0, 7), loaded(1, 7)]), Ok(()));
        assert!(run(&[loaded(0, 7), loaded(1, 8)]).is_err());
    }

    fn leads(node: i32, epoch: i32) -> Fact {
        Fact::State {
            node: NodeId(node),
            role: RoleName::Leader,
            epoch: Epoch(epoch),
            leader: Some(NodeId(node)),
            high_watermark: None,
        }
    }

    #[test]
    fn a_leader_need_not_have_what_a_newer_epoch_has_committed_and_the_next_one_has_to() {
        let log = Fact::Log {
            node: NodeId(0),
            start: 0,
            truncated_to: 0,
            appended: vec![batch(0, 1, 99)],
        };
        let facts = [log, leads(0, 3), applied(0, batch(0, 1, 7)), leads(1, 2)];
        assert_eq!(run(&facts), Ok(()));
        let late = [&facts[..], &[leads(1, 4)]].concat();
        assert!(run(&late).is_err());
    }

    #[test]
    fn fires_when_a_new_leader_lacks_what_is_committed() {
        let leads = leads(1, 2);
        assert!(run(&[applied(0, batch(0, 1, 7)), leads.clone()]).is_err());
        let log = Fact::Log {
            node: NodeId(1),
            start: 0,
            truncated_to: 0,
            appended: vec![batch(0, 1, 99)],
        };
        assert_eq!(run(&[applied(0, batch(0, 1, 7)), log, leads]), Ok(()));
    }
}
