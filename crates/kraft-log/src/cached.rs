//! How much of the log the operating system keeps in memory.
//!
//! Nobody reads what lies far behind the end of a log that grows fast: who is up to date is served from the newest
//! appends. Memory that is let go of takes the next appends; otherwise each of them needs memory that has not been used
//! for long, which makes the copy into it several times dearer, and drives out what other programs have there.

use std::ops::Range;

/// What of the last segment has been let go of.
#[derive(Debug)]
pub(crate) struct Cached {
    segment: i64,
    from: u64,
}

impl Cached {
    /// Of the segment at `base`, nothing has been.
    pub(crate) fn new(base: i64) -> Self {
        Self {
            segment: base,
            from: 0,
        }
    }

    /// The segment at `base` is durable up to `written`: which part of it is to be let go of now, if any.
    pub(crate) fn leave(&mut self, base: i64, written: u64) -> Option<Range<u64>> {
        if self.segment != base {
            *self = Self::new(base);
        }
        // After a truncation it is less than before.
        let until = written.saturating_sub(KEPT_BYTES);
        if until < self.from.saturating_add(LEFT_AT_ONCE) {
            self.from = self.from.min(until);
            return None;
        }
        Some(std::mem::replace(&mut self.from, until)..until)
    }
}

/// What stays: enough for a follower that was away for a moment, and for a restart.
const KEPT_BYTES: u64 = 128 << 20;
const LEFT_AT_ONCE: u64 = 2 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// The parts that are let go of while a segment grows from `from` to `to`, in steps of less than a MiB.
    fn left(cached: &mut Cached, base: i64, from: u64, to: u64) -> Vec<Range<u64>> {
        let steps = (from..=to).step_by(777_777);
        steps.filter_map(|written| cached.leave(base, written)).collect()
    }

    #[test]
    fn all_but_the_newest_part_goes_once_and_in_large_pieces() {
        let mut cached = Cached::new(0);
        assert_eq!(left(&mut cached, 0, 0, KEPT_BYTES + MIB), []);
        let parts = left(&mut cached, 0, KEPT_BYTES, KEPT_BYTES + 100 * MIB);
        assert_eq!(parts[0].start, 0);
        assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert!(
            parts
                .iter()
                .all(|part| (2 * MIB..3 * MIB).contains(&(part.end - part.start)))
        );
        assert!(parts.last().is_some_and(|last| last.end > 97 * MIB));
    }

    #[test]
    fn a_truncation_and_another_segment_begin_anew() {
        let mut cached = Cached::new(0);
        assert_eq!(cached.leave(0, KEPT_BYTES + 50 * MIB), Some(0..50 * MIB));
        assert_eq!(cached.leave(0, KEPT_BYTES + 10 * MIB), None);
        assert_eq!(cached.leave(0, KEPT_BYTES + 50 * MIB), Some(10 * MIB..50 * MIB));
        assert_eq!(cached.leave(7, 50 * MIB), None);
        assert_eq!(cached.leave(7, KEPT_BYTES + 3 * MIB), Some(0..3 * MIB));
    }
}
