//! What is on its way from one replica to another.

use crate::{fold::fold, log::SNAPSHOT_SIZE};
use kraft_core::{
    Answer, AnswerContext, BatchInfo, Endpoint, Endpoints, Epoch, ErrorCode, Event, FetchPlan,
    FetchedRecords, NodeId, PartitionAnswer, PartitionMatch, PayloadId, PeerRequest, ReplicaKey, ReplyId,
    RequestContext, RequestId, SnapshotId, SuccessorRank, SupportedVersions,
};
use std::sync::Arc;
use uuid::Uuid;

const LISTENER: &str = "CONTROLLER";

/// The number of a request that nobody waits for any more: its asker has crashed. Real ones begin at 1.
pub(crate) const ORPHAN: RequestId = RequestId(0);

/// A message with whatever is needed to answer it or to know what it answers.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// The number that the asking replica gave.
    pub(crate) request: RequestId,
    pub(crate) body: Arc<Body>,
    /// A copy of one that has arrived already. It comes however late.
    pub(crate) copy: bool,
    /// The fold of all but the number of the request.
    pub(crate) folded: u64,
}

#[derive(Clone, Debug, Hash)]
pub(crate) enum Body {
    Request(PeerRequest),
    /// An answer, with the batches that it carries.
    Answer(Answer, Vec<BatchInfo>),
    /// The answer to the question what a replica supports, which the core is not asked.
    Features,
}

impl Message {
    pub(crate) fn new(from: usize, to: usize, request: RequestId, body: Body) -> Self {
        let folded = fold(&(from, to, &body), 0, 0);
        Self {
            from,
            to,
            request,
            body: Arc::new(body),
            copy: false,
            folded,
        }
    }

    /// Who asked.
    pub(crate) fn asker(&self) -> usize {
        match *self.body {
            Body::Request(_) => self.from,
            Body::Answer(..) | Body::Features => self.to,
        }
    }

    /// Whether it brings a piece of a snapshot.
    pub(crate) fn is_piece(&self) -> bool {
        matches!(
            *self.body,
            Body::Answer(Answer::FetchSnapshot { window: Some(_), .. }, _)
        )
    }

    /// The epoch of a request that has consequences also where nobody waits for its answer.
    pub(crate) fn binds_in(&self) -> Option<Epoch> {
        match &*self.body {
            Body::Request(
                PeerRequest::Vote {
                    epoch,
                    pre_vote: false,
                    ..
                }
                | PeerRequest::BeginQuorumEpoch { epoch, .. }
                | PeerRequest::EndQuorumEpoch { epoch, .. },
            ) => Some(*epoch),
            Body::Request(_) | Body::Answer(..) | Body::Features => None,
        }
    }
}

/// The key of the replica at `place`.
pub(crate) fn key(place: usize) -> ReplicaKey {
    let id = i32::try_from(place + 1).expect("few replicas");
    ReplicaKey::new(NodeId(id), Uuid::from_u128(place as u128 + 101))
}

/// The place of the replica that `id` names; the bootstrap server is none of them and never answers.
pub(crate) fn place(id: NodeId) -> Option<usize> {
    usize::try_from(id.0 - 1).ok()
}

/// Where the replica at `place` listens.
pub(crate) fn endpoints(place: usize) -> Endpoints {
    let port = u16::try_from(9001 + place).expect("a port");
    Endpoints::single(
        LISTENER,
        Endpoint {
            host: "h".into(),
            port,
        },
    )
}

/// A request as the replica at `to` sees it.
pub(crate) fn request_event(reply: ReplyId, from: usize, to: usize, body: PeerRequest) -> Event {
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
            from: key(from),
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
            let position = preferred_successors
                .iter()
                .position(|successor| successor.id == key(to).id)
                .unwrap_or(preferred_successors.len());
            Event::ReceiveEndQuorumEpoch {
                context,
                cluster_id: Some(cluster_id),
                leader_id: leader,
                leader_epoch: epoch,
                leader_endpoints: Endpoints::empty(),
                successor_rank: SuccessorRank {
                    position: u32::try_from(position).expect("few voters"),
                    successors: u32::try_from(preferred_successors.len()).expect("few voters"),
                },
            }
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
            panic!("nobody has a reason for {body:?}")
        }
    }
}

/// An answer as the replica that asked sees it. `payload` is what pieces of snapshots are.
pub(crate) fn answer_event(
    request: RequestId,
    from: usize,
    answer: &Answer,
    batches: &[BatchInfo],
    payload: PayloadId,
) -> Event {
    let from = key(from);
    let context = |partition: &PartitionAnswer| AnswerContext {
        request,
        top_level: ErrorCode::None,
        partition: PartitionMatch::Metadata,
        error: partition.error,
        leader: partition.leader,
        leader_endpoint: partition.endpoint.clone(),
    };
    match answer {
        Answer::Vote { partition, granted } => Event::ReceiveVoteResponse {
            epoch: partition.epoch,
            answer: context(partition),
            from,
            vote_granted: *granted,
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
            let (mut diverging, mut snapshot) = (None, None);
            match plan {
                FetchPlan::Diverging(at) => diverging = Some(*at),
                FetchPlan::Snapshot(id) => snapshot = Some(*id),
                FetchPlan::Empty | FetchPlan::Read { .. } => {}
            }
            let records = if batches.is_empty() {
                FetchedRecords::Empty
            } else {
                FetchedRecords::Batches {
                    batches: batches.to_vec().into(),
                    payload: PayloadId(0),
                }
            };
            Event::ReceiveFetchResponse {
                leader_epoch: partition.epoch,
                leader_id: partition.leader.unwrap_or(NodeId::NONE),
                answer: context(partition),
                from,
                high_watermark: *high_watermark,
                diverging,
                snapshot,
                records,
            }
        }
        Answer::FetchSnapshot { partition, window } => {
            let (snapshot, position) = window.map_or((SnapshotId::BOOTSTRAP, 0), |window| {
                (window.snapshot, window.position)
            });
            Event::ReceiveFetchSnapshotResponse {
                leader_epoch: partition.epoch,
                answer: context(partition),
                from,
                snapshot,
                size: i64::try_from(SNAPSHOT_SIZE).expect("small"),
                position: i64::try_from(position).expect("small"),
                bytes: 1,
                payload,
            }
        }
        Answer::TopLevel(_)
        | Answer::VoterChange(_)
        | Answer::DescribeQuorum(_)
        | Answer::UpgradeKRaftVersion(_) => panic!("nobody asks for {answer:?}"),
    }
}

/// What a replica that is to become a voter says of itself.
pub(crate) fn features_event(request: RequestId, from: usize) -> Event {
    Event::ReceiveApiVersionsResponse {
        request,
        from: key(from),
        error: ErrorCode::None,
        kraft_versions: Some(SupportedVersions { min: 0, max: 1 }),
    }
}
