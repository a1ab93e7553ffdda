//! The messages that are measured, as a quorum of three exchanges them.

use bytes::Bytes;
use kafka_protocol::messages as peer;
use kraft_wire::message::*;
use uuid::Uuid;

use crate::pair::{Pair, Sample};

/// Size of the records in an answer to Fetch and of a piece of a snapshot.
pub const RECORDS_SIZE: usize = 64 * 1024;

/// Every sample, by name.
pub fn all() -> Vec<Box<dyn Pair>> {
    fn pair<M, P>(version: i16, message: M) -> Box<dyn Pair>
    where
        M: kraft_wire::Message + 'static,
        P: kafka_protocol::protocol::Decodable + kafka_protocol::protocol::Encodable + 'static,
    {
        Box::new(Sample::<M, P>::new(version, message, |_| None))
    }
    vec![
        pair::<_, peer::VoteRequest>(2, vote_request()),
        pair::<_, peer::VoteResponse>(2, vote_response()),
        pair::<_, peer::BeginQuorumEpochRequest>(1, begin_request()),
        pair::<_, peer::BeginQuorumEpochResponse>(1, begin_response()),
        pair::<_, peer::FetchRequest>(17, fetch_request()),
        pair::<_, peer::FetchRequest>(18, fetch_request()),
        Box::new(Sample::<_, peer::FetchResponse>::new(
            17,
            fetch_response(),
            fetched,
        )),
        Box::new(Sample::<_, peer::FetchResponse>::new(
            18,
            fetch_response(),
            fetched,
        )),
        pair::<_, peer::FetchSnapshotRequest>(1, fetch_snapshot_request()),
        Box::new(Sample::<_, peer::FetchSnapshotResponse>::new(
            1,
            fetch_snapshot_response(),
            piece,
        )),
        pair::<_, peer::DescribeQuorumRequest>(2, describe_request()),
        pair::<_, peer::DescribeQuorumResponse>(2, describe_response()),
    ]
}

const CLUSTER: &str = "J8aAPcfLQt2bqs1JT_rMgQ";
const TOPIC: &str = "__cluster_metadata";
const HOST: &str = "controller-2.example.com";

fn cluster() -> Option<String> {
    Some(CLUSTER.into())
}

fn directory(id: u128) -> Uuid {
    Uuid::from_u128(0x27c6_803d_c7cb_42dd_9baa_cd49_4ffa_cc00 + id)
}

fn records() -> Bytes {
    (0..RECORDS_SIZE).map(|index| index as u8).collect()
}

fn fetched(message: &FetchResponse) -> Option<&Bytes> {
    message.responses[0].partitions[0].records.as_ref()
}

fn piece(message: &FetchSnapshotResponse) -> Option<&Bytes> {
    Some(&message.topics[0].partitions[0].unaligned_records)
}

