//! What many replicas that fetch cost the leader, how soon all of them know of a commit, and what that does to the voters.

use std::path::Path;
use std::thread;
use std::time::Instant;

use kraft_bench_report::{Figure, Goal};
use serde_json::json;

use super::commit::{OPEN, latency};
use super::fetchers::Fetchers;
use super::usage::Usage;
use super::voters::{Load, Program, Voters};
use super::{SYNC, Session, is_wanted};
use crate::interop::Failure;

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Two records a second, as often as Kafka's leader writes a no-op
    Idle,
    /// 20 records of 1 KiB a second
    Busy,
}

/// What one quorum came to.
struct Measured {
    /// Of one core, in percent.
    leader_processor: f64,
    commit_p99_ms: f64,
    observed: Observed,
}

/// What there is to be measured with observers only.
#[derive(Default)]
struct Observed {
    answers_per_second: f64,
    /// The generator's, of one core, in percent.
    processor: f64,
    /// From the first observer that knows of a commit to the last, in milliseconds.
    spread_p50_ms: f64,
    spread_p99_ms: f64,
    /// From the time stamp of a batch, which is older than its commit, to the last observer that knows.
    appended_p50_ms: f64,
    appended_p99_ms: f64,
    /// How much more the leader has resident than before they came, for each.
    leader_kibibytes: f64,
}

/// A figure, what it is to be, and what by the peer's.
type Row = (
    &'static str,
    &'static str,
    fn(&Measured) -> f64,
    Option<Goal>,
    Option<Goal>,
);

pub(super) fn run(session: &mut Session, only: &[Part], observers: usize) -> Result<(), Failure> {
    for part in [Part::Idle, Part::Busy] {
        if is_wanted(only, &part) {
            run_part(session, part, observers)?;
        }
    }
    Ok(())
}

