//! `kraft quorum`, as `kafka-metadata-quorum`.

mod add_controller;
mod describe;
mod output;
mod remove_controller;

use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;

use crate::Outcome;
use crate::client::{Address, Admin, EndpointKind};
use crate::program::wrong_usage;

/// Look at a quorum and change its voters
#[derive(clap::Args)]
#[command(after_help = "Example:\n  kraft quorum --bootstrap-controller 127.0.0.1:9093 describe --status")]
pub(crate) struct Arguments {
    #[command(flatten)]
    bootstrap: Bootstrap,
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Args)]
struct Bootstrap {
    /// Controllers to ask for the active one
    #[arg(long, global = true, value_name = "HOST:PORT,…", value_delimiter = ',')]
    bootstrap_controller: Vec<Address>,
    /// Brokers that forward to the active controller
    #[arg(long, global = true, value_name = "HOST:PORT,…", value_delimiter = ',')]
    bootstrap_server: Vec<Address>,
    /// The server.properties of the controller that add-controller adds; its metadata directory has to be at hand
    #[arg(long, short, global = true, value_name = "FILE")]
    command_config: Option<PathBuf>,
    /// How long to look for an active controller
    #[arg(long, global = true, value_name = "SECONDS", default_value_t = 30)]
    timeout: u64,
}

#[derive(Subcommand)]
enum Command {
    Describe(describe::Arguments),
    AddController(add_controller::Arguments),
    RemoveController(remove_controller::Arguments),
}

pub(crate) fn run(mut arguments: Arguments) -> Outcome {
    // Kafka's tool takes it before the name of the command.
    let config = arguments.bootstrap.command_config.take();
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

impl Bootstrap {
    fn admin(self) -> Admin {
        let patience = Duration::from_secs(self.timeout.max(1));
        match (
            self.bootstrap_controller.is_empty(),
            self.bootstrap_server.is_empty(),
        ) {
            (false, true) => Admin::new(self.bootstrap_controller, EndpointKind::Controllers, patience),
            (true, false) => Admin::new(self.bootstrap_server, EndpointKind::Brokers, patience),
            // clap checks a group of global arguments before the sub-command has given its own.
            _ => wrong_usage("give exactly one of --bootstrap-controller and --bootstrap-server"),
        }
    }
}
