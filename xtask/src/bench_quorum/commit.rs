//! How many records three voters commit, how soon, and at what cost.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use kraft_bench_report::{Figure, Goal, median, quantile};
use serde_json::{Value, json};

use super::bare_voters;
use super::printed;
use super::raw;
use super::usage::Usage;
use super::voters::{Load, Program, Voters};
use super::{SYNC, Session, is_wanted};
use crate::interop::Failure;

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// 5,000 records a second by the clock
    Open,
    /// One record at a time
    Closed,
    /// As many as go through, then 200,000 a second by the clock
    Saturation,
    /// Three times as many as go through
    Overload,
}

/// What one run came to.
pub(super) struct Measured {
    pub(super) records_per_second: f64,
    pub(super) processor_seconds_per_million: f64,
    pub(super) p50_ms: f64,
    pub(super) p75_ms: f64,
    pub(super) p99_ms: f64,
    pub(super) p999_ms: f64,
    /// The most that a voter had resident.
    pub(super) resident_bytes: u64,
    /// Whether another epoch began.
    pub(super) leader_lost: bool,
}

pub(super) fn run(session: &mut Session, only: &[Part], lingers: &[u32]) -> Result<(), Failure> {
    let wanted = |part| is_wanted(only, &part);
    if wanted(Part::Open) {
        open(session, lingers)?;
    }
    if wanted(Part::Closed) {
        closed(session)?;
    }
    if wanted(Part::Saturation) || wanted(Part::Overload) {
        let peak = saturation(session)?;
        if wanted(Part::Overload) {
            overload(session, peak)?;
        }
    }
    Ok(())
}

fn open(session: &mut Session, lingers: &[u32]) -> Result<(), Failure> {
    let with_bare = lingers.contains(&0);
    let mut ours: BTreeMap<u32, Vec<Measured>> = BTreeMap::new();
    let mut theirs: BTreeMap<u32, Vec<Measured>> = BTreeMap::new();
    let mut bares = Vec::new();
    for _ in 0..session.turns {
        if with_bare {
            bares.push(bare(session)?);
        }
        for &linger in lingers {
            let measured = measure(session, &session.ours, lingering(linger))?;
            ours.entry(linger).or_default().push(measured);
            if KAFKA_LINGERS.contains(&linger)
                && let Some(kafka) = session.kafka(linger)
            {
                let measured = measure(session, &kafka, OPEN)?;
                theirs.entry(linger).or_default().push(measured);
            }
        }
    }
    for (&linger, ours) in &ours {
        for (what, unit, value) in OPEN_FIGURES {
            let name = match linger {
                0 => format!("commit, open loop, {what}"),
                _ => format!("commit, open loop, linger {linger}, {what}"),
            };
            let ours: Vec<_> = ours.iter().map(value).collect();
            let figure = |peer: Option<(&str, &[f64])>, goal| {
                session.report.figure(&Figure {
                    name: &name,
                    parameters: parameters(lingering(linger), session.duration),
                    unit,
                    ours: &ours,
                    peer,
                    goal,
                });
            };
            if session.jars.is_none() || what == "p99" {
                figure(None, (what == "p99").then_some(Goal::Max(2.0)));
            }
            let bare: Option<fn(&Bare) -> f64> = match (what, linger) {
                ("p99", 0) => Some(|bare| bare.p99_ms),
                ("processor", 0) => Some(|bare| bare.processor_seconds_per_million),
                _ => None,
            };
            if let Some(value) = bare {
                let bares: Vec<_> = bares.iter().map(value).collect();
                figure(Some(("three bare voters", &bares)), None);
            }
            for (&linger, theirs) in &theirs {
                // Their lines say no p50.
                if what == "p50" {
                    continue;
                }
                let goal = match (what, linger) {
                    ("p99", 0) => Some(Goal::RatioMax(0.5)),
                    ("p99", _) => Some(Goal::RatioMax(0.1)),
                    ("processor", _) => Some(Goal::RatioMax(1.0 / 8.0)),
                    _ => None,
                };
                let theirs: Vec<_> = theirs.iter().map(value).collect();
                figure(Some((&format!("Kafka, linger {linger}"), &theirs)), goal);
            }
        }
    }
    Ok(())
}

/// Three bare voters with the same records, a round each millisecond, as the load comes.
fn bare(session: &Session) -> Result<Bare, Failure> {
    let together = OPEN.throughput / 1000;
    let round_bytes = usize::try_from(together * OPEN.record_bytes)?;
    let pace = Some(Duration::from_millis(1));
    let run = bare_voters::run(&session.folder("bare")?, round_bytes, pace, session.duration)?;
    let records = run.rounds.len() as f64 * together as f64;
    Ok(Bare {
        p99_ms: quantile(&run.rounds.iter().map(millis).collect::<Vec<_>>(), 0.99),
        processor_seconds_per_million: run.processor.as_secs_f64() / records * 1e6,
    })
}

/// What three bare voters come to.
struct Bare {
    p99_ms: f64,
    processor_seconds_per_million: f64,
}

