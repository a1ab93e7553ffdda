//! Time as an argument: the core never reads a clock.

use crate::relative;
use core::{
    hash::{Hash, Hasher},
    time::Duration,
};

/// A moment on the engine's monotonic clock, in microseconds since a start that only the engine knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(pub u64);

impl Hash for Instant {
    fn hash<H: Hasher>(&self, state: &mut H) {
        relative::hash(relative::INSTANT, self.0, state);
    }
}

impl Instant {
    /// The moment `ms` milliseconds after the start of the clock.
    #[must_use]
    pub fn from_millis(ms: u64) -> Self {
        Self(ms.saturating_mul(1000))
    }

    /// The moment `duration` later; the end of time when there is no such moment.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        self.plus(duration.into())
    }

    /// As [`after`](Self::after).
    pub(crate) fn plus(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// The time from `earlier` to this moment, zero if it lies ahead.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

/// A length of time in whole microseconds, as the clock counts: quicker to add to a moment than a `Duration`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Span(u64);

impl From<Duration> for Span {
    fn from(duration: Duration) -> Self {
        let us = duration
            .as_secs()
            .saturating_mul(1_000_000)
            .saturating_add(u64::from(duration.subsec_micros()));
        Self(us)
    }
}

/// What the clocks say when a step is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Time {
    /// For timers. Never goes back.
    pub mono: Instant,
    /// For what people read and for record timestamps: milliseconds since 1970.
    pub wall_ms: i64,
}
