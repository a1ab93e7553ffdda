//! A quorum whose voters change while it runs, as an embedder begins one and lets it grow.

use crate::{PATIENCE, common::Words};
use kraft_core::{NodeId, ReconfigOutcome};
use kraft_fs::{FileSystem, MemFs};
use kraft_transport::{
    Handle, NodeConfig, NodeError, VoterChange,
    memory::MemoryNetwork,
    node::{self, start_with_network},
};
use std::{path::Path, time::Duration};
use tokio::time::{sleep, timeout};

const CLUSTER: &str = "a-cluster";
const FOUNDER: &str = "node-1:9093";

fn founder(fs: &MemFs) -> Result<NodeConfig<MemFs>, NodeError> {
    NodeConfig::founder_on(fs.clone(), CLUSTER, 1, FOUNDER, "/data")
}

fn newcomer(fs: &MemFs, id: i32) -> NodeConfig<MemFs> {
    let address = format!("node-{id}:9093");
    NodeConfig::newcomer_on(fs.clone(), CLUSTER, id, &address, &[FOUNDER], "/data").expect("a new directory")
}

async fn start(network: &MemoryNetwork<Words>, mut config: NodeConfig<MemFs>) -> Handle<Words> {
    config.listeners.clear();
    let core = &mut config.engine.core;
    core.election_timeout = Duration::from_millis(200);
    // Leaders change because they go, and not because the machine is busy. Whoever joins by itself does so after that time.
    core.fetch_timeout = Duration::from_secs(if core.auto_join { 1 } else { 60 });
    let own = config.engine.core.listeners.of("CONTROLLER").cloned();
    let started = start_with_network(config, Words::default(), |commands| network.port(own, commands));
    started.await.expect("started")
}

async fn leads(node: &Handle<Words>) {
    let mut state = node.watch();
    let leading = timeout(PATIENCE, state.wait_for(|state| state.leading)).await;
    leading.expect("in time").expect("it runs");
}

async fn has(node: &Handle<Words>, word: &str) {
    let mut image = node.watch_image();
    let applied = image.wait_for(|words| words.iter().any(|known| known == word));
    timeout(PATIENCE, applied)
        .await
        .expect("in time")
        .expect("it runs");
}

async fn voters(leader: &Handle<Words>) -> Vec<i32> {
    let status = leader.status().await.expect("it runs");
    status.voters.iter().map(|voter| voter.key.id.0).collect()
}

#[test]
fn a_quorum_grows_from_its_founder_and_outlives_it() {
    let runtime = node::runtime().expect("a runtime");
    runtime.block_on(async {
        let network = MemoryNetwork::default();
        let disk = MemFs::new();
        let config = founder(&disk).expect("a new directory");
        let first_key = config.as_voter().key;
        let first = start(&network, config).await;
        leads(&first).await;
        first
            .submit(vec!["early".to_owned()], None)
            .await
            .expect("committed");
        first.snapshot().await.expect("written");

        // One is added as soon as it has what there is.
        let config = newcomer(&MemFs::new(), 2);
        let added = config.as_voter();
        let second = start(&network, config).await;
        has(&second, "early").await;
        let add = VoterChange::Add {
            voter: added,
            ack_when_committed: true,
        };
        let outcome = timeout(PATIENCE, first.reconfigure(add)).await.expect("in time");
        let outcome = outcome.expect("it has caught up");
        assert!(
            matches!(outcome, ReconfigOutcome::Committed { .. }),
            "{outcome:?}"
        );
        assert_eq!(voters(&first).await, [1, 2]);

        // One joins by itself.
        let mut config = newcomer(&MemFs::new(), 3);
        config.engine.core.auto_join = true;
        let third = start(&network, config).await;
        let joined = async {
            while voters(&first).await.len() < 3 {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, joined).await.expect("in time");

        // The founder goes, and later starts know the voters from the log.
        let remove = VoterChange::Remove { voter: first_key };
        let removed = timeout(PATIENCE, first.reconfigure(remove))
            .await
            .expect("in time");
        removed.expect("a majority of the others has it");
        first.shutdown().await.expect("an orderly end");
        let next = tokio::select! {
            () = leads(&second) => second,
            () = leads(&third) => third,
        };
        next.submit(vec!["late".to_owned()], None)
            .await
            .expect("committed");
        assert_eq!(voters(&next).await, [2, 3]);
        let mut config = founder(&disk).expect("its own directory");
        assert_eq!(config.as_voter().key, first_key);
        config.engine.core.bootstrap_servers = newcomer(&MemFs::new(), 2)
            .as_voter()
            .endpoints
            .of("CONTROLLER")
            .cloned()
            .into_iter()
            .collect();
        let back = start(&network, config).await;
        has(&back, "late").await;
        assert!(!back.state().leading);
    });
}

#[test]
fn a_founding_that_was_interrupted_is_done_again_and_a_lost_identity_is_not_replaced() {
    let runtime = node::runtime().expect("a runtime");
    runtime.block_on(async {
        let disk = MemFs::new();
        let first = founder(&disk).expect("a new directory").as_voter();
        let properties = Path::new("/data/meta.properties");
        disk.remove(properties).expect("it is there");
        let config = founder(&disk).expect("nothing was begun");
        assert_ne!(config.as_voter().key, first.key);
        let node = start(&MemoryNetwork::default(), config).await;
        leads(&node).await;
        node.shutdown().await.expect("an orderly end");

        disk.remove(properties).expect("it is there");
        let refused = founder(&disk).expect_err("it would be another voter");
        assert_eq!(
            refused.to_string(),
            "storage: /data: meta.properties is missing beside a log that has been used; restore it from a copy"
        );
    });
}

#[test]
fn what_is_no_address_of_a_voter_is_refused() {
    for (address, reason) in [
        ("nowhere", "nowhere is not HOST:PORT"),
        (
            "node-1:0",
            "node-1:0 has no port of its own: others find a voter by the one in the log",
        ),
    ] {
        let refused = NodeConfig::founder_on(MemFs::new(), CLUSTER, 1, address, "/data");
        assert_eq!(refused.expect_err("refused").to_string(), reason);
    }
    let refused = NodeConfig::newcomer_on(MemFs::new(), CLUSTER, 2, "node-2:9093", &["nowhere"], "/data");
    assert_eq!(
        refused.expect_err("refused").to_string(),
        "nowhere is not HOST:PORT"
    );
    assert_eq!(newcomer(&MemFs::new(), 2).as_voter().key.id, NodeId(2));
}
