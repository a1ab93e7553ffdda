//! The clock of a node, which goes faster or slower than others and whose wall time may jump.

use kraft_core::{Instant, Time};

/// A clock that runs at a rate of its own.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Clock {
    /// How much too fast it is, in millionths.
    drift_ppm: i64,
    /// How far its wall time is off, in milliseconds.
    wall_offset_ms: i64,
}

const MILLION: i64 = 1_000_000;

impl Clock {
    pub(crate) fn new(drift_ppm: i64) -> Self {
        Self {
            drift_ppm: drift_ppm.clamp(-MILLION / 2, MILLION),
            wall_offset_ms: 0,
        }
    }

    /// Sets the wall time forward or back. The monotonic part never jumps.
    pub(crate) fn jump(&mut self, by_ms: i64) {
        self.wall_offset_ms = self.wall_offset_ms.saturating_add(by_ms);
    }

    /// What it shows at a moment.
    pub(crate) fn shows(&self, now: Instant) -> Time {
        let mono = self.monotonic(now);
        let ms = i64::try_from(mono.0 / 1000).expect("runs are short");
        Time {
            mono,
            wall_ms: ms.saturating_add(self.wall_offset_ms).max(0),
        }
    }

    pub(crate) fn monotonic(&self, now: Instant) -> Instant {
        Instant(scaled(now.0, self.rate(), MILLION.unsigned_abs(), false))
    }

    /// The first moment at which it shows this much or more.
    pub(crate) fn when(&self, shown: Instant) -> Instant {
        Instant(scaled(shown.0, MILLION.unsigned_abs(), self.rate(), true))
    }

    fn rate(&self) -> u64 {
        (MILLION + self.drift_ppm).unsigned_abs()
    }
}

fn scaled(value: u64, by: u64, over: u64, up: bool) -> u64 {
    if by == over {
        return value;
    }
    let product = u128::from(value) * u128::from(by);
    let quotient = if up {
        product.div_ceil(u128::from(over))
    } else {
        product / u128::from(over)
    };
    u64::try_from(quotient).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_met_at_its_moment_and_not_before() {
        for drift in [-20_000, -1, 0, 7, 50_000] {
            let clock = Clock::new(drift);
            for shown in [0, 1, 999, 1_000_000, 30_123_457] {
                let moment = clock.when(Instant(shown));
                assert!(clock.monotonic(moment) >= Instant(shown), "{drift} {shown}");
                let before = Instant(moment.0.saturating_sub(1));
                assert!(
                    shown == 0 || clock.monotonic(before) < Instant(shown),
                    "{drift} {shown}"
                );
            }
        }
    }

    #[test]
    fn only_the_wall_time_jumps() {
        let mut clock = Clock::new(0);
        clock.jump(-3_000);
        let shown = clock.shows(Instant::from_millis(10_000));
        assert_eq!((shown.mono, shown.wall_ms), (Instant::from_millis(10_000), 7_000));
    }
}
