//! The seeded simulation: whole quorums in virtual time with crashes and partitions, in a release build.

use std::process::Command;
use std::time::Duration;

use crate::part::{self, Outcome};
use crate::{ci, workspace};

/// How many seeds `ci` runs.
pub(crate) const SEEDS_IN_CI: u64 = 1_000;

pub(crate) fn run(first: u64, seeds: u64) -> bool {
    // Without a bound on the number of seeds there is none on the time.
    part::summarise(&[simulate("simulation", first, seeds, Duration::MAX)])
}

/// The part of `ci`.
pub(crate) fn part(name: &'static str) -> Outcome {
    simulate(name, 0, SEEDS_IN_CI, Duration::from_secs(4 * 60))
}

/// Builds what `ci` builds, so that both share the artefacts, and runs the program itself: `cargo run` for one
/// package alone would choose other features and build everything again.
fn simulate(name: &'static str, first: u64, seeds: u64, limit: Duration) -> Outcome {
    let built = part::command("release build", workspace::cargo(&ci::RELEASE_BUILD), BUILD_LIMIT);
    if !built.passed {
        return Outcome { name, ..built };
    }
    let mut command = Command::new(workspace::target().join("release/examples/seeds"));
    command.args(["--first", &first.to_string(), "--seeds", &seeds.to_string()]);
    part::command(name, command, limit)
}

const BUILD_LIMIT: Duration = Duration::from_secs(15 * 60);
