//! The load: clients that write one record after the other.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::Error;
use crate::quorum::{Client, Quorum, RECORD_BYTES};

/// What the clients have seen.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    /// Commits a second.
    pub per_second: f64,
    /// How long half of the commits took at most, in microseconds.
    pub p50_us: f64,
    /// How long 99 of 100 took at most.
    pub p99_us: f64,
    /// All that was acknowledged, what was let go by included.
    pub acknowledged: u64,
}

/// When commits count.
#[derive(Clone, Copy)]
struct Span {
    begin: Instant,
    end: Instant,
}

/// Lets so many clients write for so long.
pub async fn run<Q: Quorum>(quorum: &Q, clients: usize, duration: Duration) -> Result<Measured, Error> {
    let begin = Instant::now() + WARM_UP;
    let span = Span {
        begin,
        end: begin + duration,
    };
    let mut running = JoinSet::new();
    for number in 0..clients {
        running.spawn(write(quorum.client(), number, span));
    }
    let mut acknowledged = 0;
    let mut times = Vec::new();
    while let Some(done) = running.join_next().await {
        let (written, of_client) = done??;
        acknowledged += written;
        times.extend(of_client);
    }
    times.sort_unstable();
    Ok(Measured {
        per_second: times.len() as f64 / duration.as_secs_f64(),
        p50_us: micros(&times, 0.5),
        p99_us: micros(&times, 0.99),
        acknowledged,
    })
}

/// Writes until the end. Gives how many records were written, and the times in nanoseconds of those that count.
async fn write(client: impl Client, number: usize, span: Span) -> Result<(u64, Vec<u32>), Error> {
    let mut times = Vec::new();
    let mut written = 0;
    let mut began = Instant::now();
    while began < span.end {
        client.write(vec![number as u8; RECORD_BYTES]).await?;
        let ended = Instant::now();
        written += 1;
        if ended >= span.begin && ended < span.end {
            times.push(u32::try_from((ended - began).as_nanos()).unwrap_or(u32::MAX));
        }
        began = ended;
    }
    Ok((written, times))
}

/// What this part of the sorted times is at most.
fn micros(sorted: &[u32], part: f64) -> f64 {
    let at = (sorted.len() as f64 * part).ceil() as usize;
    sorted
        .get(at.saturating_sub(1))
        .map_or(f64::NAN, |nanos| f64::from(*nanos) / 1000.0)
}

const WARM_UP: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[derive(Default)]
    struct Counted(Arc<AtomicU64>);

    impl Quorum for Counted {
        type Client = Counted;

        async fn start() -> Result<Self, Error> {
            Ok(Self::default())
        }
        fn client(&self) -> Self {
            Self(Arc::clone(&self.0))
        }
        async fn stop(self, _: u64) -> Result<(), Error> {
            Ok(())
        }
    }

    impl Client for Counted {
        async fn write(&self, record: Vec<u8>) -> Result<(), Error> {
            assert_eq!(record.len(), RECORD_BYTES);
            self.0.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(1)).await;
            Ok(())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn all_that_is_written_is_counted_and_only_the_span_is_measured() {
        let duration = Duration::from_millis(50);
        let quorum = Counted::start().await.unwrap();
        let measured = run(&quorum, 3, duration).await.unwrap();
        let in_all = (WARM_UP + duration).as_millis() as u64 * 3;
        assert_eq!(quorum.0.load(Ordering::Relaxed), in_all);
        assert_eq!(measured.acknowledged, in_all);
        assert_eq!(measured.per_second, 3000.0);
        assert_eq!((measured.p50_us, measured.p99_us), (1000.0, 1000.0));
    }

    #[test]
    fn a_part_of_the_times_is_at_most_this() {
        let times: Vec<u32> = (1..=100).map(|n| n * 1000).collect();
        assert_eq!(micros(&times, 0.5), 50.0);
        assert_eq!(micros(&times, 0.99), 99.0);
        assert_eq!(micros(&times[..1], 0.5), 1.0);
        assert!(micros(&[], 0.5).is_nan());
    }
}
