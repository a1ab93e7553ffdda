//! What one member sends as the event that it is for another.

use super::*;

pub(super) fn request_event(reply: ReplyId, from: ReplicaKey, body: PeerRequest, local: i32) -> Event {
    let context = RequestContext {
        reply,
        listener: "CONTROLLER".into(),
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
        } => {
            let place = preferred_successors
                .iter()
                .position(|successor| successor.id == NodeId(local));
            let rank = SuccessorRank {
                position: u32::try_from(place.unwrap_or(preferred_successors.len())).expect("small"),
                successors: u32::try_from(preferred_successors.len()).expect("small"),
            };
            Event::ReceiveEndQuorumEpoch {
                context,
                cluster_id: Some(cluster_id),
                leader_id: leader,
                leader_epoch: epoch,
                leader_endpoints: crate::endpoints::Endpoints::empty(),
                successor_rank: rank,
            }
        }
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
        PeerRequest::ApiVersions => panic!("the network answers that"),
        PeerRequest::FetchSnapshot { .. } => panic!("nobody takes snapshots here"),
    }
}

pub(super) fn answer_event(
    request: RequestId,
    from: ReplicaKey,
    answer: Answer,
    batches: Vec<BatchInfo>,
) -> Event {
    let context = |partition: PartitionAnswer| AnswerContext {
        request,
        top_level: ErrorCode::None,
        partition: PartitionMatch::Metadata,
        error: partition.error,
        leader: partition.leader,
        leader_endpoint: partition.endpoint,
    };
    match answer {
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
            plan,
            ..
        } => {
            let diverging = match plan {
                FetchPlan::Diverging(at) => Some(at),
                _ => None::<LogOffsetMetadata>,
            };
            let records = if batches.is_empty() {
                FetchedRecords::Empty
            } else {
                FetchedRecords::Batches {
                    batches: batches.into(),
                    payload: PayloadId(0),
                }
            };
            Event::ReceiveFetchResponse {
                leader_epoch: partition.epoch,
                leader_id: partition.leader.unwrap_or(NodeId::NONE),
                answer: context(partition),
                from,
                high_watermark,
                diverging,
                snapshot: None,
                records,
            }
        }
        // Of those that ask for a change here only additions come as requests.
        Answer::VoterChange(outcome) => Event::ReceiveAddRaftVoterResponse {
            request,
            from,
            error: outcome.map_or_else(|refusal| refusal.error, |_| ErrorCode::None),
        },
        Answer::TopLevel(_)
        | Answer::FetchSnapshot { .. }
        | Answer::DescribeQuorum(_)
        | Answer::UpgradeKRaftVersion(_) => {
            panic!("nobody asks for {answer:?}")
        }
    }
}
