//! The core's answers, as bodies at the version of the request.

use super::{Echo, Topic};
use crate::peer_api::PeerApi;
use bytes::Bytes;
use kraft_core::{
    Answer, DescribeRefusal, Endpoint, ErrorCode, FetchPlan, NodeId, PartitionAnswer, QuorumDescription,
    ReplicaProgress,
};
use kraft_wire::{EncodeError, Message, message as m};

/// Encodes the body of an answer. `bytes` are those that its plan or window asks for, else empty.
///
/// # Errors
/// The version cannot carry it. That is a mistake of this node.
pub(crate) fn encode_answer(
    topic: &Topic,
    api: PeerApi,
    version: i16,
    answer: &Answer,
    echo: &Echo,
    bytes: Bytes,
) -> Result<Bytes, EncodeError> {
    match answer {
        Answer::TopLevel(error) => top_level(api, version, *error),
        Answer::Vote { partition, granted } => m::VoteResponse {
            topics: vec![m::VoteResponseTopic {
                topic_name: topic.name.to_string(),
                partitions: vec![m::VoteResponsePartition {
                    error_code: partition.error.code(),
                    leader_id: leader_id(partition),
                    leader_epoch: partition.epoch.0,
                    vote_granted: *granted,
                    ..Default::default()
                }],
                ..Default::default()
            }],
            node_endpoints: node_endpoints(partition, version >= 1, |node_id, endpoint| {
                m::VoteResponseNodeEndpoint {
                    node_id: node_id.0,
                    host: endpoint.host.to_string(),
                    port: endpoint.port,
                    ..Default::default()
                }
            }),
            ..Default::default()
        }
        .to_bytes(version),
        Answer::BeginQuorumEpoch(partition) => m::BeginQuorumEpochResponse {
            topics: vec![m::BeginQuorumEpochResponseTopic {
                topic_name: topic.name.to_string(),
                partitions: vec![m::BeginQuorumEpochResponsePartition {
                    error_code: partition.error.code(),
                    leader_id: leader_id(partition),
                    leader_epoch: partition.epoch.0,
                    ..Default::default()
                }],
                ..Default::default()
            }],
            node_endpoints: node_endpoints(partition, version >= 1, |node_id, endpoint| {
                m::BeginQuorumEpochResponseNodeEndpoint {
                    node_id: node_id.0,
                    host: endpoint.host.to_string(),
                    port: endpoint.port,
                    ..Default::default()
                }
            }),
            ..Default::default()
        }
        .to_bytes(version),
        Answer::EndQuorumEpoch(partition) => m::EndQuorumEpochResponse {
            topics: vec![m::EndQuorumEpochResponseTopic {
                topic_name: topic.name.to_string(),
                partitions: vec![m::EndQuorumEpochResponsePartition {
                    error_code: partition.error.code(),
                    leader_id: leader_id(partition),
                    leader_epoch: partition.epoch.0,
                    ..Default::default()
                }],
                ..Default::default()
            }],
            node_endpoints: node_endpoints(partition, version >= 1, |node_id, endpoint| {
                m::EndQuorumEpochResponseNodeEndpoint {
                    node_id: node_id.0,
                    host: endpoint.host.to_string(),
                    port: endpoint.port,
                    ..Default::default()
                }
            }),
            ..Default::default()
        }
        .to_bytes(version),
        Answer::Fetch {
            partition,
            high_watermark,
            log_start,
            plan,
        } => fetch(
            topic,
            version,
            partition,
            (*high_watermark, *log_start),
            plan,
            bytes,
        ),
        Answer::FetchSnapshot { partition, window } => {
            let (name, index) = match echo {
                Echo::Partition { name, index } => (name.clone(), *index),
                Echo::Nothing | Echo::Topics(_) => (topic.name.to_string(), 0),
            };
            let mut found = m::FetchSnapshotResponsePartition {
                index,
                error_code: partition.error.code(),
                unaligned_records: bytes,
                ..Default::default()
            };
            // An unknown partition has no leader: the schema's defaults stand.
            if partition.error != ErrorCode::UnknownTopicOrPartition {
                found.current_leader.leader_id = leader_id(partition);
                found.current_leader.leader_epoch = partition.epoch.0;
            }
            if let Some(window) = window {
                found.snapshot_id.end_offset = window.snapshot.end_offset;
                found.snapshot_id.epoch = window.snapshot.epoch.0;
                found.size = i64::try_from(window.size).unwrap_or(i64::MAX);
                found.position = i64::try_from(window.position).unwrap_or(i64::MAX);
            }
            m::FetchSnapshotResponse {
                topics: vec![m::FetchSnapshotResponseTopic {
                    name,
                    partitions: vec![found],
                    ..Default::default()
                }],
                node_endpoints: node_endpoints(partition, version >= 1, |node_id, endpoint| {
                    m::FetchSnapshotResponseNodeEndpoint {
                        node_id: node_id.0,
                        host: endpoint.host.to_string(),
                        port: endpoint.port,
                        ..Default::default()
                    }
                }),
                ..Default::default()
            }
            .to_bytes(version)
        }
        Answer::UpdateRaftVoter(partition) => {
            let mut message = m::UpdateRaftVoterResponse {
                error_code: partition.error.code(),
                ..Default::default()
            };
            message.current_leader.leader_id = leader_id(partition);
            message.current_leader.leader_epoch = partition.epoch.0;
            if let Some(endpoint) = &partition.endpoint {
                message.current_leader.host = endpoint.host.to_string();
                message.current_leader.port = endpoint.port.into();
            }
            message.to_bytes(version)
        }
        Answer::VoterChange(outcome) => {
            let (error, message) = match outcome {
                Ok(_) => (ErrorCode::None, None),
                Err(refusal) => (refusal.error, Some(refusal.message.clone())),
            };
            voter_change(api, version, error, message)
        }
        Answer::UpgradeKRaftVersion(_) => unreachable!("no peer asks consensus to raise kraft.version"),
        Answer::DescribeQuorum(Ok(description)) => described(topic, version, description),
        Answer::DescribeQuorum(Err(refusal)) => not_described(topic, version, *refusal, echo),
    }
}

