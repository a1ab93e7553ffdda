//! Lines of the log that a peer could cause again and again.

use kraft_core::Instant;
use std::{collections::BTreeMap, time::Duration};

/// One line of a kind is written at a time; of those that follow soon it is said how many there were.
#[derive(Debug, Default)]
pub(super) struct Repeats(BTreeMap<&'static str, Written>);

#[derive(Debug)]
struct Written {
    at: Instant,
    left_out: u64,
}

impl Repeats {
    /// How many lines of this kind were left out since the last one, if one is to be written now.
    pub(super) fn line(&mut self, kind: &'static str, now: Instant) -> Option<u64> {
        let Some(written) = self.0.get_mut(kind) else {
            let first = Written { at: now, left_out: 0 };
            self.0.insert(kind, first);
            return Some(0);
        };
        if now.since(written.at) < PAUSE {
            written.left_out += 1;
            return None;
        }
        written.at = now;
        Some(std::mem::take(&mut written.left_out))
    }
}

const PAUSE: Duration = Duration::from_secs(10);
