//! `kraft features describe`.

use std::io::Write;
use std::process::ExitCode;

use super::output;
use crate::Outcome;
use crate::client::Admin;
use crate::out::Out;

/// Print the levels in force, and those that the active controller, or a broker, supports
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    kraft features describe --bootstrap-controller 127.0.0.1:9093\n  \
    kraft features describe --node-id 2 --json --bootstrap-controller 127.0.0.1:9093")]
pub(crate) struct Arguments {
    /// Ask this node, which has to be registered
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(i32).range(0..))]
    node_id: Option<i32>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(admin: &Admin, arguments: &Arguments) -> Outcome {
    let features = admin.describe_features(arguments.node_id)?;
    let text = if arguments.json {
        output::features_json(&features)
    } else {
        output::features(&features)
    };
    Out::listing().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
