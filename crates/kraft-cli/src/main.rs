//! The `kraft` program: format, run and operate a KRaft controller quorum.
//!
//! Every command ends with 0 on success, with 1 and one line on stderr on a failure, and with 2 on wrong usage.

mod client;
mod dump;
mod format;
mod info;
mod quorum;
mod random;
mod random_uuid;

use std::error::Error;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(
    name = "kraft",
    version,
    about = "Apache Kafka's metadata quorum (KRaft): format, run and operate a controller quorum",
    after_help = "Example, a quorum of one:\n  \
                  kraft format -c server.properties -t $(kraft random-uuid) --standalone\n  \
                  kraft run -c server.properties"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    RandomUuid(random_uuid::Arguments),
    Format(format::Arguments),
    Info(info::Arguments),
    Quorum(quorum::Arguments),
    Dump(dump::Arguments),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::RandomUuid(arguments) => random_uuid::run(&arguments),
        Command::Format(arguments) => format::run(&arguments),
        Command::Info(arguments) => info::run(&arguments),
        Command::Quorum(arguments) => quorum::run(arguments),
        Command::Dump(arguments) => dump::run(&arguments),
    };
    match outcome {
        Ok(code) => code,
        Err(error) if is_closed_pipe(error.as_ref()) => ExitCode::SUCCESS,
        Err(error) => {
            // A reader of stderr that is gone cannot be told.
            writeln!(std::io::stderr(), "kraft: {}", one_line(error.as_ref())).ok();
            ExitCode::FAILURE
        }
    }
}

/// What a command ends with: an exit code, or an error that is printed and never looked into.
type Outcome = Result<ExitCode, Box<dyn Error>>;

/// `kraft dump … | head` is no failure.
fn is_closed_pipe(error: &(dyn Error + 'static)) -> bool {
    let error = error.downcast_ref::<std::io::Error>();
    error.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

fn one_line(error: &dyn Error) -> String {
    error
        .to_string()
        .lines()
        .map(str::trim)
        .collect::<Vec<_>>()
        .join(" ")
}
