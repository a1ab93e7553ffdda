//! `kraft features`, as `kafka-features`.

mod dependencies;
mod describe;
mod feature_level;
mod output;
mod release;
mod update;
mod version_mapping;

use clap::Subcommand;

use crate::Outcome;
use crate::client::Bootstrap;

/// Look at the features of a cluster and change their levels
#[derive(clap::Args)]
#[command(after_help = "Example:\n  kraft features --bootstrap-controller 127.0.0.1:9093 describe")]
pub(crate) struct Arguments {
    #[command(flatten)]
    bootstrap: Bootstrap,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Describe(describe::Arguments),
    Upgrade(update::UpgradeArguments),
    Downgrade(update::DowngradeArguments),
    Disable(update::DisableArguments),
    VersionMapping(version_mapping::Arguments),
    FeatureDependencies(dependencies::Arguments),
}

pub(crate) fn run(arguments: Arguments) -> Outcome {
    let bootstrap = arguments.bootstrap;
    match arguments.command {
        Command::Describe(arguments) => describe::run(&bootstrap.admin(), &arguments),
        Command::Upgrade(arguments) => update::upgrade(bootstrap, &arguments),
        Command::Downgrade(arguments) => update::downgrade(bootstrap, &arguments),
        Command::Disable(arguments) => update::disable(bootstrap, &arguments),
        // What this program knows by itself: nobody is asked.
        Command::VersionMapping(arguments) => version_mapping::run(&arguments),
        Command::FeatureDependencies(arguments) => dependencies::run(&arguments),
    }
}
