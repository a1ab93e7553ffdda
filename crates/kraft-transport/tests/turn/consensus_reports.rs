//! Failures that others have met with elections, voters and peers: they do not happen here.

use crate::{common::Words, harness::*};
use bytes::Bytes;
use kraft_core::{
    Endpoint, Endpoints, Epoch, LogEnd, LogView, NodeId, PeerRequest, ReplicaKey, RequestFault, RequestId,
    RoleName, SnapshotId, SupportedVersions,
};
use kraft_fs::MemFs;
use kraft_transport::{
    Command, PeerApi, PeerResponse, RaftError,
    codec::{Topic, encode_request},
};
use kraft_wire::{Message, message as m};
use std::collections::BTreeSet;
use tokio::sync::oneshot::{self, error::TryRecvError};
use uuid::Uuid;

const CLUSTER: &str = "AAAAAAAAAAAAAAAAAAAAAA";

fn ask(node: &mut Node, request: &PeerRequest) -> oneshot::Receiver<Bytes> {
    let api = PeerApi::of(request);
    let body = encode_request(&Topic::default(), request, *api.versions().end());
    let (command, answer) = inbound(api, body.expect("the newest version carries it"));
    node.turn([command]);
    answer
}

fn fetch(node: &Node, log_end: LogEnd, high_watermark: i64) -> PeerRequest {
    PeerRequest::Fetch {
        cluster_id: CLUSTER.into(),
        replica: ReplicaKey::new(NodeId(9), Uuid::from_u128(9)),
        epoch: node.engine.replica().epoch(),
        log_end,
        high_watermark,
        max_wait_ms: 500,
        max_bytes: 1 << 20,
    }
}

fn fetched(mut answer: oneshot::Receiver<Bytes>) -> m::FetchResponsePartition {
    let body = answer.try_recv().expect("answered at once");
    let mut body = m::FetchResponse::from_bytes(&body, 18).expect("decoded");
    body.responses.remove(0).partitions.remove(0)
}

fn vote_of_3(node: &Node, epoch: i32, pre_vote: bool) -> PeerRequest {
    PeerRequest::Vote {
        cluster_id: CLUSTER.into(),
        voter: ReplicaKey::without_directory(NodeId(1)),
        candidate: ReplicaKey::new(NodeId(3), Uuid::from_u128(3)),
        epoch: Epoch(epoch),
        log_end: node.engine.log().end(),
        pre_vote,
    }
}

fn granted(mut answer: oneshot::Receiver<Bytes>) -> bool {
    let body = answer.try_recv().expect("answered");
    let body = m::VoteResponse::from_bytes(&body, 2).expect("decoded");
    body.topics[0].partitions[0].vote_granted
}

impl Node {
    fn take_asked(&mut self) -> Vec<PeerRequest> {
        let asked = std::mem::take(&mut self.engine.network_mut().asked);
        asked.into_iter().map(|request| request.body).collect()
    }
}

#[test]
fn field_h01_a_leader_that_restarts_needs_a_new_epoch_to_lead() {
    let fs = MemFs::new();
    let mut node = Node::open(&fs, &[(1, 9001)]);
    node.lead();
    let led = node.engine.replica().epoch();
    let (lost, _answer) = submit("never synced");
    node.turn([lost]);
    let after = fs.crash_image(kraft_fs::Unsynced::Lost);
    drop(node);

    let mut node = Node::open(&after, &[(1, 9001), (2, 9002)]);
    assert_eq!(node.engine.replica().role(), RoleName::Resigned);
    assert_eq!(node.engine.replica().epoch(), led);
    let end = node.end();
    let (command, mut refused) = submit("another record at the same offset");
    node.turn([command]);
    assert!(matches!(refused.try_recv(), Ok(Err(RaftError::NotLeader { .. }))));
    node.elected();
    assert!(node.engine.replica().epoch() > led);
    assert_eq!(node.engine.log().end().last_epoch, node.engine.replica().epoch());
    assert_eq!(
        node.engine.log().end_for_epoch(led).offset,
        end,
        "nothing was appended in the old epoch"
    );
}

#[test]
fn field_h16_a_fetch_that_diverges_or_needs_a_snapshot_is_never_parked() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    node.commit("one");
    let beyond = LogEnd {
        last_epoch: Epoch(1),
        last_offset: node.end() + 7,
    };
    let request = fetch(&node, beyond, -1);
    let answer = fetched(ask(&mut node, &request));
    assert_eq!(
        (answer.diverging_epoch.epoch, answer.diverging_epoch.end_offset),
        (1, node.end())
    );

    let (reply, _written) = oneshot::channel();
    node.turn([Command::TriggerSnapshot { reply }]);
    let empty = LogEnd {
        last_epoch: Epoch(0),
        last_offset: 0,
    };
    let request = fetch(&node, empty, -1);
    let answer = fetched(ask(&mut node, &request));
    assert_eq!(
        (answer.snapshot_id.epoch, answer.snapshot_id.end_offset),
        (1, node.end())
    );
}

