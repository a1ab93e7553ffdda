//! Endpoints of leaders in answers, and the shape of topics and partitions: theme WIRE where it speaks of what the core
//! gets to see.

use super::{Bodies, Echo, Origin, Topic, decode_request, decode_response};
use crate::{command::PeerResponse, peer_api::PeerApi};
use bytes::Bytes;
use kraft_core::{
    AnswerContext, Endpoint, Event, FetchedRecords, NodeId, PartitionMatch, PayloadId, ReplicaKey, ReplyId,
    RequestId,
};
use kraft_wire::{Message, message as m};

struct NoBodies;

impl Bodies for NoBodies {
    fn records(&mut self, _records: Bytes) -> FetchedRecords {
        FetchedRecords::Empty
    }

    fn chunk(&mut self, bytes: Bytes) -> PayloadId {
        PayloadId(bytes.len() as u64)
    }
}

/// What the core gets to see of an answer, beside what is special to its API.
fn context(api: PeerApi, message: &impl Message) -> AnswerContext {
    let version = *api.versions().end();
    let response = PeerResponse {
        request: RequestId(1),
        from: ReplicaKey::without_directory(NodeId(2)),
        version,
        body: message.to_bytes(version).expect("the newest version carries it"),
    };
    match decode_response(&Topic::default(), api, &response, &mut NoBodies).expect("decoded") {
        Event::ReceiveVoteResponse { answer, .. }
        | Event::ReceiveBeginQuorumEpochResponse { answer, .. }
        | Event::ReceiveEndQuorumEpochResponse { answer, .. }
        | Event::ReceiveFetchResponse { answer, .. }
        | Event::ReceiveFetchSnapshotResponse { answer, .. } => answer,
        other => panic!("{other:?}"),
    }
}

/// An answer that names leader 1 and lists one node's endpoint.
macro_rules! answer {
    ($node:expr, $response:ident { $topics:ident }, $topic:ident { $($name:tt)* }, $partition:ident { $($leader:tt)* }, $endpoint:ident) => {
        m::$response {
            $topics: vec![m::$topic {
                $($name)*,
                partitions: vec![m::$partition { $($leader)*, ..Default::default() }],
                ..Default::default()
            }],
            node_endpoints: vec![m::$endpoint {
                node_id: $node,
                host: "localhost".into(),
                port: 9092,
                ..Default::default()
            }],
            ..Default::default()
        }
    };
}

#[test]
fn wire_003_the_endpoint_of_the_leader_in_an_answer() {
    let name = || "__cluster_metadata".to_owned();
    let seen = |node| {
        let vote = answer!(
            node,
            VoteResponse { topics },
            VoteResponseTopic { topic_name: name() },
            VoteResponsePartition { leader_id: 1 },
            VoteResponseNodeEndpoint
        );
        let begin = answer!(
            node,
            BeginQuorumEpochResponse { topics },
            BeginQuorumEpochResponseTopic { topic_name: name() },
            BeginQuorumEpochResponsePartition { leader_id: 1 },
            BeginQuorumEpochResponseNodeEndpoint
        );
        let end = answer!(
            node,
            EndQuorumEpochResponse { topics },
            EndQuorumEpochResponseTopic { topic_name: name() },
            EndQuorumEpochResponsePartition { leader_id: 1 },
            EndQuorumEpochResponseNodeEndpoint
        );
        let fetch = answer!(
            node,
            FetchResponse { responses },
            FetchResponseTopic {
                topic_id: Topic::default().id
            },
            FetchResponsePartition {
                current_leader: m::FetchResponseCurrentLeader {
                    leader_id: 1,
                    ..Default::default()
                }
            },
            FetchResponseNodeEndpoint
        );
        let snapshot = answer!(
            node,
            FetchSnapshotResponse { topics },
            FetchSnapshotResponseTopic { name: name() },
            FetchSnapshotResponsePartition {
                current_leader: m::FetchSnapshotResponseCurrentLeader {
                    leader_id: 1,
                    ..Default::default()
                }
            },
            FetchSnapshotResponseNodeEndpoint
        );
        [
            context(PeerApi::Vote, &vote),
            context(PeerApi::BeginQuorumEpoch, &begin),
            context(PeerApi::EndQuorumEpoch, &end),
            context(PeerApi::Fetch, &fetch),
            context(PeerApi::FetchSnapshot, &snapshot),
        ]
    };
    let endpoint = Endpoint {
        host: "localhost".into(),
        port: 9092,
    };
    for context in seen(1) {
        assert_eq!(context.leader, Some(NodeId(1)));
        assert_eq!(context.leader_endpoint, Some(endpoint.clone()));
    }
    for context in seen(2) {
        assert_eq!((context.leader, context.leader_endpoint), (Some(NodeId(1)), None));
    }
}

#[test]
fn wire_012_topic_and_partition_shape_of_fetch_snapshot() {
    let topic = |partitions| m::FetchSnapshotRequestTopic {
        name: "__cluster_metadata".to_owned(),
        partitions,
        ..Default::default()
    };
    let request = |topics| {
        let message = m::FetchSnapshotRequest {
            topics,
            ..Default::default()
        };
        let body = message.to_bytes(1).expect("version 1 carries it");
        let origin = Origin {
            listener: "CONTROLLER".into(),
            reply: ReplyId(1),
            local: ReplicaKey::without_directory(NodeId(1)),
            cluster_id: &"cluster".into(),
        };
        let decoded = decode_request(
            &Topic::default(),
            PeerApi::FetchSnapshot,
            body.clone(),
            1,
            &origin,
        );
        match decoded.expect("decoded") {
            (Event::ReceiveFetchSnapshot { context, .. }, Echo::Nothing | Echo::Partition { .. }) => {
                context.partition
            }
            other => panic!("{other:?}"),
        }
    };
    let partition = m::FetchSnapshotRequestPartition::default;
    assert_eq!(request(vec![topic(vec![partition()])]), PartitionMatch::Metadata);
    assert_eq!(request(vec![topic(vec![])]), PartitionMatch::Malformed);
    assert_eq!(request(vec![]), PartitionMatch::Malformed);

    let topic = |partitions| m::FetchSnapshotResponseTopic {
        name: "__cluster_metadata".to_owned(),
        partitions,
        ..Default::default()
    };
    let response = |topics| {
        let message = m::FetchSnapshotResponse {
            topics,
            ..Default::default()
        };
        context(PeerApi::FetchSnapshot, &message).partition
    };
    let partition = m::FetchSnapshotResponsePartition::default;
    assert_eq!(response(vec![topic(vec![partition()])]), PartitionMatch::Metadata);
    assert_eq!(response(vec![topic(vec![])]), PartitionMatch::Malformed);
    assert_eq!(response(vec![]), PartitionMatch::Malformed);
}
