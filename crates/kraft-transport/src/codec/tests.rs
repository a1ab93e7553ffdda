//! Requests and answers survive the way over the wire, at every version that can carry them.

use super::*;
use crate::{command::PeerResponse, peer_api::PeerApi};
use bytes::Bytes;
use kraft_core::{
    Answer, ChangeRefusal, ClusterMatch, DescribeRefusal, Endpoint, Endpoints, Epoch, ErrorCode, Event,
    FetchPlan, FetchedRecords, LogEnd, LogOffsetMetadata, NodeId, PartitionAnswer, PayloadId, PeerRequest,
    QuorumDescription, ReconfigOutcome, ReplicaKey, ReplicaProgress, ReplyId, RequestId, SnapshotId,
    SnapshotWindow, SuccessorRank, SupportedVersions,
};

fn key(id: i32) -> ReplicaKey {
    ReplicaKey::new(NodeId(id), Uuid::from_u128(id as u128))
}

fn endpoint() -> Endpoint {
    Endpoint {
        host: "leader.example".into(),
        port: 9093,
    }
}

/// One of each kind, and a Vote in both forms.
pub(crate) fn requests() -> Vec<PeerRequest> {
    let cluster_id = kraft_core::Text::from("cluster");
    let log_end = LogEnd {
        last_epoch: Epoch(4),
        last_offset: 70,
    };
    let endpoints = Endpoints::single("CONTROLLER", endpoint());
    vec![
        PeerRequest::Vote {
            cluster_id: cluster_id.clone(),
            voter: key(1),
            candidate: key(2),
            epoch: Epoch(5),
            log_end,
            pre_vote: true,
        },
        PeerRequest::Vote {
            cluster_id: cluster_id.clone(),
            voter: key(1),
            candidate: key(2),
            epoch: Epoch(5),
            log_end,
            pre_vote: false,
        },
        PeerRequest::BeginQuorumEpoch {
            cluster_id: cluster_id.clone(),
            voter: key(1),
            leader: NodeId(2),
            epoch: Epoch(5),
            endpoints: endpoints.clone(),
        },
        PeerRequest::EndQuorumEpoch {
            cluster_id: cluster_id.clone(),
            leader: NodeId(2),
            epoch: Epoch(5),
            preferred_successors: vec![key(3), key(1)],
        },
        PeerRequest::Fetch {
            cluster_id: cluster_id.clone(),
            replica: key(2),
            epoch: Epoch(5),
            log_end,
            high_watermark: 60,
            max_wait_ms: 500,
            max_bytes: 1000,
        },
        PeerRequest::FetchSnapshot {
            cluster_id: cluster_id.clone(),
            replica: key(2),
            epoch: Epoch(5),
            snapshot: SnapshotId {
                end_offset: 50,
                epoch: Epoch(3),
            },
            position: 7,
            max_bytes: 1000,
        },
        PeerRequest::AddRaftVoter {
            cluster_id: cluster_id.clone(),
            timeout_ms: 2000,
            voter: key(2),
            endpoints: endpoints.clone(),
            ack_when_committed: false,
        },
        PeerRequest::RemoveRaftVoter {
            cluster_id: cluster_id.clone(),
            voter: key(2),
        },
        PeerRequest::UpdateRaftVoter {
            cluster_id,
            epoch: Epoch(5),
            voter: key(2),
            endpoints,
            kraft_versions: SupportedVersions { min: 0, max: 1 },
        },
    ]
}

fn decoded(request: &PeerRequest, version: i16) -> Event {
    let topic = Topic::default();
    let body = encode_request(&topic, request, version).expect("the version carries it");
    let origin = Origin {
        listener: "CONTROLLER".into(),
        reply: ReplyId(9),
        local: key(1),
        cluster_id: &"cluster".into(),
    };
    let (event, _) =
        decode_request(&topic, PeerApi::of(request), body.clone(), version, &origin).expect("decoded");
    event
}

