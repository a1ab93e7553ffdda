//! `kraft random-uuid`, as `kafka-storage random-uuid`.

use std::io::Write;
use std::process::ExitCode;

use kraft_wire::uuid_text;

use crate::out::Out;
use crate::{Outcome, random};

/// Print a new random id in Kafka's text form
#[derive(clap::Args)]
#[command(after_help = "Example:\n  kraft random-uuid\n  rV5QyzVVQxaXTxFLTBS3Qg")]
pub(crate) struct Arguments {}

pub(crate) fn run(_: &Arguments) -> Outcome {
    writeln!(Out::listing(), "{}", uuid_text::format(&random::uuid()?))?;
    Ok(ExitCode::SUCCESS)
}
