//! The leader-epoch cache (KIP-101; Kafka's `LeaderEpochFileCache`): where each epoch begins.

use crate::epoch_checkpoint::EpochStart;
use kraft_core::{Epoch, LogOffsetMetadata};

/// Epochs and their first offsets, both strictly ascending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct EpochCache(Vec<EpochStart>);

impl EpochCache {
    pub(crate) fn latest(&self) -> Option<Epoch> {
        self.0.last().map(|entry| entry.epoch)
    }

    pub(crate) fn entries(&self) -> &[EpochStart] {
        &self.0
    }

    /// Enters an epoch; whether that changed anything. Entries that contradict it are older wishes and go.
    pub(crate) fn assign(&mut self, epoch: Epoch, start_offset: i64) -> bool {
        if self
            .0
            .last()
            .is_some_and(|last| last.epoch == epoch && last.start_offset <= start_offset)
        {
            return false;
        }
        while self
            .0
            .last()
            .is_some_and(|last| last.epoch >= epoch || last.start_offset >= start_offset)
        {
            self.0.pop();
        }
        self.0.push(EpochStart { epoch, start_offset });
        true
    }

    /// Removes the epochs that begin at `end` or behind it; whether there were any.
    pub(crate) fn truncate_from_end(&mut self, end: i64) -> bool {
        let kept = self.0.partition_point(|entry| entry.start_offset < end);
        let changed = kept < self.0.len();
        self.0.truncate(kept);
        changed
    }

    /// Moves the log's beginning up: the epoch in force there begins there; whether that changed anything.
    pub(crate) fn truncate_from_start(&mut self, start: i64) -> bool {
        let in_force = self.0.partition_point(|entry| entry.start_offset <= start);
        let Some(gone) = in_force.checked_sub(1) else {
            return false;
        };
        if gone == 0 && self.0[0].start_offset == start {
            return false;
        }
        self.0.drain(..gone);
        self.0[0].start_offset = start;
        true
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Where `epoch` ends in a log that ends at `log_end`; `None` where the cache cannot say.
    pub(crate) fn end_offset_for(&self, epoch: Epoch, log_end: i64) -> Option<LogOffsetMetadata> {
        if self.latest()? == epoch {
            return Some(LogOffsetMetadata {
                epoch,
                offset: log_end,
            });
        }
        let above = self.0.partition_point(|entry| entry.epoch <= epoch);
        let next = self.0.get(above)?;
        let epoch = match above.checked_sub(1) {
            Some(at) => self.0[at].epoch,
            None => epoch,
        };
        Some(LogOffsetMetadata {
            epoch,
            offset: next.start_offset,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(entries: &[(i32, i64)]) -> EpochCache {
        let mut cache = EpochCache::default();
        for (epoch, start) in entries {
            cache.assign(Epoch(*epoch), *start);
        }
        cache
    }

    #[test]
    fn an_epoch_ends_where_the_next_begins() {
        let cache = cache(&[(2, 10), (4, 20), (7, 30)]);
        let answers = [
            (7, Some((7, 99))),
            (6, Some((4, 30))),
            (4, Some((4, 30))),
            (3, Some((2, 20))),
            (1, Some((1, 10))),
            (8, None),
        ];
        for (epoch, expected) in answers {
            let end = cache.end_offset_for(Epoch(epoch), 99);
            assert_eq!(
                end.map(|end| (end.epoch.0, end.offset)),
                expected,
                "epoch {epoch}"
            );
        }
        assert_eq!(EpochCache::default().end_offset_for(Epoch(0), 5), None);
    }

    #[test]
    fn a_new_epoch_replaces_one_that_never_had_a_record() {
        let mut cache = cache(&[(1, 0), (2, 50)]);
        assert!(cache.assign(Epoch(3), 50));
        assert_eq!(cache, self::cache(&[(1, 0), (3, 50)]));
        assert!(!cache.assign(Epoch(3), 60));
    }

    #[test]
    fn cutting_removes_the_epochs_that_begin_behind_the_end() {
        let mut cache = cache(&[(1, 0), (2, 50), (3, 60)]);
        assert!(cache.truncate_from_end(50));
        assert_eq!(cache, self::cache(&[(1, 0)]));
        assert!(!cache.truncate_from_end(50));
    }
}
