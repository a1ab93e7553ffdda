//! The seeded simulation: whole quorums in virtual time with everything that can go wrong, in a release build.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::part::{self, Outcome};
use crate::{ci, workspace};

/// The seeds that `ci` runs, and how many turns of engines that has to be at least.
const SEEDS_IN_CI: &str = "0..2400";
const EVENTS_IN_CI: u64 = 10_000_000;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The seeds, the second one excluded; a single number N stands for 0..N
    #[arg(long, value_name = "A..B", default_value = SEEDS_IN_CI)]
    seeds: String,
    /// Fail if all of them together have fewer turns of engines, or fewer faults than belong to so many
    #[arg(long, value_name = "N", default_value_t = 0)]
    least_events: u64,
    /// Run the plan in this file instead, as a failing seed prints it
    #[arg(long, value_name = "FILE", conflicts_with = "seeds")]
    plan: Option<PathBuf>,
    /// Print what changes in the run of one seed
    #[arg(long, value_name = "SEED", conflicts_with_all = ["seeds", "plan"])]
    trace: Option<u64>,
    /// Make the plan of a seed that fails as short as possible, also where a node panics
    #[arg(long, value_name = "SEED", conflicts_with_all = ["seeds", "plan", "trace"])]
    shrink: Option<u64>,
}

pub(crate) fn run(options: &Options) -> bool {
    let build = ci::release_build("release build");
    if !build.passed {
        return part::summarise(&[build]);
    }
    let mut command = program();
    let shown = match (&options.plan, options.trace, options.shrink) {
        (Some(file), ..) => command.arg("--plan").arg(file),
        (None, Some(seed), _) => command.args(["--trace", &seed.to_string()]),
        (None, None, Some(seed)) => command.args(["--shrink", &seed.to_string()]),
        (None, None, None) => {
            seeds(&mut command, &options.seeds, options.least_events);
            // Without a bound on the number of seeds there is none on the time.
            return part::summarise(&[build, part::command("simulation", command, Duration::MAX)]);
        }
    };
    shown.status().is_ok_and(|status| status.success())
}

/// The part of `ci`, behind the release build.
pub(crate) fn part(name: &'static str) -> Outcome {
    let mut command = program();
    seeds(&mut command, SEEDS_IN_CI, EVENTS_IN_CI);
    part::command(name, command, Duration::from_secs(20 * 60))
}

/// The program that the release build made: `cargo run` for its package alone would choose other features and
/// build everything again.
fn program() -> Command {
    Command::new(workspace::target().join("release/examples/seeds"))
}

fn seeds(command: &mut Command, range: &str, least_events: u64) {
    command.args(["--seeds", range, "--least-events", &least_events.to_string()]);
}
