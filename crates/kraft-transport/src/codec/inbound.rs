//! Requests of peers, as events.

use super::{Topic, partition_match, single};
use crate::peer_api::PeerApi;
use bytes::Bytes;
use kraft_core::{
    ClusterMatch, Endpoint, Endpoints, Epoch, Event, Listener, LogEnd, NodeId, PartitionMatch, ReplicaKey,
    ReplyId, RequestContext, SnapshotId, SuccessorRank, SupportedVersions, Text,
};
use kraft_wire::{DecodeError, Message, Reader, message as m};

/// What the answer has to repeat of its request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Echo {
    /// Nothing.
    Nothing,
    /// The partition that was asked for.
    Partition {
        /// Topic.
        name: String,
        /// Index.
        index: i32,
    },
    /// All topics with their partitions.
    Topics(Vec<(String, Vec<i32>)>),
}

/// Where a request comes from and where its answer goes.
pub(crate) struct Origin<'a> {
    /// The listener that it arrived on.
    pub(crate) listener: Listener,
    /// The answer's handle.
    pub(crate) reply: ReplyId,
    /// This replica, whose place among preferred successors is looked up.
    pub(crate) local: ReplicaKey,
    /// The cluster that this replica is of.
    pub(crate) cluster_id: &'a Text,
}

/// Decodes the body of a request into the event that it is.
///
/// # Errors
/// The body is not what it claims to be; Kafka closes the connection then.
pub(crate) fn decode_request(
    topic: &Topic,
    api: PeerApi,
    body: Bytes,
    version: i16,
    origin: &Origin<'_>,
) -> Result<(Event, Echo), DecodeError> {
    Ok(match api {
        PeerApi::Vote => (
            vote(topic, read::<m::VoteRequest>(body, version)?, origin),
            Echo::Nothing,
        ),
        PeerApi::BeginQuorumEpoch => (
            begin(topic, read::<m::BeginQuorumEpochRequest>(body, version)?, origin),
            Echo::Nothing,
        ),
        PeerApi::EndQuorumEpoch => (
            end(topic, read::<m::EndQuorumEpochRequest>(body, version)?, origin),
            Echo::Nothing,
        ),
        PeerApi::Fetch => (
            fetch(topic, read::<m::FetchRequest>(body, version)?, origin),
            Echo::Nothing,
        ),
        PeerApi::FetchSnapshot => {
            fetch_snapshot(topic, read::<m::FetchSnapshotRequest>(body, version)?, origin)
        }
        PeerApi::DescribeQuorum => describe(topic, read::<m::DescribeQuorumRequest>(body, version)?, origin),
        PeerApi::AddRaftVoter => (
            add(read::<m::AddRaftVoterRequest>(body, version)?, origin),
            Echo::Nothing,
        ),
        PeerApi::RemoveRaftVoter => (
            remove(read::<m::RemoveRaftVoterRequest>(body, version)?, origin),
            Echo::Nothing,
        ),
        PeerApi::ApiVersions => unreachable!("consensus is not asked for features"),
        PeerApi::UpdateRaftVoter => (
            update(read::<m::UpdateRaftVoterRequest>(body, version)?, origin),
            Echo::Nothing,
        ),
    })
}

/// Reads the body for good: nobody else has to share it.
fn read<M: Message>(body: Bytes, version: i16) -> Result<M, DecodeError> {
    M::decode(&mut Reader::new(body), version)
}

fn vote(topic: &Topic, request: m::VoteRequest, origin: &Origin<'_>) -> Event {
    let found = single(&request.topics, |topic| &topic.partitions);
    let matched = found.map(|(t, p)| *t.topic_name == *topic.name && p.partition_index == 0);
    let p = found.map(|(_, p)| p.clone()).unwrap_or_default();
    Event::ReceiveVoteRequest {
        context: origin.context(partition_match(matched)),
        from: ReplicaKey::new(NodeId(p.replica_id), p.replica_directory_id),
        cluster_id: request.cluster_id.map(Text::from),
        voter_id: NodeId(request.voter_id),
        voter_directory_id: p.voter_directory_id,
        candidate_epoch: Epoch(p.replica_epoch),
        candidate: NodeId(p.replica_id),
        candidate_directory_id: p.replica_directory_id,
        candidate_log_end: LogEnd {
            last_epoch: Epoch(p.last_offset_epoch),
            last_offset: p.last_offset,
        },
        pre_vote: p.pre_vote,
    }
}

