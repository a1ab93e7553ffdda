//! The epochs of a log, held against whatever else tells of them.
//!
//! No checksum covers the epoch of a batch. But an epoch's first batch has the record of its leader, no later one has,
//! and the epoch cache had been told of it before it was written.

use crate::{epoch_checkpoint::EpochStart, scan::BatchFault};
use kraft_core::Epoch;

/// Where an epoch begins in a segment: by its first batch there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EpochBegin {
    pub(crate) start: EpochStart,
    /// Where the batch stands in its segment.
    pub(crate) position: u64,
    /// Whether the batch has the record of the epoch's leader.
    pub(crate) announced: bool,
}

/// Goes through the epochs of a log in order.
pub(crate) struct EpochChecks<'a> {
    /// The epoch of the batch before; `None` where the log begins and nothing tells.
    before: Option<Epoch>,
    /// What the epoch cache says.
    cached: &'a [EpochStart],
}

impl<'a> EpochChecks<'a> {
    pub(crate) fn new(before: Option<Epoch>, cached: &'a [EpochStart]) -> Self {
        Self { before, cached }
    }

    /// Checks the next begin of an epoch, which may be that of the segment before going on.
    pub(crate) fn next(&mut self, begin: &EpochBegin) -> Result<(), BatchFault> {
        let found = begin.start.epoch;
        let before = self.before.replace(found);
        if let Some(last) = before {
            if found < last {
                return Err(BatchFault::EpochGoesBack { last, found });
            }
            if found == last && begin.announced {
                return Err(BatchFault::EpochBegunTwice { found });
            }
            if found > last && !begin.announced && !self.cached.contains(&begin.start) {
                return Err(BatchFault::EpochUnannounced { found });
            }
        }
        let offset = begin.start.start_offset;
        let mut cached = self.cached.iter();
        match cached.find(|entry| entry.start_offset == offset && entry.epoch != found) {
            Some(entry) if before != Some(found) => Err(BatchFault::EpochContradicted {
                expected: entry.epoch,
                found,
            }),
            _ => Ok(()),
        }
    }
}

/// Whether the epoch cache says of an offset of the log, which ends at `end`, what the log does not say. Its first
/// entry may begin late: where the log began to be kept.
pub(crate) fn contradicts(cached: &[EpochStart], log: &[EpochStart], end: i64) -> bool {
    cached.iter().any(|entry| {
        let in_force = log.iter().rev();
        let mut in_force = in_force.skip_while(|begin| begin.start_offset > entry.start_offset);
        let in_force = in_force.next().map(|begin| begin.epoch);
        entry.start_offset < end && in_force.is_some_and(|epoch| epoch != entry.epoch)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(epoch: i32, start_offset: i64) -> EpochStart {
        EpochStart {
            epoch: Epoch(epoch),
            start_offset,
        }
    }

    fn checked(
        before: Option<i32>,
        cached: &[(i32, i64)],
        log: &[(i32, i64, bool)],
    ) -> Result<(), BatchFault> {
        let cached: Vec<_> = cached.iter().map(|(epoch, at)| start(*epoch, *at)).collect();
        let mut checks = EpochChecks::new(before.map(Epoch), &cached);
        log.iter().try_for_each(|(epoch, at, announced)| {
            checks.next(&EpochBegin {
                start: start(*epoch, *at),
                position: 0,
                announced: *announced,
            })
        })
    }

    #[test]
    fn epochs_begin_once_with_their_leader_and_where_the_cache_says() {
        let good = [(1, 0, true), (3, 16, true), (4, 19, true)];
        let cache = [(1, 0), (3, 16), (4, 19)];
        for cached in [
            &cache[..],
            &cache[..2],
            &[],
            &[(3, 17)],
            &[(3, 17), (4, 19), (7, 40)],
        ] {
            assert_eq!(checked(Some(0), cached, &good), Ok(()), "{cached:?}");
        }
        // Behind a snapshot of epoch 3 that epoch goes on, or the next one begins.
        assert_eq!(
            checked(Some(3), &[(3, 17)], &[(3, 17, false), (4, 19, true)]),
            Ok(())
        );
        assert_eq!(checked(Some(3), &[], &[(4, 17, true)]), Ok(()));
        // Nothing tells which epoch was in force before.
        assert_eq!(checked(None, &[], &[(3, 17, false)]), Ok(()));
        // The cache may stand in for the leader's record.
        assert_eq!(checked(Some(0), &[(2, 0)], &[(2, 0, false)]), Ok(()));
    }

    #[test]
    fn an_epoch_that_nothing_else_knows_of_is_damage() {
        let unannounced = |found| Err(BatchFault::EpochUnannounced { found: Epoch(found) });
        assert_eq!(checked(Some(3), &[(3, 0)], &[(7, 26, false)]), unannounced(7));
        assert_eq!(checked(Some(3), &[(7, 25)], &[(7, 26, false)]), unannounced(7));
        let twice = Err(BatchFault::EpochBegunTwice { found: Epoch(2) });
        assert_eq!(checked(Some(2), &[], &[(2, 9, true)]), twice);
        let contradicted = Err(BatchFault::EpochContradicted {
            expected: Epoch(4),
            found: Epoch(5),
        });
        assert_eq!(
            checked(Some(3), &[(3, 16), (4, 19)], &[(5, 19, true)]),
            contradicted
        );
        assert_eq!(checked(None, &[(4, 19)], &[(5, 19, false)]), contradicted);
        let back = Err(BatchFault::EpochGoesBack {
            last: Epoch(3),
            found: Epoch(2),
        });
        assert_eq!(checked(Some(3), &[], &[(2, 9, true)]), back);
    }

    #[test]
    fn a_cache_contradicts_where_it_names_another_epoch_for_an_offset() {
        let log = [start(2, 10), start(4, 20)];
        for agrees in [
            &[][..],
            &[start(2, 10)],
            &[start(2, 15), start(4, 20)],
            // Behind the end, and before the beginning.
            &[start(1, 5), start(4, 20), start(5, 30)],
        ] {
            assert!(!contradicts(agrees, &log, 30), "{agrees:?}");
        }
        for other in [start(4, 15), start(2, 20), start(3, 12)] {
            assert!(contradicts(&[other], &log, 30), "{other:?}");
        }
    }
}
