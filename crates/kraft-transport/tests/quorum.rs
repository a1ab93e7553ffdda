//! Three nodes in one process, over loopback, with real directories.

mod common;
#[path = "common/port.rs"]
mod port;

use common::{Words, config};
use kraft_core::NodeId;
use kraft_fs::RealFs;
use kraft_log::LogOptions;
use kraft_transport::{EngineConfig, Handle, ListenerConfig, NodeConfig, NodeError, node};
use port::HeldPort;
use std::{
    future::Future,
    path::Path,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio::time::timeout;

/// How long anything may take before the test gives up.
const PATIENCE: Duration = Duration::from_secs(120);

struct Quorum {
    ports: Vec<(i32, u16)>,
    _held: Vec<HeldPort>,
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
        let held: Vec<_> = (0..size).map(|_| HeldPort::find()).collect();
        Self {
            ports: (1..).zip(held.iter().map(HeldPort::number)).collect(),
            _held: held,
            dirs: (0..size)
                .map(|_| tempfile::tempdir().expect("a directory"))
                .collect(),
            nodes: (0..size).map(|_| None).collect(),
        }
    }

    async fn start_node(&mut self, id: i32) {
        let index = id as usize - 1;
        let handle = eventually("the directory is free", || async {
            let config = node_config(id, &self.ports, self.dirs[index].path());
            match node::start(config, Words::default()).await {
                // One that has ended leaves it to a slow disk to close the log.
                Err(NodeError::Storage { reason }) if reason.contains("locked") => None,
                started => Some(started.expect("the node starts")),
            }
        })
        .await;
        self.nodes[index] = Some(handle);
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

    /// Which it does because it is done: its time is not over within an hour.
    async fn ends_gracefully(&mut self, id: NodeId) {
        let node = self.nodes[id.0 as usize - 1].take().expect("it runs");
        let ended = timeout(PATIENCE, node.shutdown()).await;
        ended.expect("in time").expect("a graceful end");
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
    let mut core = config(id, ports);
    core.shutdown_timeout = Duration::from_secs(60 * 60);
    // Votes are on real disks before they are told: where each takes longer than these, nobody is ever elected.
    core.election_timeout = Duration::from_secs(1);
    core.election_backoff_max = Duration::from_secs(1);
    core.fetch_timeout = Duration::from_secs(2);
    NodeConfig {
        engine: EngineConfig::new(core),
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
        let status = eventually("the status of a leader", || async {
            let status = quorum.leader().await.status().await.expect("it runs");
            status.is_leader.then_some(status)
        })
        .await;
        assert_eq!(status.voters.len(), 3);
        eventually("everybody knows what is committed", || async {
            let mut nodes = quorum.running();
            nodes
                .all(|node| node.state().high_watermark.is_some())
                .then_some(())
        })
        .await;
    });
}

#[test]
fn nodes_that_are_stopped_one_after_the_other_end_because_they_are_done() {
    let runtime = node::runtime().expect("a runtime");
    runtime.block_on(async {
        let mut quorum = Quorum::start(3).await;
        for _ in 0..2 {
            // It hands over what it has, and the last one to nobody.
            let leader = quorum.leader().await.node_id();
            quorum.ends_gracefully(leader).await;
        }
        let last = quorum.running().next().expect("one is left").node_id();
        quorum.ends_gracefully(last).await;
    });
}

#[test]
fn shutdown_004_a_graceful_shutdown_ends_the_threads_and_hands_the_leadership_over() {
    let runtime = node::runtime().expect("a runtime");
    runtime.block_on(async {
        let mut quorum = Quorum::start(3).await;
        submit(&quorum, "kept").await;
        let first = quorum.leader().await.node_id();
        quorum.ends_gracefully(first).await;
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
        quorum.ends_gracefully(NodeId(3)).await;
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
        let request = m::DescribeQuorumRequest {
            topics: vec![m::DescribeQuorumRequestTopic {
                topic_name: "__cluster_metadata".to_owned(),
                partitions: vec![Default::default()],
                ..Default::default()
            }],
            ..Default::default()
        };
        let body = request.to_bytes(2).expect("encoded");
        // On a busy machine another one may lead by the time that it is asked.
        let answer = eventually("an answer of the leader", || async {
            let leader = quorum.leader().await.node_id();
            let mut nodes = quorum.running();
            let follower = nodes.find(|node| node.node_id() != leader);
            let answer = follower
                .expect("there are three")
                .send_to_leader(ApiKey::DescribeQuorum, 2, body.clone(), PATIENCE)
                .await
                .ok()?;
            let answer = m::DescribeQuorumResponse::from_bytes(&answer, 2).expect("decoded");
            let partition = &answer.topics[0].partitions[0];
            (partition.error_code == 0 && partition.leader_id == leader.0).then_some(answer)
        })
        .await;
        let partition = &answer.topics[0].partitions[0];
        assert_eq!(partition.current_voters.len(), 3);
        assert_eq!(answer.nodes.len(), 3);
    });
}
