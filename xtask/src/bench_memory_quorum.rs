//! `cargo xtask bench memory-quorum`: three voters in one process, without a disk and without a socket.

use crate::bench;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Measure this as well, in turns with ours
    #[arg(long, value_enum)]
    peer: Option<Peer>,
    /// How many clients wait for a commit at any time, one record each
    #[arg(long, value_delimiter = ',', default_values_t = [1, 64, 4096])]
    clients: Vec<usize>,
    /// How long each measurement takes. Neither side forgets a record meanwhile, so this costs memory: up to 1 GiB for
    /// every second
    #[arg(long, default_value_t = 2.0)]
    secs: f64,
    /// How often each side is measured; the figures are medians
    #[arg(long, default_value_t = 5)]
    turns: usize,
    /// Threads of the runtime of voters and clients
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2])]
    workers: Vec<usize>,
    /// One JSON line for each figure instead of text
    #[arg(long)]
    json: bool,
}

#[derive(clap::ValueEnum, Clone, Copy)]
enum Peer {
    Openraft,
}

pub(crate) fn run(options: &Options) -> bool {
    let mut command = bench::cargo(&["run", "--release", "-p", "kraft-bench-quorum", "--"]);
    let list = |numbers: &[usize]| {
        let texts: Vec<_> = numbers.iter().map(usize::to_string).collect();
        texts.join(",")
    };
    command.args(["--clients", &list(&options.clients)]);
    command.args(["--workers", &list(&options.workers)]);
    command.args(["--secs", &options.secs.to_string()]);
    command.args(["--turns", &options.turns.to_string()]);
    if let Some(Peer::Openraft) = options.peer {
        command.arg("--peer");
    }
    if options.json {
        command.arg("--json");
    }
    command.status().is_ok_and(|status| status.success())
}
