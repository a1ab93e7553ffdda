//! What is on its way from one replica to another.

use crate::fold::fold;
use kraft_core::{
    Answer, AnswerContext, Endpoint, Endpoints, ErrorCode, Event, NodeId, PartitionAnswer, PartitionMatch,
    PeerRequest, ReplicaKey, ReplyId, RequestContext, RequestId, SuccessorRank,
};
use uuid::Uuid;

const LISTENER: &str = "CONTROLLER";

/// A message with whatever is needed to answer it or to know what it answers.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// The number that the asking replica gave.
    pub(crate) request: RequestId,
    pub(crate) body: Body,
    /// The fold of all but the number of the request.
    pub(crate) folded: u64,
}

#[derive(Clone, Debug)]
pub(crate) enum Body {
    Request(PeerRequest),
    Answer(Answer),
}

impl Message {
    pub(crate) fn new(from: usize, to: usize, request: RequestId, body: Body) -> Self {
        let folded = fold(&(from, to, &body), 0, 0);
        Self {
            from,
            to,
            request,
            body,
            folded,
        }
    }

    /// Who asked.
    pub(crate) fn asker(&self) -> usize {
        match self.body {
            Body::Request(_) => self.from,
            Body::Answer(..) => self.to,
        }
    }
}

/// The key of the replica at `place`.
pub(crate) fn key(place: usize) -> ReplicaKey {
    let id = i32::try_from(place + 1).expect("few replicas");
    ReplicaKey::new(NodeId(id), Uuid::from_u128(place as u128 + 101))
}

/// The place of the replica that `id` names, also by its number as a bootstrap server.
pub(crate) fn place(id: NodeId) -> usize {
    let place = if id.0 < 0 { -2 - id.0 } else { id.0 - 1 };
    usize::try_from(place).expect("a voter")
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
        PeerRequest::ApiVersions
        | PeerRequest::Fetch { .. }
        | PeerRequest::FetchSnapshot { .. }
        | PeerRequest::AddRaftVoter { .. }
        | PeerRequest::RemoveRaftVoter { .. } => panic!("nobody has a reason for {body:?}"),
    }
}

/// An answer as the replica that asked sees it.
pub(crate) fn answer_event(request: RequestId, from: usize, answer: Answer) -> Event {
    let from = key(from);
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
        Answer::TopLevel(_)
        | Answer::Fetch { .. }
        | Answer::FetchSnapshot { .. }
        | Answer::VoterChange(_)
        | Answer::DescribeQuorum(_)
        | Answer::UpgradeKRaftVersion(_) => panic!("nobody asks for {answer:?}"),
    }
}
