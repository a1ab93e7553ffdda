//! What the load has come to: a line for each window and one for all of them.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::out::Out;

/// Counts and latencies, since the node leads.
pub(super) struct Measured {
    record_bytes: usize,
    state: Mutex<State>,
}

struct State {
    /// Since when the window runs; `None` while this node does not lead.
    since: Option<Instant>,
    window: Counts,
    /// Whether the first window, in which everything is new, is over.
    warm: bool,
    /// The windows behind the first.
    total: Counts,
    total_time: Duration,
}

struct Counts {
    committed: u64,
    refused: u64,
    /// In microseconds.
    latencies: Histogram<u64>,
}

impl Measured {
    /// How long a line is about.
    pub(super) const WINDOW: Duration = Duration::from_secs(5);

    pub(super) fn new(record_bytes: usize) -> Self {
        Self {
            record_bytes,
            state: Mutex::new(State {
                since: None,
                window: Counts::new(),
                warm: false,
                total: Counts::new(),
                total_time: Duration::ZERO,
            }),
        }
    }

    /// This node leads.
    pub(super) fn begin(&self) {
        let mut state = self.lock();
        state.since = Some(Instant::now());
        state.window = Counts::new();
    }

    /// It leads no more.
    pub(super) fn end(&self) {
        self.lock().since = None;
    }

    /// So many records are committed, this long after they were due.
    pub(super) fn committed(&self, records: u64, latency: Duration) {
        let mut state = self.lock();
        state.window.committed += records;
        let micros = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        state.window.latencies.saturating_record_n(micros, records);
    }

    /// So many records were not taken, or are not known to be committed.
    pub(super) fn refused(&self, records: u64) {
        self.lock().window.refused += records;
    }

    /// Prints the window that ends now, if this node leads.
    pub(super) fn print_window(&self) -> io::Result<()> {
        let mut state = self.lock();
        let Some(since) = state.since else {
            return Ok(());
        };
        let now = Instant::now();
        let took = now - since;
        state.since = Some(now);
        let window = std::mem::replace(&mut state.window, Counts::new());
        if state.warm {
            state.total_time += took;
            state.total.add(&window);
        }
        state.warm = true;
        drop(state);
        self.print("", &window, took)
    }

    /// Prints what all windows but the first make together, if there were more.
    pub(super) fn print_total(&self) -> io::Result<()> {
        let state = self.lock();
        if state.total_time.is_zero() {
            return Ok(());
        }
        self.print("total ", &state.total, state.total_time)
    }

    fn print(&self, what: &str, counts: &Counts, took: Duration) -> io::Result<()> {
        let per_second = |count: u64| count as f64 / took.as_secs_f64();
        let records = per_second(counts.committed);
        let mut out = Out::report();
        write!(
            out,
            "{what}seconds={:.1} records={} records/s={records:.0} bytes/s={:.0} refused/s={:.0}",
            took.as_secs_f64(),
            counts.committed,
            records * self.record_bytes as f64,
            per_second(counts.refused),
        )?;
        for (name, part) in [
            ("p50", 0.5),
            ("p75", 0.75),
            ("p99", 0.99),
            ("p999", 0.999),
            ("max", 1.0),
        ] {
            let millis = counts.latencies.value_at_quantile(part) as f64 / 1000.0;
            write!(out, " {name}={millis:.3}")?;
        }
        writeln!(out, " ms")?;
        out.flush()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    fn new() -> Self {
        let latencies = Histogram::new_with_bounds(1, LATENCY_MAX_US, 3);
        Self {
            committed: 0,
            refused: 0,
            latencies: latencies.expect("these bounds are possible"),
        }
    }

    fn add(&mut self, other: &Counts) {
        self.committed += other.committed;
        self.refused += other.refused;
        self.latencies
            .add(&other.latencies)
            .expect("both have the same bounds");
    }
}

/// What takes longer counts as this.
const LATENCY_MAX_US: u64 = 60_000_000;
