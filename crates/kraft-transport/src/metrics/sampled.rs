//! Averages, maxima and rates over the last half minute to a minute, as Kafka's sampled statistics: two windows of 30 s,
//! `metrics.num.samples` and `metrics.sample.window.ms`.

use kraft_core::Instant;
use std::time::Duration;

/// Values of one kind with the moments at which they came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sampled {
    windows: [Option<Window>; 2],
    current: usize,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    began: Instant,
    last: Instant,
    count: u64,
    sum: f64,
    max: f64,
}

impl Window {
    fn new(now: Instant) -> Self {
        Self {
            began: now,
            last: now,
            count: 0,
            sum: 0.0,
            max: f64::NEG_INFINITY,
        }
    }
}

impl Sampled {
    pub(crate) fn record(&mut self, value: f64, now: Instant) {
        if self.windows[self.current].is_some_and(|window| now.since(window.began) >= WINDOW) {
            self.current = (self.current + 1) % self.windows.len();
            self.windows[self.current] = None;
        }
        let window = self.windows[self.current].get_or_insert_with(|| Window::new(now));
        window.last = now;
        window.count += 1;
        window.sum += value;
        window.max = window.max.max(value);
    }

    /// NaN without values.
    pub(crate) fn average(&self, now: Instant) -> f64 {
        let count: u64 = self.young(now).map(|window| window.count).sum();
        self.sum(now) / count as f64
    }

    /// NaN without values.
    pub(crate) fn max(&self, now: Instant) -> f64 {
        self.young(now).map(|window| window.max).fold(f64::NAN, f64::max)
    }

    /// What came in a second. As in Kafka one window more is counted before the first is full.
    pub(crate) fn rate(&self, now: Instant) -> f64 {
        let began = self.young(now).map(|window| window.began).min();
        let elapsed = began.map_or(Duration::ZERO, |began| now.since(began));
        let counted = if elapsed < WINDOW {
            elapsed + WINDOW
        } else {
            elapsed
        };
        self.sum(now) / counted.as_secs_f64()
    }

    fn sum(&self, now: Instant) -> f64 {
        // An empty `sum` of floats is -0.
        self.young(now).fold(0.0, |sum, window| sum + window.sum)
    }

    /// What is older than all windows together counts no more.
    fn young(&self, now: Instant) -> impl Iterator<Item = &Window> {
        let old = WINDOW * 2;
        self.windows
            .iter()
            .flatten()
            .filter(move |window| now.since(window.last) < old)
    }
}

const WINDOW: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant(5_000_000);

    fn later(seconds: u64) -> Instant {
        NOW.after(Duration::from_secs(seconds))
    }

    #[test]
    fn metrics_007_rates_of_appended_and_fetched_records() {
        let (mut appended, mut fetched) = (Sampled::default(), Sampled::default());
        let mut rates = Vec::new();
        for (append, fetch) in [(12.0, 24.0), (9.0, 48.0)] {
            appended.record(append, NOW);
            fetched.record(fetch, NOW);
            rates.push((appended.rate(NOW), fetched.rate(NOW)));
        }
        assert_eq!(rates, [(0.4, 0.8), (0.7, 2.4)]);
    }

    #[test]
    fn nothing_has_no_average_and_no_maximum_but_a_rate() {
        let mut values = Sampled::default();
        assert!(values.average(NOW).is_nan());
        assert!(values.max(NOW).is_nan());
        assert_eq!(values.rate(NOW).to_string(), "0");
        values.record(2.0, NOW);
        values.record(4.0, NOW);
        assert_eq!((values.average(NOW), values.max(NOW)), (3.0, 4.0));
        assert_eq!(values.average(later(59)), 3.0);
        assert!(
            values.average(later(60)).is_nan(),
            "two windows later it is forgotten"
        );
        assert!(values.max(later(60)).is_nan());
        assert_eq!(values.rate(later(60)), 0.0);
    }

    #[test]
    fn the_older_of_two_windows_makes_room_for_the_next() {
        let mut values = Sampled::default();
        for (seconds, value) in [(0, 100.0), (31, 10.0), (62, 1.0)] {
            values.record(value, later(seconds));
        }
        assert_eq!(values.max(later(62)), 10.0);
        assert_eq!(values.rate(later(62)), 11.0 / 31.0);
    }
}
