//! `cargo xtask fix`: lets the tools rewrite what they can.

use std::time::Duration;

use crate::{part, workspace};

pub(crate) fn run() -> bool {
    let limit = Duration::from_secs(20 * 60);
    let clippy = [
        "clippy",
        "--fix",
        "--allow-dirty",
        "--allow-staged",
        "--workspace",
        "--all-targets",
    ];
    let of = |manifest| workspace::cargo(&["fmt", "--manifest-path", manifest]);
    let outcomes = [
        part::command("clippy --fix", workspace::cargo(&clippy), limit),
        part::command("format", workspace::cargo(&["fmt", "--all"]), limit),
        part::command("format of probe", of("probe/Cargo.toml"), limit),
        part::command("format of bench", of("bench/Cargo.toml"), limit),
        part::command("format of fuzz", of("fuzz/Cargo.toml"), limit),
        part::command("format of model", of("model/Cargo.toml"), limit),
    ];
    part::summarise(&outcomes)
}
