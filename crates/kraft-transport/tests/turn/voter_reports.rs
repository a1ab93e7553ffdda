//! Failures that others have met with voter sets: they do not happen here.

use crate::harness::*;
use bytes::Bytes;
use kraft_core::{
    ControlRecord, Endpoint, Endpoints, Epoch, Event, NodeId, PeerRequest, ReplicaKey, RequestFault,
    SupportedVersions, VoterNode, VoterSet,
};
use kraft_fs::MemFs;
use kraft_snapshot::control::to_wire;
use kraft_transport::{
    Command, OutboundRequest, PeerApi, PeerResponse,
    codec::{Topic, encode_request},
};
use kraft_wire::{Message, control::control_batch, message as m};
use tokio::sync::oneshot::{self, error::TryRecvError};
use uuid::Uuid;

const CLUSTER: &str = "AAAAAAAAAAAAAAAAAAAAAA";
const LEVELS: SupportedVersions = SupportedVersions { min: 0, max: 1 };

fn key(id: i32) -> ReplicaKey {
    ReplicaKey::new(NodeId(id), Uuid::from_u128(id as u128))
}

fn endpoints(port: u16) -> Endpoints {
    let host = "127.0.0.1".into();
    Endpoints::single("CONTROLLER", Endpoint { host, port })
}

fn voters(ids: &[i32]) -> VoterSet {
    let voter = |id: &i32| VoterNode {
        key: key(*id),
        endpoints: endpoints(9000 + *id as u16),
        kraft_versions: LEVELS,
    };
    ids.iter().map(voter).collect()
}

fn control(records: &[ControlRecord], base: i64) -> Bytes {
    let records: Vec<_> = records.iter().map(to_wire).collect();
    control_batch(&records, base, 1, 1_700_000_000_000).expect("encoded")
}

fn ask(node: &mut Node, request: &PeerRequest) -> oneshot::Receiver<Bytes> {
    let api = PeerApi::of(request);
    let body = encode_request(&Topic::default(), request, *api.versions().end());
    let (command, answer) = inbound(api, body.expect("the newest version carries it"));
    node.turn([command]);
    answer
}

/// A lone voter at kraft.version 1, with node 2 as an observer that has everything.
fn leader() -> Node {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.engine.network_mut().takes = true;
    node.lead();
    node.turn([crate::turns::raise_kraft_version().0]);
    node.flush();
    assert_eq!(node.engine.replica().kraft_version(), 1);
    let _answer = node.fetched_by(2);
    node
}

/// Asks to add node 2, which tells its levels.
fn add(node: &mut Node, ack_when_committed: bool) -> oneshot::Receiver<Bytes> {
    let answer = add_with(node, ack_when_committed, LEVELS);
    assert_eq!(node.engine.replica().voters().len(), 2, "the record is written");
    answer
}

/// Asks to add node 2, which tells these levels.
fn add_with(
    node: &mut Node,
    ack_when_committed: bool,
    levels: SupportedVersions,
) -> oneshot::Receiver<Bytes> {
    let answer = ask(
        node,
        &PeerRequest::AddRaftVoter {
            cluster_id: CLUSTER.into(),
            timeout_ms: 10_000,
            voter: key(2),
            endpoints: endpoints(9002),
            ack_when_committed,
        },
    );
    let request = node.asked(|body| matches!(body, PeerRequest::ApiVersions));
    let feature = m::ApiVersionsResponseSupportedFeature {
        name: "kraft.version".to_owned(),
        min_version: levels.min,
        max_version: levels.max,
        ..Default::default()
    };
    let version = *PeerApi::ApiVersions.versions().end();
    let body = m::ApiVersionsResponse {
        supported_features: vec![feature],
        ..Default::default()
    };
    let response = PeerResponse {
        request,
        from: key(2),
        version,
        body: body.to_bytes(version).expect("encoded"),
    };
    node.turn([Command::ApiVersionsResponse(response)]);
    answer
}

fn added(mut answer: oneshot::Receiver<Bytes>) -> Option<i16> {
    let body = answer.try_recv().ok()?;
    let version = *PeerApi::AddRaftVoter.versions().end();
    Some(
        m::AddRaftVoterResponse::from_bytes(&body, version)
            .expect("decoded")
            .error_code,
    )
}

/// Every JVM that reads such a voter ends.
#[test]
fn who_tells_levels_that_are_no_range_does_not_become_a_voter() {
    let mut node = leader();
    let answer = add_with(&mut node, false, SupportedVersions { min: -1, max: 1 });
    assert_eq!(added(answer), Some(42), "INVALID_REQUEST");
    assert_eq!(node.engine.replica().voters().len(), 1);
}

#[test]
fn field_h29_who_does_not_want_to_wait_for_the_commit_is_answered_before() {
    let mut node = leader();
    assert_eq!(
        added(add(&mut node, false)),
        Some(0),
        "its own fetches are what the commit waits for"
    );

    let mut node = leader();
    let mut answer = add(&mut node, true);
    node.flush();
    assert_eq!(
        answer.try_recv(),
        Err(TryRecvError::Empty),
        "a majority of two is both"
    );
    let _fetch = node.fetched_by(2);
    assert_eq!(added(answer), Some(0));
}

