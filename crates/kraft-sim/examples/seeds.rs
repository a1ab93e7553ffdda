//! Simulates quorums, one for each seed, and says what happened in them.
//!
//! ```text
//! cargo run --release -p kraft-sim --example seeds -- --seeds 0..1000
//! ```
//!
//! | argument | what it does |
//! | --- | --- |
//! | `--seeds A..B` | runs the seeds from A to B, B excluded; `--seeds N` stands for `0..N` |
//! | `--least-events N` | fails if all runs together have fewer turns of engines, or fewer of what is to happen in so many |
//! | `--trace SEED` | replays one and prints what changes |
//! | `--show-plan SEED` | prints the plan of a seed |
//! | `--plan FILE` | runs a plan |
//! | `--trace-plan FILE` | the same, and prints what changes |
//! | `--shrink SEED` | makes the plan of a seed that fails as short as it can, also where a node panics |
//!
//! The seed of a run that goes wrong is printed with a plan that is as short as could be found.

use kraft_sim::{
    checker::Violation,
    sim::{Count, Counts, Failure, Plan, Settings, Shrunk, Simulation, shrink},
};
use std::{
    cell::Cell,
    fs,
    ops::Range,
    panic,
    process::{Command, ExitCode},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Instant,
};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(code) => code,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::from(2)
        }
    }
}

fn run(words: &[String]) -> Result<ExitCode, String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        [] => Ok(seeds(0..1000, 0)),
        ["--seeds", range] => Ok(seeds(seed_range(range)?, 0)),
        ["--seeds", range, "--least-events", least] => Ok(seeds(seed_range(range)?, number(least)?)),
        ["--trace", seed] => Ok(trace(drawn(number(seed)?))),
        ["--trace-plan", file] => Ok(trace(read(file)?)),
        ["--plan", file] => Ok(replay(read(file)?)),
        ["--show-plan", seed] => {
            print!("{}", drawn(number(seed)?));
            Ok(ExitCode::SUCCESS)
        }
        ["--shrink", seed] => shrink_apart(&drawn(number(seed)?)),
        _ => Err(
            "there are --seeds A..B [--least-events N], --trace SEED, --show-plan SEED, --plan FILE, --trace-plan FILE \
             and --shrink SEED"
                .to_owned(),
        ),
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is no number"))
}

fn seed_range(text: &str) -> Result<Range<u64>, String> {
    match text.split_once("..") {
        Some((first, end)) => Ok(number(first)?..number(end)?),
        None => Ok(0..number(text)?),
    }
}

fn read(file: &str) -> Result<Plan, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    text.parse().map_err(|error| format!("{file}, {error}"))
}

fn drawn(seed: u64) -> Plan {
    Plan::draw(seed, &Settings::of_seed(seed))
}

fn play(plan: Plan) -> Result<Counts, Failure> {
    Simulation::of_planned_journals(plan).run()
}

fn replay(plan: Plan) -> ExitCode {
    verdict(play(plan))
}

