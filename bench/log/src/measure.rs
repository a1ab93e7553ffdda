//! Times, and what is made of them.

use std::time::{Duration, Instant};

/// How long each of some operations took.
#[derive(Debug, Default)]
pub struct Times(Vec<Duration>);

impl Times {
    pub fn with_capacity(operations: usize) -> Self {
        Self(Vec::with_capacity(operations))
    }

    /// Does something and keeps how long it took.
    pub fn take<T>(&mut self, operation: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let result = operation();
        self.0.push(started.elapsed());
        result
    }

    pub fn total(&self) -> Duration {
        self.0.iter().sum()
    }

    pub fn per_second(&self) -> f64 {
        self.0.len() as f64 / self.total().as_secs_f64()
    }

    /// The microseconds that this part of the operations took at most.
    pub fn micros(&self, part: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let at = ((sorted.len() as f64 * part) as usize).min(sorted.len() - 1);
        sorted[at].as_secs_f64() * 1e6
    }
}

/// Whether to measure once more: at least five times, and for as long as asked.
pub fn goes_on(rounds: usize, since: Instant, secs: u64) -> bool {
    rounds < ROUNDS_MIN || since.elapsed() < Duration::from_secs(secs)
}

const ROUNDS_MIN: usize = 5;
