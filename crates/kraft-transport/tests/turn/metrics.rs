//! What a node measures: theme METRICS.

use crate::harness::*;
use bytes::Bytes;
use kraft_core::{
    Endpoint, Endpoints, Epoch, LogView, NodeId, PeerRequest, ReplicaKey, RoleName, SnapshotId,
    SupportedVersions, VoterNode, VoterSet,
};
use kraft_fs::{FileSystem, MemFs};
use kraft_snapshot::{SnapshotHeader, SnapshotWriter};
use kraft_transport::{
    Command, NotReady, OutboundRequest, PeerApi,
    codec::{Topic, encode_request},
    metrics::EngineMetrics,
};
use kraft_wire::{Message, message as m};
use std::path::Path;
use tokio::sync::oneshot;
use uuid::Uuid;

const VOTERS: [(i32, u16); 3] = [(1, 9001), (2, 9002), (3, 9003)];

impl Node {
    fn metrics(&mut self) -> EngineMetrics {
        let (reply, mut answer) = oneshot::channel();
        self.turn([Command::Metrics { reply }]);
        answer.try_recv().expect("told in the same turn")
    }
}

fn ask(node: &mut Node, request: &PeerRequest) -> oneshot::Receiver<Bytes> {
    let api = PeerApi::of(request);
    let body = encode_request(&Topic::default(), request, *api.versions().end());
    let (command, answer) = inbound(api, body.expect("the newest version carries it"));
    node.turn([command]);
    node.flush();
    answer
}

fn key(id: i32) -> ReplicaKey {
    // As the configuration of the tests names the directory.
    ReplicaKey::new(NodeId(id), Uuid::from_u128(1000 + id as u128))
}

fn endpoints(id: i32) -> Endpoints {
    let host = "127.0.0.1".into();
    let port = 9000 + id as u16;
    Endpoints::single("CONTROLLER", Endpoint { host, port })
}

/// A directory that was formatted with voters, at kraft.version 1.
fn formatted(ids: &[i32]) -> MemFs {
    let fs = MemFs::new();
    let voter = |id: &i32| VoterNode {
        key: key(*id),
        endpoints: endpoints(*id),
        kraft_versions: SupportedVersions { min: 0, max: 1 },
    };
    let header = SnapshotHeader {
        last_contained_log_timestamp: 0,
        kraft_version: 1,
        voters: Some(ids.iter().map(voter).collect::<VoterSet>()),
    };
    fs.create_dir_all(Path::new(LOG_DIR)).expect("created");
    let id = SnapshotId::BOOTSTRAP;
    let writer = SnapshotWriter::create(&fs, Path::new(LOG_DIR), id, &header, || 0).expect("created");
    writer.freeze().expect("frozen");
    fs
}

#[test]
fn metrics_001_a_lone_leader_has_all_of_them() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    let before = node.metrics();
    // The leader change, and the record with which this state machine begins.
    assert_eq!((before.high_watermark, before.log_end_offset), (2, 2));
    assert_eq!((before.log_end_epoch, before.epoch), (Epoch(1), Epoch(1)));
    for word in ["one", "two", "three"] {
        node.commit(word);
    }
    let after = node.metrics();
    assert_eq!(after.current_state, "leader");
    assert_eq!(
        (after.leader, after.vote, after.vote_directory_id),
        (Some(NodeId(1)), Some(NodeId(1)), Uuid::from_u128(1001))
    );
    assert_eq!((after.high_watermark, after.log_end_offset), (5, 5));
    assert_eq!((after.log_end_epoch, after.voters), (Epoch(1), 1));
    assert!(after.active);
    assert_eq!((after.last_applied_offset, after.last_committed_offset), (4, 4));
    assert_eq!(after.last_applied_timestamp_ms, time(node.now_ms).wall_ms);
    assert_eq!((after.last_applied_lag_ms, after.new_leaders), (0, 1));
    assert_eq!(
        (after.commit_latency_average, after.commit_latency_max),
        (2.0, 10.0)
    );
    assert_eq!(
        (after.election_latency_average, after.election_latency_max),
        (0.0, 0.0)
    );
    assert_eq!(
        (after.append_records_rate, after.fetch_records_rate),
        (5.0 / 30.01, 0.0)
    );
    assert_eq!(
        (after.disk.median, after.disk.p99, after.disk.max),
        (0.005, 10.24, 10.0)
    );
    let leading = after.leading.expect("it leads");
    assert_eq!((leading.observers, leading.changes_voters), (0, false));
    assert!(leading.voter_fetch_age_ms.is_empty());
}

