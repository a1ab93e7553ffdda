//! The node: its configuration, its load, its lines and its end.

use std::error::Error;
use std::sync::Arc;

use kraft_fs::RealFs;
use kraft_log::LogOptions;
use kraft_transport::codec::Topic;
use kraft_transport::engine::EngineConfig;
use kraft_transport::node::{self, Handle, NodeConfig};
use kraft_transport::properties::{ServerConfig, local_host_name};
use tracing::info;
use uuid::Uuid;

use super::generator::Generator;
use super::load::Load;
use super::machine::Opaque;
use super::measured::Measured;
use crate::run;
use crate::signals::Endings;

/// What sort of node it is.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    /// Whether it writes snapshots.
    pub(super) snapshots: bool,
    /// Whether it never becomes a voter.
    pub(super) observer: bool,
}

/// Runs until a signal says stop or the node ends by itself.
pub(super) async fn run(
    config: &ServerConfig,
    directory_id: Uuid,
    load: Load,
    kind: Kind,
    seed: u64,
) -> Result<(), Box<dyn Error>> {
    // Before the node starts, so that a signal in between is not the end of the process.
    let mut endings = Endings::take_over()?;
    let node_config = node_config(config, directory_id, kind, seed)?;
    let handle = node::start(node_config, Opaque::new(kind.snapshots)).await?;
    for (name, address) in handle.local_addrs() {
        info!("listening on {name}://{address}");
    }
    let measured = Arc::new(Measured::new(load.record_bytes));
    Generator::new(&handle, load, Arc::clone(&measured)).start();
    let lines = tokio::spawn(print_lines(Arc::clone(&measured)));
    let outcome = tokio::select! {
        signal = endings.next() => stop(&handle, signal).await,
        ended = handle.ended() => ended.map_err(Into::into),
    };
    lines.abort();
    measured.print_total()?;
    outcome
}

async fn print_lines(measured: Arc<Measured>) {
    loop {
        tokio::time::sleep(Measured::WINDOW).await;
        // Nobody may read them any more, and the node goes on.
        let _ = measured.print_window();
    }
}

async fn stop(handle: &Handle<Opaque>, why: &str) -> Result<(), Box<dyn Error>> {
    info!("stopping because of {why}");
    Ok(handle.shutdown().await?)
}

fn node_config(
    config: &ServerConfig,
    directory_id: Uuid,
    kind: Kind,
    seed: u64,
) -> Result<NodeConfig<RealFs>, Box<dyn Error>> {
    let endpoints = config.advertised_endpoints(&local_host_name(), |_| None);
    let mut core = config.core_config(CLUSTER_ID.to_owned(), directory_id, endpoints, seed);
    core.can_become_voter = !kind.observer;
    core.shutdown_timeout = run::HAND_OVER_WITHIN;
    let mut engine = EngineConfig::new(core);
    engine.topic = Topic {
        name: TOPIC.into(),
        id: TOPIC_ID,
    };
    engine.append_linger = config.quorum.append_linger;
    if kind.snapshots {
        engine.snapshot_max_new_bytes = config.metadata_log.snapshot_max_new_bytes;
        engine.snapshot_max_interval = config.metadata_log.snapshot_max_interval;
    } else {
        engine.snapshot_max_new_bytes = u64::MAX;
        engine.snapshot_max_interval = None;
    }
    Ok(NodeConfig {
        engine,
        fs: RealFs,
        log_dir: config.metadata_log_dir.join(format!("{TOPIC}-0")),
        log: LogOptions {
            topic_id: TOPIC_ID,
            ..run::log_options(config)
        },
        // None of its own: the node locks the directory above the log, and makes both where they are missing.
        locks: Vec::new(),
        on_fault: None,
        listeners: run::listeners(config)?,
    })
}

// Those of Kafka's `TestRaftServer`.
const CLUSTER_ID: &str = "AAAAAAAAAAAAAAAAAAAAAA";
const TOPIC: &str = "__raft_performance_test";
const TOPIC_ID: Uuid = Uuid::from_u128(2);