fn top_level(api: PeerApi, version: i16, error: ErrorCode) -> Result<Bytes, EncodeError> {
    let error_code = error.code();
    macro_rules! only_error {
        ($message:ident) => {
            m::$message {
                error_code,
                ..Default::default()
            }
            .to_bytes(version)
        };
    }
    match api {
        PeerApi::Vote => only_error!(VoteResponse),
        PeerApi::BeginQuorumEpoch => only_error!(BeginQuorumEpochResponse),
        PeerApi::EndQuorumEpoch => only_error!(EndQuorumEpochResponse),
        PeerApi::Fetch => only_error!(FetchResponse),
        PeerApi::FetchSnapshot => only_error!(FetchSnapshotResponse),
        PeerApi::DescribeQuorum => only_error!(DescribeQuorumResponse),
        PeerApi::UpdateRaftVoter => only_error!(UpdateRaftVoterResponse),
        PeerApi::AddRaftVoter => only_error!(AddRaftVoterResponse),
        PeerApi::RemoveRaftVoter => only_error!(RemoveRaftVoterResponse),
        PeerApi::ApiVersions => only_error!(ApiVersionsResponse),
    }
}

/// The two answers look the same.
fn voter_change(
    api: PeerApi,
    version: i16,
    error: ErrorCode,
    error_message: Option<String>,
) -> Result<Bytes, EncodeError> {
    let error_code = error.code();
    if api == PeerApi::AddRaftVoter {
        m::AddRaftVoterResponse {
            error_code,
            error_message,
            ..Default::default()
        }
        .to_bytes(version)
    } else {
        m::RemoveRaftVoterResponse {
            error_code,
            error_message,
            ..Default::default()
        }
        .to_bytes(version)
    }
}

fn fetch(
    topic: &Topic,
    version: i16,
    partition: &PartitionAnswer,
    (high_watermark, log_start): (i64, i64),
    plan: &FetchPlan,
    records: Bytes,
) -> Result<Bytes, EncodeError> {
    let mut found = m::FetchResponsePartition {
        error_code: partition.error.code(),
        high_watermark,
        log_start_offset: log_start,
        aborted_transactions: Some(Vec::new()),
        records: Some(records),
        ..Default::default()
    };
    found.current_leader.leader_id = leader_id(partition);
    found.current_leader.leader_epoch = partition.epoch.0;
    match plan {
        FetchPlan::Empty | FetchPlan::Read { .. } => {}
        FetchPlan::Diverging(end) => {
            found.diverging_epoch.epoch = end.epoch.0;
            found.diverging_epoch.end_offset = end.offset;
        }
        FetchPlan::Snapshot(id) => {
            found.snapshot_id.end_offset = id.end_offset;
            found.snapshot_id.epoch = id.epoch.0;
        }
    }
    m::FetchResponse {
        responses: vec![m::FetchResponseTopic {
            topic: topic.name.to_string(),
            topic_id: topic.id,
            partitions: vec![found],
            ..Default::default()
        }],
        // Version 16 has the field, and Kafka leaves it empty there.
        node_endpoints: node_endpoints(partition, version >= 17, |node_id, endpoint| {
            m::FetchResponseNodeEndpoint {
                node_id: node_id.0,
                host: endpoint.host.to_string(),
                port: endpoint.port.into(),
                ..Default::default()
            }
        }),
        ..Default::default()
    }
    .to_bytes(version)
}

