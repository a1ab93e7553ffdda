//! Whether the memory of voters grows with the time that they run.

use std::thread;
use std::time::{Duration, Instant};

use kraft_bench_report::{Figure, Goal, median};

use super::Session;
use super::commit::{OPEN, mebibytes, parameters};
use super::voters::{Load, Voters};
use crate::interop::Failure;

/// 5,000 records a second, with snapshots and segments that come and go. Records are collected as long as Kafka does it
/// by default, so that hours of it leave the machine usable.
const LOAD: Load = Load {
    snapshots: true,
    linger_ms: 25,
    ..OPEN
};

pub(super) fn run(session: &Session) -> Result<(), Failure> {
    let folder = session.folder("voters")?;
    let mut voters = Voters::start(&session.ours, &folder, LOAD)?;
    let led = voters.leader()?;
    let mut end = voters.log_end(led.leader);
    let (first, started) = (end.read()?, Instant::now());
    let mut resident = vec![Vec::new(); voters.voters.len()];
    let mut last_told = Instant::now();
    while started.elapsed() < session.duration {
        thread::sleep(SAMPLE.min(session.duration));
        for (samples, usage) in resident.iter_mut().zip(voters.usage()?) {
            samples.push(mebibytes(usage.resident_bytes));
        }
        // It is read as it grows, since its beginning is deleted.
        let records = end.read()? - first;
        if last_told.elapsed() >= TOLD_EACH {
            last_told = Instant::now();
            let now: Vec<_> = resident.iter().filter_map(|samples| samples.last()).collect();
            eprintln!(
                "{} s: {records} records, {now:.1?} MiB",
                started.elapsed().as_secs()
            );
        }
    }
    let records = (end.read()? - first) as f64;
    let newest = voters.newest()?;
    voters.stop()?;
    if newest.is_some_and(|event| event.epoch > led.epoch) {
        return Err("the leader has changed, and with it whose memory is whose".into());
    }
    let drifts: Vec<_> = resident.iter().map(|samples| drift(samples)).collect();
    let most = |values: &[f64]| values.iter().copied().fold(f64::MIN, f64::max);
    let highest: Vec<_> = resident.iter().map(|samples| most(samples)).collect();
    let figures = [
        ("memory, soak, records", "records", records, None),
        (
            "memory, soak, most of any voter",
            "MiB",
            most(&highest),
            Some(Goal::Max(40.0)),
        ),
        (
            "memory, soak, drift of any voter",
            "%",
            most(&drifts),
            Some(Goal::Max(2.0)),
        ),
    ];
    for (name, unit, value, goal) in figures {
        session.report.figure(&Figure {
            name,
            parameters: parameters(LOAD, session.duration),
            unit,
            ours: &[value],
            peer: None,
            goal,
        });
    }
    Ok(())
}

/// By how many percent the last tenth of the samples is above the second one, median by median. The first tenth, in which
/// caches fill, does not count.
fn drift(samples: &[f64]) -> f64 {
    let tenth = samples.len() / 10;
    let (early, late) = (&samples[tenth..2 * tenth], &samples[samples.len() - tenth..]);
    (median(late) / median(early) - 1.0) * 100.0
}

const SAMPLE: Duration = Duration::from_secs(1);
const TOLD_EACH: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::drift;

    #[test]
    fn drift_is_from_the_second_tenth_to_the_last() {
        let steady: Vec<_> = (0..100)
            .map(|second| if second < 10 { 1.0 } else { 20.0 })
            .collect();
        assert!(drift(&steady).abs() < 1e-9);
        let grows: Vec<_> = (0..100)
            .map(|second| if second < 50 { 10.0 } else { 11.0 })
            .collect();
        assert!((drift(&grows) - 10.0).abs() < 1e-9);
    }
}
