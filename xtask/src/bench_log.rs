//! `cargo xtask bench log`: the log and the snapshots beside bare files on the same disk, and the start of a voter.

use std::path::PathBuf;

use crate::{bench, workspace};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only these: append, snapshot, start
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Repeat each comparison for as long as this, and at least five times
    #[arg(long, default_value_t = 10)]
    secs: u64,
    /// One JSON line for each figure instead of text
    #[arg(long)]
    json: bool,
    /// Where to put the files; their disk is the one that is measured. Without it, where builds go
    #[arg(long)]
    dir: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> bool {
    let built = workspace::cargo(&["build", "--release", "--locked", "-p", "kraft-cli"]).status();
    if !built.is_ok_and(|status| status.success()) {
        return false;
    }
    let mut command = bench::cargo(&["run", "--release", "-p", "kraft-bench-log", "--"]);
    command
        .arg("--kraft")
        .arg(workspace::kraft())
        .arg("--secs")
        .arg(options.secs.to_string())
        .arg("--dir")
        .arg(options.dir.clone().unwrap_or_else(workspace::target));
    if !options.only.is_empty() {
        command.arg("--only").arg(options.only.join(","));
    }
    if options.json {
        command.arg("--json");
    }
    command.status().is_ok_and(|status| status.success())
}
