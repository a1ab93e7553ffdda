//! Simulates quorums, one for each seed, and says what happened in them.
//!
//! ```text
//! cargo run --release -p kraft-sim --example seeds -- --first 0 --seeds 1000
//! ```
//!
//! The seed of a run that goes wrong is printed. `--trace SEED` replays that one and prints what changes.

use kraft_sim::{
    checker::Fact,
    sim::{Counts, Failure, Settings, Sight, Simulation},
};
use std::{
    collections::BTreeMap,
    process::ExitCode,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Instant,
};

struct Arguments {
    first: u64,
    seeds: u64,
    trace: Option<u64>,
}

fn arguments() -> Result<Arguments, String> {
    let mut arguments = Arguments {
        first: 0,
        seeds: 1000,
        trace: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let number = words.next().and_then(|text| text.parse().ok());
        let number = number.ok_or_else(|| format!("{word} needs a number"))?;
        match word.as_str() {
            "--first" => arguments.first = number,
            "--seeds" => arguments.seeds = number,
            "--trace" => arguments.trace = Some(number),
            _ => {
                return Err(format!(
                    "{word} is unknown; there are --first, --seeds and --trace"
                ));
            }
        }
    }
    Ok(arguments)
}

/// What is simulated under a seed: three voters, every fourth time five, and every fifth time an observer beside them. Every
/// third time the nodes write snapshots by themselves, the more often the larger the seed is modulo seven.
fn settings(seed: u64) -> Settings {
    Settings {
        voters: if seed % 4 == 3 { 5 } else { 3 },
        observers: u32::from(seed % 5 == 4),
        snapshot_new_bytes: (seed % 3 == 1).then_some(8192 >> (seed % 7)),
        ..Settings::default()
    }
}

fn main() -> ExitCode {
    match arguments() {
        Ok(Arguments {
            trace: Some(seed), ..
        }) => trace(seed),
        Ok(Arguments { first, seeds, .. }) => run(first, seeds),
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::from(2)
        }
    }
}

/// Prints what changes in the run of a seed: every fact but the states that are as they were.
fn trace(seed: u64) -> ExitCode {
    let mut states = BTreeMap::new();
    let run = Simulation::of_journals(seed, settings(seed)).with_witness(move |now, sight| {
        let changed = match sight {
            Sight::Fact(fact @ Fact::State { node, .. }) => {
                states.insert(*node, fact.clone()).as_ref() != Some(fact)
            }
            Sight::Fact(_) | Sight::Request { .. } | Sight::Ended { .. } => true,
        };
        if changed {
            println!("{:>10} us {sight:?}", now.0);
        }
    });
    match run.run() {
        Ok(counts) => {
            println!("seed {seed}: {counts}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            println!("FAILED {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(first: u64, seeds: u64) -> ExitCode {
    let began = Instant::now();
    let (next, end) = (AtomicU64::new(first), first.saturating_add(seeds));
    let outcome: Mutex<(Counts, Option<Failure>)> = Mutex::default();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let failed = outcome.lock().is_ok_and(|outcome| outcome.1.is_some());
                    if seed >= end || failed {
                        return;
                    }
                    let run = Simulation::of_journals(seed, settings(seed)).run();
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
    println!(
        "summary: seeds {first}..{end} in {:.1} s: {counts}",
        began.elapsed().as_secs_f64()
    );
    match failure {
        None => ExitCode::SUCCESS,
        Some(failure) => {
            println!("FAILED {failure}\nreplay with --trace {}", failure.seed);
            ExitCode::FAILURE
        }
    }
}
