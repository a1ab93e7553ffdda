//! AddRaftVoter (KIP-853, KIP-1186): an observer that is up to date becomes a voter.

use super::{
    Replica,
    turn::Turn,
    voter_change::{ChangeName, already_a_voter, busy},
};
use crate::{
    answer::Answer,
    error_code::ErrorCode,
    event::RequestFault,
    handles::{ReplyId, RequestId},
    kafka_text,
    peer_request::PeerRequest,
    pending_change::{PendingChange, Probe, Stage},
    reconfig::{ChangeRefusal, ReconfigOutcome},
    role::Role,
    text::Text,
    voter_set::{SupportedVersions, VoterNode},
};
use alloc::format;

impl Replica {
    pub(super) fn handle_add_voter(
        &mut self,
        reply: ReplyId,
        cluster_id: Option<&Text>,
        voter: VoterNode,
        ack_when_committed: bool,
        turn: &mut Turn<'_>,
    ) {
        self.expire_change(turn);
        if let Err(refusal) = self.probe_new_voter(reply, cluster_id, voter, ack_when_committed, turn) {
            self.refuse_change(reply, refusal, turn);
        }
    }

    /// Begins the change by asking the new voter which kraft.version it supports.
    fn probe_new_voter(
        &mut self,
        reply: ReplyId,
        cluster_id: Option<&Text>,
        voter: VoterNode,
        ack_when_committed: bool,
        turn: &mut Turn<'_>,
    ) -> Result<(), ChangeRefusal> {
        let VoterNode { key, endpoints, .. } = voter;
        self.check_change_request(cluster_id, &key, ChangeName::Add)?;
        if !endpoints.may_be_recorded() {
            let message =
                "Add voter request has a listener without name or host, or far too many or long ones";
            return Err(ChangeRefusal::new(ErrorCode::InvalidRequest, message));
        }
        let default_listener = &self.config.default_listener;
        let Some(endpoint) = endpoints.of(default_listener).cloned() else {
            let message = format!(
                "Add voter request didn't include the endpoint ({}) for the default listener {}",
                kafka_text::endpoints(&endpoints),
                kafka_text::listener_name(default_listener)
            );
            return Err(ChangeRefusal::new(ErrorCode::InvalidRequest, message));
        };
        self.check_quorum_is_settled(ChangeName::Add)?;
        if self.voters().get(key.id).is_some() {
            return Err(already_a_voter(&key, self.voters()));
        }
        let now = turn.mono();
        if !self.connections.ready(key.id, now) {
            let name = kafka_text::replica_key(&key);
            return Err(busy(format!("The new voter {name} cannot be asked right now")));
        }
        let request = self.send(
            key,
            endpoint,
            PeerRequest::ApiVersions,
            self.tickets.election(),
            turn,
        );
        let expires = now.after(self.config.request_timeout);
        if let Role::Leader(leader) = &mut self.role {
            leader.pending_change = Some(PendingChange {
                stage: Stage::Probing(Probe {
                    request,
                    voter: key,
                    endpoints,
                    ack_when_committed,
                }),
                expires,
                waiting: Some(reply),
            });
        }
        Ok(())
    }

    pub(super) fn handle_api_versions_response(
        &mut self,
        request: RequestId,
        error: ErrorCode,
        kraft_versions: Option<SupportedVersions>,
        turn: &mut Turn<'_>,
    ) {
        if self.connections.expected_from(request).is_none() {
            return;
        }
        self.connections
            .finish(request, error == ErrorCode::None, turn.mono());
        self.conclude_probe(request, error, kraft_versions, turn);
    }

    /// A request of ours got no answer. If it was the question to a new voter, the voter is not added.
    pub(super) fn probe_failed(&mut self, request: RequestId, fault: RequestFault, turn: &mut Turn<'_>) {
        // A question that stays open for as long as the whole change may take is over with it, whoever notices first.
        self.expire_change(turn);
        let error = match fault {
            RequestFault::Disconnected | RequestFault::Malformed => ErrorCode::BrokerNotAvailable,
            RequestFault::UnsupportedVersion => ErrorCode::UnsupportedVersion,
            RequestFault::AuthenticationFailed => ErrorCode::NetworkException,
        };
        self.conclude_probe(request, error, None, turn);
    }

    /// Adds the new voter if it knows the kraft.version in force and has everything that the log had a while ago.
    fn conclude_probe(
        &mut self,
        request: RequestId,
        error: ErrorCode,
        kraft_versions: Option<SupportedVersions>,
        turn: &mut Turn<'_>,
    ) {
        let Role::Leader(leader) = &self.role else {
            return;
        };
        let change = leader.pending_change.as_ref();
        let Some((probe, waiting)) =
            change.and_then(|change| Some((change.probe(request)?.clone(), change.waiting)))
        else {
            return;
        };
        let caught_up = leader.is_caught_up(&probe.voter, turn.mono());
        let node = match self.new_voter(&probe, error, kraft_versions, caught_up) {
            Ok(node) => node,
            Err(refusal) => return self.abandon_change(refusal, turn),
        };
        let voters = self.voters().add(node);
        let voters = voters.expect("its id was no voter's, and one change is under way at a time");
        let offset = self.append_voters(voters, turn);
        let still_waiting = waiting.filter(|_| probe.ack_when_committed);
        if let Role::Leader(leader) = &mut self.role
            && let Some(change) = &mut leader.pending_change
        {
            // The time that was given covers question, append and commit together.
            change.stage = Stage::Appended { offset };
            change.waiting = still_waiting;
        }
        if let Some(reply) = waiting.filter(|_| !probe.ack_when_committed) {
            let done = Answer::VoterChange(Ok(ReconfigOutcome::Appended { offset }));
            self.reply(reply, done, turn);
        }
    }

    fn new_voter(
        &self,
        probe: &Probe,
        error: ErrorCode,
        kraft_versions: Option<SupportedVersions>,
        caught_up: bool,
    ) -> Result<VoterNode, ChangeRefusal> {
        if error != ErrorCode::None {
            // Kafka's text names no voter.
            return Err(busy(format!(
                "Aborted add voter operation for since API_VERSIONS returned an error {error}"
            )));
        }
        let name = kafka_text::replica_key(&probe.voter);
        let level = self.kraft_version();
        let fits = |supported: &SupportedVersions| supported.is_range() && supported.contains(level);
        let Some(kraft_versions) = kraft_versions.filter(fits) else {
            let message = format!(
                "Aborted add voter operation for {name} since it does not support kraft.version {level}"
            );
            return Err(ChangeRefusal::new(ErrorCode::InvalidRequest, message));
        };
        if !caught_up {
            return Err(busy(format!(
                "Aborted add voter operation for {name} since it is lagging behind"
            )));
        }
        Ok(VoterNode {
            key: probe.voter,
            endpoints: probe.endpoints.clone(),
            kraft_versions,
        })
    }
}