#[test]
fn requests_arrive_as_they_were_sent() {
    for request in requests() {
        let newest = *PeerApi::of(&request).versions().end();
        match (&request, decoded(&request, newest)) {
            (
                PeerRequest::Vote {
                    pre_vote, log_end, ..
                },
                Event::ReceiveVoteRequest {
                    context,
                    from,
                    cluster_id,
                    voter_id,
                    voter_directory_id,
                    candidate_epoch,
                    candidate_log_end,
                    pre_vote: found,
                    ..
                },
            ) => {
                assert_eq!(context.partition, PartitionMatch::Metadata);
                assert_eq!(
                    (context.reply, context.listener),
                    (ReplyId(9), "CONTROLLER".into())
                );
                assert_eq!(cluster_id.as_deref(), Some("cluster"));
                assert_eq!(ReplicaKey::new(voter_id, voter_directory_id), key(1));
                assert_eq!((from, candidate_epoch), (key(2), Epoch(5)));
                assert_eq!((&candidate_log_end, &found), (log_end, pre_vote));
            }
            (
                PeerRequest::BeginQuorumEpoch { endpoints, .. },
                Event::ReceiveBeginQuorumEpoch {
                    voter_id,
                    leader_id,
                    leader_epoch,
                    leader_endpoints,
                    ..
                },
            ) => {
                assert_eq!(
                    (voter_id, leader_id, leader_epoch),
                    (NodeId(1), NodeId(2), Epoch(5))
                );
                assert_eq!(&leader_endpoints, endpoints);
            }
            (PeerRequest::EndQuorumEpoch { .. }, Event::ReceiveEndQuorumEpoch { successor_rank, .. }) => {
                let expected = SuccessorRank {
                    position: 1,
                    successors: 2,
                };
                assert_eq!(successor_rank, expected);
            }
            (
                PeerRequest::Fetch { .. },
                Event::ReceiveFetch {
                    context,
                    from,
                    cluster,
                    fetch_epoch,
                    fetch_offset,
                    last_fetched_epoch,
                    high_watermark,
                    max_wait_ms,
                    max_bytes,
                    ..
                },
            ) => {
                assert_eq!(context.partition, PartitionMatch::Metadata);
                assert_eq!(cluster, ClusterMatch::Ours);
                assert_eq!((from, fetch_epoch, fetch_offset), (key(2), Epoch(5), 70));
                assert_eq!((last_fetched_epoch, high_watermark), (Epoch(4), 60));
                assert_eq!((max_wait_ms, max_bytes), (500, 1000));
            }
            (
                PeerRequest::FetchSnapshot { snapshot: sent, .. },
                Event::ReceiveFetchSnapshot {
                    from,
                    snapshot,
                    position,
                    ..
                },
            ) => assert_eq!((from, &snapshot, position), (key(2), sent, 7)),
            (
                PeerRequest::UpdateRaftVoter { .. },
                Event::ReceiveUpdateRaftVoter {
                    voter,
                    kraft_versions,
                    ..
                },
            ) => {
                assert_eq!(voter, key(2));
                assert_eq!(kraft_versions, SupportedVersions { min: 0, max: 1 });
            }
            (
                PeerRequest::AddRaftVoter { endpoints, .. },
                Event::ReceiveAddRaftVoter {
                    voter,
                    endpoints: got,
                    ack_when_committed,
                    ..
                },
            ) => assert_eq!((voter, &got, ack_when_committed), (key(2), endpoints, false)),
            (PeerRequest::RemoveRaftVoter { .. }, Event::ReceiveRemoveRaftVoter { voter, .. }) => {
                assert_eq!(voter, key(2));
            }
            (request, event) => panic!("{request:?} arrived as {event:?}"),
        }
    }
}

#[test]
fn old_versions_carry_what_they_can_and_refuse_the_rest() {
    let topic = Topic::default();
    for request in requests() {
        for version in PeerApi::of(&request).versions() {
            let carried = match &request {
                PeerRequest::Vote { pre_vote, .. } => !pre_vote || version >= 2,
                PeerRequest::Fetch { .. } => version >= 12,
                // To be answered at the append is news of version 1.
                PeerRequest::AddRaftVoter { .. } => version >= 1,
                _ => true,
            };
            let encoded = encode_request(&topic, &request, version);
            assert_eq!(encoded.is_ok(), carried, "{request:?} at version {version}");
        }
    }
}

#[test]
fn a_fetch_by_topic_name_is_no_fetch_of_the_metadata_partition() {
    let fetch = requests().remove(4);
    let Event::ReceiveFetch { context, .. } = decoded(&fetch, 12) else {
        panic!("a Fetch is a Fetch");
    };
    assert_eq!(context.partition, PartitionMatch::Other);
}

/// Keeps nothing.
struct NoBodies;

impl Bodies for NoBodies {
    fn records(&mut self, _records: Bytes) -> FetchedRecords {
        FetchedRecords::Empty
    }

    fn chunk(&mut self, bytes: Bytes) -> PayloadId {
        PayloadId(bytes.len() as u64)
    }
}

