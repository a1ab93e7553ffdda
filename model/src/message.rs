//! What is on its way from one replica to another.

use crate::fold::fold;
use kraft_core::{
    Answer, BatchInfo, Endpoint, Endpoints, Epoch, ErrorCode, Event, NodeId, PayloadId, PeerRequest,
    ReplicaKey, ReplyId, RequestId, SupportedVersions, exchange,
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
    exchange::request_event(reply, LISTENER.into(), key(from), &key(to), body)
        .expect("the world answers what is no event")
}

/// An answer as the replica that asked sees it. `payload` is what pieces of snapshots are.
pub(crate) fn answer_event(
    request: RequestId,
    from: usize,
    answer: &Answer,
    batches: &[BatchInfo],
    payload: PayloadId,
) -> Event {
    exchange::answer_event(
        request,
        key(from),
        answer.clone(),
        batches.iter().cloned().collect(),
        payload,
    )
    .unwrap_or_else(|| panic!("nobody asks for {answer:?}"))
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
