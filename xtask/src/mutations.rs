//! Mistakes made on purpose: builds in which a switch chooses one mistake, and the checks that have to find each.

use std::process::Command;
use std::time::Duration;

use crate::part::{self, Outcome};
use crate::workspace;

/// A program that makes the mistakes of some crates one after the other and looks who finds them. It prints a line
/// `summary: …` for each and fails when one is not found, and when something is found without a mistake.
struct Suite {
    /// The name under which it reports.
    name: &'static str,
    /// What cargo has to be told to run it.
    run: &'static [&'static str],
    /// Where its build lies, below the target directory: a cfg changes every crate, so it is kept apart from the others.
    target: &'static str,
    minutes: u64,
}

const SUITES: &[Suite] = &[
    Suite {
        name: "mutations of the core",
        run: &[
            "run",
            "--release",
            "--locked",
            "--manifest-path",
            "model/Cargo.toml",
            "--",
            "--mutations",
        ],
        target: "mutations-model",
        minutes: 20,
    },
    Suite {
        name: "mutations of the engine and its log",
        run: &[
            "run",
            "--release",
            "--locked",
            "-p",
            "kraft-sim",
            "--example",
            "mutations",
        ],
        target: "mutations-sim",
        minutes: 30,
    },
];

/// Runs all suites.
pub(crate) fn run() -> bool {
    part::summarise(&SUITES.iter().map(Suite::part).collect::<Vec<_>>())
}

/// The part of `ci`: all suites.
pub(crate) fn part(name: &'static str) -> Outcome {
    part::check(name, "mistakes made on purpose are found", || {
        if run() {
            Ok("every one was found".to_owned())
        } else {
            Err("see above".to_owned())
        }
    })
}

impl Suite {
    fn part(&self) -> Outcome {
        let limit = Duration::from_secs(60 * self.minutes);
        part::command(self.name, self.command(), limit)
    }

    fn command(&self) -> Command {
        let mut flags = std::env::var("RUSTFLAGS").unwrap_or_default();
        flags.push_str(" --cfg kraft_mutations");
        let mut command = workspace::cargo(self.run);
        command
            .env("RUSTFLAGS", flags.trim_start())
            .env("CARGO_TARGET_DIR", workspace::target().join(self.target));
        command
    }
}
