//! Answers of peers, as events.

use super::{KRAFT_VERSION, Topic, partition_match, single};
use crate::{command::PeerResponse, peer_api::PeerApi};
use bytes::Bytes;
use kraft_core::{
    AnswerContext, Endpoint, Epoch, ErrorCode, Event, FetchedRecords, LogOffsetMetadata, NodeId,
    PartitionMatch, PayloadId, SnapshotId, SupportedVersions,
};
use kraft_wire::{DecodeError, Message, message as m};

/// Where the bytes of an answer are put while the core decides about them.
pub(crate) trait Bodies {
    /// Checks the records of a Fetch answer and keeps them.
    fn records(&mut self, records: Bytes) -> FetchedRecords;

    /// Keeps a piece of a snapshot.
    fn chunk(&mut self, bytes: Bytes) -> PayloadId;
}

/// Decodes an answer into the event that it is.
///
/// # Errors
/// The body is not what it claims to be.
pub(crate) fn decode_response(
    topic: &Topic,
    api: PeerApi,
    response: &PeerResponse,
    bodies: &mut impl Bodies,
) -> Result<Event, DecodeError> {
    let (body, version) = (&response.body, response.version);
    Ok(match api {
        PeerApi::Vote => vote(topic, response, m::VoteResponse::from_bytes(body, version)?),
        PeerApi::BeginQuorumEpoch => begin(
            topic,
            response,
            m::BeginQuorumEpochResponse::from_bytes(body, version)?,
        ),
        PeerApi::EndQuorumEpoch => end(
            topic,
            response,
            m::EndQuorumEpochResponse::from_bytes(body, version)?,
        ),
        PeerApi::Fetch => fetch(
            topic,
            response,
            m::FetchResponse::from_bytes(body, version)?,
            bodies,
        ),
        PeerApi::FetchSnapshot => fetch_snapshot(
            topic,
            response,
            m::FetchSnapshotResponse::from_bytes(body, version)?,
            bodies,
        ),
        PeerApi::UpdateRaftVoter => update(response, m::UpdateRaftVoterResponse::from_bytes(body, version)?),
        PeerApi::AddRaftVoter => Event::ReceiveAddRaftVoterResponse {
            request: response.request,
            from: response.from,
            error: ErrorCode::from_code(m::AddRaftVoterResponse::from_bytes(body, version)?.error_code),
        },
        PeerApi::RemoveRaftVoter => Event::ReceiveRemoveRaftVoterResponse {
            request: response.request,
            from: response.from,
            error: ErrorCode::from_code(m::RemoveRaftVoterResponse::from_bytes(body, version)?.error_code),
        },
        PeerApi::ApiVersions => features(response, m::ApiVersionsResponse::from_bytes(body, version)?),
        PeerApi::DescribeQuorum => unreachable!("this node asks nobody to describe the quorum"),
    })
}

fn vote(topic: &Topic, response: &PeerResponse, answer: m::VoteResponse) -> Event {
    let found = single(&answer.topics, |topic| &topic.partitions);
    let matched = found.map(|(t, p)| *t.topic_name == *topic.name && p.partition_index == 0);
    let p = found.map(|(_, p)| p.clone()).unwrap_or_default();
    let endpoints = answer.node_endpoints.into_iter();
    Event::ReceiveVoteResponse {
        answer: context(
            response,
            answer.error_code,
            partition_match(matched),
            (p.error_code, p.leader_id),
            endpoints.map(|e| (e.node_id, e.host, e.port)),
        ),
        from: response.from,
        epoch: Epoch(p.leader_epoch),
        vote_granted: p.vote_granted,
    }
}

fn begin(topic: &Topic, response: &PeerResponse, answer: m::BeginQuorumEpochResponse) -> Event {
    let found = single(&answer.topics, |topic| &topic.partitions);
    let matched = found.map(|(t, p)| *t.topic_name == *topic.name && p.partition_index == 0);
    let p = found.map(|(_, p)| p.clone()).unwrap_or_default();
    let endpoints = answer.node_endpoints.into_iter();
    Event::ReceiveBeginQuorumEpochResponse {
        answer: context(
            response,
            answer.error_code,
            partition_match(matched),
            (p.error_code, p.leader_id),
            endpoints.map(|e| (e.node_id, e.host, e.port)),
        ),
        from: response.from,
        epoch: Epoch(p.leader_epoch),
    }
}

fn end(topic: &Topic, response: &PeerResponse, answer: m::EndQuorumEpochResponse) -> Event {
    let found = single(&answer.topics, |topic| &topic.partitions);
    let matched = found.map(|(t, p)| *t.topic_name == *topic.name && p.partition_index == 0);
    let p = found.map(|(_, p)| p.clone()).unwrap_or_default();
    let endpoints = answer.node_endpoints.into_iter();
    Event::ReceiveEndQuorumEpochResponse {
        answer: context(
            response,
            answer.error_code,
            partition_match(matched),
            (p.error_code, p.leader_id),
            endpoints.map(|e| (e.node_id, e.host, e.port)),
        ),
        from: response.from,
        epoch: Epoch(p.leader_epoch),
    }
}

