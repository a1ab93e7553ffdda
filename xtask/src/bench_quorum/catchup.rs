//! How fast an empty follower gets what the leader has, as voter and as observer: a log, or a snapshot in its place.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use kraft_bench_report::{Figure, Goal};
use serde_json::json;

use super::commit::SATURATION;
use super::voters::{Load, Program, Voters};
use super::{SYNC, Session, is_wanted};
use crate::eventually::eventually_every;
use crate::interop::Failure;
use crate::workspace;

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// A snapshot, by FetchSnapshot
    Snapshot,
    /// A log, by Fetch
    Log,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Follower {
    /// Asks for more when what has come is on its disk.
    Voter,
    /// Asks for more at once, where it is ours; Kafka's could become a voter, and waits for its disk.
    Observer,
}

impl Follower {
    fn name(self) -> &'static str {
        match self {
            Follower::Voter => "voter",
            Follower::Observer => "observer",
        }
    }

    /// How many megabytes a second it is to get.
    fn least(self, round_trip: Duration) -> f64 {
        match (self, round_trip.is_zero()) {
            (Follower::Voter, true) => 200.0,
            (Follower::Observer, true) => 300.0,
            (Follower::Voter, false) => 40.0,
            (Follower::Observer, false) => 45.0,
        }
    }
}

/// What cargo has to build beside the program.
pub(super) const BUILD: [&str; 4] = ["-p", "kraft-snapshot", "--example", "checkpoint"];

/// What the voters have that are there first.
struct Source {
    part: Part,
    /// A directory of the log's partition.
    partition: PathBuf,
}

pub(super) fn run(session: &mut Session, only: &[Part]) -> Result<(), Failure> {
    for part in [Part::Snapshot, Part::Log] {
        if !is_wanted(only, &part) {
            continue;
        }
        let source = Source {
            part,
            partition: session.folder("source")?.join(PARTITION),
        };
        match part {
            Part::Snapshot => write_snapshot(&source.partition)?,
            Part::Log => write_log(session, &source.partition)?,
        }
        for follower in [Follower::Voter, Follower::Observer] {
            for round_trip in [Duration::ZERO, ROUND_TRIP] {
                run_one(session, &source, follower, round_trip)?;
            }
        }
    }
    Ok(())
}

fn run_one(
    session: &Session,
    source: &Source,
    follower: Follower,
    round_trip: Duration,
) -> Result<(), Failure> {
    let ours = &session.ours;
    let mut between = vec![(None, (ours, ours), Vec::new())];
    let kafka = session.kafka(KAFKA_LINGER_MS);
    if let Some(kafka) = &kafka {
        let peers = [
            ("Kafka to Kafka", (kafka, kafka)),
            ("Kafka to ours", (kafka, ours)),
            ("ours to Kafka", (ours, kafka)),
        ];
        between.extend(peers.map(|(name, programs)| (Some(name), programs, Vec::new())));
    }
    for _ in 0..session.turns {
        for (_, programs, rates) in &mut between {
            rates.push(measure(session, *programs, source, follower, round_trip)?);
        }
    }
    let what = match source.part {
        Part::Snapshot => "snapshot",
        Part::Log => "log",
    };
    let least = follower.least(round_trip);
    let ours = &between[0].2;
    for (name, _, theirs) in &between {
        let goal = match name {
            None => Some(Goal::Min(least)),
            // With a round trip both are bound by what one request brings.
            Some("Kafka to Kafka") if round_trip.is_zero() => Some(Goal::RatioMin(2.0)),
            Some(_) => None,
        };
        session.report.figure(&Figure {
            name: &format!("catch-up, {what}, {}", follower.name()),
            parameters: json!({ "round_trip_ms": round_trip.as_millis(), "bytes": BYTES, "sync": SYNC }),
            unit: "MB/s",
            ours,
            peer: name.map(|name| (name, theirs.as_slice())),
            goal,
        });
    }
    Ok(())
}

/// How many megabytes a second come from the one program to the other, which has nothing, once it has begun.
fn measure(
    session: &Session,
    (from, to): (&Program, &Program),
    source: &Source,
    follower: Follower,
    round_trip: Duration,
) -> Result<f64, Failure> {
    let folder = session.folder("voters")?;
    let mut voters = Voters::prepare(from, &folder, TRICKLE, round_trip / 2)?;
    voters.replace_last(to, follower == Follower::Observer)?;
    for id in [1, 2] {
        copy(&source.partition, &voters.partition(id))?;
        voters.start_one(id)?;
    }
    voters.first_commit(|_, _| true)?;
    let last = voters.voters.len();
    voters.start_one(last)?;
    let partition = voters.partition(last);
    let measured = match source.part {
        Part::Snapshot => snapshot_arrives(&partition),
        Part::Log => log_arrives(&voters, last),
    };
    let rate = measured.map_err(|failure| format!("{} to {}: {failure}", from.name(), to.name()))?;
    voters.stop()?;
    fs::remove_dir_all(&folder)?;
    Ok(rate)
}

