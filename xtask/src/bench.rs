//! The benchmarks, beside the peers that we are measured against, and the oracle that agrees with us first. They are
//! a workspace of their own.

use std::time::Duration;

use crate::{part, workspace};

pub(crate) fn run() -> bool {
    let limit = Duration::from_secs(30 * 60);
    let oracle = workspace::cargo(&["test", "--manifest-path", "bench/Cargo.toml"]);
    let benches = workspace::cargo(&["bench", "--manifest-path", "bench/Cargo.toml"]);
    part::summarise(&[
        part::command("oracle", oracle, limit),
        part::command("benchmarks", benches, limit),
    ])
}