#[test]
fn field_h19_a_fetch_that_waits_is_answered_when_the_high_watermark_moves() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    let known = node.engine.replica().high_watermark().expect("it leads");
    let (command, _answer) = submit("not durable yet");
    node.turn([command]);
    let request = fetch(&node, node.engine.log().end(), known);
    let mut waiting = ask(&mut node, &request);
    assert_eq!(waiting.try_recv(), Err(TryRecvError::Empty));
    node.flush();
    let answer = fetched(waiting);
    assert_eq!(answer.high_watermark, known + 1);
    assert_eq!(
        answer.records.as_deref(),
        Some(&b""[..]),
        "there is nothing else to say"
    );
}

#[test]
fn field_h23_a_node_that_is_cut_off_leaves_the_epoch_alone() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001), (2, 9002), (3, 9003)]);
    node.engine.network_mut().takes = false;
    node.told_of_leader(7);
    let mut campaigns = 0;
    for _ in 0..6000 {
        node.now_ms += 10;
        node.turn([]);
        node.flush();
        let asked = node.take_asked();
        campaigns += asked
            .iter()
            .filter(|body| matches!(body, PeerRequest::Vote { .. }))
            .count();
        assert!(
            asked
                .iter()
                .all(|body| !matches!(body, PeerRequest::Vote { pre_vote: false, .. }))
        );
    }
    assert!(campaigns > 10, "it asks again and again");
    assert_eq!(node.engine.replica().epoch(), Epoch(7));
    assert_eq!(node.engine.replica().election_state().voted, None);
}

#[test]
fn field_h23_who_hears_of_its_leader_grants_no_pre_vote() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001), (2, 9002), (3, 9003)]);
    node.engine.network_mut().takes = true;
    node.told_of_leader(1);
    let request = vote_of_3(&node, 1, true);
    assert!(
        granted(ask(&mut node, &request)),
        "it has not fetched from it yet"
    );
    node.replicated(&["one"], 1);
    let request = vote_of_3(&node, 1, true);
    assert!(!granted(ask(&mut node, &request)));
    assert_eq!(
        node.watched(),
        (Some(NodeId(2)), Epoch(1)),
        "nothing was stored of either"
    );

    let mut leader = Node::open(&MemFs::new(), &[(1, 9001), (2, 9002), (3, 9003)]);
    leader.elected();
    let request = vote_of_3(&leader, 1, true);
    assert!(!granted(ask(&mut leader, &request)));
}

#[test]
fn field_h24_two_nodes_rarely_campaign_at_the_same_moment() {
    let mut waits = BTreeSet::new();
    for seed in 0..40 {
        let mut node = Node::open_with(&MemFs::new(), &[(1, 9001), (2, 9002), (3, 9003)], |config| {
            config.core.seed = seed;
        });
        node.flush();
        while !node
            .take_asked()
            .iter()
            .any(|body| matches!(body, PeerRequest::Vote { .. }))
        {
            node.now_ms += 1;
            node.turn([]);
            node.flush();
        }
        // One election timeout at least, and up to as much again.
        assert!((300..600).contains(&node.now_ms), "{} ms", node.now_ms);
        waits.insert(node.now_ms);
    }
    assert!(waits.len() > 30, "{waits:?}");
}

#[test]
fn field_h26_endpoints_of_a_known_leader_are_replaced_by_more() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001), (2, 9002)]);
    node.engine.network_mut().takes = true;
    node.told_of_leader(1);
    let port = |node: &Node| {
        let state = node.engine.watch();
        let state = state.borrow();
        state.leader_endpoint.as_ref().map(|endpoint| endpoint.port)
    };
    assert_eq!(port(&node), Some(9002));
    let mut endpoints = Endpoints::empty();
    for (listener, port) in [("CONTROLLER", 9102), ("EXTERNAL", 9103)] {
        let host = "127.0.0.1".into();
        endpoints.insert(listener, Endpoint { host, port });
    }
    let begin = PeerRequest::BeginQuorumEpoch {
        cluster_id: CLUSTER.into(),
        voter: ReplicaKey::without_directory(NodeId(1)),
        leader: NodeId(2),
        epoch: Epoch(1),
        endpoints,
    };
    let _answer = ask(&mut node, &begin);
    node.flush();
    assert_eq!(port(&node), Some(9102), "who asks for the leader is sent there");
    assert_eq!(node.watched(), (Some(NodeId(2)), Epoch(1)));
    // What is asked next is asked there.
    node.replicated(&["one"], 1);
    let asked = std::mem::take(&mut node.engine.network_mut().asked);
    let fetches: Vec<_> = asked
        .iter()
        .filter(|request| matches!(request.body, PeerRequest::Fetch { .. }))
        .map(|request| request.endpoint.port)
        .collect();
    assert_eq!(fetches, [9102]);
}

