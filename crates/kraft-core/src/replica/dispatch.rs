//! From events to what they are about.

use super::{
    Replica, begin_end::Announcement, fetch_snapshot::SnapshotRequest, propose::Offer,
    snapshot_response::Chunk, turn::Turn, vote::Ballot, wake::Wake,
};
use crate::{
    error_code::ErrorCode,
    event::Event,
    ids::ReplicaKey,
    voter_set::{SupportedVersions, VoterNode},
};

impl Replica {
    /// Brings an event to the file that knows what to make of it. This is a part of whoever takes the step, who mostly knows
    /// which event it is. What comes with every record is looked at where it lies, so that it is not copied on its way.
    #[inline(always)]
    pub(super) fn handle(&mut self, mut event: Event, turn: &mut Turn<'_>) {
        match event {
            Event::ReceiveFetch { .. } => self.handle_fetch(&event, turn),
            Event::ReceiveFetchResponse { .. } => self.handle_fetch_response(&mut event, turn),
            Event::Propose {
                reply,
                epoch,
                records,
                bytes,
                payload,
            } => {
                let offer = Offer {
                    reply,
                    epoch,
                    records,
                    bytes,
                    payload,
                };
                self.propose(offer, turn);
            }
            Event::Durable { up_to } => self.durable(up_to, turn),
            _ => {
                self.wake = Wake::NOW;
                self.handle_rare(event, turn);
            }
        }
    }

