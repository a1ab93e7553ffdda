//! `kraft quorum`, as `kafka-metadata-quorum`.

mod add_controller;
mod describe;
mod output;
mod remove_controller;

use std::path::PathBuf;

use clap::Subcommand;

use crate::Outcome;
use crate::client::Bootstrap;
use crate::program::wrong_usage;

/// Look at a quorum and change its voters
#[derive(clap::Args)]
#[command(after_help = "Example:\n  kraft quorum --bootstrap-controller 127.0.0.1:9093 describe --status")]
pub(crate) struct Arguments {
    #[command(flatten)]
    bootstrap: Bootstrap,
    /// The server.properties of the controller that add-controller adds; its metadata directory has to be at hand
    #[arg(long, short, global = true, value_name = "FILE")]
    command_config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Describe(describe::Arguments),
    AddController(add_controller::Arguments),
    RemoveController(remove_controller::Arguments),
}

pub(crate) fn run(arguments: Arguments) -> Outcome {
    // Kafka's tool takes it before the name of the command.
    let config = arguments.command_config;
    let adds = matches!(arguments.command, Command::AddController(_));
    if config.is_some() && !adds {
        wrong_usage("--command-config belongs to add-controller");
    }
    let admin = arguments.bootstrap.admin();
    match arguments.command {
        Command::Describe(arguments) => describe::run(&admin, &arguments),
        Command::AddController(arguments) => match config {
            Some(config) => add_controller::run(&admin, &config, &arguments),
            None => wrong_usage("add-controller needs the --command-config of the controller to add"),
        },
        Command::RemoveController(arguments) => remove_controller::run(&admin, &arguments),
    }
}