#[test]
fn field_h27_every_request_that_a_node_can_send_has_its_bytes_and_its_answer() {
    let key = ReplicaKey::new(NodeId(2), Uuid::from_u128(2));
    let cluster_id = || CLUSTER.into();
    let endpoints = || {
        Endpoints::single(
            "CONTROLLER",
            Endpoint {
                host: "127.0.0.1".into(),
                port: 1,
            },
        )
    };
    let kraft_versions = SupportedVersions { min: 0, max: 1 };
    let log_end = LogEnd {
        last_epoch: Epoch(1),
        last_offset: 1,
    };
    let requests = [
        PeerRequest::Vote {
            cluster_id: cluster_id(),
            voter: key,
            candidate: key,
            epoch: Epoch(1),
            log_end,
            pre_vote: true,
        },
        PeerRequest::BeginQuorumEpoch {
            cluster_id: cluster_id(),
            voter: key,
            leader: key.id,
            epoch: Epoch(1),
            endpoints: endpoints(),
        },
        PeerRequest::EndQuorumEpoch {
            cluster_id: cluster_id(),
            leader: key.id,
            epoch: Epoch(1),
            preferred_successors: vec![key],
        },
        PeerRequest::Fetch {
            cluster_id: cluster_id(),
            replica: key,
            epoch: Epoch(1),
            log_end,
            high_watermark: 1,
            max_wait_ms: 1,
            max_bytes: 1,
        },
        PeerRequest::FetchSnapshot {
            cluster_id: cluster_id(),
            replica: key,
            epoch: Epoch(1),
            snapshot: SnapshotId {
                end_offset: 1,
                epoch: Epoch(1),
            },
            position: 1,
            max_bytes: 1,
        },
        PeerRequest::ApiVersions,
        PeerRequest::AddRaftVoter {
            cluster_id: cluster_id(),
            timeout_ms: 1,
            voter: key,
            endpoints: endpoints(),
            ack_when_committed: false,
        },
        PeerRequest::RemoveRaftVoter {
            cluster_id: cluster_id(),
            voter: key,
        },
        PeerRequest::UpdateRaftVoter {
            cluster_id: cluster_id(),
            epoch: Epoch(1),
            voter: key,
            endpoints: endpoints(),
            kraft_versions,
        },
    ];
    let mut apis = BTreeSet::new();
    for request in &requests {
        let api = PeerApi::of(request);
        apis.insert(api.key());
        let version = *api.versions().end();
        encode_request(&Topic::default(), request, version).expect("the newest version carries it");
        // An answer that means nothing is taken by every role, and ends nobody.
        for mut node in [Node::open(&MemFs::new(), &[(1, 9001)]), follower(&MemFs::new())] {
            node.flush();
            let response = PeerResponse {
                request: RequestId(1),
                from: key,
                version,
                body: Bytes::from_static(&[0xff; 3]),
            };
            let command: Command<Words> = Command::response(api, response).expect("it has an answer");
            node.turn([command]);
            let (request, fault) = (RequestId(1), RequestFault::UnsupportedVersion);
            node.turn([Command::Event(kraft_core::Event::RequestFailed {
                request,
                fault,
            })]);
        }
    }
    assert_eq!(apis.len(), requests.len(), "one request for each");
}

#[test]
fn field_h32_the_level_of_kraft_version_is_that_of_consensus() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    let newest = *PeerApi::ApiVersions.versions().end();
    let level = |node: &mut Node| {
        let request = m::ApiVersionsRequest {
            client_software_name: "test".to_owned(),
            client_software_version: "1".to_owned(),
            ..Default::default()
        };
        let (command, mut answer) = inbound(PeerApi::ApiVersions, request.to_bytes(newest).expect("encoded"));
        node.turn([command]);
        let body = answer.try_recv().expect("answered");
        let body = m::ApiVersionsResponse::from_bytes(&body, newest).expect("decoded");
        let finalized = body.finalized_features.into_iter();
        let found = finalized.filter(|feature| feature.name == "kraft.version");
        found.map(|feature| feature.max_version_level).collect::<Vec<_>>()
    };
    assert_eq!(level(&mut node), [0_i16; 0], "none is what 0 is told as");
    node.turn([crate::turns::raise_kraft_version().0]);
    node.flush();
    assert_eq!(level(&mut node), [1]);
}

