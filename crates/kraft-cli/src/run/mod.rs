//! `kraft run`: one controller from Kafka's own `server.properties`, as `kafka-server-start`.

mod bootstrap;
mod listeners;
mod monitor;
mod node;
mod open_files;
mod registrar;

pub(crate) use listeners::listeners;
pub(crate) use node::{HAND_OVER_WITHIN, log_options};
pub(crate) use open_files::raise_limit;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use kraft_fs::{DirLock, FileSystem, RealFs};
use kraft_log::directory_check::{CheckedDirectories, ConfiguredDirectories, check_directories};
use kraft_transport::properties::ServerConfig;
use tracing::{info, warn};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::{Outcome, clock, random};
use node::Identity;

/// Run a controller until SIGTERM, SIGINT or SIGHUP
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  kraft run -c server.properties --override controller.quorum.fetch.timeout.ms=1000\n  \
    kraft run -c server.properties --metrics-listen 127.0.0.1:9464\n\n\
    The first line on stdout says that the listener accepts. The log goes to stderr; KRAFT_LOG=debug makes it talk more."
)]
pub(crate) struct Arguments {
    /// The controller's server.properties
    #[arg(short, long, value_name = "FILE")]
    config: PathBuf,
    /// A setting that goes before the one in the file
    #[arg(long = "override", value_name = "KEY=VALUE", value_parser = setting)]
    overrides: Vec<String>,
    /// Serve /metrics for Prometheus, /ready and /live over HTTP there; port 0 takes a free one, which the log names
    #[arg(long, value_name = "HOST:PORT")]
    metrics_listen: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let config = ServerConfig::read(&arguments.config, &arguments.overrides)?;
    // Nothing is written before it is certain that the directories are this node's and nobody else has them.
    let configured = ConfiguredDirectories {
        node_id: config.node_id.0,
        metadata_dir: &config.metadata_log_dir,
        log_dirs: &config.log_dirs,
    };
    let mut directories = check_directories(&RealFs, configured)?;
    let lock = RealFs.lock_dir(&config.metadata_log_dir)?;
    give_missing_ids(&mut directories)?;
    start_logging();
    name_unused_keys(&config);
    open_files::raise_limit();
    serve(&config, arguments.metrics_listen.as_deref(), &directories, lock)
}

fn setting(text: &str) -> Result<String, &'static str> {
    match text.split_once('=') {
        Some((key, _)) if !key.trim().is_empty() => Ok(text.to_owned()),
        _ => Err("not of the form KEY=VALUE"),
    }
}

fn give_missing_ids(directories: &mut CheckedDirectories) -> Result<(), Box<dyn std::error::Error>> {
    let mut ids = random::uuids(directories.directories().len() + ID_ATTEMPTS)?.into_iter();
    let mut random_bytes = || {
        ids.next()
            .expect("more ids than directories were made")
            .into_bytes()
    };
    Ok(directories.give_missing_ids(&RealFs, &mut random_bytes, clock::now_ms())?)
}

/// The log on stderr.
pub(crate) fn start_logging() {
    let asked = std::env::var("KRAFT_LOG").unwrap_or_else(|_| "info".to_owned());
    let filter = asked.parse::<Targets>();
    let ansi = std::io::stderr().is_terminal();
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(ansi);
    let default = || Targets::new().with_default(LevelFilter::INFO);
    let wrong = filter.as_ref().err().map(ToString::to_string);
    tracing_subscriber::registry()
        .with(filter.unwrap_or_else(|_| default()))
        .with(lines)
        .init();
    if let Some(reason) = wrong {
        warn!(
            KRAFT_LOG = asked,
            reason, "not a filter; levels or target=level pairs are"
        );
    }
}

/// Kafka accepts such keys in silence. They are no fault, but a misspelt key is otherwise never found.
pub(crate) fn name_unused_keys(config: &ServerConfig) {
    if !config.unknown.is_empty() {
        warn!(
            keys = config.unknown.join(", "),
            "unknown keys in the configuration"
        );
    }
    if !config.without_effect.is_empty() {
        info!(
            keys = config.without_effect.join(", "),
            "keys without effect here"
        );
    }
}

fn serve(
    config: &ServerConfig,
    metrics_listen: Option<&str>,
    directories: &CheckedDirectories,
    lock: DirLock,
) -> Outcome {
    let identity = Identity {
        seed: u64::from_ne_bytes(random::bytes()?),
        incarnation_id: random::uuid()?,
    };
    let runtime = kraft_transport::node::runtime()?;
    let outcome = runtime.block_on(node::run(config, metrics_listen, directories, lock, identity));
    // A name server that does not answer must not keep the process from ending.
    runtime.shutdown_background();
    outcome.map(|()| ExitCode::SUCCESS)
}

/// A directory id that is already taken is made anew; more than a few of them never are.
const ID_ATTEMPTS: usize = 8;