fn fetch(
    topic: &Topic,
    response: &PeerResponse,
    answer: m::FetchResponse,
    bodies: &mut impl Bodies,
) -> Event {
    let found = single(&answer.responses, |topic| &topic.partitions);
    let matched = found.map(|(t, p)| {
        let same = if response.version >= 13 {
            t.topic_id == topic.id
        } else {
            *t.topic == *topic.name
        };
        same && p.partition_index == 0
    });
    let p = found.map(|(_, p)| p.clone()).unwrap_or_default();
    let endpoints = answer.node_endpoints.into_iter();
    let snapshot = SnapshotId {
        end_offset: p.snapshot_id.end_offset,
        epoch: Epoch(p.snapshot_id.epoch),
    };
    let diverging = LogOffsetMetadata {
        epoch: Epoch(p.diverging_epoch.epoch),
        offset: p.diverging_epoch.end_offset,
    };
    Event::ReceiveFetchResponse {
        answer: context(
            response,
            answer.error_code,
            partition_match(matched),
            (p.error_code, p.current_leader.leader_id),
            endpoints.map(|e| (e.node_id, e.host, u16::try_from(e.port).unwrap_or(0))),
        ),
        from: response.from,
        leader_id: NodeId(p.current_leader.leader_id),
        leader_epoch: Epoch(p.current_leader.leader_epoch),
        high_watermark: p.high_watermark,
        diverging: (diverging.epoch.0 >= 0).then_some(diverging),
        snapshot: (snapshot.end_offset >= 0 || snapshot.epoch.0 >= 0).then_some(snapshot),
        records: match p.records {
            Some(records) if !records.is_empty() => bodies.records(records),
            Some(_) | None => FetchedRecords::Empty,
        },
    }
}

fn fetch_snapshot(
    topic: &Topic,
    response: &PeerResponse,
    answer: m::FetchSnapshotResponse,
    bodies: &mut impl Bodies,
) -> Event {
    let found = single(&answer.topics, |topic| &topic.partitions);
    let matched = found.map(|(t, p)| *t.name == *topic.name && p.index == 0);
    let p = found.map(|(_, p)| p.clone()).unwrap_or_default();
    let endpoints = answer.node_endpoints.into_iter();
    Event::ReceiveFetchSnapshotResponse {
        answer: context(
            response,
            answer.error_code,
            partition_match(matched),
            (p.error_code, p.current_leader.leader_id),
            endpoints.map(|e| (e.node_id, e.host, e.port)),
        ),
        from: response.from,
        leader_epoch: Epoch(p.current_leader.leader_epoch),
        snapshot: SnapshotId {
            end_offset: p.snapshot_id.end_offset,
            epoch: Epoch(p.snapshot_id.epoch),
        },
        size: p.size,
        position: p.position,
        bytes: u32::try_from(p.unaligned_records.len()).expect("a frame is smaller than 4 GiB"),
        payload: bodies.chunk(p.unaligned_records),
    }
}

fn update(response: &PeerResponse, answer: m::UpdateRaftVoterResponse) -> Event {
    let leader = answer.current_leader;
    let endpoint = (
        leader.leader_id,
        leader.host,
        u16::try_from(leader.port).unwrap_or(0),
    );
    let known = !endpoint.1.is_empty();
    Event::ReceiveUpdateRaftVoterResponse {
        answer: context(
            response,
            answer.error_code,
            PartitionMatch::Metadata,
            (answer.error_code, leader.leader_id),
            known.then_some(endpoint).into_iter(),
        ),
        from: response.from,
        leader_epoch: Epoch(leader.leader_epoch),
    }
}

fn features(response: &PeerResponse, answer: m::ApiVersionsResponse) -> Event {
    let mut features = answer.supported_features.iter();
    let kraft_version = features.find(|feature| feature.name == KRAFT_VERSION);
    Event::ReceiveApiVersionsResponse {
        request: response.request,
        from: response.from,
        error: ErrorCode::from_code(answer.error_code),
        kraft_versions: kraft_version.map(|feature| SupportedVersions {
            min: feature.min_version,
            max: feature.max_version,
        }),
    }
}

/// `endpoints` are those of the whole answer; the one of the leader counts.
fn context(
    response: &PeerResponse,
    top_level: i16,
    partition: PartitionMatch,
    (error, leader): (i16, i32),
    mut endpoints: impl Iterator<Item = (i32, String, u16)>,
) -> AnswerContext {
    let leader = NodeId(leader).known();
    AnswerContext {
        request: response.request,
        top_level: ErrorCode::from_code(top_level),
        partition,
        error: ErrorCode::from_code(error),
        leader,
        leader_endpoint: endpoints
            .find(|(id, _, _)| leader == Some(NodeId(*id)))
            .map(|(_, host, port)| Endpoint {
                host: host.into(),
                port,
            }),
    }
}
