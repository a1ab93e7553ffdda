//! What three voters in one process commit, with nothing on disk and no socket, beside the crate `openraft`:
//! `cargo xtask bench memory-quorum`.

mod clients;
mod ours;
mod peer;
mod quorum;

use std::path::Path;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use kraft_bench_report::{Figure, Goal, Report};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};

use clients::Measured;
use quorum::Quorum;

#[derive(Parser)]
#[command(bin_name = "cargo xtask bench memory-quorum")]
struct Options {
    /// Measure this as well, in turns with ours
    #[arg(long, value_enum)]
    peer: Option<Peer>,
    /// How many clients wait for a commit at any time, one record each
    #[arg(long, value_delimiter = ',', default_values_t = [1, 64, 4096])]
    clients: Vec<usize>,
    /// How long each measurement takes, behind what is let go by before it. Neither side forgets a record meanwhile, so
    /// this costs memory: up to 1 GiB for every second
    #[arg(long, default_value_t = 2.0)]
    secs: f64,
    /// How often each side is measured; the figures are medians
    #[arg(long, default_value_t = 5)]
    turns: usize,
    /// Threads of the runtime of voters and clients
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2])]
    workers: Vec<usize>,
    /// One JSON line for each figure instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Peer {
    Openraft,
}

type Error = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Error> {
    let options = Options::parse();
    let report = Report::new("memory-quorum", options.json, Path::new("."));
    for &workers in &options.workers {
        for &clients in &options.clients {
            compare(&options, workers, clients, &report)?;
        }
    }
    Ok(())
}

fn compare(options: &Options, workers: usize, clients: usize, report: &Report) -> Result<(), Error> {
    let duration = Duration::from_secs_f64(options.secs);
    let mut ours = Vec::new();
    let mut theirs = Vec::new();
    for _ in 0..options.turns.max(1) {
        ours.push(turn::<ours::Voters>(workers, clients, duration)?);
        if let Some(Peer::Openraft) = options.peer {
            theirs.push(turn::<peer::Voters>(workers, clients, duration)?);
        }
    }
    let figure = |name: &str, unit: &str, goal: Option<Goal>, value: fn(&Measured) -> f64| {
        let ours: Vec<f64> = ours.iter().map(value).collect();
        let theirs: Vec<f64> = theirs.iter().map(value).collect();
        let peer = options.peer.map(|Peer::Openraft| (peer::NAME, &theirs[..]));
        report.figure(&Figure {
            name,
            parameters: json!({
                "clients": clients,
                "record_bytes": quorum::RECORD_BYTES,
                "workers": workers,
                "secs": options.secs,
                "sync": "none: in memory",
                "ours": ours::HOW,
                "theirs": options.peer.map(|Peer::Openraft| peer::HOW),
            }),
            unit,
            ours: &ours,
            peer,
            goal,
        });
    };
    let faster = options.peer.map(|Peer::Openraft| match clients {
        1 => Some(Goal::RatioMin(ONE_RATIO_MIN)),
        4096 => Some(Goal::RatioMin(MANY_RATIO_MIN)),
        _ => None,
    });
    figure("commits", "records/s", faster.flatten(), |measured| {
        measured.per_second
    });
    let soon = (clients == 1).then_some(Goal::Max(ONE_MICROS_MAX));
    figure("p50 of a commit", "us", soon, |measured| measured.p50_us);
    figure("p99 of a commit", "us", None, |measured| measured.p99_us);
    Ok(())
}

/// One turn of a side. With thousands of clients on a busy machine a leader can wait so long for its turn of the runtime that
/// it is none any more; such a run says nothing of commits and is told and repeated.
fn turn<Q: Quorum>(workers: usize, clients: usize, duration: Duration) -> Result<Measured, Error> {
    for _ in 1..TRIES {
        match measure::<Q>(workers, clients, duration) {
            Ok(measured) => return Ok(measured),
            Err(error) => eprintln!("{clients} clients, {workers} workers: {error}; once more"),
        }
    }
    measure::<Q>(workers, clients, duration)
}

/// Voters that begin anew, on a runtime of their own: what one side leaves behind does not slow the other one down.
fn measure<Q: Quorum>(workers: usize, clients: usize, duration: Duration) -> Result<Measured, Error> {
    let runtime = runtime(workers)?;
    runtime.block_on(async {
        let quorum = Q::start().await?;
        let measured = clients::run(&quorum, clients, duration).await?;
        quorum.stop(measured.acknowledged).await?;
        Ok(measured)
    })
}

fn runtime(workers: usize) -> std::io::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
}

const TRIES: usize = 3;
const ONE_RATIO_MIN: f64 = 3.0;
const MANY_RATIO_MIN: f64 = 2.0;
const ONE_MICROS_MAX: f64 = 18.0;
