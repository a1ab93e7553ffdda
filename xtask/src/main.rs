//! Developer commands of the workspace: `cargo xtask ci` is what CI runs and never writes to the sources,
//! `cargo xtask fix` rewrites what a tool can put right.

mod bench;
mod bench_quorum;
mod ci;
mod eventually;
mod fix;
mod footprint;
mod fuzz;
mod interop;
mod model;
mod mutations;
mod part;
mod policy;
mod port;
mod quick_start;
mod scenarios;
mod sim;
mod torture;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Developer commands of the kraft workspace")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Everything CI runs, read-only: format, lints, docs, tests, no_std probe, policy, simulation, demo, torture, interop
    Ci {
        /// Run only the parts whose name contains one of these words
        #[arg(long, value_name = "WORD", value_delimiter = ',')]
        only: Vec<String>,
    },
    /// Rewrite what tools can put right: format and clippy's machine-applicable suggestions
    Fix,
    /// Real Apache Kafka 4.4 controllers in one quorum with ours
    Interop {
        /// The short form, as in `ci`
        #[arg(long)]
        short: bool,
        /// Run only the rounds whose name contains this word
        #[arg(long)]
        only: Option<String>,
        /// Leave the directories and logs in place and say where they are
        #[arg(long)]
        keep: bool,
    },
    /// Speed beside others, and instruction counts
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Every decoder under bytes that are almost right, longer than the tests do it
    Fuzz(fuzz::Options),
    /// The text scenarios: without words the list of them, as in docs/scenarios.md
    Scenarios {
        /// Run those whose id contains one of these words
        words: Vec<String>,
        /// Write what is seen into the files that are run; the diff is to be read
        #[arg(long)]
        rewrite: bool,
    },
    /// Every state of the consensus core within bounds: a model check in a release build
    Model {
        /// Wider bounds, which take much longer
        #[arg(long)]
        large: bool,
    },
    /// Mistakes made on purpose in a build of their own, each of which the model check or the simulation has to find
    Mutations,
    /// Seeded simulation of whole quorums in a release build
    Sim(sim::Options),
    /// Real processes under load that are killed, stopped, paused and cut off from each other, and a check of all that
    /// clients were told
    Torture(torture::Options),
}

fn main() -> ExitCode {
    let passed = match Arguments::parse().command {
        Command::Ci { only } => ci::run(&only),
        Command::Fix => fix::run(),
        Command::Interop { short, only, keep } => interop::run(interop::Options { short, only, keep }),
        Command::Bench(bench) => bench::run(&bench),
        Command::Fuzz(options) => fuzz::run(&options),
        Command::Scenarios { words, rewrite } => scenarios::run(&words, rewrite),
        Command::Model { large } => model::run(large),
        Command::Mutations => mutations::run(),
        Command::Sim(options) => sim::run(&options),
        Command::Torture(options) => torture::run(&options),
    };
    if passed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
