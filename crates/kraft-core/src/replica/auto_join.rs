//! Auto-join: a controller that is no voter asks the leader to become one (`controller.quorum.auto.join.enable`).

use super::{Replica, turn::Turn};
use crate::{error_code::ErrorCode, handles::RequestId, peer_request::PeerRequest, role::Role, timer::Timer};

impl Replica {
    /// Whether this replica tries to become a voter by itself.
    pub(super) fn auto_joins(&self) -> bool {
        self.config.auto_join
            && self.config.can_become_voter
            && self.config.local.id.known().is_some()
            && self.kraft_version() >= 1
            && !self.is_voter()
    }

    /// Asks the leader to remove the voter that this node was under another directory id, else to add this replica.
    ///
    /// The log of this replica decides which: after a removal its record has to arrive here first. Returns whether the
    /// replica may fetch now.
    pub(super) fn join(&mut self, turn: &mut Turn<'_>) -> bool {
        let former = self.voters().get(self.config.local.id).map(|voter| voter.key);
        let cluster_id = self.cluster_id();
        let body = match former {
            Some(voter) => PeerRequest::RemoveRaftVoter { cluster_id, voter },
            // The leader may need this replica's next Fetch to commit, so it must not wait with its answer.
            None => PeerRequest::AddRaftVoter {
                cluster_id,
                timeout_ms: i32::try_from(self.config.request_timeout.as_millis()).unwrap_or(i32::MAX),
                voter: self.config.local,
                endpoints: self.config.listeners.clone(),
                ack_when_committed: false,
            },
        };
        let sent = self.send_to_leader(body, turn);
        let next = Timer::at(turn.mono().after(self.update_voter_period()));
        let Role::Follower(follower) = &mut self.role else {
            return true;
        };
        let unreachable = follower.endpoint.is_none();
        if sent || unreachable {
            follower.update_due = false;
            follower.update_voter = next;
        }
        unreachable
    }

    /// The leader answered. `settled` is the error that says that there was nothing to do.
    pub(super) fn handle_join_response(
        &mut self,
        request: RequestId,
        error: ErrorCode,
        settled: ErrorCode,
        turn: &mut Turn<'_>,
    ) {
        if self.connections.expected_from(request).is_none() {
            return;
        }
        let heard = error == settled || matches!(error, ErrorCode::None | ErrorCode::RequestTimedOut);
        let next = Timer::at(turn.mono().after(self.update_voter_period()));
        if heard && let Role::Follower(follower) = &mut self.role {
            follower.update_voter = next;
        }
        self.connections.finish(request, heard, turn.mono());
    }
}
