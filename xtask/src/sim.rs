//! The seeded simulation: whole quorums in virtual time with crashes and partitions, in a release build.

use std::time::Duration;

use crate::part::{self, Outcome};
use crate::workspace;

/// How many seeds `ci` runs.
pub(crate) const SEEDS_IN_CI: u64 = 1_000;

pub(crate) fn run(first: u64, seeds: u64) -> bool {
    // Without a bound on the number of seeds there is none on the time.
    part::summarise(&[simulate("simulation", first, seeds, Duration::MAX)])
}

/// The part of `ci`.
pub(crate) fn part(name: &'static str) -> Outcome {
    // Two minutes are the budget of the seeds; the build before them is allowed the rest.
    simulate(name, 0, SEEDS_IN_CI, Duration::from_secs(8 * 60))
}

fn simulate(name: &'static str, first: u64, seeds: u64, limit: Duration) -> Outcome {
    let (first, seeds) = (first.to_string(), seeds.to_string());
    let arguments = [
        "run",
        "--locked",
        "--release",
        "-p",
        "kraft-sim",
        "--example",
        "seeds",
        "--",
    ];
    let mut command = workspace::cargo(&arguments);
    command.args(["--first", &first, "--seeds", &seeds]);
    part::command(name, command, limit)
}
