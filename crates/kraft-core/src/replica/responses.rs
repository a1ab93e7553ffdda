//! What all answers have in common.

use super::{Replica, turn::Turn};
use crate::{
    endpoints::Endpoints,
    error_code::ErrorCode,
    event::{AnswerContext, PartitionMatch, RequestFault},
    handles::RequestId,
    ids::{Epoch, NodeId},
    role::Role,
};
use alloc::string::ToString;

/// What is to be done with an answer after the common rules.
enum Screened {
    /// Nothing more; whether the peer may be asked again at once.
    Done { success: bool },
    /// The handler of its kind goes on.
    GoOn,
}

impl Replica {
    /// Applies the rules that all answers share. Returns who answered if the handler of its kind has to go on;
    /// otherwise the request is over. An answer that nobody waits for any more is ignored.
    #[inline(always)]
    pub(super) fn screen(
        &mut self,
        answer: &AnswerContext,
        epoch: Epoch,
        turn: &mut Turn<'_>,
    ) -> Option<NodeId> {
        let from = self.connections.expected_from(answer.request)?;
        if !self.unreachable.is_empty() {
            self.unreachable.remove(&from);
        }
        let is_plain = answer.top_level == ErrorCode::None
            && answer.partition == PartitionMatch::Metadata
            && answer.error == ErrorCode::None
            && epoch == self.epoch
            && !self.lacks_leader_address();
        if is_plain {
            // None of the rules has anything to say of an answer without an error, in the epoch that is known.
            return Some(from);
        }
        self.screen_with_care(answer, epoch, from, turn)
    }

    fn screen_with_care(
        &mut self,
        answer: &AnswerContext,
        epoch: Epoch,
        from: NodeId,
        turn: &mut Turn<'_>,
    ) -> Option<NodeId> {
        let screened = if answer.top_level != ErrorCode::None {
            self.top_level_error(answer.top_level, turn)
        } else if answer.partition != PartitionMatch::Metadata {
            Screened::Done { success: false }
        } else {
            self.common_rules(answer, epoch, turn)
        };
        self.conclude(answer.request, screened, from, turn)
    }

    /// As [`screen`](Self::screen), for an answer without a partition whose only error is the top-level one.
    pub(super) fn screen_flat(
        &mut self,
        answer: &AnswerContext,
        epoch: Epoch,
        turn: &mut Turn<'_>,
    ) -> Option<NodeId> {
        let from = self.connections.expected_from(answer.request)?;
        let screened = self.common_rules(answer, epoch, turn);
        self.conclude(answer.request, screened, from, turn)
    }

    fn conclude(
        &mut self,
        request: RequestId,
        screened: Screened,
        from: NodeId,
        turn: &mut Turn<'_>,
    ) -> Option<NodeId> {
        match screened {
            Screened::Done { success } => {
                self.connections.finish(request, success, turn.mono());
                None
            }
            Screened::GoOn => Some(from),
        }
    }

    fn top_level_error(&mut self, error: ErrorCode, turn: &mut Turn<'_>) -> Screened {
        if error == ErrorCode::UnsupportedVersion && matches!(self.role, Role::Prospective(_)) {
            // A peer that knows no pre-vote cannot refuse one.
            self.become_candidate("a voter does not know pre-votes", turn);
            return Screened::Done { success: true };
        }
        if error == ErrorCode::ClusterAuthorizationFailed {
            let reason =
                "a peer refuses this node: its principal lacks CLUSTER_ACTION on the cluster".to_string();
            self.fatal(reason, turn);
        }
        Screened::Done { success: false }
    }

    fn common_rules(&mut self, answer: &AnswerContext, epoch: Epoch, turn: &mut Turn<'_>) -> Screened {
        let error = answer.error;
        if !self.believes(epoch) {
            return Screened::Done { success: false };
        }
        if epoch < self.epoch || error == ErrorCode::UnknownLeaderEpoch {
            return Screened::Done { success: true };
        }
        let leader = answer.leader.and_then(NodeId::known);
        if epoch > self.epoch
            || error == ErrorCode::FencedLeaderEpoch
            || error == ErrorCode::NotLeaderOrFollower
        {
            let endpoints = self.endpoints_from(answer);
            let consistent = self.maybe_transition(leader, epoch, endpoints, turn).is_ok();
            let success = consistent && !(leader.is_some() && self.lacks_leader_address());
            return Screened::Done { success };
        }
        if leader.is_some() && self.lacks_leader_address() {
            let endpoints = self.endpoints_from(answer);
            if self.maybe_transition(leader, epoch, endpoints, turn).is_err() {
                return Screened::Done { success: false };
            }
            if error != ErrorCode::None {
                let success = !self.lacks_leader_address();
                return Screened::Done { success };
            }
        }
        match error {
            ErrorCode::BrokerNotAvailable | ErrorCode::InvalidRequest => Screened::Done { success: false },
            ErrorCode::InvalidVoterKey => Screened::Done { success: true },
            _ => Screened::GoOn,
        }
    }

    /// No leader is known, or only its id. Whoever names one that cannot be reached is not asked again without a rest: it
    /// would say the same.
    #[inline]
    fn lacks_leader_address(&self) -> bool {
        match &self.role {
            Role::Unattached(_) | Role::Candidate(_) => true,
            Role::Prospective(prospective) => prospective.leader.is_none(),
            Role::Leader(_) | Role::Follower(_) | Role::Resigned(_) => false,
        }
    }

    /// Where the leader listens that an answer names: as it says, else as the voter set says.
    fn endpoints_from(&self, answer: &AnswerContext) -> Endpoints {
        let endpoint = answer.leader_endpoint.as_ref();
        // An address without a host is none.
        let endpoint = endpoint.filter(|endpoint| !endpoint.host.trim().is_empty());
        match (answer.leader.and_then(NodeId::known), endpoint) {
            (Some(_), Some(endpoint)) => Endpoints::single(&self.config.default_listener, endpoint.clone()),
            (Some(leader), None) => self.voters().endpoints(leader),
            (None, _) => Endpoints::empty(),
        }
    }

    /// A request of ours got no answer.
    pub(super) fn request_failed(&mut self, request: RequestId, fault: RequestFault, turn: &mut Turn<'_>) {
        let Some(from) = self.connections.expected_from(request) else {
            return;
        };
        let screened = match fault {
            RequestFault::UnsupportedVersion => self.top_level_error(ErrorCode::UnsupportedVersion, turn),
            RequestFault::Disconnected | RequestFault::AuthenticationFailed | RequestFault::Malformed => {
                Screened::Done { success: false }
            }
        };
        if self.shutting_down() {
            self.unreachable.insert(from);
        }
        self.conclude(request, screened, from, turn);
        self.probe_failed(request, fault, turn);
    }
}