fn answered(api: PeerApi, version: i16, answer: &Answer, bytes: Bytes) -> Event {
    let topic = Topic::default();
    let body = encode_answer(&topic, api, version, answer, &Echo::Nothing, bytes);
    let response = PeerResponse {
        request: RequestId(3),
        from: key(2),
        version,
        body: body.unwrap_or_else(|error| panic!("{answer:?} at version {version}: {error}")),
    };
    decode_response(&topic, api, &response, &mut NoBodies).expect("decoded")
}

fn partition(error: ErrorCode) -> PartitionAnswer {
    PartitionAnswer {
        error,
        leader: Some(NodeId(2)),
        epoch: Epoch(5),
        endpoint: Some(endpoint()),
    }
}

#[test]
fn answers_arrive_as_they_were_given() {
    for error in [ErrorCode::None, ErrorCode::FencedLeaderEpoch] {
        for version in PeerApi::Vote.versions() {
            let answer = Answer::Vote {
                partition: partition(error),
                granted: true,
            };
            let event = answered(PeerApi::Vote, version, &answer, Bytes::new());
            let Event::ReceiveVoteResponse {
                answer,
                epoch,
                vote_granted,
                ..
            } = event
            else {
                panic!("a Vote answer is a Vote answer");
            };
            assert_eq!((epoch, vote_granted), (Epoch(5), true));
            assert_eq!((answer.error, answer.leader), (error, Some(NodeId(2))));
            assert_eq!(answer.partition, PartitionMatch::Metadata);
            assert_eq!(answer.leader_endpoint, (version >= 1).then(endpoint));
        }
        for version in PeerApi::BeginQuorumEpoch.versions() {
            let begun = Answer::BeginQuorumEpoch(partition(error));
            let event = answered(PeerApi::BeginQuorumEpoch, version, &begun, Bytes::new());
            assert!(
                matches!(event, Event::ReceiveBeginQuorumEpochResponse { answer, epoch: Epoch(5), .. }
                if answer.error == error)
            );
            let ended = Answer::EndQuorumEpoch(partition(error));
            let event = answered(PeerApi::EndQuorumEpoch, version, &ended, Bytes::new());
            assert!(
                matches!(event, Event::ReceiveEndQuorumEpochResponse { answer, epoch: Epoch(5), .. }
                if answer.error == error)
            );
        }
        let updated = Answer::UpdateRaftVoter(partition(error));
        let event = answered(PeerApi::UpdateRaftVoter, 0, &updated, Bytes::new());
        assert!(
            matches!(event, Event::ReceiveUpdateRaftVoterResponse { answer, leader_epoch: Epoch(5), .. }
                if answer.error == error && answer.leader_endpoint == Some(endpoint()))
        );
    }
}

#[test]
fn answers_to_voter_changes_arrive_with_their_error() {
    let refused = |error| {
        Err(ChangeRefusal {
            error,
            message: "why".to_owned(),
            open: false,
        })
    };
    let done = Ok(ReconfigOutcome::Committed { offset: 3 });
    for (outcome, expected) in [
        (done, ErrorCode::None),
        (refused(ErrorCode::VoterNotFound), ErrorCode::VoterNotFound),
    ] {
        let answer = Answer::VoterChange(outcome);
        for version in PeerApi::AddRaftVoter.versions() {
            let event = answered(PeerApi::AddRaftVoter, version, &answer, Bytes::new());
            assert!(matches!(event, Event::ReceiveAddRaftVoterResponse { error, .. } if error == expected));
        }
        let event = answered(PeerApi::RemoveRaftVoter, 0, &answer, Bytes::new());
        assert!(matches!(event, Event::ReceiveRemoveRaftVoterResponse { error, .. } if error == expected));
    }
}

/// The bytes of an answer of Apache Kafka 4.4.0.
#[test]
fn a_refusal_is_the_bytes_that_kafka_sends() {
    let refusal = ChangeRefusal {
        error: ErrorCode::InvalidRequest,
        message: "Add voter request didn't include a valid voter".to_owned(),
        open: false,
    };
    let answer = Answer::VoterChange(Err(refusal));
    let topic = Topic::default();
    let body = encode_answer(
        &topic,
        PeerApi::AddRaftVoter,
        0,
        &answer,
        &Echo::Nothing,
        Bytes::new(),
    )
    .unwrap();
    let text = b"Add voter request didn't include a valid voter";
    let mut recorded = vec![0, 0, 0, 0, 0, 0x2a, 0x2f];
    recorded.extend_from_slice(text);
    recorded.push(0);
    assert_eq!(body, recorded);
    let done = Answer::VoterChange(Ok(ReconfigOutcome::Committed { offset: 3 }));
    let body = encode_answer(
        &topic,
        PeerApi::RemoveRaftVoter,
        0,
        &done,
        &Echo::Nothing,
        Bytes::new(),
    )
    .unwrap();
    assert_eq!(body, vec![0; 8]);
}

