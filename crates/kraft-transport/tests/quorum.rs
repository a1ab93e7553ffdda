//! Three nodes in one process, over loopback, with real directories.

mod common;

use common::{Words, config};
use kraft_core::NodeId;
use kraft_fs::RealFs;
use kraft_log::LogOptions;
use kraft_transport::{EngineConfig, Handle, ListenerConfig, NodeConfig, NodeError, NodeState, node};
use std::{
    future::Future,
    net::TcpListener,
    path::Path,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// How long anything may take before the test gives up.
const PATIENCE: Duration = Duration::from_secs(30);

struct Quorum {
    ports: Vec<(i32, u16)>,
    dirs: Vec<TempDir>,
    nodes: Vec<Option<Handle<Words>>>,
}

impl Quorum {
    async fn start(size: i32) -> Self {
        let mut quorum = Self::prepare(size);
        for id in 1..=size {
            quorum.start_node(id).await;
        }
        quorum
    }

    /// Ports and directories, and nobody yet.
    fn prepare(size: i32) -> Self {
        // Bound all at once, so that the ports differ.
        let reserved: Vec<TcpListener> = (0..size)
            .map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port"))
            .collect();
        let ports = (1..)
            .zip(&reserved)
            .map(|(id, listener)| (id, listener.local_addr().expect("an address").port()))
            .collect();
        drop(reserved);
        Self {
            ports,
            dirs: (0..size)
                .map(|_| tempfile::tempdir().expect("a directory"))
                .collect(),
            nodes: (0..size).map(|_| None).collect(),
        }
    }

    async fn start_node(&mut self, id: i32) {
        let index = id as usize - 1;
        let config = node_config(id, &self.ports, self.dirs[index].path());
        let handle = node::start(config, Words::default()).await;
        self.nodes[index] = Some(handle.expect("the node starts"));
    }

    fn running(&self) -> impl Iterator<Item = &Handle<Words>> {
        self.nodes.iter().flatten()
    }

    /// The node that leads and takes changes, agreed upon by all that run.
    async fn leader(&self) -> Handle<Words> {
        eventually("a leader", || async {
            let leader = self.running().find(|node| node.state().leading)?;
            let id = Some(leader.node_id());
            let epoch = leader.state().epoch;
            self.running()
                .all(|node| node.state().leader == id && node.state().epoch == epoch)
                .then(|| leader.clone())
        })
        .await
    }

    async fn halt(&mut self, id: NodeId) {
        let node = self.nodes[id.0 as usize - 1].take().expect("it runs");
        node.halt().await.expect("halted");
    }

    async fn everywhere(&self, words: &[String]) {
        eventually("the words on every node", || async {
            self.running()
                .all(|node| {
                    let image = node.image();
                    words.iter().all(|word| image.contains(word))
                })
                .then_some(())
        })
        .await;
    }
}

fn node_config(id: i32, ports: &[(i32, u16)], dir: &Path) -> NodeConfig<RealFs> {
    let port = ports[id as usize - 1].1;
    NodeConfig {
        engine: EngineConfig::new(config(id, ports)),
        fs: RealFs,
        log_dir: dir.join("__cluster_metadata-0"),
        log: LogOptions::default(),
        locks: Vec::new(),
        on_fault: None,
        listeners: vec![ListenerConfig {
            name: "CONTROLLER".to_owned(),
            host: "127.0.0.1".into(),
            port,
            limits: Default::default(),
        }],
    }
}

/// Asks again until there is an answer.
async fn eventually<T, F: Future<Output = Option<T>>>(what: &str, ask: impl Fn() -> F) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = ask().await {
            return found;
        }
        assert!(Instant::now() < deadline, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Submits to whoever leads until it is acknowledged. An unknown outcome may leave the word in the log twice.
async fn submit(quorum: &Quorum, word: &str) {
    eventually("an acknowledged change", || async {
        let leader = quorum.leader().await;
        leader.submit(vec![word.to_owned()], None).await.ok()
    })
    .await;
}

#[test]
fn three_nodes_elect_commit_and_survive_their_leader() {
    let runtime = node::runtime().expect("a runtime");
    runtime.block_on(async {
        let mut quorum = Quorum::start(3).await;
        let mut words = Vec::new();
        for n in 0..20 {
            let word = format!("before {n}");
            submit(&quorum, &word).await;
            words.push(word);
        }
        quorum.everywhere(&words).await;

        let killed = quorum.leader().await.node_id();
        quorum.halt(killed).await;
        for n in 0..20 {
            let word = format!("after {n}");
            submit(&quorum, &word).await;
            words.push(word);
        }
        quorum.everywhere(&words).await;

        quorum.start_node(killed.0).await;
        quorum.everywhere(&words).await;
        let leader = quorum.leader().await;
        assert_ne!(leader.node_id(), killed);
        let status = leader.status().await.expect("it runs");
        assert!(status.is_leader);
        assert_eq!(status.voters.len(), 3);

        for node in quorum.running() {
            let NodeState { high_watermark, .. } = node.state();
            assert!(high_watermark.is_some());
        }
        for node in quorum.running() {
            node.shutdown().await.expect("a graceful end");
        }
    });
}

#[test]
fn shutdown_004_a_graceful_shutdown_ends_the_threads_and_hands_the_leadership_over() {
    let runtime = node::runtime().expect("a runtime");
    runtime.block_on(async {
        let mut quorum = Quorum::start(3).await;
        submit(&quorum, "kept").await;
        let first = quorum.leader().await;
        first.shutdown().await.expect("a graceful end");
        quorum.nodes[first.node_id().0 as usize - 1] = None;
        submit(&quorum, "and this").await;
        quorum
            .everywhere(&["kept".to_owned(), "and this".to_owned()])
            .await;
    });
}

#[test]
fn a_node_that_comes_late_starts_from_a_snapshot() {
    let runtime = node::runtime().expect("a runtime");
    runtime.block_on(async {
        let mut quorum = Quorum::prepare(3);
        quorum.start_node(1).await;
        quorum.start_node(2).await;
        let mut words = Vec::new();
        for n in 0..50 {
            let word = format!("word {n}");
            submit(&quorum, &word).await;
            words.push(word);
        }
        quorum.everywhere(&words).await;
        for node in quorum.running() {
            node.snapshot().await.expect("written");
        }
        submit(&quorum, "behind the snapshot").await;
        words.push("behind the snapshot".to_owned());
        quorum.start_node(3).await;
        quorum.everywhere(&words).await;
        let late = quorum.nodes[2].as_ref().expect("it runs");
        let status = late.status().await.expect("it runs");
        assert!(status.log_start_offset > 50, "the log starts at the snapshot");

        // Once more from its own directory.
        late.shutdown().await.expect("a graceful end");
        quorum.start_node(3).await;
        quorum.everywhere(&words).await;
    });
}

#[test]
fn a_directory_belongs_to_one_node_at_a_time() {
    let runtime = node::runtime().expect("a runtime");
    runtime.block_on(async {
        let quorum = Quorum::start(1).await;
        let config = node_config(1, &quorum.ports, quorum.dirs[0].path());
        let second = node::start(config, Words::default()).await;
        assert!(matches!(second.err(), Some(NodeError::Storage { .. })));
    });
}

#[test]
fn a_request_reaches_the_leader() {
    use kraft_wire::{ApiKey, Message, message as m};

    let runtime = node::runtime().expect("a runtime");
    runtime.block_on(async {
        let quorum = Quorum::start(3).await;
        let leader = quorum.leader().await;
        let follower = quorum
            .running()
            .find(|node| node.node_id() != leader.node_id())
            .expect("there are three");
        let request = m::DescribeQuorumRequest {
            topics: vec![m::DescribeQuorumRequestTopic {
                topic_name: "__cluster_metadata".to_owned(),
                partitions: vec![Default::default()],
                ..Default::default()
            }],
            ..Default::default()
        };
        let body = request.to_bytes(2).expect("encoded");
        let answer = follower
            .send_to_leader(ApiKey::DescribeQuorum, 2, body, Duration::from_secs(5))
            .await
            .expect("answered");
        let answer = m::DescribeQuorumResponse::from_bytes(&answer, 2).expect("decoded");
        let partition = &answer.topics[0].partitions[0];
        assert_eq!(partition.error_code, 0);
        assert_eq!(partition.leader_id, leader.node_id().0);
        assert_eq!(partition.current_voters.len(), 3);
        assert_eq!(answer.nodes.len(), 3);
    });
}
