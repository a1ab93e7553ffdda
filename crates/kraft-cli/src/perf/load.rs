//! What is proposed, and when.

use std::thread;
use std::time::{Duration, Instant};

/// What is proposed.
#[derive(Clone, Copy)]
pub(super) struct Load {
    /// Records a second; 0 for as many as there is room for.
    pub(super) throughput: u32,
    pub(super) record_bytes: usize,
    /// How many may wait for their commit.
    pub(super) in_flight_max: u64,
    /// How long the node lets records gather before it appends them.
    pub(super) linger: Duration,
}

/// What a load waits by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clock {
    /// The sleep of a thread that is the load's own.
    Thread,
    /// A timer of the runtime. It is not finer than a millisecond, and no other thread has to be woken.
    Runtime,
}

impl Load {
    /// How often what is due is proposed. For records that gather anyway a tenth of that time is little, and to be woken
    /// costs as much for one of them as for all that have become due meanwhile.
    pub(super) fn tick(&self) -> Duration {
        TICK_MIN.max(self.linger / 10)
    }

    pub(super) fn clock(&self) -> Clock {
        if self.tick() >= RUNTIME_TICK_MIN && self.throughput <= SHARED_THROUGHPUT_MAX {
            Clock::Runtime
        } else {
            Clock::Thread
        }
    }
}

impl Clock {
    /// Returns once the moment has come. Holds the thread, if that is the load's own.
    pub(super) async fn reach(self, moment: Instant) {
        match self {
            Self::Thread => thread::sleep(moment.saturating_duration_since(Instant::now())),
            Self::Runtime => tokio::time::sleep_until(moment.into()).await,
        }
    }
}

const TICK_MIN: Duration = Duration::from_millis(1);
/// From here on the timers of the runtime are fine enough.
const RUNTIME_TICK_MIN: Duration = Duration::from_millis(2);
/// So many records a second are no work for a thread of their own.
const SHARED_THROUGHPUT_MAX: u32 = 64_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn load(throughput: u32, linger_ms: u64) -> Load {
        Load {
            throughput,
            record_bytes: 256,
            in_flight_max: 100_000,
            linger: Duration::from_millis(linger_ms),
        }
    }

    #[test]
    fn a_load_is_never_later_than_a_tenth_of_what_its_records_gather_for_or_a_millisecond() {
        for (linger_ms, tick_us) in [(0, 1000), (1, 1000), (10, 1000), (25, 2500), (200, 20_000)] {
            assert_eq!(load(5000, linger_ms).tick(), Duration::from_micros(tick_us));
        }
    }

    #[test]
    fn only_a_load_that_is_fine_or_heavy_has_a_thread() {
        assert_eq!(load(5000, 0).clock(), Clock::Thread);
        assert_eq!(load(5000, 10).clock(), Clock::Thread);
        assert_eq!(load(5000, 25).clock(), Clock::Runtime);
        assert_eq!(load(200_000, 25).clock(), Clock::Thread);
    }
}
