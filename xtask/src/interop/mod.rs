//! Real Apache Kafka 4.4 controllers and our nodes in one quorum, on one machine.
//!
//! Each round builds its own quorum in its own folder and says what it saw; a round that fails leaves its
//! folder in place and names it.

mod describe;
mod directories;
mod elections;
mod features;
mod formatting;
mod jars;
mod jvm_log;
mod leadership;
mod load;
mod moves;
mod process;
mod quorum;
mod replacement;
mod snapshots;
mod takeover;
mod upgrade;
mod voters;

use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Instant;

pub(crate) use jars::Jars;
pub(crate) use process::Running;
pub(crate) use quorum::kraft;

use quorum::{Kind, Mode};

use crate::workspace;

/// What makes a round fail; it is printed and never matched.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

pub(crate) struct Options {
    pub(crate) short: bool,
    pub(crate) only: Option<String>,
    pub(crate) keep: bool,
}

/// Runs the rounds; prints one line for each and whether all passed.
pub(crate) fn run(options: Options) -> bool {
    match prepare() {
        Ok(jars) => run_rounds(&jars, &options),
        Err(failure) => {
            println!("    {failure}");
            false
        }
    }
}

type Round = Box<dyn Fn(&Jars, &Path) -> Result<(), Failure>>;

fn prepare() -> Result<Jars, Failure> {
    let build = workspace::cargo(&["build", "--quiet", "--release", "-p", "kraft-cli"]).status()?;
    if !build.success() {
        return Err("the release build of kraft failed".into());
    }
    let started = Instant::now();
    let jars = Jars::fetch()?;
    say(&format!(
        "Apache Kafka 4.4.0 by Maven in {:.1} s",
        started.elapsed().as_secs_f64()
    ));
    Ok(jars)
}

fn run_rounds(jars: &Jars, options: &Options) -> bool {
    let mut failed = Vec::new();
    for (name, round) in rounds(options.short) {
        if options
            .only
            .as_ref()
            .is_some_and(|word| !name.contains(word.as_str()))
        {
            continue;
        }
        let folder = workspace::target().join("interop").join(name.replace(' ', "-"));
        println!("  -- {name}");
        let started = Instant::now();
        let outcome = fresh(&folder).and_then(|()| round(jars, &folder));
        let took = started.elapsed().as_secs_f64();
        match outcome {
            Ok(()) => {
                println!("     {name} ok in {took:.1} s");
                if !options.keep {
                    fs::remove_dir_all(&folder).ok();
                }
            }
            Err(failure) => {
                println!(
                    "     {name} FAILED in {took:.1} s: {failure}\n     its files: {}",
                    folder.display()
                );
                failed.push(name);
            }
        }
    }
    if failed.is_empty() {
        println!("    summary: all rounds passed");
    } else {
        println!("    summary: FAILED: {}", failed.join(", "));
    }
    failed.is_empty()
}

fn rounds(short: bool) -> Vec<(&'static str, Round)> {
    use Kind::{Kafka, Kraft};
    let leadership = |mode, kinds: [Kind; 3]| -> Round {
        Box::new(move |jars, folder| leadership::round(jars, folder, mode, &kinds))
    };
    let elections = |mode, kinds: [Kind; 3]| -> Round {
        Box::new(move |jars, folder| elections::round(jars, folder, mode, &kinds))
    };
    let replacement =
        |mode| -> Round { Box::new(move |jars, folder| replacement::round(jars, folder, mode)) };
    let features = |kind| -> Round { Box::new(move |jars, folder| features::round(jars, folder, kind)) };
    let upgrade = |kinds: [Kind; 3], leader| -> Round {
        Box::new(move |jars, folder| upgrade::round(jars, folder, &kinds, leader))
    };
    let voters =
        |kinds: [Kind; 3]| -> Round { Box::new(move |jars, folder| voters::round(jars, folder, &kinds)) };
    let takeover = |mode| -> Round { Box::new(move |jars, folder| takeover::round(jars, folder, mode)) };
    let mut rounds: Vec<(&'static str, Round)> = vec![
        ("format", Box::new(formatting::round)),
        ("features of kraft", features(Kraft)),
        ("features of Kafka", features(Kafka)),
        ("takeover dynamic", takeover(Mode::Dynamic)),
        ("takeover static", takeover(Mode::Static)),
        (
            "one Kafka two kraft dynamic",
            leadership(Mode::Dynamic, [Kafka, Kraft, Kraft]),
        ),
        ("voters of Kafka", voters([Kafka, Kraft, Kraft])),
    ];
    if !short {
        rounds.extend([
            // The control: what this one prints is normal.
            (
                "three Kafka dynamic",
                leadership(Mode::Dynamic, [Kafka, Kafka, Kafka]),
            ),
            (
                "one Kafka two kraft static",
                leadership(Mode::Static, [Kafka, Kraft, Kraft]),
            ),
            // Of successors that have as much of the log, Kafka prefers the one with the smaller id.
            (
                "two Kafka one kraft dynamic",
                leadership(Mode::Dynamic, [Kraft, Kafka, Kafka]),
            ),
            (
                "two Kafka one kraft static",
                leadership(Mode::Static, [Kraft, Kafka, Kafka]),
            ),
            (
                "elections of one Kafka two kraft dynamic",
                elections(Mode::Dynamic, [Kraft, Kafka, Kraft]),
            ),
            (
                "elections of one Kafka two kraft static",
                elections(Mode::Static, [Kafka, Kraft, Kraft]),
            ),
            (
                "elections of two Kafka one kraft dynamic",
                elections(Mode::Dynamic, [Kafka, Kafka, Kraft]),
            ),
            (
                "elections of two Kafka one kraft static",
                elections(Mode::Static, [Kafka, Kraft, Kafka]),
            ),
            ("voters of kraft", voters([Kraft, Kafka, Kafka])),
            ("upgrade by kraft", upgrade([Kraft, Kafka, Kraft], Kraft)),
            ("upgrade by Kafka", upgrade([Kafka, Kraft, Kafka], Kafka)),
            ("snapshots", Box::new(snapshots::round)),
            ("replacement dynamic", replacement(Mode::Dynamic)),
            ("replacement static", replacement(Mode::Static)),
        ]);
    }
    rounds
}

fn fresh(folder: &Path) -> Result<(), Failure> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    Ok(fs::create_dir_all(folder)?)
}

/// One line of progress within a round.
fn say(line: &str) {
    println!("     {line}");
}