#[test]
fn metrics_002_what_only_a_leader_has_comes_and_goes_with_its_leadership() {
    let mut node = Node::open(&formatted(&[1, 2]), &VOTERS[..2]);
    node.elected();
    let _fetch = node.fetched_as(key(2));
    let _fetch = node.fetched_as(key(3));
    node.flush();
    let mut added = ask(
        &mut node,
        &PeerRequest::AddRaftVoter {
            cluster_id: "AAAAAAAAAAAAAAAAAAAAAA".into(),
            timeout_ms: 10_000,
            voter: key(3),
            endpoints: endpoints(3),
            ack_when_committed: true,
        },
    );
    let pending = node.metrics();
    let leading = pending.leading.expect("it leads");
    assert_eq!(
        (pending.voters, leading.observers, leading.changes_voters),
        (2, 1, true)
    );

    let (reply, _ended) = oneshot::channel();
    node.turn([Command::Resign { reply }]);
    let body = added.try_recv().expect("answered");
    let answer = m::AddRaftVoterResponse::from_bytes(&body, 1).expect("decoded");
    assert_eq!(answer.error_code, 6, "NOT_LEADER_OR_FOLLOWER");
    let resigned = node.metrics();
    assert_eq!((resigned.voters, resigned.leading), (2, None));
    assert_eq!(resigned.current_state, "unattached");

    node.elected();
    let again = node.metrics();
    assert!(again.epoch > pending.epoch);
    let leading = again.leading.expect("it leads");
    assert_eq!(
        (again.voters, leading.observers, leading.changes_voters),
        (2, 0, false)
    );
}

