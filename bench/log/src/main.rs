//! How fast the log and the snapshots are beside bare files on the same disk: `cargo xtask bench log`.

mod append;
mod measure;
mod snapshot;
mod start;

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use kraft_bench_report::Report;

#[derive(Parser)]
#[command(bin_name = "cargo xtask bench log", args_override_self = true)]
struct Options {
    /// Only these
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Name>,
    /// Repeat each comparison for as long as this, and at least five times
    #[arg(long, default_value_t = 10)]
    secs: u64,
    /// One JSON line for each figure instead of text
    #[arg(long)]
    json: bool,
    /// Where to put the files; their disk is the one that is measured
    #[arg(long, default_value = ".")]
    dir: PathBuf,
    /// The program whose start is measured
    #[arg(long)]
    kraft: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Name {
    /// Appending one batch durably, beside bare files and raft-engine
    Append,
    /// Writing and loading a snapshot of a million records
    Snapshot,
    /// The start of a voter with 100 MiB of log
    Start,
}

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    let options = Options::parse();
    let wanted = |name| options.only.is_empty() || options.only.contains(&name);
    let root = tempfile::Builder::new()
        .prefix("kraft-bench-")
        .tempdir_in(&options.dir)?;
    let mut report = Report::new("log", options.json, root.path());
    if wanted(Name::Append) {
        append::run(root.path(), options.secs, &mut report)?;
    }
    if wanted(Name::Snapshot) {
        snapshot::run(root.path(), options.secs, &mut report)?;
    }
    if wanted(Name::Start) {
        let kraft = options.kraft.ok_or("--kraft PROGRAM is needed for start")?;
        start::run(root.path(), &kraft, options.secs, &mut report)?;
    }
    Ok(())
}
