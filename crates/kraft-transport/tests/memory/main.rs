//! Quorums in the memory of one process, and what an embedder may bring of its own.

#[path = "../common/mod.rs"]
mod common;
mod founding;

use bytes::Bytes;
use common::{Words, config};
use kraft_core::{NodeId, RoleName};
use kraft_fs::MemFs;
use kraft_transport::{
    Handle, NodeConfig, NodeError, RaftError, RequestRefused,
    memory::{MemoryNetwork, MemoryQuorum},
    node,
};
use kraft_wire::{ApiKey, Message, message as m};
use std::time::Duration;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(120);

/// Does something with whoever leads until it is done, and gives that node. On a busy machine a leader may lead no more by the
/// time that it is asked.
async fn with_leader<T>(
    quorum: &MemoryQuorum<Words>,
    ask: impl AsyncFn(&Handle<Words>) -> Result<T, RaftError>,
) -> (Handle<Words>, T) {
    let done = async {
        loop {
            let leader = quorum.leader().await;
            if let Ok(done) = ask(&leader).await {
                return (leader, done);
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, done).await.expect("some leader does it")
}

async fn commit(quorum: &MemoryQuorum<Words>, word: &str) -> Handle<Words> {
    let submit = async |leader: &Handle<Words>| leader.submit(vec![word.to_owned()], None).await;
    with_leader(quorum, submit).await.0
}

#[test]
fn a_quorum_in_memory_survives_the_loss_of_its_leader() {
    let runtime = node::runtime().expect("a runtime");
    runtime.block_on(async {
        let mut quorum = MemoryQuorum::start(3, Words::default).await.expect("started");
        let first = commit(&quorum, "kept").await;
        quorum.halt(first.node_id()).await.expect("halted");
        assert_eq!(quorum.nodes().count(), 2);
        let next = timeout(PATIENCE, quorum.leader()).await.expect("a leader");
        assert_ne!(next.node_id(), first.node_id());
        assert!(next.image().contains(&"kept".to_owned()));
        quorum.restart(first.node_id()).await.expect("restarted");
        let back = quorum.node(first.node_id()).expect("it runs");
        let mut image = back.watch_image();
        let kept = image.wait_for(|words| words.contains(&"kept".to_owned()));
        timeout(PATIENCE, kept).await.expect("in time").expect("it runs");
    });
}

/// It used to be appended, and the leader ended by it: no log may hold such a record.
#[test]
fn a_record_without_bytes_is_refused_and_harms_nobody() {
    let runtime = node::runtime().expect("a runtime");
    runtime.block_on(async {
        let quorum = MemoryQuorum::start(1, Words::default).await.expect("started");
        let leader = timeout(PATIENCE, quorum.leader()).await.expect("a leader");
        for words in [vec![String::new()], vec!["one".to_owned(), String::new()]] {
            let refused = timeout(PATIENCE, leader.submit(words, None)).await;
            let refused = refused.expect("in time").expect_err("it is refused");
            assert!(matches!(refused, RaftError::Empty), "{refused}");
        }
        let taken = timeout(PATIENCE, leader.submit(vec!["two".to_owned()], None)).await;
        taken.expect("in time").expect("it still leads");
        assert!(leader.image().contains(&"two".to_owned()));
        assert!(!leader.image().contains(&"one".to_owned()));
    });
}

#[test]
fn a_barrier_is_passed_with_a_majority_and_not_without() {
    let runtime = node::runtime().expect("a runtime");
    runtime.block_on(async {
        let mut quorum = MemoryQuorum::start(3, Words::default).await.expect("started");
        commit(&quorum, "told").await;
        let (leader, _) = with_leader(&quorum, async |leader| leader.read_barrier().await).await;
        assert!(leader.image().contains(&"told".to_owned()));
        let others: Vec<_> = quorum.nodes().map(|node| node.node_id()).collect();
        for id in others.into_iter().filter(|id| *id != leader.node_id()) {
            quorum.halt(id).await.expect("halted");
        }
        let refused = timeout(PATIENCE, leader.read_barrier())
            .await
            .expect("it gives up");
        assert!(matches!(refused, Err(RaftError::NotLeader { .. })), "{refused:?}");
    });
}

#[test]
fn a_leader_that_resigns_is_followed_by_another_one_or_itself() {
    let runtime = node::runtime().expect("a runtime");
    runtime.block_on(async {
        let quorum = MemoryQuorum::start(3, Words::default).await.expect("started");
        let (first, epoch) = with_leader(&quorum, async |leader| leader.resign().await).await;
        // Others may have been quick, and this node may have been elected again.
        let state = first.state();
        assert!(state.epoch > epoch || !state.leading, "{state:?}");
        let mut state = first.watch();
        let next = state.wait_for(|state| state.epoch > epoch && state.leader.is_some());
        timeout(PATIENCE, next).await.expect("in time").expect("it runs");
        // Whoever follows has nothing to give up. On a busy machine it may lead by the time that it is asked.
        let refused = async {
            loop {
                for node in quorum
                    .nodes()
                    .filter(|node| node.state().role == RoleName::Follower)
                {
                    if let Err(refused) = node.resign().await {
                        return refused;
                    }
                }
                tokio::task::yield_now().await;
            }
        };
        let refused = timeout(PATIENCE, refused).await.expect("there are followers");
        assert!(matches!(refused, RaftError::NotLeader { .. }), "{refused:?}");
    });
}

#[test]
fn an_embedder_brings_requests_of_its_own_listener() {
    let runtime = node::runtime().expect("a runtime");
    runtime.block_on(async {
        let network = MemoryNetwork::default();
        let settings = config(1, &[(1, 9001)]);
        let own = settings.listeners.of("CONTROLLER").cloned();
        let config = NodeConfig::new(settings, MemFs::new(), "/data/__cluster_metadata-0");
        let started =
            node::start_with_network(config, Words::default(), |commands| network.port(own, commands));
        let node = started.await.expect("started");
        let leading = node.watch().wait_for(|state| state.leading).await.map(drop);
        leading.expect("it runs");
        assert_eq!(node.local_addr(), None, "nothing is bound");

        let request = m::DescribeQuorumRequest {
            topics: vec![m::DescribeQuorumRequestTopic {
                topic_name: "__cluster_metadata".to_owned(),
                partitions: vec![Default::default()],
                ..Default::default()
            }],
            ..Default::default()
        };
        let body = request.to_bytes(2).expect("encoded");
        let key = ApiKey::DescribeQuorum.key();
        let answer = node
            .inbound("CONTROLLER", key, 2, body.clone())
            .await
            .expect("answered");
        let answer = m::DescribeQuorumResponse::from_bytes(&answer, 2).expect("decoded");
        assert_eq!(answer.topics[0].partitions[0].leader_id, 1);

        let request = m::MetadataFetchRequest {
            max_size: 1 << 20,
            ..Default::default()
        };
        let (key, body_1004) = (ApiKey::MetadataFetch.key(), request.to_bytes(0).expect("encoded"));
        let answer = node
            .inbound("CONTROLLER", key, 0, body_1004)
            .await
            .expect("answered");
        let answer = m::MetadataFetchResponse::from_bytes(&answer, 0).expect("decoded");
        assert!(!answer.records.is_empty());

        let refused = node.inbound("CONTROLLER", 55, 99, body).await;
        let not_served = RequestRefused::NotServed { key: 55, version: 99 };
        assert_eq!(refused.expect_err("refused").to_string(), not_served.to_string());
        let refused = node
            .inbound("CONTROLLER", 55, 2, Bytes::from_static(&[0xff]))
            .await;
        assert!(matches!(
            refused,
            Err(RequestRefused::Body { key: 55, version: 2 })
        ));

        node.shutdown().await.expect("a graceful end");
        let refused = node.inbound("CONTROLLER", 18, 0, Bytes::new()).await;
        assert!(matches!(refused, Err(RequestRefused::Stopped)), "{refused:?}");
    });
}

#[test]
fn a_directory_of_a_voter_belongs_to_it_from_its_first_start_on() {
    let fs = MemFs::new();
    let voters = [(1, "127.0.0.1:9001"), (2, "127.0.0.1:9002")];
    let voter = |cluster: &str, id| NodeConfig::voter_on(fs.clone(), cluster, id, &voters, "/data");
    let first = voter("a-cluster", 1).expect("a new directory");
    assert_eq!(first.engine.core.local.id, NodeId(1));
    assert_eq!(first.engine.core.static_voters.len(), 2);
    let again = voter("a-cluster", 1).expect("its own directory");
    assert_eq!(first.engine.core.local, again.engine.core.local);
    for (cluster, id) in [("another", 1), ("a-cluster", 2)] {
        let refused = voter(cluster, id).expect_err("not its own");
        let expected =
            format!("storage: /data belongs to node 1 of cluster a-cluster, not to node {id} of {cluster}");
        assert_eq!(refused.to_string(), expected);
    }
    let refused = voter("a-cluster", 3).expect_err("not listed");
    assert!(matches!(refused, NodeError::Config { .. }), "{refused:?}");
    let refused = NodeConfig::voter_on(MemFs::new(), "a-cluster", 1, &[(1, "nowhere")], "/data");
    assert_eq!(
        refused.expect_err("no address").to_string(),
        "nowhere of voter 1 is not HOST:PORT"
    );
}