/// From the first bytes of the part file to the whole one under its name.
fn snapshot_arrives(partition: &Path) -> Result<f64, Failure> {
    let name = snapshot_name();
    let mut first: Option<(u64, Instant)> = None;
    eventually_every(LOOK_AGAIN, "the snapshot has come", LIMIT, || {
        if let Ok(whole) = fs::metadata(partition.join(&name)) {
            let (before, since) = first.ok_or("it came too fast to be seen")?;
            return Ok(Some(rate(whole.len() - before, since.elapsed())));
        }
        if first.is_none() {
            // There is no directory yet, or the part file gets its name at this moment.
            for entry in fs::read_dir(partition).into_iter().flatten().flatten() {
                let is_part = entry.file_name().to_string_lossy().ends_with(".part");
                let size = entry.metadata().map_or(0, |data| data.len());
                if is_part && size > 0 {
                    first = Some((size, Instant::now()));
                }
            }
        }
        Ok(None)
    })
}

/// From the first records to all that there are when the follower begins.
fn log_arrives(voters: &Voters, follower: usize) -> Result<f64, Failure> {
    let end = voters.log_end(1).read()?;
    let partition = voters.partition(follower);
    let mut log = voters.log_end(follower);
    let mut first: Option<(u64, Instant)> = None;
    eventually_every(LOOK_AGAIN, "the log has come", LIMIT, || {
        if !partition.exists() {
            return Ok(None);
        }
        let has = log.read()?;
        match first {
            Some((before, since)) if has >= end => {
                return Ok(Some(rate((end - before) * RECORD_BYTES, since.elapsed())));
            }
            None if has > 0 => first = Some((has, Instant::now())),
            Some(_) | None => {}
        }
        Ok(None)
    })
}

fn rate(bytes: u64, took: Duration) -> f64 {
    bytes as f64 / 1e6 / took.as_secs_f64()
}

/// A log as three voters of ours write it that take as many records as they can, few at a time: a Fetch brings whole batches, so
/// of batches that are nearly as large as what it may bring it would bring less.
fn write_log(session: &Session, partition: &Path) -> Result<(), Failure> {
    let load = Load {
        record_bytes: RECORD_BYTES,
        in_flight: Some(IN_FLIGHT),
        ..SATURATION
    };
    let folder = session.folder("voters")?;
    let mut voters = Voters::start(&session.ours, &folder, load)?;
    let leader = voters.leader()?.leader;
    let mut end = voters.log_end(leader);
    eventually_every(LOOK_AGAIN, "the log is long enough", LIMIT, || {
        Ok((end.read()? * RECORD_BYTES >= BYTES).then_some(()))
    })?;
    let written = voters.partition(leader);
    voters.stop()?;
    copy(&written, partition)?;
    Ok(fs::remove_dir_all(&folder)?)
}

fn write_snapshot(partition: &Path) -> Result<(), Failure> {
    fs::create_dir_all(partition)?;
    let written = Command::new(workspace::target().join("release/examples/checkpoint"))
        .arg(partition)
        .args([SNAPSHOT_END, SNAPSHOT_EPOCH].map(|number| number.to_string()))
        .args([BYTES / RECORD_BYTES, RECORD_BYTES].map(|number| number.to_string()))
        .output()?;
    if !written.status.success() {
        return Err(String::from_utf8_lossy(&written.stderr).into_owned().into());
    }
    // Whoever has a snapshot has been in its epoch.
    let voters = [1, 2, 3].map(|id| json!({ "voterId": id }));
    let state = json!({
        "clusterId": "",
        "leaderId": -1,
        "leaderEpoch": SNAPSHOT_EPOCH,
        "votedId": -1,
        "appliedOffset": 0,
        "currentVoters": voters,
        "data_version": 0,
    });
    Ok(fs::write(partition.join("quorum-state"), state.to_string())?)
}

fn snapshot_name() -> String {
    format!("{SNAPSHOT_END:020}-{SNAPSHOT_EPOCH:010}.checkpoint")
}

/// Copies what a node has to start from.
fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

const PARTITION: &str = "__raft_performance_test-0";
const BYTES: u64 = 100_000_000;
const RECORD_BYTES: u64 = 1000;
const IN_FLIGHT: u64 = 50;
const SNAPSHOT_END: u64 = 1_000_000;
const SNAPSHOT_EPOCH: u64 = 3;
/// A leader is known by its first commit.
const TRICKLE: Load = Load {
    throughput: 2,
    record_bytes: 32,
    ..SATURATION
};
const ROUND_TRIP: Duration = Duration::from_millis(20);
const KAFKA_LINGER_MS: u32 = 25;
const LIMIT: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_micros(500);
