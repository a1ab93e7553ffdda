//! The arguments, the commands behind them, and how a command ends.

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::out::is_reader_gone;
use crate::printable::printable;
use crate::{
    decode, demo, dump, features, format, info, perf, quorum, random_uuid, recover, run, shell, signals,
    verify,
};

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
    Demo(demo::Arguments),
    RandomUuid(random_uuid::Arguments),
    Format(format::Arguments),
    Info(info::Arguments),
    Run(run::Arguments),
    Perf(perf::Arguments),
    Quorum(quorum::Arguments),
    Features(features::Arguments),
    Dump(dump::Arguments),
    Decode(decode::Arguments),
    Shell(shell::Arguments),
    Verify(verify::Arguments),
    Recover(recover::Arguments),
}

/// Runs the program with the arguments of this process.
pub fn program() -> ExitCode {
    let command = Arguments::parse().command;
    let outcome = signals::outlive_file_size_limit()
        .map_err(Into::into)
        .and_then(|()| perform(command));
    match outcome {
        Ok(code) => code,
        Err(error) if is_reader_gone(error.as_ref()) => ExitCode::SUCCESS,
        Err(error) => {
            // A reader of stderr that is gone cannot be told.
            writeln!(std::io::stderr(), "kraft: {}", one_line(error.as_ref())).ok();
            ExitCode::FAILURE
        }
    }
}

fn perform(command: Command) -> Outcome {
    match command {
        Command::Demo(arguments) => demo::run(&arguments),
        Command::RandomUuid(arguments) => random_uuid::run(&arguments),
        Command::Format(arguments) => format::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Perf(arguments) => perf::run(&arguments),
        Command::Info(arguments) => info::run(&arguments),
        Command::Quorum(arguments) => quorum::run(arguments),
        Command::Features(arguments) => features::run(arguments),
        Command::Dump(arguments) => dump::run(&arguments),
        Command::Decode(arguments) => decode::run(&arguments),
        Command::Shell(arguments) => shell::run(&arguments),
        Command::Verify(arguments) => verify::run(&arguments),
        Command::Recover(arguments) => recover::run(&arguments),
    }
}

/// What a command ends with: an exit code, or an error that is printed and never looked into.
pub(crate) type Outcome = Result<ExitCode, Box<dyn Error>>;

/// Ends the process because of wrong usage that clap cannot see.
pub(crate) fn wrong_usage(what: &str) -> ! {
    Arguments::command()
        .error(clap::error::ErrorKind::MissingRequiredArgument, what)
        .exit()
}

fn one_line(error: &dyn Error) -> String {
    let text = error.to_string();
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    printable(&lines.join(" ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_told_in_one_line() {
        let error = "refused:\n  because\r\nof\u{1b}[2J\u{85}it\tall";
        assert_eq!(
            one_line(Box::<dyn Error>::from(error).as_ref()),
            "refused: because of\\u001b[2J\\u0085it\\tall"
        );
    }
}