fn vote_request() -> VoteRequest {
    VoteRequest {
        cluster_id: cluster(),
        voter_id: 2,
        topics: vec![VoteRequestTopic {
            topic_name: TOPIC.into(),
            partitions: vec![VoteRequestPartition {
                replica_epoch: 8,
                replica_id: 1,
                replica_directory_id: directory(1),
                voter_directory_id: directory(2),
                last_offset_epoch: 7,
                last_offset: 145,
                pre_vote: true,
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn vote_response() -> VoteResponse {
    VoteResponse {
        topics: vec![VoteResponseTopic {
            topic_name: TOPIC.into(),
            partitions: vec![VoteResponsePartition {
                leader_id: 2,
                leader_epoch: 8,
                vote_granted: true,
                ..Default::default()
            }],
            ..Default::default()
        }],
        node_endpoints: vec![VoteResponseNodeEndpoint {
            node_id: 2,
            host: HOST.into(),
            port: 9093,
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn begin_request() -> BeginQuorumEpochRequest {
    BeginQuorumEpochRequest {
        cluster_id: cluster(),
        voter_id: 2,
        topics: vec![BeginQuorumEpochRequestTopic {
            topic_name: TOPIC.into(),
            partitions: vec![BeginQuorumEpochRequestPartition {
                voter_directory_id: directory(2),
                leader_id: 1,
                leader_epoch: 8,
                ..Default::default()
            }],
            ..Default::default()
        }],
        leader_endpoints: vec![BeginQuorumEpochRequestLeaderEndpoint {
            name: "CONTROLLER".into(),
            host: HOST.into(),
            port: 9093,
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn begin_response() -> BeginQuorumEpochResponse {
    BeginQuorumEpochResponse {
        topics: vec![BeginQuorumEpochResponseTopic {
            topic_name: TOPIC.into(),
            partitions: vec![BeginQuorumEpochResponsePartition {
                leader_id: 1,
                leader_epoch: 8,
                ..Default::default()
            }],
            ..Default::default()
        }],
        node_endpoints: vec![BeginQuorumEpochResponseNodeEndpoint {
            node_id: 1,
            host: HOST.into(),
            port: 9093,
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn fetch_request() -> FetchRequest {
    FetchRequest {
        cluster_id: cluster(),
        replica_state: FetchRequestReplicaState {
            replica_id: 2,
            ..Default::default()
        },
        max_wait_ms: 500,
        topics: vec![FetchRequestTopic {
            topic_id: Uuid::from_u128(1),
            partitions: vec![FetchRequestPartition {
                current_leader_epoch: 8,
                fetch_offset: 145,
                last_fetched_epoch: 8,
                partition_max_bytes: 1 << 20,
                replica_directory_id: directory(2),
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn fetch_response() -> FetchResponse {
    FetchResponse {
        responses: vec![FetchResponseTopic {
            topic_id: Uuid::from_u128(1),
            partitions: vec![FetchResponsePartition {
                high_watermark: 145,
                last_stable_offset: 145,
                log_start_offset: 99,
                current_leader: FetchResponseCurrentLeader {
                    leader_id: 1,
                    leader_epoch: 8,
                    ..Default::default()
                },
                aborted_transactions: Some(Vec::new()),
                records: Some(records()),
                ..Default::default()
            }],
            ..Default::default()
        }],
        node_endpoints: vec![FetchResponseNodeEndpoint {
            node_id: 1,
            host: HOST.into(),
            port: 9093,
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn fetch_snapshot_request() -> FetchSnapshotRequest {
    FetchSnapshotRequest {
        cluster_id: cluster(),
        replica_id: 2,
        max_bytes: 1 << 20,
        topics: vec![FetchSnapshotRequestTopic {
            name: TOPIC.into(),
            partitions: vec![FetchSnapshotRequestPartition {
                current_leader_epoch: 8,
                snapshot_id: FetchSnapshotRequestSnapshotId {
                    end_offset: 103,
                    epoch: 7,
                    ..Default::default()
                },
                position: 65_536,
                replica_directory_id: directory(2),
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn fetch_snapshot_response() -> FetchSnapshotResponse {
    FetchSnapshotResponse {
        topics: vec![FetchSnapshotResponseTopic {
            name: TOPIC.into(),
            partitions: vec![FetchSnapshotResponsePartition {
                snapshot_id: FetchSnapshotResponseSnapshotId {
                    end_offset: 103,
                    epoch: 7,
                    ..Default::default()
                },
                current_leader: FetchSnapshotResponseCurrentLeader {
                    leader_id: 1,
                    leader_epoch: 8,
                    ..Default::default()
                },
                size: 1 << 20,
                position: 65_536,
                unaligned_records: records(),
                ..Default::default()
            }],
            ..Default::default()
        }],
        node_endpoints: vec![FetchSnapshotResponseNodeEndpoint {
            node_id: 1,
            host: HOST.into(),
            port: 9093,
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn describe_request() -> DescribeQuorumRequest {
    DescribeQuorumRequest {
        topics: vec![DescribeQuorumRequestTopic {
            topic_name: TOPIC.into(),
            partitions: vec![DescribeQuorumRequestPartition::default()],
            ..Default::default()
        }],
        ..Default::default()
    }
}

/// Three voters and a thousand observers.
fn describe_response() -> DescribeQuorumResponse {
    let state = |id: i32| DescribeQuorumResponseReplicaState {
        replica_id: id,
        replica_directory_id: directory(id as u128),
        log_end_offset: 145,
        last_fetch_timestamp: 1_796_000_000_000,
        last_caught_up_timestamp: 1_796_000_000_000,
        ..Default::default()
    };
    let node = |id| DescribeQuorumResponseNode {
        node_id: id,
        listeners: vec![DescribeQuorumResponseListener {
            name: "CONTROLLER".into(),
            host: HOST.into(),
            port: 9093,
            ..Default::default()
        }],
        ..Default::default()
    };
    DescribeQuorumResponse {
        error_message: Some(String::new()),
        topics: vec![DescribeQuorumResponseTopic {
            topic_name: TOPIC.into(),
            partitions: vec![DescribeQuorumResponsePartition {
                error_message: Some(String::new()),
                leader_id: 1,
                leader_epoch: 8,
                high_watermark: 145,
                current_voters: (1..=3).map(state).collect(),
                observers: (4..=1003).map(state).collect(),
                ..Default::default()
            }],
            ..Default::default()
        }],
        nodes: (1..=3).map(node).collect(),
        ..Default::default()
    }
}
