//! `kraft quorum describe`.

use std::io::Write;
use std::process::ExitCode;

use crate::client::Admin;
use crate::out::Out;
use crate::quorum::output::{self, Times};
use crate::{Outcome, clock};

/// Print the state of the quorum, as its leader sees it
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    kraft quorum describe --status --bootstrap-controller 127.0.0.1:9093\n  \
    kraft quorum describe --replication --human-readable --bootstrap-controller 127.0.0.1:9093")]
#[command(group = clap::ArgGroup::new("form").required(true))]
pub(crate) struct Arguments {
    /// Leader, epoch, high watermark and members
    #[arg(long, group = "form")]
    status: bool,
    /// A line for each replica
    #[arg(long, group = "form")]
    replication: bool,
    /// Show times as their distance from now
    #[arg(long, conflicts_with = "status")]
    human_readable: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(admin: &Admin, arguments: &Arguments) -> Outcome {
    let described = admin.describe_quorum()?;
    let text = if arguments.json {
        output::json(&described)
    } else if arguments.status {
        output::status(&described)?
    } else {
        let times = if arguments.human_readable {
            Times::Before {
                now_ms: clock::now_ms(),
            }
        } else {
            Times::Epoch
        };
        output::replication(&described, times)?
    };
    Out::listing().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