#[test]
fn fetch_plans_arrive_as_they_were_made() {
    let end = LogOffsetMetadata {
        epoch: Epoch(3),
        offset: 40,
    };
    let snapshot = SnapshotId {
        end_offset: 50,
        epoch: Epoch(4),
    };
    for version in 13..=18 {
        for plan in [
            FetchPlan::Empty,
            FetchPlan::Diverging(end),
            FetchPlan::Snapshot(snapshot),
        ] {
            let answer = Answer::Fetch {
                partition: partition(ErrorCode::None),
                high_watermark: 60,
                log_start: 10,
                plan,
            };
            let Event::ReceiveFetchResponse {
                answer,
                leader_id,
                leader_epoch,
                high_watermark,
                diverging,
                snapshot: found,
                ..
            } = answered(PeerApi::Fetch, version, &answer, Bytes::new())
            else {
                panic!("a Fetch answer is a Fetch answer");
            };
            assert_eq!(
                (leader_id, leader_epoch, high_watermark),
                (NodeId(2), Epoch(5), 60)
            );
            assert_eq!(diverging, (plan == FetchPlan::Diverging(end)).then_some(end));
            assert_eq!(found, (plan == FetchPlan::Snapshot(snapshot)).then_some(snapshot));
            assert_eq!(answer.leader_endpoint, (version >= 17).then(endpoint));
        }
    }
}

#[test]
fn a_piece_of_a_snapshot_arrives_with_its_place() {
    let snapshot = SnapshotId {
        end_offset: 50,
        epoch: Epoch(4),
    };
    for version in PeerApi::FetchSnapshot.versions() {
        let answer = Answer::FetchSnapshot {
            partition: partition(ErrorCode::None),
            window: Some(SnapshotWindow {
                snapshot,
                size: 100,
                position: 20,
                max_bytes: 5,
            }),
        };
        let bytes = Bytes::from_static(b"piece");
        let Event::ReceiveFetchSnapshotResponse {
            snapshot: found,
            size,
            position,
            bytes,
            payload,
            ..
        } = answered(PeerApi::FetchSnapshot, version, &answer, bytes)
        else {
            panic!("a FetchSnapshot answer is a FetchSnapshot answer");
        };
        assert_eq!((found, size, position), (snapshot, 100, 20));
        assert_eq!((bytes, payload), (5, PayloadId(5)));
    }
}

#[test]
fn every_version_can_say_that_a_request_is_refused() {
    let topic = Topic::default();
    for api in PeerApi::ALL {
        for version in api.versions() {
            let refused = Answer::TopLevel(ErrorCode::InconsistentClusterId);
            let body = encode_answer(&topic, api, version, &refused, &Echo::Nothing, Bytes::new());
            assert!(body.is_ok(), "{api:?} version {version}");
        }
    }
}

#[test]
fn every_version_describes_the_quorum() {
    let topic = Topic::default();
    let progress = ReplicaProgress {
        key: key(2),
        log_end_offset: 70,
        last_fetch_ms: 1,
        last_caught_up_ms: 2,
    };
    let description = Answer::DescribeQuorum(Ok(QuorumDescription {
        leader: NodeId(2),
        epoch: Epoch(5),
        high_watermark: 60,
        voters: vec![progress],
        observers: vec![progress],
        nodes: [(NodeId(2), Endpoints::single("CONTROLLER", endpoint()))].into(),
    }));
    let not_leader = Answer::DescribeQuorum(Err(DescribeRefusal::NotLeader));
    let unknown = Answer::DescribeQuorum(Err(DescribeRefusal::UnknownPartition));
    let asked = Echo::Topics(vec![("elsewhere".to_owned(), vec![0, 7])]);
    for version in PeerApi::DescribeQuorum.versions() {
        for answer in [&description, &not_leader, &unknown] {
            let api = PeerApi::DescribeQuorum;
            let body = encode_answer(&topic, api, version, answer, &asked, Bytes::new());
            assert!(body.is_ok(), "{answer:?} at version {version}");
        }
    }
}
