//! When the node writes a snapshot by itself.

use super::EngineConfig;
use kraft_core::Instant;
use std::time::Duration;

/// What has been applied since the last snapshot, and for how long.
#[derive(Debug)]
pub(super) struct Due {
    new_bytes: u64,
    since: Instant,
    /// Whether the state machine was once as far as the high watermark. What it applies before counts as old.
    caught_up: bool,
    /// Whether a snapshot that is due could not be taken, which is said once.
    put_off: bool,
}

/// Why a snapshot is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    Bytes(u64),
    Age(Duration),
}

impl Due {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            new_bytes: 0,
            since: now,
            caught_up: false,
            put_off: false,
        }
    }

    /// A snapshot is begun, or the state machine stands on one.
    pub(super) fn restart(&mut self, now: Instant) {
        self.new_bytes = 0;
        self.since = now;
        self.put_off = false;
    }

    /// A batch of this size is applied.
    pub(super) fn applied(&mut self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.new_bytes = self.new_bytes.saturating_add(bytes);
    }

    /// Everything up to the high watermark is applied.
    pub(super) fn catch_up(&mut self, now: Instant) {
        if !self.caught_up {
            self.caught_up = true;
            self.restart(now);
        }
    }

    pub(super) fn reason(&self, config: &EngineConfig, now: Instant) -> Option<Reason> {
        if !self.caught_up {
            return None;
        }
        if self.new_bytes >= config.snapshot_max_new_bytes {
            return Some(Reason::Bytes(self.new_bytes));
        }
        let age = now.since(self.since);
        config
            .snapshot_max_interval
            .filter(|interval| age >= *interval)
            .map(|_| Reason::Age(age))
    }

    /// The counters stay: the next pass tries again. Returns whether this is the first time.
    pub(super) fn put_off(&mut self) -> bool {
        !std::mem::replace(&mut self.put_off, true)
    }
}
