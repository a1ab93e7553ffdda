//! The model check of the consensus core: every state within bounds. It is a workspace of its own.

use std::process::Command;
use std::time::Duration;

use crate::part::{self, Outcome};
use crate::workspace;

/// Searches the models, the large ones without a limit.
pub(crate) fn run(large: bool) -> bool {
    let mut command = cargo();
    if large {
        command.args(["--", "--large"]);
    }
    command.status().is_ok_and(|status| status.success())
}

/// The part of `ci`: whatever is not finished in twenty minutes has failed.
pub(crate) fn part(name: &'static str) -> Outcome {
    part::command(name, cargo(), Duration::from_secs(20 * 60))
}

fn cargo() -> Command {
    let mut command = workspace::cargo(&[
        "run",
        "--release",
        "--locked",
        "--manifest-path",
        "model/Cargo.toml",
    ]);
    command.env("CARGO_TARGET_DIR", workspace::target().join("model"));
    command
}
