//! Latencies with their median and their 99th percentile.

use super::sampled::Sampled;
use kraft_core::Instant;
use std::time::Duration;

/// Latencies of the last half minute to a minute.
#[derive(Debug, Clone)]
pub(crate) struct Latency {
    /// How many fell into each bucket, in the current half minute and in the one before.
    halves: [[u32; BUCKETS]; 2],
    began: Instant,
    milliseconds: Sampled,
}

impl Default for Latency {
    fn default() -> Self {
        Self {
            halves: [[0; BUCKETS]; 2],
            began: Instant(0),
            milliseconds: Sampled::default(),
        }
    }
}

/// What of latencies is told, in milliseconds; NaN without values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencyMs {
    /// Half of them took at most so long, within a fifth.
    pub median: f64,
    /// 99 of a hundred took at most so long, within a fifth.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

impl Latency {
    pub(crate) fn record(&mut self, took: Duration, now: Instant) {
        self.turn_over(now);
        self.milliseconds.record(took.as_secs_f64() * 1e3, now);
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let count = &mut self.halves[0][bucket(us)];
        *count = count.saturating_add(1);
    }

    pub(crate) fn read(&mut self, now: Instant) -> LatencyMs {
        self.turn_over(now);
        LatencyMs {
            median: self.quantile(0.5),
            p99: self.quantile(0.99),
            max: self.milliseconds.max(now),
        }
    }

    fn turn_over(&mut self, now: Instant) {
        let passed = now.since(self.began);
        if passed >= HALF * 2 {
            self.halves = [[0; BUCKETS]; 2];
        } else if passed >= HALF {
            self.halves = [[0; BUCKETS], self.halves[0]];
        } else {
            return;
        }
        self.began = now;
    }

    fn quantile(&self, share: f64) -> f64 {
        let counts = || (0..BUCKETS).map(|at| u64::from(self.halves[0][at]) + u64::from(self.halves[1][at]));
        let total: u64 = counts().sum();
        let wanted = (total as f64 * share).ceil().max(1.0);
        let mut seen = 0;
        for (at, count) in counts().enumerate() {
            seen += count;
            if seen as f64 >= wanted {
                return bucket_end(at) / 1e3;
            }
        }
        f64::NAN
    }
}

/// Four buckets for each power of two of microseconds.
fn bucket(us: u64) -> usize {
    let us = us.max(4);
    let power = us.ilog2();
    let quarter = (us >> (power - 2)) & 3;
    let at = (power as usize - 2) * 4 + quarter as usize;
    at.min(BUCKETS - 1)
}

/// The microseconds below which a bucket's values are.
fn bucket_end(at: usize) -> f64 {
    let (power, quarter) = (at / 4, at % 4);
    (quarter as f64 + 5.0) * 2_f64.powi(i32::try_from(power).expect("few buckets"))
}

/// Up to 4 ms ∙ 2^16, which is more than four minutes.
const BUCKETS: usize = 4 * 26;

const HALF: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    fn within_a_fifth(told: f64, real: f64) -> bool {
        told >= real && told <= real * 1.25
    }

    #[test]
    fn quantiles_are_right_within_a_fifth_and_forget_what_is_old() {
        let mut latency = Latency::default();
        let at = |ms: u64| Instant::from_millis(ms);
        assert!(latency.read(at(1)).median.is_nan());
        for ms in 1..=1000 {
            latency.record(Duration::from_millis(ms), at(ms));
        }
        let told = latency.read(at(1000));
        assert!(within_a_fifth(told.median, 500.0), "{told:?}");
        assert!(within_a_fifth(told.p99, 990.0), "{told:?}");
        assert_eq!(told.max, 1000.0);
        assert!(!latency.read(at(31_000)).p99.is_nan());
        assert!(latency.read(at(120_000)).p99.is_nan());
        assert!(latency.read(at(120_000)).max.is_nan());
    }

    #[test]
    fn every_duration_has_a_bucket_that_ends_behind_it() {
        for us in [0, 1, 4, 5, 7, 8, 1000, 123_456, 4_000_000, 200_000_000] {
            assert!(bucket_end(bucket(us)) > us as f64, "{us}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }
}