    /// All other events. A function of its own, so that the others do not pay for its size.
    #[inline(never)]
    pub(super) fn handle_rare(&mut self, event: Event, turn: &mut Turn<'_>) {
        match event {
            Event::ReceiveFetch { .. }
            | Event::ReceiveFetchResponse { .. }
            | Event::Propose { .. }
            | Event::Durable { .. } => unreachable!("they are handled where they come often"),
            Event::Tick
            | Event::ElectionTimeout
            | Event::FetchTimeout
            | Event::CheckQuorumTimeout
            | Event::HeartbeatTimeout => {}
            Event::ReceiveVoteRequest {
                context,
                from: _,
                cluster_id,
                voter_id,
                voter_directory_id,
                candidate_epoch,
                candidate,
                candidate_directory_id,
                candidate_log_end,
                pre_vote,
            } => {
                let ballot = Ballot {
                    addressed_to: ReplicaKey::new(voter_id, voter_directory_id),
                    nominee: ReplicaKey::new(candidate, candidate_directory_id),
                    epoch: candidate_epoch,
                    log_end: candidate_log_end,
                    pre_vote,
                };
                self.handle_vote(&context, cluster_id.as_ref(), &ballot, turn);
            }
            Event::ReceiveVoteResponse {
                answer,
                from: _,
                epoch,
                vote_granted,
            } => {
                self.handle_vote_response(&answer, epoch, vote_granted, turn);
            }
            Event::ReceiveBeginQuorumEpoch {
                context,
                cluster_id,
                voter_id,
                voter_directory_id,
                leader_id,
                leader_epoch,
                leader_endpoints,
            } => {
                let addressed_to = ReplicaKey::new(voter_id, voter_directory_id);
                let announcement = Announcement {
                    leader_id,
                    leader_epoch,
                    leader_endpoints,
                };
                self.handle_begin_quorum_epoch(
                    &context,
                    cluster_id.as_ref(),
                    &addressed_to,
                    announcement,
                    turn,
                );
            }
            Event::ReceiveBeginQuorumEpochResponse {
                answer,
                from: _,
                epoch,
            } => {
                self.handle_begin_quorum_epoch_response(&answer, epoch, turn);
            }
            Event::ReceiveEndQuorumEpoch {
                context,
                cluster_id,
                leader_id,
                leader_epoch,
                leader_endpoints,
                successor_rank,
            } => {
                let announcement = Announcement {
                    leader_id,
                    leader_epoch,
                    leader_endpoints,
                };
                self.handle_end_quorum_epoch(
                    &context,
                    cluster_id.as_ref(),
                    announcement,
                    successor_rank,
                    turn,
                );
            }
            Event::ReceiveEndQuorumEpochResponse {
                answer,
                from: _,
                epoch,
            } => {
                self.handle_end_quorum_epoch_response(&answer, epoch, turn);
            }
            Event::ReceiveFetchSnapshot {
                context,
                from,
                cluster_id,
                fetch_epoch,
                snapshot,
                position,
                max_bytes,
            } => {
                let request = SnapshotRequest {
                    from,
                    epoch: fetch_epoch,
                    snapshot,
                    position,
                    max_bytes,
                };
                self.handle_fetch_snapshot(&context, cluster_id.as_ref(), &request, turn);
            }
            Event::ReceiveFetchSnapshotResponse {
                answer,
                from: _,
                leader_epoch,
                snapshot,
                size,
                position,
                bytes,
                payload,
            } => {
                let chunk = Chunk {
                    snapshot,
                    size,
                    position,
                    bytes,
                    payload,
                };
                self.handle_fetch_snapshot_response(&answer, leader_epoch, chunk, turn);
            }
            Event::SnapshotInstalled { snapshot, control } => {
                self.snapshot_installed(snapshot, &control, turn)
            }
            Event::SnapshotRejected { snapshot } => self.snapshot_rejected(snapshot, turn),
            Event::ReceiveUpdateRaftVoter {
                context,
                cluster_id,
                leader_epoch,
                voter,
                endpoints,
                kraft_versions,
            } => {
                let node = VoterNode {
                    key: voter,
                    endpoints,
                    kraft_versions,
                };
                self.handle_update_voter(&context, cluster_id.as_ref(), leader_epoch, node, turn);
            }
            Event::ReceiveUpdateRaftVoterResponse {
                answer,
                from: _,
                leader_epoch,
            } => {
                self.handle_update_voter_response(&answer, leader_epoch, turn);
            }
            Event::ReceiveAddRaftVoter {
                context,
                cluster_id,
                voter,
                endpoints,
                ack_when_committed,
            } => {
                let node = VoterNode {
                    key: voter,
                    endpoints,
                    kraft_versions: SupportedVersions { min: 0, max: 0 },
                };
                self.handle_add_voter(context.reply, cluster_id.as_ref(), node, ack_when_committed, turn);
            }
            Event::ReceiveRemoveRaftVoter {
                context,
                cluster_id,
                voter,
            } => self.handle_remove_voter(context.reply, cluster_id.as_ref(), &voter, turn),
            Event::ReceiveApiVersionsResponse {
                request,
                from: _,
                error,
                kraft_versions,
            } => self.handle_api_versions_response(request, error, kraft_versions, turn),
            Event::ReceiveAddRaftVoterResponse {
                request,
                from: _,
                error,
            } => self.handle_join_response(request, error, ErrorCode::DuplicateVoter, turn),
            Event::ReceiveRemoveRaftVoterResponse {
                request,
                from: _,
                error,
            } => self.handle_join_response(request, error, ErrorCode::VoterNotFound, turn),
            Event::Reconfigure { reply, change } => self.reconfigure(reply, change, turn),
            Event::UpgradeKRaftVersion {
                reply,
                epoch,
                level,
                validate_only,
            } => self.upgrade_kraft_version(reply, epoch, level, validate_only, turn),
            Event::ReceiveDescribeQuorum { context } => self.handle_describe_quorum(&context, turn),
            Event::ReceiveLeaderlessEpoch { epoch } => self.leaderless_epoch(epoch, turn),
            Event::RequestFailed { request, fault } => self.request_failed(request, fault, turn),
            Event::CallerGone { reply } => {
                self.parked.forget(reply);
                self.forget_change_caller(reply);
                self.forget_reader(reply);
            }
            Event::ReadBarrier { reply } => self.read_barrier(reply, turn),
            Event::StorageFailed => self.storage_failed(turn),
            Event::Resign { epoch } => self.resign(epoch),
            Event::Shutdown { timeout } => self.begin_shutdown(timeout, turn),
        }
    }
}
