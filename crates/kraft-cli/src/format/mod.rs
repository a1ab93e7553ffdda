//! `kraft format`, as `kafka-storage format`: the same checks in the same order, the same files, the same lines.

mod base64;
mod plan;
mod scram;
mod voter_list;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use kraft_fs::RealFs;
use kraft_log::format::{FormatReport, FormatRequest};
use kraft_metadata::feature::MetadataVersion;
use kraft_transport::properties::ServerConfig;

use crate::out::Out;
use crate::{Outcome, clock, random};
use plan::Plan;

/// Prepare the directories of a new controller
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    kraft format -c server.properties -t $(kraft random-uuid) --standalone\n  \
    kraft format -c server.properties -t rV5QyzVVQxaXTxFLTBS3Qg \\\n      \
    --initial-controllers 1@host1:9093:J8aAPcfLQt2bqs1JT_rMgQ,2@host2:9093:ukDrYn2OQHqFCdPwEiB5Ug")]
pub(crate) struct Arguments {
    /// The controller's server.properties
    #[arg(short, long, value_name = "FILE")]
    config: PathBuf,
    /// The id of the cluster, the same on every node
    #[arg(short = 't', long, value_name = "ID")]
    cluster_id: String,
    #[command(flatten)]
    founding: Founding,
    /// The release that the cluster starts at, such as 4.4 or 4.4-IV2
    #[arg(short, long, value_name = "VERSION")]
    release_version: Option<String>,
    /// The level of a feature that the cluster starts at
    #[arg(short, long, value_name = "NAME=LEVEL")]
    feature: Vec<String>,
    /// A credential that the cluster starts with: MECHANISM=[name=…,password=…]
    #[arg(short = 'S', long, value_name = "SPEC")]
    add_scram: Vec<String>,
    /// Pass over directories that are formatted already
    #[arg(short = 'g', long)]
    ignore_formatted: bool,
}

/// How a quorum whose voters are not in the configuration begins.
#[derive(clap::Args)]
#[group(multiple = false)]
struct Founding {
    /// This node is the only voter
    #[arg(short, long)]
    standalone: bool,
    /// The voters, the same list on every one of them
    #[arg(short = 'I', long, value_name = "ID@HOST:PORT:DIRECTORY_ID,…")]
    initial_controllers: Option<String>,
    /// Others know the voters; this node joins them
    #[arg(short = 'N', long)]
    no_initial_controllers: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let config = ServerConfig::read(&arguments.config, &[])?;
    let plan = Plan::new(arguments, &config)?;
    let values = plan.bootstrap_values(|| random::bytes::<SALT_SIZE>().map(Vec::from))?;
    // The randomness is read beforehand, because nobody is told when it fails in the midst of formatting.
    let mut ids = random::uuids(plan.directories.len() + ID_ATTEMPTS)?.into_iter();
    let report = kraft_log::format::format(
        &RealFs,
        FormatRequest {
            directories: &plan.directories,
            metadata_dir: &config.metadata_log_dir,
            cluster_id: &arguments.cluster_id,
            node_id: config.node_id.0,
            controller: true,
            voters: plan.voters.clone(),
            bootstrap_values: &values,
            ignore_formatted: arguments.ignore_formatted,
            clock: &mut clock::now_ms,
            random_bytes: &mut || {
                ids.next()
                    .expect("more ids than directories were made")
                    .into_bytes()
            },
        },
    )?;
    print(&report, plan.version)?;
    Ok(ExitCode::SUCCESS)
}

fn print(report: &FormatReport, version: MetadataVersion) -> std::io::Result<()> {
    let mut out = Out::report();
    for (directory, reason) in &report.ignored {
        writeln!(
            out,
            "Log directory {} cannot be read and is left alone: {reason}",
            directory.display()
        )?;
    }
    if report.formatted.is_empty() {
        return writeln!(out, "All of the log directories are already formatted.");
    }
    for directory in &report.formatted {
        let (kind, path) = (directory.kind, directory.path.display());
        writeln!(out, "Formatting {kind} {path} with metadata.version {version}.")?;
    }
    Ok(())
}

const SALT_SIZE: usize = 24;

/// A directory id that is already taken is made anew; more than a few of them never are.
const ID_ATTEMPTS: usize = 8;