fn run_part(session: &mut Session, part: Part, observers: usize) -> Result<(), Failure> {
    let load = part.load();
    let (mut alone, mut ours, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..session.turns {
        alone.push(measure(session, &session.ours, load, 0)?);
        ours.push(measure(session, &session.ours, load, observers)?);
        if let Some(kafka) = session.kafka(KAFKA_LINGER_MS) {
            theirs.push(measure(session, &kafka, load, observers)?);
        }
    }
    let figure = |what: &str, unit, ours: &[f64], peer: Option<(&str, &[f64])>, goal| {
        session.report.figure(&Figure {
            name: &format!("observers, {}, {what}", part.name()),
            parameters: json!({
                "observers": observers,
                "throughput": load.throughput,
                "record_bytes": load.record_bytes,
                "secs": session.duration.as_secs(),
                "sync": SYNC,
            }),
            unit,
            ours,
            peer,
            goal,
        });
    };
    let values = |runs: &[Measured], value: fn(&Measured) -> f64| runs.iter().map(value).collect::<Vec<_>>();
    for (what, unit, value, goal, ratio) in part.rows() {
        let (ours, theirs) = (values(&ours, value), values(&theirs, value));
        if goal.is_some() || theirs.is_empty() {
            figure(what, unit, &ours, None, goal);
        }
        if !theirs.is_empty() {
            let peer = format!("Kafka, linger {KAFKA_LINGER_MS}");
            figure(what, unit, &ours, Some((&peer, &theirs)), ratio);
        }
    }
    let commit_ratio = (part == Part::Busy).then_some(Goal::RatioMax(1.2));
    let beside: [Row; 2] = [
        (
            "leader's processor",
            "% of a core",
            |run| run.leader_processor,
            None,
            None,
        ),
        (
            "voters' commit, p99",
            "ms",
            |run| run.commit_p99_ms,
            None,
            commit_ratio,
        ),
    ];
    for (what, unit, value, _, ratio) in beside {
        let alone = values(&alone, value);
        figure(
            what,
            unit,
            &values(&ours, value),
            Some(("without observers", &alone)),
            ratio,
        );
    }
    Ok(())
}

/// One quorum, from its start to its end.
fn measure(session: &Session, program: &Program, load: Load, observers: usize) -> Result<Measured, Failure> {
    let folder = session.folder("voters")?;
    let measured = measure_in(session, &folder, program, load, observers)
        .map_err(|failure| format!("{}, {observers} observers: {failure}", program.name()))?;
    std::fs::remove_dir_all(&folder)?;
    Ok(measured)
}

fn measure_in(
    session: &Session,
    folder: &Path,
    program: &Program,
    load: Load,
    observers: usize,
) -> Result<Measured, Failure> {
    let mut voters = Voters::start(program, folder, load)?;
    let leader = voters.leader()?.leader;
    let process = voters.process(leader)?;
    let before_them = Usage::of(process)?;
    let mut fetchers = match observers {
        0 => None,
        count => Some(Fetchers::start(voters.address(leader)?, count, folder)?),
    };
    thread::sleep(program.warm_up(session.duration));
    if let Some(fetchers) = &mut fetchers {
        fetchers.begin()?;
    }
    let usage = |fetchers: &Option<Fetchers>| -> Result<_, Failure> {
        let fetchers = fetchers.as_ref().map(|fetchers| Usage::of(fetchers.process()));
        Ok((Usage::of(process)?, fetchers.transpose()?))
    };
    let lines_before = voters.stdout(leader)?.lines().count();
    let (before, started) = (usage(&fetchers)?, Instant::now());
    thread::sleep(session.duration);
    let (after, took) = (usage(&fetchers)?, started.elapsed());
    let percent = |before: Usage, after: Usage| {
        let processor = after.processor - before.processor;
        100.0 * processor.as_secs_f64() / took.as_secs_f64()
    };
    let observed = match fetchers {
        None => Observed::default(),
        Some(fetchers) => {
            let total = fetchers.end()?;
            let more = after.0.resident_bytes.saturating_sub(before_them.resident_bytes);
            Observed {
                answers_per_second: total.number("answers/s")?,
                processor: before
                    .1
                    .zip(after.1)
                    .map_or(f64::NAN, |(before, after)| percent(before, after)),
                spread_p50_ms: total.number("first_to_last_p50")?,
                spread_p99_ms: total.number("first_to_last_p99")?,
                appended_p50_ms: total.number("appended_to_last_p50")?,
                appended_p99_ms: total.number("appended_to_last_p99")?,
                leader_kibibytes: more as f64 / 1024.0 / observers as f64,
            }
        }
    };
    let stdout = voters.stop()?.swap_remove(leader - 1);
    Ok(Measured {
        leader_processor: percent(before.0, after.0),
        commit_p99_ms: latency(program, &stdout, lines_before, "p99"),
        observed,
    })
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Part::Idle => "idle",
            Part::Busy => "20 commits a second",
        }
    }

    fn load(self) -> Load {
        let (throughput, record_bytes) = match self {
            Part::Idle => (2, 32),
            Part::Busy => (20, 1024),
        };
        Load {
            throughput,
            record_bytes,
            ..OPEN
        }
    }

    fn rows(self) -> Vec<Row> {
        let (processor_max, spread_max) = match self {
            Part::Idle => (3.0, None),
            Part::Busy => (30.0, Some(Goal::Max(25.0))),
        };
        vec![
            (
                "leader's processor",
                "% of a core",
                |run| run.leader_processor,
                Some(Goal::Max(processor_max)),
                Some(Goal::RatioMax(1.0 / 5.0)),
            ),
            ("answers", "/s", |run| run.observed.answers_per_second, None, None),
            // Whoever does not keep up answers less often.
            (
                "leader's processor for an answer",
                "µs",
                |run| 1e4 * run.leader_processor / run.observed.answers_per_second,
                None,
                Some(Goal::RatioMax(1.0 / 5.0)),
            ),
            (
                "generator's processor",
                "% of a core",
                |run| run.observed.processor,
                None,
                None,
            ),
            (
                "first to last observer, p50",
                "ms",
                |run| run.observed.spread_p50_ms,
                None,
                None,
            ),
            (
                "first to last observer, p99",
                "ms",
                |run| run.observed.spread_p99_ms,
                None,
                None,
            ),
            (
                "append to last observer, p50",
                "ms",
                |run| run.observed.appended_p50_ms,
                None,
                None,
            ),
            (
                "append to last observer, p99",
                "ms",
                |run| run.observed.appended_p99_ms,
                spread_max,
                None,
            ),
            (
                "leader's memory for each",
                "KiB",
                |run| run.observed.leader_kibibytes,
                Some(Goal::Max(16.0)),
                None,
            ),
        ]
    }
}

/// As shipped.
const KAFKA_LINGER_MS: u32 = 25;