#[test]
fn field_h35_a_node_of_another_cluster_is_told_so_and_ends_nobody() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001), (2, 9002)]);
    node.engine.network_mut().takes = true;
    node.told_of_leader(7);
    let stranger = || "another-cluster".into();
    let key = ReplicaKey::new(NodeId(2), Uuid::from_u128(2));
    let log_end = LogEnd {
        last_epoch: Epoch(7),
        last_offset: 0,
    };
    const INCONSISTENT_CLUSTER_ID: i16 = 104;
    let mut error = |request: PeerRequest| {
        let api = PeerApi::of(&request);
        let version = *api.versions().end();
        let body = ask(&mut node, &request).try_recv().expect("answered");
        match api {
            PeerApi::Vote => m::VoteResponse::from_bytes(&body, version).map(|body| body.error_code),
            PeerApi::BeginQuorumEpoch => {
                m::BeginQuorumEpochResponse::from_bytes(&body, version).map(|body| body.error_code)
            }
            PeerApi::EndQuorumEpoch => {
                m::EndQuorumEpochResponse::from_bytes(&body, version).map(|body| body.error_code)
            }
            PeerApi::Fetch => m::FetchResponse::from_bytes(&body, version).map(|body| body.error_code),
            _ => m::FetchSnapshotResponse::from_bytes(&body, version).map(|body| body.error_code),
        }
        .expect("decoded")
    };
    let requests = [
        PeerRequest::Vote {
            cluster_id: stranger(),
            voter: ReplicaKey::without_directory(NodeId(1)),
            candidate: key,
            epoch: Epoch(99),
            log_end,
            pre_vote: false,
        },
        PeerRequest::BeginQuorumEpoch {
            cluster_id: stranger(),
            voter: ReplicaKey::without_directory(NodeId(1)),
            leader: key.id,
            epoch: Epoch(99),
            endpoints: Endpoints::empty(),
        },
        PeerRequest::EndQuorumEpoch {
            cluster_id: stranger(),
            leader: key.id,
            epoch: Epoch(99),
            preferred_successors: Vec::new(),
        },
        PeerRequest::Fetch {
            cluster_id: stranger(),
            replica: key,
            epoch: Epoch(99),
            log_end,
            high_watermark: -1,
            max_wait_ms: 0,
            max_bytes: 1,
        },
        PeerRequest::FetchSnapshot {
            cluster_id: stranger(),
            replica: key,
            epoch: Epoch(99),
            snapshot: SnapshotId {
                end_offset: 1,
                epoch: Epoch(1),
            },
            position: 0,
            max_bytes: 1,
        },
    ];
    for request in requests {
        assert_eq!(error(request), INCONSISTENT_CLUSTER_ID);
    }
    assert_eq!(
        node.watched(),
        (Some(NodeId(2)), Epoch(7)),
        "epoch 99 is none of ours"
    );

    // And the other way round: the answer is no reason to end.
    let request = node.asked(|body| matches!(body, PeerRequest::Fetch { .. }));
    let body = m::FetchResponse {
        error_code: INCONSISTENT_CLUSTER_ID,
        ..Default::default()
    };
    let body = body.to_bytes(17).expect("encoded");
    node.turn([Command::FetchResponse(from_leader(request, 17, body))]);
    node.asked(|body| matches!(body, PeerRequest::Fetch { .. }));
}

#[test]
fn field_h39_a_vote_request_names_whom_it_is_for_and_a_grant_needs_no_echo() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001), (2, 9002), (3, 9003)]);
    node.engine.network_mut().takes = true;
    node.run_until("asking", |node| {
        node.engine.replica().role() == RoleName::Prospective
    });
    let asked = std::mem::take(&mut node.engine.network_mut().asked);
    let mut voters = BTreeSet::new();
    for request in &asked {
        if let PeerRequest::Vote { voter, .. } = &request.body {
            assert_eq!(voter.id, request.to.id);
            voters.insert(voter.id);
        }
    }
    assert_eq!(voters, BTreeSet::from([NodeId(2), NodeId(3)]));
    // The answers below carry no round: role and epoch tell a pre-vote from a vote.
    node.engine.network_mut().asked = asked;
    node.elected();
    assert_eq!(node.engine.replica().role(), RoleName::Leader);
}
