//! A disk that fails ends the node, with what was acknowledged intact.

mod common;

use common::{Words, config};
use kraft_fs::{Fault, FaultyFs, RealFs};
use kraft_log::LogOptions;
use kraft_transport::{EngineConfig, Handle, ListenerConfig, NodeConfig, NodeError, RaftError, node};
use std::{path::Path, time::Duration};
use tokio::{task::yield_now, time::timeout};

const PATIENCE: Duration = Duration::from_secs(120);

/// Starts a node and waits until it leads. One that has ended leaves it to a slow disk to close the log.
async fn start(fs: &FaultyFs<RealFs>, dir: &Path) -> Handle<Words> {
    let started = async {
        loop {
            match node::start(node_config(fs, dir), Words::default()).await {
                Err(NodeError::Storage { reason }) if reason.contains("locked") => yield_now().await,
                started => return started.expect("the node starts"),
            }
        }
    };
    let handle = timeout(PATIENCE, started).await.expect("the directory is free");
    let mut state = handle.watch();
    timeout(PATIENCE, state.wait_for(|state| state.leading))
        .await
        .expect("in time")
        .expect("it runs");
    handle
}

fn node_config(fs: &FaultyFs<RealFs>, dir: &Path) -> NodeConfig<FaultyFs<RealFs>> {
    NodeConfig {
        engine: EngineConfig::new(config(1, &[(1, 0)])),
        fs: fs.clone(),
        log_dir: dir.join("__cluster_metadata-0"),
        // Nobody but the log meets the fault.
        log: LogOptions {
            prepare_bytes: 0,
            ..LogOptions::default()
        },
        locks: Vec::new(),
        on_fault: None,
        listeners: vec![ListenerConfig {
            name: "CONTROLLER".to_owned(),
            host: "127.0.0.1".into(),
            port: 0,
            limits: Default::default(),
        }],
    }
}

#[test]
fn a_disk_that_fails_ends_the_node_and_keeps_what_was_acknowledged() {
    let runtime = node::runtime().expect("a runtime");
    runtime.block_on(async {
        let dir = tempfile::tempdir().expect("a directory");
        let fs = FaultyFs::new(RealFs);
        for (round, fault) in [Fault::Io, Fault::NoSpace].into_iter().enumerate() {
            let handle = start(&fs, dir.path()).await;
            let word = format!("acknowledged {round}");
            handle.submit(vec![word], None).await.expect("committed");
            fs.arm(0, fault);
            let lost = timeout(PATIENCE, handle.submit(vec!["lost".to_owned()], None))
                .await
                .expect("answered, one way or the other");
            assert!(
                matches!(
                    lost,
                    Err(RaftError::Stopped | RaftError::Unknown | RaftError::Lost)
                ),
                "{lost:?}"
            );
            let ended = timeout(PATIENCE, handle.ended()).await.expect("it ends");
            let Err(NodeError::Storage { reason }) = ended else {
                panic!("the disk failed, and the node says {ended:?}");
            };
            assert!(reason.contains("__cluster_metadata-0"), "{reason}");
        }
        let handle = start(&fs, dir.path()).await;
        let image = handle.image();
        for word in ["acknowledged 0", "acknowledged 1"] {
            assert!(image.iter().any(|found| found == word), "{word} in {image:?}");
        }
    });
}
