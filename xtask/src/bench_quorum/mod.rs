//! `cargo xtask bench commit`, `failover`, `memory`, `observers` and `catchup`: three voters as processes of the release build
//! on one disk, that do nothing but commit opaque records (`kraft perf`), and Kafka's `TestRaftServer` in the same run.

mod bare_voters;
mod catchup;
mod commit;
mod delay;
mod failover;
mod fetchers;
mod log_end;
mod memory;
mod observers;
mod printed;
mod raw;
mod soak;
mod usage;
mod voters;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) use catchup::Part as CatchUpPart;
pub(crate) use commit::Part as CommitPart;
pub(crate) use failover::Fault;
pub(crate) use memory::Part as MemoryPart;
pub(crate) use observers::Part as ObserversPart;

use kraft_bench_report::Report;

use crate::interop::{Failure, Jars};
use crate::workspace;
use fetchers::Fetchers;
use voters::Program;

/// What all of them take.
#[derive(clap::Args, Clone)]
pub(crate) struct Options {
    /// Measure this as well, in turns with ours
    #[arg(long, value_enum)]
    peer: Option<Peer>,
    /// How long each measurement takes, behind what is let go by before it
    #[arg(long, default_value_t = 120)]
    secs: u64,
    /// How often each side is measured beside a peer; the figures are medians
    #[arg(long, default_value_t = 5)]
    turns: usize,
    /// One JSON line for each figure instead of text
    #[arg(long)]
    json: bool,
    /// Where to put the files; their disk is the one that is measured. Without it, where builds go
    #[arg(long)]
    dir: Option<PathBuf>,
}

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq)]
enum Peer {
    Kafka,
}

#[derive(clap::Args)]
pub(crate) struct Commit {
    /// Only these
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<CommitPart>,
    /// How long, in ms, records of the open loop gather before they are appended. Kafka is measured at those of them that its
    /// users have: 0 and 25, its default
    #[arg(long, value_delimiter = ',', default_values_t = [0, 1, 25])]
    linger: Vec<u32>,
    #[command(flatten)]
    options: Options,
}

#[derive(clap::Args)]
pub(crate) struct Failover {
    /// Only these
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Fault>,
    /// How often the leader is met
    #[arg(long, default_value_t = 50)]
    rounds: usize,
    /// controller.quorum.fetch.timeout.ms
    #[arg(long, default_value_t = 2000)]
    fetch_timeout: u32,
    /// controller.quorum.election.timeout.ms
    #[arg(long, default_value_t = 1000)]
    election_timeout: u32,
    #[command(flatten)]
    options: Options,
}

#[derive(clap::Args)]
pub(crate) struct Memory {
    /// Only these; the soak is measured only where it is named
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<MemoryPart>,
    #[command(flatten)]
    options: Options,
}

#[derive(clap::Args)]
pub(crate) struct Observers {
    /// Only these
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<ObserversPart>,
    /// How many replicas fetch beside the voters
    #[arg(long, default_value_t = 1000)]
    observers: usize,
    #[command(flatten)]
    options: Options,
}

pub(crate) fn commit(bench: &Commit) -> bool {
    with(&bench.options, "commit", |session| {
        commit::run(session, &bench.only, &bench.linger)
    })
}

pub(crate) fn failover(bench: &Failover) -> bool {
    with(&bench.options, "failover", |session| {
        let timers = failover::Timers {
            fetch_ms: bench.fetch_timeout,
            election_ms: bench.election_timeout,
        };
        failover::run(session, &bench.only, bench.rounds, timers)
    })
}

pub(crate) fn memory(bench: &Memory) -> bool {
    with(&bench.options, "memory", |session| {
        memory::run(session, &bench.only)
    })
}

pub(crate) fn observers(bench: &Observers) -> bool {
    with(&bench.options, "observers", |session| {
        build(&Fetchers::BUILD)?;
        observers::run(session, &bench.only, bench.observers)
    })
}

#[derive(clap::Args)]
pub(crate) struct CatchUp {
    /// Only these
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<CatchUpPart>,
    #[command(flatten)]
    options: Options,
}

pub(crate) fn catch_up(bench: &CatchUp) -> bool {
    with(&bench.options, "catchup", |session| {
        build(&catchup::BUILD)?;
        catchup::run(session, &bench.only)
    })
}

/// Whether a part of a bench is asked for; all are where none is named.
fn is_wanted<Part: PartialEq>(only: &[Part], part: &Part) -> bool {
    only.is_empty() || only.contains(part)
}

/// One call of the bench.
struct Session {
    folder: PathBuf,
    ours: Program,
    jars: Option<Jars>,
    duration: Duration,
    turns: usize,
    report: Report,
}

impl Session {
    /// A folder of its own for a quorum.
    fn folder(&self, name: &str) -> Result<PathBuf, Failure> {
        let folder = self.folder.join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Kafka's, where it is asked for, with what its users would have to set.
    fn kafka(&self, linger_ms: u32) -> Option<Program> {
        let jars = self.jars.as_ref()?;
        Some(Program::Kafka {
            class_path: jars.class_path().to_owned(),
            linger_ms,
        })
    }
}

fn with(
    options: &Options,
    name: &'static str,
    run: impl FnOnce(&mut Session) -> Result<(), Failure>,
) -> bool {
    let outcome = prepare(options, name).and_then(|mut session| {
        let outcome = run(&mut session);
        fs::remove_dir_all(&session.folder)?;
        outcome
    });
    if let Err(failure) = &outcome {
        eprintln!("{failure}");
    }
    outcome.is_ok()
}

fn build(what: &[&str]) -> Result<(), Failure> {
    let built = workspace::cargo(&["build", "--release", "--locked"])
        .args(what)
        .status()?;
    if !built.success() {
        return Err(format!("the release build failed: {what:?}").into());
    }
    Ok(())
}

fn prepare(options: &Options, name: &'static str) -> Result<Session, Failure> {
    build(&["-p", "kraft-cli"])?;
    let jars = match options.peer {
        Some(Peer::Kafka) => Some(Jars::fetch()?),
        None => None,
    };
    let above = options.dir.clone().unwrap_or_else(workspace::target);
    let folder = above.join(format!("bench-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let folder = folder.canonicalize()?;
    let report = Report::new(name, options.json, &folder);
    Ok(Session {
        folder,
        ours: Program::Kraft,
        turns: if jars.is_some() { options.turns.max(1) } else { 1 },
        jars,
        duration: Duration::from_secs(options.secs.max(1)),
        report,
    })
}

/// When the voters sync, ours and Kafka's.
const SYNC: &str = "each batch, on every voter";
