//! The node of a running program: from configuration to handle, its first line, its registration, its end.

use std::error::Error;
use std::io::Write;
use std::time::Duration;

use kraft_core::{Endpoints, SnapshotId, StateMachine};
use kraft_fs::{DirLock, RealFs};
use kraft_log::directory_check::CheckedDirectories;
use kraft_log::{LogOptions, METADATA_PARTITION_DIR, Retention};
use kraft_metadata::{MetadataMachine, MetadataSettings};
use kraft_transport::engine::EngineConfig;
use kraft_transport::node::{self, Handle, NodeConfig};
use kraft_transport::properties::{ServerConfig, local_host_name};
use tokio::sync::watch;
use tracing::{info, warn};
use uuid::Uuid;

use super::bootstrap;
use super::listeners::listeners;
use super::monitor::{self, Monitor};
use super::registrar::Registrar;
use crate::out::Out;
use crate::signals::Endings;

/// What is drawn anew for each process.
pub(super) struct Identity {
    pub(super) seed: u64,
    pub(super) incarnation_id: Uuid,
}

/// Runs until a signal says stop or the node ends by itself.
pub(super) async fn run(
    config: &ServerConfig,
    metrics_listen: Option<&str>,
    directories: &CheckedDirectories,
    lock: DirLock,
    identity: Identity,
) -> Result<(), Box<dyn Error>> {
    // Before the node starts, so that a signal in between is not the end of the process.
    let mut endings = Endings::take_over()?;
    let machine = machine(config)?;
    let node_config = node_config(config, directories, lock, identity.seed)?;
    let (opened, node) = watch::channel(None);
    if let Some(address) = metrics_listen {
        monitor(address, node).await?;
    }
    // Opening the log may take a while. It can be cut short at any point, as by a crash.
    let handle = tokio::select! {
        started = node::start(node_config, machine) => started?,
        _ = endings.next() => return Ok(()),
    };
    opened.send_replace(Some(handle.clone()));
    if let Err(error) = say_ready(config, &handle) {
        // The node is ready all the same, and others may count on it.
        warn!(%error, "the line that says that the node is ready cannot be written");
    }
    let endpoints = advertised(config, &handle);
    let registrar = tokio::spawn(Registrar::new(&handle, &endpoints, identity.incarnation_id).run());
    let outcome = tokio::select! {
        signal = endings.next() => stop(&handle, signal).await,
        ended = handle.ended() => ended.map_err(Into::into),
    };
    registrar.abort();
    outcome
}

/// Tells how the node is from before its log is open until the process ends.
async fn monitor(address: &str, node: monitor::Node) -> Result<(), Box<dyn Error>> {
    let bound = async {
        let monitor = Monitor::bind(address).await?;
        Ok::<_, std::io::Error>((monitor.local_addr()?, monitor))
    };
    let bound = bound.await;
    let (bound_to, monitor) = bound.map_err(|error| format!("--metrics-listen {address}: {error}"))?;
    info!(address = %bound_to, "/metrics, /ready and /live are served");
    tokio::spawn(monitor.serve(node));
    Ok(())
}

/// The machine of an empty log, with the records that a cluster starts with where the zero checkpoint has none.
fn machine(config: &ServerConfig) -> Result<MetadataMachine, Box<dyn Error>> {
    let mut machine = MetadataMachine::new(MetadataSettings {
        min_insync_replicas: config.min_insync_replicas,
        max_idle_interval: config.metadata_log.max_idle_interval,
    });
    let values = bootstrap::values(&config.metadata_log_dir)?;
    machine.load(SnapshotId::BOOTSTRAP, 0, &mut values.iter().map(Vec::as_slice))?;
    Ok(machine)
}

async fn stop(handle: &Handle<MetadataMachine>, why: &str) -> Result<(), Box<dyn Error>> {
    info!("stopping because of {why}");
    Ok(handle.shutdown().await?)
}

/// Whoever started this process waits for this line, which is the first one on stdout.
fn say_ready(config: &ServerConfig, handle: &Handle<MetadataMachine>) -> std::io::Result<()> {
    let (name, address) = handle.local_addrs().first().expect("a controller has a listener");
    let mut out = Out::report();
    writeln!(
        out,
        "ready node.id={} listener={name}://{address}",
        config.node_id
    )?;
    out.flush()
}

fn node_config(
    config: &ServerConfig,
    directories: &CheckedDirectories,
    lock: DirLock,
    seed: u64,
) -> Result<NodeConfig<RealFs>, Box<dyn Error>> {
    let directory_id = directories
        .metadata_directory_id()
        .expect("missing ids have been given");
    // A port 0 is replaced once it is bound.
    let endpoints = config.advertised_endpoints(&local_host_name(), |_| None);
    let mut core = config.core_config(directories.cluster_id().to_owned(), directory_id, endpoints, seed);
    core.shutdown_timeout = HAND_OVER_WITHIN;
    let mut engine = EngineConfig::new(core);
    engine.append_linger = config.quorum.append_linger;
    engine.snapshot_max_new_bytes = config.metadata_log.snapshot_max_new_bytes;
    engine.snapshot_max_interval = config.metadata_log.snapshot_max_interval;
    Ok(NodeConfig {
        engine,
        fs: RealFs,
        log_dir: config.metadata_log_dir.join(METADATA_PARTITION_DIR),
        log: log_options(config),
        locks: vec![lock],
        on_fault: None,
        listeners: listeners(config)?,
    })
}

/// The settings of the metadata log.
pub(crate) fn log_options(config: &ServerConfig) -> LogOptions {
    LogOptions {
        segment_bytes: u64::from(config.metadata_log.segment_bytes.unsigned_abs()),
        segment_age_ms: millis(config.metadata_log.segment_age),
        retention: Retention {
            bytes: config.metadata_log.retention_bytes,
            age_ms: config.metadata_log.retention_age.map(millis),
        },
        delete_delay_ms: millis(config.metadata_log.delete_delay),
        ..LogOptions::default()
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

fn advertised(config: &ServerConfig, handle: &Handle<MetadataMachine>) -> Endpoints {
    let bound = |name: &str| {
        let listener = handle.local_addrs().iter().find(|(bound, _)| bound == name);
        listener.map(|(_, address)| address.port())
    };
    config.advertised_endpoints(&local_host_name(), bound)
}

/// The process has to be gone five seconds after its signal, also where there is nobody to hand leadership to and a
/// disk takes its time.
pub(crate) const HAND_OVER_WITHIN: Duration = Duration::from_millis(2500);