fn described(topic: &Topic, version: i16, description: &QuorumDescription) -> Result<Bytes, EncodeError> {
    let nodes = description.nodes.iter().map(|(id, endpoints)| {
        let listeners = endpoints
            .iter()
            .map(|(name, endpoint)| m::DescribeQuorumResponseListener {
                name: name.to_owned(),
                host: endpoint.host.to_string(),
                port: endpoint.port,
                ..Default::default()
            });
        m::DescribeQuorumResponseNode {
            node_id: id.0,
            listeners: listeners.collect(),
            ..Default::default()
        }
    });
    let states = |replicas: &[ReplicaProgress]| {
        let states = replicas.iter().map(|replica| replica_state(replica, version));
        states.collect()
    };
    m::DescribeQuorumResponse {
        error_message: Some(String::new()),
        topics: vec![m::DescribeQuorumResponseTopic {
            topic_name: topic.name.to_string(),
            partitions: vec![m::DescribeQuorumResponsePartition {
                error_message: Some(String::new()),
                leader_id: description.leader.0,
                leader_epoch: description.epoch.0,
                high_watermark: description.high_watermark,
                current_voters: states(&description.voters),
                observers: states(&description.observers),
                ..Default::default()
            }],
            ..Default::default()
        }],
        nodes: if version >= 2 { nodes.collect() } else { Vec::new() },
        ..Default::default()
    }
    .to_bytes(version)
}

fn replica_state(replica: &ReplicaProgress, version: i16) -> m::DescribeQuorumResponseReplicaState {
    let mut state = m::DescribeQuorumResponseReplicaState {
        replica_id: replica.key.id.0,
        log_end_offset: replica.log_end_offset,
        last_fetch_timestamp: replica.last_fetch_ms,
        last_caught_up_timestamp: replica.last_caught_up_ms,
        ..Default::default()
    };
    // Below version 2 the field may not be set.
    if version >= 2 {
        state.replica_directory_id = replica.key.directory_or_nil();
    }
    state
}

fn not_described(
    topic: &Topic,
    version: i16,
    refusal: DescribeRefusal,
    echo: &Echo,
) -> Result<Bytes, EncodeError> {
    let refused = |index: i32, error: ErrorCode, message: &str| m::DescribeQuorumResponsePartition {
        partition_index: index,
        error_code: error.code(),
        error_message: Some(message.to_owned()),
        ..Default::default()
    };
    let topics = match (refusal, echo) {
        (DescribeRefusal::UnknownPartition, Echo::Topics(topics)) => topics
            .iter()
            .map(|(name, indexes)| m::DescribeQuorumResponseTopic {
                topic_name: name.clone(),
                partitions: indexes
                    .iter()
                    .map(|index| {
                        let message = "This server does not host this topic-partition.";
                        refused(*index, ErrorCode::UnknownTopicOrPartition, message)
                    })
                    .collect(),
                ..Default::default()
            })
            .collect(),
        (DescribeRefusal::UnknownPartition, Echo::Nothing | Echo::Partition { .. }) => Vec::new(),
        (DescribeRefusal::NotLeader, _) => {
            let message = "For requests intended only for the leader, this error indicates that the broker is not \
                           the current leader. For requests intended for any replica, this error indicates that \
                           the broker is not a replica of the topic partition.";
            vec![m::DescribeQuorumResponseTopic {
                topic_name: topic.name.to_string(),
                partitions: vec![refused(0, ErrorCode::NotLeaderOrFollower, message)],
                ..Default::default()
            }]
        }
    };
    m::DescribeQuorumResponse {
        error_message: Some(String::new()),
        topics,
        ..Default::default()
    }
    .to_bytes(version)
}

fn leader_id(partition: &PartitionAnswer) -> i32 {
    partition.leader.unwrap_or(NodeId::NONE).0
}

fn node_endpoints<T>(
    partition: &PartitionAnswer,
    has_field: bool,
    entry: impl Fn(NodeId, &Endpoint) -> T,
) -> Vec<T> {
    match (partition.leader, &partition.endpoint) {
        (Some(leader), Some(endpoint)) if has_field => vec![entry(leader, endpoint)],
        _ => Vec::new(),
    }
}
