//! What one replica sends as the event that it is for another one, where no wire lies between them.
//!
//! For quorums inside one process: tests, model checks, benchmarks. Loss, delay and order are the caller's, and so are the
//! questions that an engine answers without its replica (ApiVersions).

use crate::{
    answer::{Answer, FetchPlan, PartitionAnswer},
    control::Batches,
    endpoints::Endpoints,
    error_code::ErrorCode,
    event::{
        AnswerContext, ClusterMatch, Event, FetchedRecords, Listener, PartitionMatch, RequestContext,
        SuccessorRank,
    },
    handles::{PayloadId, ReplyId, RequestId},
    ids::{NodeId, ReplicaKey},
    offsets::SnapshotId,
    peer_request::PeerRequest,
};

/// The request `body` of `from` as the replica `to` gets it on `listener`; `None` for ApiVersions, which is no event.
#[must_use]
pub fn request_event(
    reply: ReplyId,
    listener: Listener,
    from: ReplicaKey,
    to: &ReplicaKey,
    body: PeerRequest,
) -> Option<Event> {
    let context = RequestContext {
        reply,
        listener,
        partition: PartitionMatch::Metadata,
    };
    let event = match body {
        PeerRequest::Vote {
            cluster_id,
            voter,
            candidate,
            epoch,
            log_end,
            pre_vote,
        } => Event::ReceiveVoteRequest {
            context,
            from,
            cluster_id: Some(cluster_id),
            voter_id: voter.id,
            voter_directory_id: voter.directory_or_nil(),
            candidate_epoch: epoch,
            candidate: candidate.id,
            candidate_directory_id: candidate.directory_or_nil(),
            candidate_log_end: log_end,
            pre_vote,
        },
        PeerRequest::BeginQuorumEpoch {
            cluster_id,
            voter,
            leader,
            epoch,
            endpoints,
        } => Event::ReceiveBeginQuorumEpoch {
            context,
            cluster_id: Some(cluster_id),
            voter_id: voter.id,
            voter_directory_id: voter.directory_or_nil(),
            leader_id: leader,
            leader_epoch: epoch,
            leader_endpoints: endpoints,
        },
        PeerRequest::EndQuorumEpoch {
            cluster_id,
            leader,
            epoch,
            preferred_successors,
        } => Event::ReceiveEndQuorumEpoch {
            context,
            cluster_id: Some(cluster_id),
            leader_id: leader,
            leader_epoch: epoch,
            leader_endpoints: Endpoints::empty(),
            successor_rank: SuccessorRank::of(to, &preferred_successors),
        },
        PeerRequest::Fetch {
            cluster_id: _,
            replica,
            epoch,
            log_end,
            high_watermark,
            max_wait_ms,
            max_bytes,
        } => Event::ReceiveFetch {
            context,
            from: replica,
            // All in one process are of one cluster.
            cluster: ClusterMatch::Ours,
            fetch_epoch: epoch,
            fetch_offset: log_end.last_offset,
            last_fetched_epoch: log_end.last_epoch,
            high_watermark,
            max_wait_ms,
            max_bytes,
        },
        PeerRequest::FetchSnapshot {
            cluster_id,
            replica,
            epoch,
            snapshot,
            position,
            max_bytes,
        } => Event::ReceiveFetchSnapshot {
            context,
            from: replica,
            cluster_id: Some(cluster_id),
            fetch_epoch: epoch,
            snapshot,
            position,
            max_bytes,
        },
        PeerRequest::UpdateRaftVoter {
            cluster_id,
            epoch,
            voter,
            endpoints,
            kraft_versions,
        } => Event::ReceiveUpdateRaftVoter {
            context,
            cluster_id: Some(cluster_id),
            leader_epoch: epoch,
            voter,
            endpoints,
            kraft_versions,
        },
        PeerRequest::AddRaftVoter {
            cluster_id,
            timeout_ms: _,
            voter,
            endpoints,
            ack_when_committed,
        } => Event::ReceiveAddRaftVoter {
            context,
            cluster_id: Some(cluster_id),
            voter,
            endpoints,
            ack_when_committed,
        },
        PeerRequest::RemoveRaftVoter { cluster_id, voter } => Event::ReceiveRemoveRaftVoter {
            context,
            cluster_id: Some(cluster_id),
            voter,
        },
        PeerRequest::ApiVersions => return None,
    };
    Some(event)
}

/// The answer of `from` as the replica gets it that asked; `None` where the answer does not say by itself what it answers
/// (changes of the voter set, refusals of whole requests), or no replica asks.
///
/// `batches` are what the plan of a Fetch answer reads. They, or the piece of a snapshot, lie at `payload`.
#[must_use]
pub fn answer_event(
    request: RequestId,
    from: ReplicaKey,
    answer: Answer,
    batches: Batches,
    payload: PayloadId,
) -> Option<Event> {
    let context = |partition: PartitionAnswer| AnswerContext {
        request,
        top_level: ErrorCode::None,
        partition: PartitionMatch::Metadata,
        error: partition.error,
        leader: partition.leader,
        leader_endpoint: partition.endpoint,
    };
    let event = match answer {
        Answer::Vote { partition, granted } => Event::ReceiveVoteResponse {
            epoch: partition.epoch,
            answer: context(partition),
            from,
            vote_granted: granted,
        },
        Answer::BeginQuorumEpoch(partition) => Event::ReceiveBeginQuorumEpochResponse {
            epoch: partition.epoch,
            answer: context(partition),
            from,
        },
        Answer::EndQuorumEpoch(partition) => Event::ReceiveEndQuorumEpochResponse {
            epoch: partition.epoch,
            answer: context(partition),
            from,
        },
        Answer::UpdateRaftVoter(partition) => Event::ReceiveUpdateRaftVoterResponse {
            leader_epoch: partition.epoch,
            answer: context(partition),
            from,
        },
        Answer::Fetch {
            partition,
            high_watermark,
            log_start: _,
            plan,
        } => {
            let (diverging, snapshot) = match plan {
                FetchPlan::Diverging(at) => (Some(at), None),
                FetchPlan::Snapshot(id) => (None, Some(id)),
                FetchPlan::Empty | FetchPlan::Read { .. } => (None, None),
            };
            let records = if batches.is_empty() {
                FetchedRecords::Empty
            } else {
                FetchedRecords::Batches { batches, payload }
            };
            Event::ReceiveFetchResponse {
                leader_epoch: partition.epoch,
                leader_id: partition.leader.unwrap_or(NodeId::NONE),
                answer: context(partition),
                from,
                high_watermark,
                diverging,
                snapshot,
                records,
            }
        }
        Answer::FetchSnapshot { partition, window } => {
            let bytes = window.map_or(0, |window| {
                let most = u32::try_from(window.max_bytes).unwrap_or(0);
                let rest = window.size.saturating_sub(window.position);
                u32::try_from(rest).map_or(most, |rest| rest.min(most))
            });
            let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
            Event::ReceiveFetchSnapshotResponse {
                leader_epoch: partition.epoch,
                answer: context(partition),
                from,
                snapshot: window.map_or(SnapshotId::BOOTSTRAP, |window| window.snapshot),
                size: window.map_or(0, |window| signed(window.size)),
                position: window.map_or(0, |window| signed(window.position)),
                bytes,
                payload,
            }
        }
        Answer::TopLevel(_)
        | Answer::VoterChange(_)
        | Answer::DescribeQuorum(_)
        | Answer::UpgradeKRaftVersion(_) => return None,
    };
    Some(event)
}
