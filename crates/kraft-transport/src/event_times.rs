//! How long commands wait for the engine and how long it takes over them: Kafka's event-queue times.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// Times since the start, written by the engine and read by whoever likes.
#[derive(Debug, Default)]
pub struct EventTimes {
    /// From the moment that a command was sent to the moment that a turn took it: Kafka's `EventQueueTimeMs`.
    pub queue: Times,
    /// What a turn took over a command, without the proposals, which it joins at its end, and without what is applied:
    /// Kafka's `EventQueueProcessingTimeMs`.
    pub processing: Times,
}

/// Times of one kind.
#[derive(Debug, Default)]
pub struct Times {
    count: AtomicU64,
    total_us: AtomicU64,
    max_us: AtomicU64,
}

impl Times {
    /// Only the engine calls this, so that nothing is lost between reading and writing.
    pub(crate) fn record(&self, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let add = |sum: &AtomicU64, more: u64| {
            sum.store(sum.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
        };
        add(&self.count, 1);
        add(&self.total_us, us);
        if us > self.max_us.load(Ordering::Relaxed) {
            self.max_us.store(us, Ordering::Relaxed);
        }
    }

    /// How many there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// All of them together.
    #[must_use]
    pub fn total(&self) -> Duration {
        Duration::from_micros(self.total_us.load(Ordering::Relaxed))
    }

    /// The longest.
    #[must_use]
    pub fn max(&self) -> Duration {
        Duration::from_micros(self.max_us.load(Ordering::Relaxed))
    }
}