fn begin(topic: &Topic, request: m::BeginQuorumEpochRequest, origin: &Origin<'_>) -> Event {
    let found = single(&request.topics, |topic| &topic.partitions);
    let matched = found.map(|(t, p)| *t.topic_name == *topic.name && p.partition_index == 0);
    let p = found.map(|(_, p)| p.clone()).unwrap_or_default();
    let endpoints = request.leader_endpoints.into_iter();
    Event::ReceiveBeginQuorumEpoch {
        context: origin.context(partition_match(matched)),
        cluster_id: request.cluster_id.map(Text::from),
        voter_id: NodeId(request.voter_id),
        voter_directory_id: p.voter_directory_id,
        leader_id: NodeId(p.leader_id),
        leader_epoch: Epoch(p.leader_epoch),
        leader_endpoints: collect(endpoints.map(|e| (e.name, e.host, e.port))),
    }
}

fn end(topic: &Topic, request: m::EndQuorumEpochRequest, origin: &Origin<'_>) -> Event {
    let found = single(&request.topics, |topic| &topic.partitions);
    let matched = found.map(|(t, p)| *t.topic_name == *topic.name && p.partition_index == 0);
    let p = found.map(|(_, p)| p.clone()).unwrap_or_default();
    let endpoints = request.leader_endpoints.into_iter();
    Event::ReceiveEndQuorumEpoch {
        context: origin.context(partition_match(matched)),
        cluster_id: request.cluster_id.map(Text::from),
        leader_id: NodeId(p.leader_id),
        leader_epoch: Epoch(p.leader_epoch),
        leader_endpoints: collect(endpoints.map(|e| (e.name, e.host, e.port))),
        successor_rank: successor_rank(&p, &origin.local),
    }
}

/// Version 0 names ids only; they stand for candidates whose directory is not known.
fn successor_rank(partition: &m::EndQuorumEpochRequestPartition, local: &ReplicaKey) -> SuccessorRank {
    let candidates: Vec<ReplicaKey> = if partition.preferred_candidates.is_empty() {
        let ids = partition.preferred_successors.iter();
        ids.map(|id| ReplicaKey::without_directory(NodeId(*id))).collect()
    } else {
        let candidates = partition.preferred_candidates.iter();
        candidates
            .map(|c| ReplicaKey::new(NodeId(c.candidate_id), c.candidate_directory_id))
            .collect()
    };
    SuccessorRank::of(local, &candidates)
}

fn fetch(topic: &Topic, request: m::FetchRequest, origin: &Origin<'_>) -> Event {
    let found = single(&request.topics, |topic| &topic.partitions);
    let matched = found.map(|(t, p)| t.topic_id == topic.id && p.partition == 0);
    let absent = m::FetchRequestPartition::default();
    let p = found.map_or(&absent, |(_, p)| p);
    let id = if request.replica_id == -1 {
        request.replica_state.replica_id
    } else {
        request.replica_id
    };
    Event::ReceiveFetch {
        context: origin.context(partition_match(matched)),
        from: ReplicaKey::new(NodeId(id), p.replica_directory_id),
        cluster: ClusterMatch::of(request.cluster_id.as_deref(), origin.cluster_id),
        fetch_epoch: Epoch(p.current_leader_epoch),
        fetch_offset: p.fetch_offset,
        last_fetched_epoch: Epoch(p.last_fetched_epoch),
        high_watermark: p.high_watermark,
        max_wait_ms: request.max_wait_ms,
        max_bytes: request.max_bytes,
    }
}

fn fetch_snapshot(topic: &Topic, request: m::FetchSnapshotRequest, origin: &Origin<'_>) -> (Event, Echo) {
    let found = single(&request.topics, |topic| &topic.partitions);
    let matched = found.map(|(t, p)| *t.name == *topic.name && p.partition == 0);
    let echo = found.map_or(Echo::Nothing, |(t, p)| Echo::Partition {
        name: t.name.clone(),
        index: p.partition,
    });
    let p = found.map(|(_, p)| p.clone()).unwrap_or_default();
    let event = Event::ReceiveFetchSnapshot {
        context: origin.context(partition_match(matched)),
        from: ReplicaKey::new(NodeId(request.replica_id), p.replica_directory_id),
        cluster_id: request.cluster_id.map(Text::from),
        fetch_epoch: Epoch(p.current_leader_epoch),
        snapshot: SnapshotId {
            end_offset: p.snapshot_id.end_offset,
            epoch: Epoch(p.snapshot_id.epoch),
        },
        position: p.position,
        max_bytes: request.max_bytes,
    };
    (event, echo)
}