/// State, leader, vote, directory of the vote, epoch, high watermark.
type QuorumState = (&'static str, i32, i32, u128, i32, i64);

fn quorum_state(node: &mut Node) -> QuorumState {
    let metrics = node.metrics();
    let id = |node: Option<NodeId>| node.unwrap_or(NodeId::NONE).0;
    (
        metrics.current_state,
        id(metrics.leader),
        id(metrics.vote),
        metrics.vote_directory_id.as_u128(),
        metrics.epoch.0,
        metrics.high_watermark,
    )
}

impl Node {
    fn fetched_as(&mut self, replica: ReplicaKey) -> oneshot::Receiver<Bytes> {
        let fetch = PeerRequest::Fetch {
            cluster_id: "AAAAAAAAAAAAAAAAAAAAAA".into(),
            replica,
            epoch: self.engine.replica().epoch(),
            log_end: self.engine.log().end(),
            high_watermark: -1,
            max_wait_ms: 0,
            max_bytes: 1 << 20,
        };
        ask(self, &fetch)
    }

    fn voted_for(&mut self, candidate: ReplicaKey, epoch: i32, pre_vote: bool) {
        let vote = PeerRequest::Vote {
            cluster_id: "AAAAAAAAAAAAAAAAAAAAAA".into(),
            voter: ReplicaKey::without_directory(NodeId(1)),
            candidate,
            epoch: Epoch(epoch),
            log_end: self.engine.log().end(),
            pre_vote,
        };
        drop(ask(self, &vote));
    }

    fn until(&mut self, role: RoleName) {
        self.run_until("the role", |node| node.engine.replica().role() == role);
        self.flush();
    }

    /// Node 2 gives its vote, or its pre-vote.
    fn granted_by_2(&mut self) {
        for _ in 0..1000 {
            let asked = std::mem::take(&mut self.engine.network_mut().asked);
            let of_2 = |request: &OutboundRequest| request.to.id == NodeId(2);
            if let Some(request) = asked.into_iter().rfind(of_2)
                && let PeerRequest::Vote { epoch, .. } = request.body
            {
                self.granted(request.request, epoch);
                return self.flush();
            }
            self.now_ms += 1;
            self.turn([]);
        }
        panic!("node 2 is not asked for its vote");
    }
}

#[test]
fn metrics_003_the_quorum_state_of_a_voter() {
    for version in [0, 1] {
        let fs = if version == 0 {
            MemFs::new()
        } else {
            formatted(&[1, 2, 3])
        };
        let of_2 = if version == 0 {
            ReplicaKey::without_directory(NodeId(2))
        } else {
            key(2)
        };
        let (own, other) = (1001, of_2.directory_or_nil().as_u128());
        let mut node = Node::open(&fs, &VOTERS);
        node.engine.network_mut().takes = true;
        let mut seen = Vec::new();
        let mut see = |node: &mut Node| seen.push(quorum_state(node));
        node.turn([]);
        node.voted_for(of_2, 1, true);
        see(&mut node);
        node.until(RoleName::Prospective);
        see(&mut node);
        node.voted_for(of_2, 1, false);
        see(&mut node);
        node.told_of_leader(1);
        see(&mut node);
        node.replicated(&["a", "b", "c", "d", "e"], 5);
        see(&mut node);
        node.until(RoleName::Prospective);
        see(&mut node);
        node.granted_by_2();
        see(&mut node);
        node.granted_by_2();
        see(&mut node);
        node.flush();
        let _fetch = node.fetched_as(of_2);
        see(&mut node);
        let committed = node.metrics().high_watermark;
        node.told_of_leader(3);
        see(&mut node);
        node.voted_for(of_2, 4, false);
        see(&mut node);
        assert_eq!(
            seen,
            [
                ("unattached", -1, -1, 0, 1, -1),
                ("prospective", -1, -1, 0, 1, -1),
                ("prospective-voted", -1, 2, other, 1, -1),
                ("follower", 2, 2, other, 1, -1),
                ("follower", 2, 2, other, 1, 5),
                ("prospective-voted", 2, 2, other, 1, 5),
                ("candidate", -1, 1, own, 2, 5),
                ("leader", 1, 1, own, 2, -1),
                ("leader", 1, 1, own, 2, committed),
                ("follower", 2, -1, 0, 3, committed),
                ("unattached-voted", -1, 2, other, 4, committed),
            ],
            "kraft.version {version}"
        );
        assert!(committed > 5);
    }
}

#[test]
fn metrics_004_the_log_end_is_that_of_the_last_append_of_this_process() {
    let fs = MemFs::new();
    let mut node = follower(&fs);
    assert_eq!(
        (node.metrics().log_end_offset, node.metrics().log_end_epoch),
        (0, Epoch(0))
    );
    node.replicated(&["a", "b", "c", "d", "e"], 5);
    assert_eq!(
        (node.metrics().log_end_offset, node.metrics().log_end_epoch),
        (5, Epoch(1))
    );
    drop(node);
    let mut node = follower(&fs);
    assert_eq!(node.end(), 5);
    assert_eq!(node.metrics().log_end_offset, 0, "nothing is appended yet");
}

#[test]
fn metrics_008_the_number_of_voters_and_what_only_a_leader_has() {
    let mut node = Node::open(&MemFs::new(), &VOTERS);
    let metrics = node.metrics();
    assert_eq!((metrics.voters, metrics.leading), (3, None));
    node.elected();
    let of = |node: &mut Node| {
        let leading = node.metrics().leading.expect("it leads");
        (leading.observers, leading.changes_voters)
    };
    assert_eq!(of(&mut node), (0, false));
    let _fetch = node.fetched_by(9);
    assert_eq!(of(&mut node), (1, false));
}

#[test]
fn latencies_are_those_of_the_clock_that_the_engine_is_told() {
    let mut node = Node::open(&MemFs::new(), &VOTERS);
    node.elected();
    let campaign = node.metrics();
    assert!(
        campaign.election_latency_max >= 10.0,
        "it took turns of 10 ms: {campaign:?}"
    );
    assert!(campaign.commit_latency_max.is_nan(), "nothing is committed");
    // It was written 10 ms ago.
    node.now_ms += 40;
    let _fetch = node.fetched_by(2);
    let committed = node.metrics();
    assert_eq!(
        committed.commit_latency_max, 50.0,
        "the leader change alone, one record"
    );
    assert_eq!(committed.commit_latency_average, 50.0);

    let (command, _answer) = submit("slow to become durable");
    node.turn([command]);
    node.now_ms += 250;
    node.flush();
    let metrics = node.metrics();
    assert_eq!(metrics.disk.max, 250.0);
    let ages = metrics.leading.expect("it leads").voter_fetch_age_ms;
    assert_eq!(ages, [(NodeId(2), 250), (NodeId(3), -1)].into());
}

#[test]
fn snapshots_and_callers_that_have_gone_are_counted() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    node.commit("one");
    node.now_ms += 700;
    let before = node.metrics();
    assert_eq!((before.snapshot_bytes, before.snapshot_age_ms), (0, node.now_ms));
    let (reply, mut written) = oneshot::channel();
    node.turn([Command::TriggerSnapshot { reply }]);
    node.flush();
    written.try_recv().expect("answered").expect("written");
    node.now_ms += 300;
    let (command, gone) = submit("nobody waits");
    drop(gone);
    node.turn([command]);
    let after = node.metrics();
    assert!(after.snapshot_bytes > 0);
    assert_eq!((after.snapshot_age_ms, after.operations_abandoned), (300, 1));
    assert_eq!(after.snapshots_loaded, 0);
}

