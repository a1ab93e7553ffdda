//! The arguments, the commands behind them, and how a command ends.

use std::borrow::Cow;
use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
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
    let command = match Arguments::try_parse() {
        Ok(arguments) => arguments.command,
        Err(wrong) => tamed(wrong).exit(),
    };
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
    let mut command = Arguments::command();
    command.build();
    innermost(&mut command, env::args_os().skip(1))
        .error(ErrorKind::MissingRequiredArgument, printable(what))
        .exit()
}

/// The error about arguments without what would steer the terminal: what they repeat may be the name of a file.
fn tamed(mut wrong: clap::Error) -> clap::Error {
    let given: Vec<_> = wrong
        .context()
        .filter_map(|(kind, value)| match value {
            ContextValue::String(text) => match printable(text) {
                Cow::Borrowed(_) => None,
                Cow::Owned(shown) => Some((kind, ContextValue::String(shown))),
            },
            _ => None,
        })
        .collect();
    for (kind, shown) in given {
        wrong.insert(kind, shown);
        // A suggestion may repeat it.
        wrong.remove(ContextKind::Suggested);
    }
    wrong
}

/// The command that the words ask for in the end: how that one is used is what is to be shown.
fn innermost(command: &mut clap::Command, words: impl IntoIterator<Item = OsString>) -> &mut clap::Command {
    words.into_iter().fold(command, |command, word| {
        if command.find_subcommand(&word).is_some() {
            let inner = command.find_subcommand_mut(&word);
            inner.expect("it has just been found")
        } else {
            command
        }
    })
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

    #[test]
    fn the_usage_that_is_shown_is_that_of_the_command_that_was_asked_for() {
        for (words, expected) in [
            ("quorum --timeout 3 describe --status", "kraft quorum describe"),
            (
                "quorum add-controller --bootstrap-controller a:1",
                "kraft quorum add-controller",
            ),
            ("shell .", "kraft shell"),
            ("", "kraft"),
        ] {
            let mut command = Arguments::command();
            command.build();
            let words = words.split_whitespace().map(OsString::from);
            let usage = innermost(&mut command, words).render_usage().to_string();
            let begin = format!("Usage: {expected} ");
            assert!(usage.starts_with(&begin), "{usage}");
        }
    }
}
