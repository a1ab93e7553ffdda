//! Values that are in force from an offset on.

use alloc::vec::Vec;

/// The offset under which what the bootstrap checkpoint says is filed.
pub(crate) const BOOTSTRAP_OFFSET: i64 = -1;

/// A value per offset at which it took effect, by offset (Kafka's `TreeMapLogHistory`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct LogHistory<T>(Vec<(i64, T)>);

impl<T> Default for LogHistory<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> LogHistory<T> {
    /// Files a value at an offset, in place of what is filed there already.
    pub(crate) fn add(&mut self, offset: i64, value: T) {
        assert!(
            offset >= BOOTSTRAP_OFFSET,
            "offsets in a log do not go below the bootstrap checkpoint"
        );
        match self.0.binary_search_by_key(&offset, |(at, _)| *at) {
            Ok(place) => self.0[place].1 = value,
            Err(place) => self.0.insert(place, (offset, value)),
        }
    }

    /// The newest value, with its offset.
    pub(crate) fn last(&self) -> Option<(i64, &T)> {
        self.0.last().map(|(offset, value)| (*offset, value))
    }

    /// The value in force at `offset`.
    pub(crate) fn at_or_before(&self, offset: i64) -> Option<&T> {
        self.0[..self.behind(offset)].last().map(|(_, value)| value)
    }

    /// Forgets what took effect at or behind `end`.
    pub(crate) fn truncate_newer(&mut self, end: i64) {
        let kept = self.0.partition_point(|(at, _)| *at < end);
        self.0.truncate(kept);
    }

    /// Forgets what was superseded at or before `start`.
    pub(crate) fn truncate_older(&mut self, start: i64) {
        let superseded = self.behind(start).saturating_sub(1);
        self.0.drain(..superseded);
    }

    /// How many took effect at or before `offset`.
    fn behind(&self, offset: i64) -> usize {
        self.0.partition_point(|(at, _)| *at <= offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history() -> LogHistory<&'static str> {
        let mut history = LogHistory::default();
        history.add(-1, "bootstrap");
        history.add(3, "three");
        history.add(8, "eight");
        history
    }

    #[test]
    fn a_value_is_in_force_from_its_offset_on() {
        let history = history();
        assert_eq!(history.last(), Some((8, &"eight")));
        assert_eq!(history.at_or_before(-1), Some(&"bootstrap"));
        assert_eq!(history.at_or_before(7), Some(&"three"));
        assert_eq!(history.at_or_before(8), Some(&"eight"));
        assert_eq!(history.at_or_before(-2), None);
    }

    #[test]
    fn truncation_rewinds() {
        let mut history = history();
        history.truncate_newer(8);
        assert_eq!(history.last(), Some((3, &"three")));
        history.truncate_newer(3);
        assert_eq!(history.last(), Some((-1, &"bootstrap")));
    }

    #[test]
    fn old_entries_go_but_the_one_in_force_stays() {
        let mut history = history();
        history.truncate_older(5);
        assert_eq!(history.at_or_before(2), None);
        assert_eq!(history.at_or_before(5), Some(&"three"));
    }

    fn with(offsets: &[i64]) -> LogHistory<i64> {
        let mut history = LogHistory::default();
        for offset in offsets {
            history.add(*offset, *offset);
        }
        history
    }

    #[test]
    fn voterset_023_what_is_in_force_is_what_was_added_last_before() {
        assert_eq!(with(&[]).at_or_before(100), None);
        assert_eq!(with(&[]).last(), None);
        let history = with(&[-1, 100, 200]);
        let expected = [
            (-2, None),
            (-1, Some(-1)),
            (99, Some(-1)),
            (100, Some(100)),
            (199, Some(100)),
            (200, Some(200)),
        ];
        for (offset, value) in expected {
            assert_eq!(history.at_or_before(offset).copied(), value, "at {offset}");
        }
        assert_eq!(history.at_or_before(i64::MAX), Some(&200));
        assert_eq!(history.last(), Some((200, &200)));
    }

    #[test]
    #[should_panic(expected = "offsets in a log do not go below")]
    fn nothing_is_filed_below_the_bootstrap_checkpoint() {
        with(&[-2]);
    }

    #[test]
    fn voterset_024_both_ends_can_be_cut() {
        for (end, last) in [(201, Some(200)), (200, Some(100)), (101, Some(100)), (100, None)] {
            let mut history = with(&[100, 200]);
            history.truncate_newer(end);
            assert_eq!(
                history.last().map(|(offset, _)| offset),
                last,
                "new entries from {end} on"
            );
        }
        for (start, at_100) in [(99, Some(100)), (100, Some(100)), (101, Some(100)), (200, None)] {
            let mut history = with(&[100, 200]);
            history.truncate_older(start);
            assert_eq!(
                history.at_or_before(100).copied(),
                at_100,
                "old entries up to {start}"
            );
            assert_eq!(history.at_or_before(200), Some(&200));
        }
    }
}