#[test]
fn a_snapshot_that_is_loaded_is_counted_and_one_that_is_fetched_is_no_append() {
    let mut node = follower(&MemFs::new());
    let good = snapshot_file();
    node.offered();
    assert_eq!(node.engine.watch().borrow().not_ready, Some(NotReady::CatchingUp));
    node.served(good.len(), 0, good);
    node.flush();
    node.flush();
    let metrics = node.metrics();
    assert_eq!((metrics.snapshots_loaded, metrics.log_end_offset), (1, 0));
    assert_eq!(metrics.last_committed_offset, FETCHED.end_offset - 1);
}

/// Kafka once averaged samples instead of time, and showed brokers as followers.
#[test]
fn field_h37_metrics_say_what_is_so() {
    // Node 1 is no voter.
    let mut node = Node::open(&MemFs::new(), &[(2, 9002), (3, 9003)]);
    node.engine.network_mut().takes = true;
    node.turn([]);
    node.flush();
    assert_eq!(node.metrics().current_state, "unattached");
    node.answered_without_flush(Vec::new(), 0);
    node.flush();
    let observer = node.metrics();
    assert_eq!((observer.current_state, observer.voters), ("observer", 2));
    assert_eq!(observer.leading, None);
    assert!(!observer.ignores_static_voters);

    // Voters are configured, and records in the log go before them.
    let mut node = Node::open(&formatted(&[1]), &[(1, 9001), (2, 9002)]);
    node.lead();
    let metrics = node.metrics();
    assert_eq!(metrics.voters, 1);
    assert!(metrics.ignores_static_voters);
}

#[test]
fn a_node_says_why_it_is_not_ready() {
    let why = |node: &Node| node.engine.watch().borrow().not_ready;
    let fs = MemFs::new();
    let mut node = Node::open(&fs, &[(1, 9001), (2, 9002)]);
    node.engine.network_mut().takes = true;
    node.turn([]);
    assert_eq!(why(&node), Some(NotReady::NoLeader));
    node.told_of_leader(1);
    assert_eq!(
        why(&node),
        Some(NotReady::CatchingUp),
        "nobody has told what is committed"
    );
    node.replicated(&["a", "b"], 5);
    assert_eq!(why(&node), Some(NotReady::CatchingUp), "2 of 5");
    node.replicated(&["c", "d", "e"], 5);
    assert_eq!(why(&node), None);
    node.replicated(&["f"], 7);
    assert_eq!(why(&node), None, "a little behind is everybody at every moment");
    node.until(RoleName::Prospective);
    assert_eq!(why(&node), Some(NotReady::NoLeader));
    node.elected();
    assert_eq!(
        why(&node),
        Some(NotReady::Activating),
        "nothing of the epoch is committed"
    );
    let _fetch = node.fetched_by(2);
    assert_eq!(why(&node), None);
    let (command, _answer) = submit("on a silent disk");
    node.turn([command]);
    node.now_ms += 1000;
    node.turn([]);
    assert_eq!(why(&node), Some(NotReady::DiskStalled));
    node.flush();
    let _fetch = node.fetched_by(2);
    node.turn([Command::Shutdown]);
    assert_eq!(why(&node), Some(NotReady::ShuttingDown));

    let mut node = Node::open(&fs, &[(1, 9001), (2, 9002)]);
    let reason = "torn".to_owned();
    assert!(node.turn_to_end([Command::StorageFailed { reason }]).is_some());
    assert_eq!(why(&node), Some(NotReady::Failed));
    let mut node = Node::open(&fs, &[(1, 9001), (2, 9002)]);
    assert!(node.turn_to_end([Command::Halt]).is_some());
    assert_eq!(why(&node), Some(NotReady::Ended));
}