fn describe(topic: &Topic, request: m::DescribeQuorumRequest, origin: &Origin<'_>) -> (Event, Echo) {
    let found = single(&request.topics, |topic| &topic.partitions);
    let matched = found.map(|(t, p)| *t.topic_name == *topic.name && p.partition_index == 0);
    let topics = request.topics.into_iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|p| p.partition_index);
        (topic.topic_name, partitions.collect())
    });
    let echo = Echo::Topics(topics.collect());
    let context = origin.context(partition_match(matched));
    (Event::ReceiveDescribeQuorum { context }, echo)
}

fn add(request: m::AddRaftVoterRequest, origin: &Origin<'_>) -> Event {
    let listeners = request.listeners.into_iter();
    Event::ReceiveAddRaftVoter {
        context: origin.context(PartitionMatch::Metadata),
        cluster_id: request.cluster_id.map(Text::from),
        voter: ReplicaKey::new(NodeId(request.voter_id), request.voter_directory_id),
        endpoints: collect(listeners.map(|l| (l.name, l.host, l.port))),
        ack_when_committed: request.ack_when_committed,
    }
}

fn remove(request: m::RemoveRaftVoterRequest, origin: &Origin<'_>) -> Event {
    Event::ReceiveRemoveRaftVoter {
        context: origin.context(PartitionMatch::Metadata),
        cluster_id: request.cluster_id.map(Text::from),
        voter: ReplicaKey::new(NodeId(request.voter_id), request.voter_directory_id),
    }
}

fn update(request: m::UpdateRaftVoterRequest, origin: &Origin<'_>) -> Event {
    let listeners = request.listeners.into_iter();
    Event::ReceiveUpdateRaftVoter {
        context: origin.context(PartitionMatch::Metadata),
        cluster_id: request.cluster_id.map(Text::from),
        leader_epoch: Epoch(request.current_leader_epoch),
        voter: ReplicaKey::new(NodeId(request.voter_id), request.voter_directory_id),
        endpoints: collect(listeners.map(|l| (l.name, l.host, l.port))),
        kraft_versions: SupportedVersions {
            min: request.kraft_version_feature.min_supported_version,
            max: request.kraft_version_feature.max_supported_version,
        },
    }
}

fn collect(listeners: impl Iterator<Item = (String, String, u16)>) -> Endpoints {
    listeners
        .map(|(name, host, port)| {
            let host = host.into();
            (Text::from(name), Endpoint { host, port })
        })
        .collect()
}

impl Origin<'_> {
    fn context(&self, partition: PartitionMatch) -> RequestContext {
        RequestContext {
            reply: self.reply,
            listener: self.listener.clone(),
            partition,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    /// The fetcher's id is a field of its own up to version 14 and part of the replica state from 15 on; the directory
    /// comes with 17, the high watermark with 18.
    #[test]
    fn fetch_002_every_version_of_fetch_names_the_fetcher() {
        let topic = Topic::default();
        let directory = Uuid::from_u128(7);
        for version in 13..=m::FetchRequest::VERSION_MAX {
            let mut request = m::FetchRequest::default();
            if version < 15 {
                request.replica_id = 2;
            } else {
                request.replica_state.replica_id = 2;
            }
            request.topics = vec![m::FetchRequestTopic {
                topic_id: topic.id,
                partitions: vec![m::FetchRequestPartition {
                    replica_directory_id: directory,
                    high_watermark: 9,
                    ..Default::default()
                }],
                ..Default::default()
            }];
            let body = request.to_bytes(version).unwrap();
            let origin = Origin {
                listener: "CONTROLLER".into(),
                reply: ReplyId(1),
                local: ReplicaKey::without_directory(NodeId(1)),
                cluster_id: &"".into(),
            };
            let (event, _) = decode_request(&topic, PeerApi::Fetch, body.clone(), version, &origin).unwrap();
            let Event::ReceiveFetch {
                context,
                from,
                high_watermark,
                ..
            } = event
            else {
                panic!("{event:?}")
            };
            assert_eq!(context.partition, PartitionMatch::Metadata, "version {version}");
            let expected_directory = if version < 17 { Uuid::nil() } else { directory };
            assert_eq!(
                from,
                ReplicaKey::new(NodeId(2), expected_directory),
                "version {version}"
            );
            let expected = if version < 18 { i64::MAX } else { 9 };
            assert_eq!(high_watermark, expected, "version {version}");
        }
    }
}