fn verdict(outcome: Result<Counts, Failure>) -> ExitCode {
    match outcome {
        Ok(counts) => {
            println!("{counts}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            println!("FAILED {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Prints what changes in a run: every step, fact and request.
fn trace(plan: Plan) -> ExitCode {
    let run = Simulation::of_planned_journals(plan).with_witness(|now, sight| {
        println!("{:>10} us {sight:?}", now.0);
    });
    verdict(run.run())
}

thread_local! {
    /// What this thread simulates, for whoever reads that it panicked.
    static SEED: Cell<u64> = const { Cell::new(0) };
}

fn seeds(range: Range<u64>, least_events: u64) -> ExitCode {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |what| {
        let seed = SEED.get();
        println!("FAILED seed {seed}: {what}\nshrink it with --shrink {seed}");
        usual(what);
    }));
    let began = Instant::now();
    let next = AtomicU64::new(range.start);
    let outcome: Mutex<(Counts, Option<Failure>)> = Mutex::default();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let failed = outcome.lock().is_ok_and(|outcome| outcome.1.is_some());
                    if seed >= range.end || failed {
                        return;
                    }
                    SEED.set(seed);
                    let run = play(drawn(seed));
                    let mut outcome = outcome.lock().expect("no thread panics while it holds the lock");
                    match run {
                        Ok(counts) => outcome.0 += counts,
                        Err(failure) if outcome.1.as_ref().is_none_or(|first| failure.seed < first.seed) => {
                            outcome.1 = Some(failure);
                        }
                        Err(_) => {}
                    }
                }
            });
        }
    });
    let (counts, failure) = outcome.into_inner().expect("the threads have ended");
    let seconds = began.elapsed().as_secs_f64();
    println!("summary: seeds {}..{} in {seconds:.1} s", range.start, range.end);
    print_counts(&counts);
    if let Some(failure) = failure {
        println!("FAILED {failure}");
        let plan = drawn(failure.seed);
        return show(shrink(&plan, RUNS_MAX, |plan| play(plan.clone()).err()));
    }
    let missing = missing(&counts, least_events);
    if missing.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("FAILED too little has happened: {}", missing.join(", "));
    ExitCode::FAILURE
}

/// In lines that are short enough to read.
fn print_counts(counts: &Counts) {
    for line in Count::ALL.chunks(7) {
        let line: Vec<_> = line
            .iter()
            .map(|(what, name)| format!("{} {name}", counts.of(*what)))
            .collect();
        println!("summary: {}", line.join(", "));
    }
}

/// What has to happen in ten million events, and the more in more.
fn missing(counts: &Counts, least_events: u64) -> Vec<String> {
    let share = |wanted: u64| wanted.saturating_mul(least_events) / 10_000_000;
    let wanted = |what: Count| match what {
        Count::Turns => least_events,
        Count::Elections | Count::Commits => share(1000),
        Count::SnapshotInstalls | Count::VoterChanges | Count::Upgrades => share(100),
        _ if what.is_fault() => share(1000),
        _ => 0,
    };
    Count::ALL
        .iter()
        .filter(|(what, _)| counts.of(*what) < wanted(*what))
        .map(|(what, name)| format!("{} of {} {name}", counts.of(*what), wanted(*what)))
        .collect()
}

fn show(shrunk: Option<Shrunk>) -> ExitCode {
    match shrunk {
        None => println!("the plan does not fail when it is run again"),
        Some(Shrunk { plan, failure, runs }) => println!(
            "after {runs} runs {} steps are left, run them with --plan FILE:\n\n{plan}\n{failure}",
            plan.steps()
        ),
    }
    ExitCode::FAILURE
}

/// Shrinks with a process for each run, so that a node that panics ends that process and not this one.
fn shrink_apart(plan: &Plan) -> Result<ExitCode, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let file = std::env::temp_dir().join(format!("kraft-sim-{}.plan", std::process::id()));
    let shrunk = shrink(plan, RUNS_MAX, |plan| {
        fs::write(&file, plan.to_string()).expect("the plan can be written");
        let mut command = Command::new(&program);
        let output = command.arg("--plan").arg(&file).output();
        let output = output.expect("this program can be started again");
        let said = String::from_utf8_lossy(&output.stdout);
        match output.status.code() {
            Some(0) => None,
            Some(1) => play(plan.clone()).err(),
            _ => Some(Failure {
                seed: plan.seed(),
                at_ms: u64::MAX / 2,
                violation: Violation {
                    invariant: "nobody panics",
                    detail: format!("{said}{}", String::from_utf8_lossy(&output.stderr)),
                },
            }),
        }
    });
    // What is left of it lies in a folder for such files.
    fs::remove_file(&file).ok();
    Ok(show(shrunk))
}

/// Enough for a plan of some hundred steps.
const RUNS_MAX: usize = 500;
