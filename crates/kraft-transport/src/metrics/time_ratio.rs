//! The share of time that something takes, as Kafka's `TimeRatio`.

use kraft_core::Instant;

/// Durations of one kind in the time between two readings. Each reading begins a new interval, so two readers take
/// from each other.
#[derive(Debug, Clone, Default)]
pub(crate) struct TimeRatio {
    /// Where the interval begins; `None` before the first duration, which therefore does not count.
    began: Option<Instant>,
    last: Option<Instant>,
    total_us: u64,
}

impl TimeRatio {
    /// Something has taken the time from `began` to `ended`.
    pub(crate) fn record(&mut self, began: Instant, ended: Instant) {
        if self.began.is_none() {
            self.began = Some(ended);
            return;
        }
        self.total_us += ended.0.saturating_sub(began.0);
        self.last = Some(ended);
    }

    /// The share from the last reading to the last duration; 1 where nothing was recorded since.
    pub(crate) fn read(&mut self) -> f64 {
        let (Some(began), Some(last)) = (self.began, self.last) else {
            return 1.0;
        };
        let interval_us = last.0.saturating_sub(began.0);
        let total_us = std::mem::take(&mut self.total_us);
        self.began = Some(last);
        if interval_us == 0 {
            return 1.0;
        }
        (total_us as f64 / interval_us as f64).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_006_the_idle_ratio_covers_the_time_between_two_readings() {
        let mut ratio = TimeRatio::default();
        let mut now_ms = 1000;
        let mut idle = |ratio: &mut TimeRatio, busy_ms: u64, idle_ms: u64| {
            let began = now_ms + busy_ms;
            now_ms = began + idle_ms;
            ratio.record(Instant::from_millis(began), Instant::from_millis(now_ms));
        };
        assert_eq!(ratio.read(), 1.0, "nothing is known yet");
        idle(&mut ratio, 0, 50);
        idle(&mut ratio, 0, 100);
        idle(&mut ratio, 100, 200);
        assert_eq!(ratio.read(), 0.75);
        idle(&mut ratio, 100, 75);
        idle(&mut ratio, 0, 25);
        idle(&mut ratio, 0, 0);
        assert_eq!(ratio.read(), 0.5);
        idle(&mut ratio, 40, 60);
        // A wait of 10 ms has begun after another 10 ms and is not over.
        assert_eq!(ratio.read(), 0.6);
        idle(&mut ratio, 10, 10);
        assert_eq!(ratio.read(), 0.5);
        assert_eq!(ratio.read(), 1.0);
    }
}
