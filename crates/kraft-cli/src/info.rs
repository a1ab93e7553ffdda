//! `kraft info`, as `kafka-storage info`.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use kraft_fs::RealFs;
use kraft_log::info::{DirectoryInfo, directory_info};
use kraft_transport::properties::ServerConfig;

use crate::Outcome;
use crate::out::Out;

/// Say what is in the directories of a controller, and what is wrong with them
#[derive(clap::Args)]
#[command(after_help = "Example:\n  kraft info -c server.properties")]
pub(crate) struct Arguments {
    /// The controller's server.properties
    #[arg(short, long, value_name = "FILE")]
    config: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let config = ServerConfig::read(&arguments.config, &[])?;
    let directories: Vec<_> = config
        .log_dirs
        .iter()
        .chain([&config.metadata_log_dir])
        .cloned()
        .collect();
    let info = directory_info(&RealFs, &directories);
    print(&info)?;
    Ok(if info.problems.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn print(info: &DirectoryInfo) -> std::io::Result<()> {
    let mut out = Out::report();
    if !info.found.is_empty() {
        let plural = if info.found.len() == 1 {
            "directory"
        } else {
            "directories"
        };
        writeln!(out, "Found log {plural}:")?;
        for directory in &info.found {
            writeln!(out, "  {}", directory.display())?;
        }
        writeln!(out)?;
    }
    if let Some(metadata) = &info.metadata {
        let entries = metadata.sorted_entries();
        let entries: Vec<_> = entries
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        writeln!(out, "Found metadata: {{{}}}\n", entries.join(", "))?;
    }
    if !info.problems.is_empty() {
        let plural = if info.problems.len() == 1 {
            "problem"
        } else {
            "problems"
        };
        writeln!(out, "Found {plural}:")?;
        for problem in &info.problems {
            writeln!(out, "  {problem}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}