fn millis(time: &Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// 5,000 records a second that gather for so long before they are appended.
fn lingering(linger_ms: u32) -> Load {
    Load { linger_ms, ..OPEN }
}

type FigureOf = fn(&Measured) -> f64;

const OPEN_FIGURES: [(&str, &str, FigureOf); 6] = [
    ("records", "records/s", |run| run.records_per_second),
    ("p50", "ms", |run| run.p50_ms),
    ("p75", "ms", |run| run.p75_ms),
    ("p99", "ms", |run| run.p99_ms),
    ("p999", "ms", |run| run.p999_ms),
    ("processor", "s per million records", |run| {
        run.processor_seconds_per_million
    }),
];

/// Without a wait, and by default.
const KAFKA_LINGERS: [u32; 2] = [0, 25];

fn closed(session: &mut Session) -> Result<(), Failure> {
    let load = Load {
        throughput: 0,
        in_flight: Some(1),
        ..OPEN
    };
    let writers = raw::three_writers(&session.folder("raw")?, raw::Into::WrittenBlocks, 256, None)?;
    let micros = |time: &Duration| time.as_secs_f64() * 1e6;
    let syncs: Vec<_> = writers.iter().flatten().map(micros).collect();
    let bare = bare_voters::run(&session.folder("bare")?, 256, None, session.duration)?;
    let bare: Vec<_> = bare.rounds.iter().map(micros).collect();
    let run = measure(session, &session.ours, load)?;
    for (label, millis, part, goal) in [
        ("p50", run.p50_ms, 0.5, Some(Goal::RatioMax(1.5))),
        ("p99", run.p99_ms, 0.99, None),
    ] {
        session.report.figure(&Figure {
            name: &format!("commit, one at a time, {label}"),
            parameters: parameters(load, session.duration),
            unit: "µs",
            ours: &[millis * 1000.0],
            peer: Some(("three bare voters", &[quantile(&bare, part)])),
            goal: None,
        });
        let bound = quantile(&syncs, part) + ROUND_TRIP_US;
        session.report.figure(&Figure {
            name: &format!("commit, one at a time, {label}"),
            parameters: parameters(load, session.duration),
            unit: "µs",
            ours: &[millis * 1000.0],
            peer: Some(("three raw-overwrite at once and a round trip", &[bound])),
            goal,
        });
    }
    Ok(())
}

/// Gives how many records a second go through.
fn saturation(session: &mut Session) -> Result<f64, Failure> {
    let writers = raw::three_writers(&session.folder("raw")?, raw::Into::NewBlocks, 1 << 20, None)?;
    let bytes_per_second = |times: &Vec<Duration>| {
        let total: Duration = times.iter().sum();
        times.len() as f64 * f64::from(1 << 20) / total.as_secs_f64()
    };
    let bound = writers.iter().map(bytes_per_second).fold(f64::INFINITY, f64::min);
    let load = SATURATION;
    let run = measure(session, &session.ours, load)?;
    let peak = run.records_per_second;
    let parameters_of = |load| parameters(load, session.duration);
    session.report.figure(&Figure {
        name: "commit, saturation, records",
        parameters: parameters_of(load),
        unit: "records/s",
        ours: &[peak],
        peer: None,
        goal: Some(Goal::Min(500_000.0)),
    });
    session.report.figure(&Figure {
        name: "commit, saturation, bytes",
        parameters: parameters_of(load),
        unit: "MB/s of each voter",
        ours: &[peak * load.record_bytes as f64 / 1e6],
        peer: Some(("three raw-extend at once", &[bound / 1e6])),
        goal: Some(Goal::RatioMin(0.8)),
    });
    session.report.figure(&Figure {
        name: "commit, saturation, processor",
        parameters: parameters_of(load),
        unit: "s per million records",
        ours: &[run.processor_seconds_per_million],
        peer: None,
        goal: None,
    });
    let load = Load {
        throughput: 200_000,
        in_flight: None,
        ..OPEN
    };
    let paced = paced_writers(session, load)?;
    let run = measure(session, &session.ours, load)?;
    let paced = [paced, paced_writers(session, load)?].concat();
    let theirs = session
        .kafka(0)
        .map(|kafka| measure(session, &kafka, load))
        .transpose()?;
    type Value = fn(&Measured) -> f64;
    let figures: [(&str, &str, Value, Option<Goal>); 2] = [
        (
            "commit, 200,000 a second, records",
            "records/s",
            |run| run.records_per_second,
            None,
        ),
        (
            "commit, 200,000 a second, p99",
            "ms",
            |run| run.p99_ms,
            Some(Goal::Max(10.0)),
        ),
    ];
    for (name, unit, value, goal) in figures {
        let theirs = theirs.as_ref().map(|run| [value(run)]);
        session.report.figure(&Figure {
            name,
            parameters: parameters(load, session.duration),
            unit,
            ours: &[value(&run)],
            peer: theirs
                .as_ref()
                .map(|theirs| ("Kafka, linger 0", theirs.as_slice())),
            goal,
        });
    }
    session.report.figure(&Figure {
        name: "commit, 200,000 a second, p99 beside the disk's",
        parameters: parameters(load, session.duration),
        unit: "ms",
        ours: &[run.p99_ms],
        peer: Some((
            "three raw-overwrite by the clock, before and after",
            &[quantile(&paced, 0.99)],
        )),
        goal: None,
    });
    Ok(peak)
}

/// How long three bare writers take, in ms, for as many bytes a second as a load writes: what the disk keeps everybody
/// waiting for.
fn paced_writers(session: &Session, load: Load) -> Result<Vec<f64>, Failure> {
    let each_ms = usize::try_from(load.throughput / 1000 * load.record_bytes)?;
    let writers = raw::three_writers(
        &session.folder("raw")?,
        raw::Into::WrittenBlocks,
        each_ms,
        Some(Duration::from_millis(1)),
    )?;
    Ok(writers.iter().flatten().map(millis).collect())
}

fn overload(session: &mut Session, peak: f64) -> Result<(), Failure> {
    let load = Load {
        throughput: (peak * 3.0) as u64,
        in_flight: None,
        ..OPEN
    };
    let run = measure(session, &session.ours, load)?;
    let parameters = parameters(load, session.duration);
    let lost = f64::from(u8::from(run.leader_lost));
    let figures = [
        (
            "commit, overload, records",
            "records/s",
            run.records_per_second,
            Goal::Min(0.9 * peak),
        ),
        (
            "commit, overload, memory of a voter",
            "MiB",
            mebibytes(run.resident_bytes),
            Goal::Max(96.0),
        ),
        ("commit, overload, leaders lost", "", lost, Goal::Max(0.0)),
    ];
    for (name, unit, value, goal) in figures {
        session.report.figure(&Figure {
            name,
            parameters: parameters.clone(),
            unit,
            ours: &[value],
            peer: None,
            goal: Some(goal),
        });
    }
    Ok(())
}

/// One quorum under one load, from its start to its end.
pub(super) fn measure(session: &Session, program: &Program, load: Load) -> Result<Measured, Failure> {
    let folder = session.folder("voters")?;
    let measured = measure_in(&folder, program, load, session.duration)
        .map_err(|failure| format!("{}: {failure}", program.name()))?;
    std::fs::remove_dir_all(&folder)?;
    Ok(measured)
}

fn measure_in(folder: &Path, program: &Program, load: Load, duration: Duration) -> Result<Measured, Failure> {
    let mut voters = Voters::start(program, folder, load)?;
    let led = voters.leader()?;
    thread::sleep(program.warm_up(duration));
    let mut end = voters.log_end(led.leader);
    let lines_before = voters.stdout(led.leader)?.lines().count();
    let (first, before, started) = (end.read()?, voters.usage()?, Instant::now());
    let mut resident_bytes = 0;
    while started.elapsed() < duration {
        thread::sleep(SAMPLE.min(duration));
        resident_bytes = resident_bytes.max(most_resident(&voters.usage()?));
    }
    let (last, after, took) = (end.read()?, voters.usage()?, started.elapsed());
    let leader_lost = voters.newest()?.is_some_and(|event| event.epoch > led.epoch);
    let stdout = voters.stop()?.swap_remove(led.leader - 1);
    let records = (last - first) as f64;
    let processor = |usage: &[Usage]| usage.iter().map(|usage| usage.processor).sum::<Duration>();
    let latency = |name: &str| latency(program, &stdout, lines_before, name);
    Ok(Measured {
        records_per_second: records / took.as_secs_f64(),
        processor_seconds_per_million: (processor(&after) - processor(&before)).as_secs_f64() / records * 1e6,
        p50_ms: latency("p50"),
        p75_ms: latency("p75"),
        p99_ms: latency("p99"),
        p999_ms: latency("p999"),
        resident_bytes,
        leader_lost,
    })
}

/// In milliseconds, as the leader has printed it behind so many lines; of its whole life where it is ours.
pub(super) fn latency(program: &Program, stdout: &str, lines_before: usize, name: &str) -> f64 {
    match program {
        Program::Kraft => printed::total(stdout, name).unwrap_or(f64::NAN),
        Program::Kafka { .. } => {
            let lines: Vec<_> = stdout.lines().skip(lines_before).collect();
            median(&printed::kafka_latencies(&lines.join("\n"), name))
        }
    }
}

pub(super) fn most_resident(usage: &[Usage]) -> u64 {
    usage.iter().map(|usage| usage.resident_bytes).max().unwrap_or(0)
}

pub(super) fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

pub(super) fn parameters(load: Load, duration: Duration) -> Value {
    json!({
        "throughput": load.throughput,
        "record_bytes": load.record_bytes,
        "in_flight": load.in_flight,
        "linger_ms": load.linger_ms,
        "snapshots": load.snapshots,
        "secs": duration.as_secs(),
        "sync": SYNC,
    })
}

pub(super) const OPEN: Load = Load {
    throughput: 5000,
    record_bytes: 256,
    in_flight: None,
    snapshots: false,
    linger_ms: 0,
};
pub(super) const SATURATION: Load = Load {
    throughput: 0,
    ..OPEN
};
/// A round trip on loopback.
const ROUND_TRIP_US: f64 = 15.0;
const SAMPLE: Duration = Duration::from_millis(500);
