//! Requests that this replica sends.

use super::Topic;
use bytes::Bytes;
use kraft_core::{Endpoints, PeerRequest};
use kraft_wire::{EncodeError, Message, message as m};

/// Encodes the body of a request at a version that the peer speaks.
///
/// # Errors
/// The version cannot carry the request: the peer has to be treated as one that does not know the API.
pub fn encode_request(topic: &Topic, request: &PeerRequest, version: i16) -> Result<Bytes, EncodeError> {
    match request {
        PeerRequest::Vote {
            cluster_id,
            voter,
            candidate,
            epoch,
            log_end,
            pre_vote,
        } => m::VoteRequest {
            cluster_id: Some(cluster_id.into()),
            voter_id: voter.id.0,
            topics: vec![m::VoteRequestTopic {
                topic_name: topic.name.to_string(),
                partitions: vec![m::VoteRequestPartition {
                    replica_epoch: epoch.0,
                    replica_id: candidate.id.0,
                    replica_directory_id: candidate.directory_or_nil(),
                    voter_directory_id: voter.directory_or_nil(),
                    last_offset_epoch: log_end.last_epoch.0,
                    last_offset: log_end.last_offset,
                    pre_vote: *pre_vote,
                    ..Default::default()
                }],
                ..Default::default()
            }],
            ..Default::default()
        }
        .to_bytes(version),
        PeerRequest::BeginQuorumEpoch {
            cluster_id,
            voter,
            leader,
            epoch,
            endpoints,
        } => m::BeginQuorumEpochRequest {
            cluster_id: Some(cluster_id.into()),
            voter_id: voter.id.0,
            topics: vec![m::BeginQuorumEpochRequestTopic {
                topic_name: topic.name.to_string(),
                partitions: vec![m::BeginQuorumEpochRequestPartition {
                    voter_directory_id: voter.directory_or_nil(),
                    leader_id: leader.0,
                    leader_epoch: epoch.0,
                    ..Default::default()
                }],
                ..Default::default()
            }],
            leader_endpoints: leader_endpoints(endpoints),
            ..Default::default()
        }
        .to_bytes(version),
        PeerRequest::EndQuorumEpoch {
            cluster_id,
            leader,
            epoch,
            preferred_successors,
        } => m::EndQuorumEpochRequest {
            cluster_id: Some(cluster_id.into()),
            topics: vec![m::EndQuorumEpochRequestTopic {
                topic_name: topic.name.to_string(),
                partitions: vec![m::EndQuorumEpochRequestPartition {
                    leader_id: leader.0,
                    leader_epoch: epoch.0,
                    preferred_successors: preferred_successors.iter().map(|key| key.id.0).collect(),
                    preferred_candidates: preferred_successors
                        .iter()
                        .map(|key| m::EndQuorumEpochRequestCandidate {
                            candidate_id: key.id.0,
                            candidate_directory_id: key.directory_or_nil(),
                            ..Default::default()
                        })
                        .collect(),
                    ..Default::default()
                }],
                ..Default::default()
            }],
            ..Default::default()
        }
        .to_bytes(version),
        PeerRequest::Fetch {
            cluster_id,
            replica,
            epoch,
            log_end,
            high_watermark,
            max_wait_ms,
            max_bytes,
        } => {
            let mut message = m::FetchRequest {
                cluster_id: Some(cluster_id.into()),
                max_wait_ms: *max_wait_ms,
                max_bytes: *max_bytes,
                topics: vec![m::FetchRequestTopic {
                    topic: topic.name.to_string(),
                    topic_id: topic.id,
                    partitions: vec![m::FetchRequestPartition {
                        current_leader_epoch: epoch.0,
                        fetch_offset: log_end.last_offset,
                        last_fetched_epoch: log_end.last_epoch.0,
                        replica_directory_id: replica.directory_or_nil(),
                        high_watermark: *high_watermark,
                        ..Default::default()
                    }],
                    ..Default::default()
                }],
                ..Default::default()
            };
            // The fetcher's id moved into a struct with this version.
            if version >= 15 {
                message.replica_state.replica_id = replica.id.0;
            } else {
                message.replica_id = replica.id.0;
            }
            message.to_bytes(version)
        }
        PeerRequest::FetchSnapshot {
            cluster_id,
            replica,
            epoch,
            snapshot,
            position,
            max_bytes,
        } => m::FetchSnapshotRequest {
            cluster_id: Some(cluster_id.into()),
            replica_id: replica.id.0,
            max_bytes: *max_bytes,
            topics: vec![m::FetchSnapshotRequestTopic {
                name: topic.name.to_string(),
                partitions: vec![m::FetchSnapshotRequestPartition {
                    current_leader_epoch: epoch.0,
                    snapshot_id: m::FetchSnapshotRequestSnapshotId {
                        end_offset: snapshot.end_offset,
                        epoch: snapshot.epoch.0,
                        ..Default::default()
                    },
                    position: *position,
                    replica_directory_id: replica.directory_or_nil(),
                    ..Default::default()
                }],
                ..Default::default()
            }],
            ..Default::default()
        }
        .to_bytes(version),
        PeerRequest::ApiVersions => m::ApiVersionsRequest {
            client_software_name: "kraft".to_owned(),
            client_software_version: env!("CARGO_PKG_VERSION").to_owned(),
            ..Default::default()
        }
        .to_bytes(version),
        PeerRequest::AddRaftVoter {
            cluster_id,
            timeout_ms,
            voter,
            endpoints,
            ack_when_committed,
        } => m::AddRaftVoterRequest {
            cluster_id: Some(cluster_id.into()),
            timeout_ms: *timeout_ms,
            voter_id: voter.id.0,
            voter_directory_id: voter.directory_or_nil(),
            listeners: endpoints
                .iter()
                .map(|(name, endpoint)| m::AddRaftVoterRequestListener {
                    name: name.to_owned(),
                    host: endpoint.host.to_string(),
                    port: endpoint.port,
                    ..Default::default()
                })
                .collect(),
            ack_when_committed: *ack_when_committed,
            ..Default::default()
        }
        .to_bytes(version),
        PeerRequest::RemoveRaftVoter { cluster_id, voter } => m::RemoveRaftVoterRequest {
            cluster_id: Some(cluster_id.into()),
            voter_id: voter.id.0,
            voter_directory_id: voter.directory_or_nil(),
            ..Default::default()
        }
        .to_bytes(version),
        PeerRequest::UpdateRaftVoter {
            cluster_id,
            epoch,
            voter,
            endpoints,
            kraft_versions,
        } => m::UpdateRaftVoterRequest {
            cluster_id: Some(cluster_id.into()),
            current_leader_epoch: epoch.0,
            voter_id: voter.id.0,
            voter_directory_id: voter.directory_or_nil(),
            listeners: endpoints
                .iter()
                .map(|(name, endpoint)| m::UpdateRaftVoterRequestListener {
                    name: name.to_owned(),
                    host: endpoint.host.to_string(),
                    port: endpoint.port,
                    ..Default::default()
                })
                .collect(),
            kraft_version_feature: m::UpdateRaftVoterRequestKRaftVersionFeature {
                min_supported_version: kraft_versions.min,
                max_supported_version: kraft_versions.max,
                ..Default::default()
            },
            ..Default::default()
        }
        .to_bytes(version),
    }
}

fn leader_endpoints(endpoints: &Endpoints) -> Vec<m::BeginQuorumEpochRequestLeaderEndpoint> {
    endpoints
        .iter()
        .map(|(name, endpoint)| m::BeginQuorumEpochRequestLeaderEndpoint {
            name: name.to_owned(),
            host: endpoint.host.to_string(),
            port: endpoint.port,
            ..Default::default()
        })
        .collect()
}
