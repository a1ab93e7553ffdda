//! The seeded simulation: whole quorums in virtual time with crashes and partitions, in a release build.

use std::process::Command;
use std::time::Duration;

use crate::part::{self, Outcome};
use crate::{ci, workspace};

/// How many seeds `ci` runs.
pub(crate) const SEEDS_IN_CI: u64 = 1_000;

pub(crate) fn run(first: u64, seeds: u64) -> bool {
    let build = ci::release_build("release build");
    if !build.passed {
        return part::summarise(&[build]);
    }
    // Without a bound on the number of seeds there is none on the time.
    part::summarise(&[build, simulate("simulation", first, seeds, Duration::MAX)])
}

/// The part of `ci`, behind the release build.
pub(crate) fn part(name: &'static str) -> Outcome {
    simulate(name, 0, SEEDS_IN_CI, Duration::from_secs(4 * 60))
}

/// Runs the program that the release build made: `cargo run` for its package alone would choose other features and
/// build everything again.
fn simulate(name: &'static str, first: u64, seeds: u64, limit: Duration) -> Outcome {
    let mut command = Command::new(workspace::target().join("release/examples/seeds"));
    command.args(["--first", &first.to_string(), "--seeds", &seeds.to_string()]);
    part::command(name, command, limit)
}
