//! What one replica sends as what another one gets.

use crate::settings::LISTENER;
use kraft_core::{
    Answer, AnswerContext, BatchInfo, Endpoints, ErrorCode, Event, FetchPlan, FetchedRecords, NodeId,
    PartitionAnswer, PartitionMatch, PayloadId, PeerRequest, ReplicaKey, ReplyId, RequestContext, RequestId,
    SuccessorRank,
};

/// A request as its receiver gets it.
pub(crate) fn request_event(reply: ReplyId, from: ReplicaKey, local: ReplicaKey, body: PeerRequest) -> Event {
    let context = RequestContext {
        reply,
        listener: LISTENER.into(),
        partition: PartitionMatch::Metadata,
    };
    match body {
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
            successor_rank: rank(&preferred_successors, local.id),
        },
        PeerRequest::Fetch {
            cluster_id,
            replica,
            epoch,
            log_end,
            high_watermark,
            max_wait_ms,
            max_bytes,
        } => Event::ReceiveFetch {
            context,
            from: replica,
            cluster_id: Some(cluster_id),
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
        PeerRequest::ApiVersions | PeerRequest::AddRaftVoter { .. } | PeerRequest::RemoveRaftVoter { .. } => {
            panic!("nobody here changes the voters")
        }
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
    }
}

fn rank(successors: &[ReplicaKey], local: NodeId) -> SuccessorRank {
    let place = successors.iter().position(|successor| successor.id == local);
    let count = |count: usize| u32::try_from(count).expect("a handful");
    SuccessorRank {
        position: count(place.unwrap_or(successors.len())),
        successors: count(successors.len()),
    }
}

fn context(request: RequestId, partition: &PartitionAnswer) -> AnswerContext {
    AnswerContext {
        request,
        top_level: ErrorCode::None,
        partition: PartitionMatch::Metadata,
        error: partition.error,
        leader: partition.leader,
        leader_endpoint: partition.endpoint.clone(),
    }
}

/// An answer as the sender of the request gets it. `batches` is what the plan of a Fetch answer reads.
pub(crate) fn answer_event(
    request: RequestId,
    from: ReplicaKey,
    answer: Answer,
    batches: Vec<BatchInfo>,
) -> Event {
    match answer {
        Answer::Vote { partition, granted } => Event::ReceiveVoteResponse {
            answer: context(request, &partition),
            from,
            epoch: partition.epoch,
            vote_granted: granted,
        },
        Answer::BeginQuorumEpoch(partition) => Event::ReceiveBeginQuorumEpochResponse {
            answer: context(request, &partition),
            from,
            epoch: partition.epoch,
        },
        Answer::EndQuorumEpoch(partition) => Event::ReceiveEndQuorumEpochResponse {
            answer: context(request, &partition),
            from,
            epoch: partition.epoch,
        },
        Answer::UpdateRaftVoter(partition) => Event::ReceiveUpdateRaftVoterResponse {
            answer: context(request, &partition),
            from,
            leader_epoch: partition.epoch,
        },
        Answer::Fetch {
            partition,
            high_watermark,
            plan,
            ..
        } => {
            let (diverging, snapshot) = match plan {
                FetchPlan::Diverging(at) => (Some(at), None),
                FetchPlan::Snapshot(id) => (None, Some(id)),
                FetchPlan::Empty | FetchPlan::Read { .. } => (None, None),
            };
            let records = if batches.is_empty() {
                FetchedRecords::Empty
            } else {
                let payload = PayloadId(0);
                let batches = batches.into();
                FetchedRecords::Batches { batches, payload }
            };
            Event::ReceiveFetchResponse {
                answer: context(request, &partition),
                from,
                leader_id: partition.leader.unwrap_or(NodeId::NONE),
                leader_epoch: partition.epoch,
                high_watermark,
                diverging,
                snapshot,
                records,
            }
        }
        Answer::FetchSnapshot { partition, window } => {
            let bytes = window.map_or(0, |window| {
                let rest = u32::try_from(window.size - window.position).expect("small");
                rest.min(u32::try_from(window.max_bytes).expect("checked by the leader"))
            });
            let signed = |number: u64| i64::try_from(number).expect("small");
            Event::ReceiveFetchSnapshotResponse {
                answer: context(request, &partition),
                from,
                leader_epoch: partition.epoch,
                snapshot: window.map_or(kraft_core::SnapshotId::BOOTSTRAP, |window| window.snapshot),
                size: window.map_or(0, |window| signed(window.size)),
                position: window.map_or(0, |window| signed(window.position)),
                bytes,
                payload: PayloadId(0),
            }
        }
        Answer::VoterChange(_) | Answer::UpgradeKRaftVersion(_) => panic!("nobody here changes the voters"),
        Answer::TopLevel(error) => panic!("nobody here sends what is answered with {error:?}"),
        Answer::DescribeQuorum(_) => panic!("nobody asks for a description"),
    }
}
