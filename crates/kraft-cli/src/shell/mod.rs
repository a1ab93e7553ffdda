//! `kraft shell`, as `kafka-metadata-shell`: the metadata of a directory, a snapshot or a segment as a tree to walk in.

mod columns;
mod commands;
mod dialogue;
mod glob;
mod image;
mod json;
mod leaf;
mod load;
mod names;
mod node;
mod place;
mod session;
mod text;
mod words;

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use crate::Outcome;
use crate::out::Out;
use crate::printable::printable;
use crate::program::wrong_usage;
use commands::Command;
use session::Session;

/// Walk the metadata as a tree: the newest snapshot of a directory and the log behind it, or a single file
#[derive(clap::Args)]
#[command(
    after_help = "A node may be running on the directory; nothing is locked and nothing is written. Without a command, \
    lines are read\nfrom stdin; help lists what they may be.\n\n\
    Examples:\n  \
    kraft shell /var/lib/kafka ls image/topics/byName\n  \
    kraft shell /var/lib/kafka cat 'image/topics/byName/orders/*'\n  \
    kraft shell --json /var/lib/kafka tree image/cluster\n  \
    kraft shell /var/lib/kafka/__cluster_metadata-0/00000000000000000444-0000000002.checkpoint tree image/features\n  \
    kraft shell /var/lib/kafka"
)]
pub(crate) struct Arguments {
    /// Print JSON, one object a line for each place; needs a command
    #[arg(long)]
    json: bool,
    /// The metadata directory (the one with meta.properties), its partition's, a .checkpoint or a .log file
    #[arg(value_name = "FILE_OR_DIR")]
    path: PathBuf,
    /// cat, find, ls or tree, with paths
    command: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let command = match arguments.command.split_first() {
        Some((name, paths)) => Some((one_shot(name, paths.len()), paths)),
        None if arguments.json => wrong_usage("--json needs a command"),
        None => None,
    };
    let loaded = load::load(&arguments.path)?;
    for note in &loaded.notes {
        // A reader of stderr that is gone cannot be told.
        writeln!(io::stderr(), "kraft: {}", printable(note)).ok();
    }
    let mut out = BufWriter::new(Out::listing());
    let Some((command, paths)) = command else {
        dialogue::run(&loaded.image, &mut out)?;
        return Ok(ExitCode::SUCCESS);
    };
    let complained = if arguments.json {
        let wrong = json::run(&loaded.image, &mut out, command, paths)?;
        for what in &wrong {
            writeln!(
                io::stderr(),
                "kraft: {}: {}",
                arguments.command[0],
                printable(what)
            )
            .ok();
        }
        !wrong.is_empty()
    } else {
        let mut complaints = io::stderr();
        let mut session = Session::new(&loaded.image, &mut out, Some(&mut complaints), None);
        session.run(&arguments.command)?;
        session.complained()
    };
    out.flush()?;
    Ok(if complained {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// The command of this name, before anything is read, because that may take a while.
fn one_shot(name: &str, count: usize) -> Command {
    let known = commands::names(true);
    match Command::named(name) {
        None => wrong_usage(&format!(
            "{}: no such command; there are {known}",
            printable(name)
        )),
        Some(command) if !command.is_one_shot() => wrong_usage(&format!(
            "{name}: only in the dialogue; without it there are {known}"
        )),
        Some(command) => {
            if let Some(wrong) = commands::wrong_count(name, count) {
                wrong_usage(&format!("{name}: {wrong}"));
            }
            command
        }
    }
}