/// The published 4.4.0 stores what a voter tells without looking whether it is reached there, and so do we.
#[test]
fn field_h30_what_a_voter_tells_of_itself_is_stored_unseen() {
    let mut node = leader();
    let _answer = add(&mut node, true);
    node.flush();
    let _fetch = node.fetched_by(2);
    node.engine.network_mut().asked.clear();
    let mut answer = ask(
        &mut node,
        &PeerRequest::UpdateRaftVoter {
            cluster_id: CLUSTER.into(),
            epoch: Epoch(1),
            voter: key(2),
            endpoints: endpoints(9999),
            kraft_versions: LEVELS,
        },
    );
    node.flush();
    let _fetch = node.fetched_by(2);
    let probed = |request: &OutboundRequest| matches!(request.body, PeerRequest::ApiVersions);
    assert!(!node.engine.network_mut().asked.iter().any(probed));
    let body = answer.try_recv().expect("answered");
    assert_eq!(
        m::UpdateRaftVoterResponse::from_bytes(&body, 0)
            .expect("decoded")
            .error_code,
        0
    );
    let voters = node.engine.replica().voters();
    assert_eq!(voters.endpoints(NodeId(2)), endpoints(9999));
}

#[test]
fn field_h31_a_log_in_which_several_voters_change_at_once_is_read() {
    let fs = MemFs::new();
    let mut node = follower(&fs);
    let first = control(
        &[
            ControlRecord::KRaftVersion(1),
            ControlRecord::Voters(voters(&[2, 3, 4])),
        ],
        0,
    );
    let second = control(&[ControlRecord::Voters(voters(&[1, 2, 5, 6]))], 2);
    node.fetched([&first[..], &second].concat(), 3);
    assert_eq!(node.engine.replica().voters(), &voters(&[1, 2, 5, 6]));
    assert_eq!(node.engine.replica().voters_at(1), Some(&voters(&[2, 3, 4])));
    drop(node);
    let node = Node::open(&fs, &[(1, 9001), (2, 9002)]);
    assert_eq!(node.engine.replica().voters(), &voters(&[1, 2, 5, 6]));
}

/// An observer of a quorum at kraft.version 1 that node 2 is.
fn observer(auto_join: bool) -> Node {
    let mut node = Node::open_with(&MemFs::new(), &[(2, 9002)], |config| {
        config.core.auto_join = auto_join
    });
    node.engine.network_mut().takes = true;
    node.turn([]);
    node.flush();
    let records = [
        ControlRecord::KRaftVersion(1),
        ControlRecord::Voters(voters(&[2])),
    ];
    // The first answer says who leads, and is for nothing else.
    node.fetched(Vec::new(), 0);
    node.fetched(control(&records, 0).to_vec(), 2);
    assert_eq!(node.engine.replica().kraft_version(), 1);
    assert_eq!(node.watched(), (Some(NodeId(2)), Epoch(1)));
    node
}

#[test]
fn field_h28_a_node_that_is_no_voter_joins_by_itself_only_when_it_is_told_to() {
    // The leader answers every Fetch with nothing new, for several of the periods after which a replica tells of itself.
    let joins = |mut node: Node| {
        while node.now_ms < 10_000 {
            let asked = &node.engine.network_mut().asked;
            let wanted = |what: fn(&PeerRequest) -> bool| asked.iter().any(|request| what(&request.body));
            if wanted(|body| matches!(body, PeerRequest::AddRaftVoter { .. })) {
                return true;
            }
            if wanted(|body| matches!(body, PeerRequest::Fetch { .. })) {
                node.fetched(Vec::new(), 2);
            }
            node.now_ms += 100;
            node.turn([]);
            node.flush();
        }
        false
    };
    assert!(!joins(observer(false)), "and this is the default");
    assert!(joins(observer(true)));
    let own = ReplicaKey::without_directory(NodeId(1));
    assert!(!kraft_core::Config::new(own, CLUSTER, 1).auto_join);
}

#[test]
fn field_h25_an_observer_that_loses_its_leader_looks_around_and_comes_back_to_the_next() {
    let mut node = Node::open(&MemFs::new(), &[(2, 9002), (3, 9003)]);
    node.engine.network_mut().takes = true;
    node.turn([]);
    node.flush();
    node.fetched(Vec::new(), 0);
    assert_eq!(node.watched(), (Some(NodeId(2)), Epoch(1)));
    let fetch = |node: &mut Node| {
        for _ in 0..2000 {
            let asked = std::mem::take(&mut node.engine.network_mut().asked);
            let fetch = |request: &OutboundRequest| matches!(request.body, PeerRequest::Fetch { .. });
            if let Some(found) = asked.into_iter().rfind(fetch) {
                return (found.request, found.endpoint.port);
            }
            node.now_ms += 1;
            node.turn([]);
        }
        panic!("nobody is asked");
    };
    // Node 2 is gone. Not only it is asked from now on.
    let mut asked = std::collections::BTreeSet::new();
    let (mut request, port) = fetch(&mut node);
    assert_eq!(port, 9002, "the leader, as long as it answers");
    for _ in 0..40 {
        let fault = RequestFault::Disconnected;
        node.turn([Command::Event(Event::RequestFailed { request, fault })]);
        let (next, port) = fetch(&mut node);
        (request, _) = (next, asked.insert(port));
        if port == 9003 {
            break;
        }
    }
    assert!(asked.contains(&9003), "{asked:?}");
    // Node 3 leads by now, and says so.
    let mut partition = m::FetchResponsePartition {
        error_code: 0,
        high_watermark: 0,
        ..Default::default()
    };
    partition.current_leader.leader_id = 3;
    partition.current_leader.leader_epoch = 2;
    partition.records = Some(Bytes::new());
    let body = m::FetchResponse {
        responses: vec![m::FetchResponseTopic {
            topic_id: Topic::default().id,
            partitions: vec![partition],
            ..Default::default()
        }],
        node_endpoints: vec![listening(3, 9003)],
        ..Default::default()
    };
    let body = body.to_bytes(17).expect("encoded");
    node.turn([Command::FetchResponse(from_leader(request, 17, body))]);
    node.flush();
    assert_eq!(node.watched(), (Some(NodeId(3)), Epoch(2)));
    assert_eq!(fetch(&mut node).1, 9003);
}
