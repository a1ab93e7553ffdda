//! Every effect of a replica as one line of text.

use super::{
    names::{show_endpoints, show_key, show_leader, show_node, show_nodes},
    records::{show_batch, show_control},
};
use kraft_core::{
    Action, Answer, AppendPayload, BatchInfo, ChangeRefusal, DescribeRefusal, DiskOp, ElectionState,
    ErrorCode, FetchPlan, LogEnd, PartitionAnswer, PeerRequest, ProposalOutcome, QuorumDescription,
    ReconfigOutcome, Refusal, ReplicaProgress, RequestFault, RoleName, SnapshotId, Ticket, UpgradeOutcome,
};

/// The text of an action. `durable` is the newest ticket that is durable: a later one is waited for.
pub(crate) fn action(action: &Action, durable: Ticket) -> String {
    match action {
        Action::Disk { ticket, op } => format!("disk #{}: {}", ticket.0, disk_op(op)),
        Action::Send {
            request,
            to,
            endpoint,
            body,
            after,
        } => format!(
            "send {} to {} at {endpoint}: {}{}",
            request.0,
            show_key(to),
            peer_request(body),
            waits(*after, durable)
        ),
        Action::Reply { reply, answer, after } => {
            format!(
                "reply {}: {}{}",
                reply.0,
                show_answer(answer),
                waits(*after, durable)
            )
        }
        Action::Accept { reply, base, epoch } => format!("accept {}: at {base} in epoch {epoch}", reply.0),
        Action::Refuse { reply, reason } => format!("refuse {}: {}", reply.0, refusal(*reason)),
        Action::Outcome { reply, outcome } => format!("outcome {}: {}", reply.0, proposal_outcome(*outcome)),
        Action::ReadBarrier {
            reply,
            applied: Some(applied),
        } => format!("read {} once {applied} is applied", reply.0),
        Action::ReadBarrier { reply, applied: None } => format!("refuse read {}", reply.0),
        Action::Commit { high_watermark } => format!("commit below {high_watermark}"),
        Action::Transition {
            role,
            epoch,
            leader,
            reason,
        } => format!(
            "{}, epoch {epoch}, {}: {reason}",
            role_name(*role),
            show_leader(*leader)
        ),
        Action::Lead { epoch, applied } => format!("lead epoch {epoch} once {applied} is applied"),
        Action::Unlead => "lead no more".to_owned(),
        Action::Discard { payload } => format!("discard payload {}", payload.0),
        Action::AbandonSnapshot { snapshot } => format!("abandon snapshot {}", snapshot_id(*snapshot)),
        Action::ShutdownComplete { timed_out: true } => "shut down, time ran out".to_owned(),
        Action::ShutdownComplete { timed_out: false } => "shut down".to_owned(),
        Action::Fatal { reason } => format!("fatal: {reason}"),
    }
}

fn waits(after: Ticket, durable: Ticket) -> String {
    if after <= durable {
        String::new()
    } else {
        format!(" (after #{})", after.0)
    }
}

fn disk_op(op: &DiskOp) -> String {
    match op {
        DiskOp::Append {
            base,
            batches,
            payload,
        } => {
            let shown: Vec<_> = batches.iter().map(show_batch).collect();
            format!(
                "append at {base}: {}{}",
                shown.join(","),
                append_payload(payload, batches)
            )
        }
        DiskOp::Truncate { to } => format!("truncate to {to}"),
        DiskOp::SnapshotChunk {
            snapshot,
            position,
            payload,
            last,
        } => format!(
            "store payload {} of snapshot {} at {position}{}",
            payload.0,
            snapshot_id(*snapshot),
            if *last { ", the last" } else { "" }
        ),
        DiskOp::TruncateFully { snapshot } => {
            format!("truncate fully to snapshot {}", snapshot_id(*snapshot))
        }
        DiskOp::StoreElection(election) => format!("store {}", election_state(election)),
        DiskOp::StartEpoch { epoch, start } => format!("start epoch {epoch} at {start}"),
    }
}

fn append_payload(payload: &AppendPayload, batches: &[BatchInfo]) -> String {
    match payload {
        AppendPayload::Proposal(id) => format!(" (proposal, payload {})", id.0),
        AppendPayload::Fetched(id) => format!(" (fetched, payload {})", id.0),
        AppendPayload::Control {
            records,
            timestamp_ms,
        } => {
            let told = batches.iter().filter_map(|batch| batch.control.as_ref());
            if told.eq([records]) {
                return format!(" (stamped {timestamp_ms})");
            }
            let records: Vec<_> = records.iter().map(show_control).collect();
            format!(" (stamped {timestamp_ms}: {})", records.join("; "))
        }
    }
}

/// The text of what is, or is to be, in `quorum-state`.
pub(crate) fn election_state(election: &ElectionState) -> String {
    let ElectionState {
        epoch,
        leader,
        voted,
        voters,
        kraft_version,
    } = election;
    let voted = voted
        .as_ref()
        .map_or_else(|| "no vote".to_owned(), |key| format!("vote {}", show_key(key)));
    let voters = if *kraft_version == 0 {
        format!(", voters {}", show_nodes(voters))
    } else {
        String::new()
    };
    format!(
        "epoch {epoch}, {}, {voted}{voters}, version {kraft_version}",
        show_leader(*leader)
    )
}

pub(crate) fn peer_request(body: &PeerRequest) -> String {
    match body {
        PeerRequest::Vote {
            cluster_id: _,
            voter,
            candidate,
            epoch,
            log_end,
            pre_vote,
        } => format!(
            "{}({epoch}) of {}, log {}, for voter {}",
            if *pre_vote { "PreVote" } else { "Vote" },
            show_key(candidate),
            show_log_end(*log_end),
            show_key(voter)
        ),
        PeerRequest::BeginQuorumEpoch {
            cluster_id: _,
            voter,
            leader,
            epoch,
            endpoints,
        } => format!(
            "BeginQuorumEpoch({epoch}) of {} at {}, for voter {}",
            show_node(*leader),
            show_endpoints(endpoints),
            show_key(voter)
        ),
        PeerRequest::EndQuorumEpoch {
            cluster_id: _,
            leader,
            epoch,
            preferred_successors,
        } => {
            let keys: Vec<_> = preferred_successors.iter().map(show_key).collect();
            format!(
                "EndQuorumEpoch({epoch}) of {}, preferring [{}]",
                show_node(*leader),
                keys.join(",")
            )
        }
        PeerRequest::Fetch {
            cluster_id: _,
            replica,
            epoch,
            log_end,
            high_watermark,
            max_wait_ms,
            max_bytes,
        } => format!(
            "Fetch({epoch}) of {}, log {}, hw {}, wait {max_wait_ms} ms, max {max_bytes} bytes",
            show_key(replica),
            show_log_end(*log_end),
            watermark(*high_watermark)
        ),
        PeerRequest::FetchSnapshot {
            cluster_id: _,
            replica,
            epoch,
            snapshot,
            position,
            max_bytes,
        } => format!(
            "FetchSnapshot({epoch}) of {}, snapshot {} from {position}, max {max_bytes} bytes",
            show_key(replica),
            snapshot_id(*snapshot)
        ),
        PeerRequest::ApiVersions => "ApiVersions".to_owned(),
        PeerRequest::AddRaftVoter {
            cluster_id: _,
            timeout_ms,
            voter,
            endpoints,
            ack_when_committed,
        } => format!(
            "AddRaftVoter of {} at {}, {}, wait {timeout_ms} ms",
            show_key(voter),
            show_endpoints(endpoints),
            if *ack_when_committed {
                "answer at commit"
            } else {
                "answer at append"
            }
        ),
        PeerRequest::RemoveRaftVoter { cluster_id: _, voter } => {
            format!("RemoveRaftVoter of {}", show_key(voter))
        }
        PeerRequest::UpdateRaftVoter {
            cluster_id: _,
            epoch,
            voter,
            endpoints,
            kraft_versions,
        } => format!(
            "UpdateRaftVoter({epoch}) of {} at {}, kraft.version {}..{}",
            show_key(voter),
            show_endpoints(endpoints),
            kraft_versions.min,
            kraft_versions.max
        ),
    }
}

/// `10-3`: end offset 10, epoch 3.
pub(crate) fn show_log_end(end: LogEnd) -> String {
    format!("{}-{}", end.last_offset, end.last_epoch)
}

pub(crate) fn snapshot_id(id: SnapshotId) -> String {
    format!("{}-{}", id.end_offset, id.epoch)
}

pub(crate) fn watermark(offset: i64) -> String {
    if offset == -1 {
        "unknown".to_owned()
    } else {
        offset.to_string()
    }
}

fn show_answer(answer: &Answer) -> String {
    match answer {
        Answer::TopLevel(error) => format!("top-level {}", error_name(*error)),
        Answer::Vote { partition, granted } => format!(
            "Vote {}, {}",
            partition_answer(partition),
            if *granted { "granted" } else { "not granted" }
        ),
        Answer::BeginQuorumEpoch(partition) => format!("BeginQuorumEpoch {}", partition_answer(partition)),
        Answer::EndQuorumEpoch(partition) => format!("EndQuorumEpoch {}", partition_answer(partition)),
        Answer::Fetch {
            partition,
            high_watermark,
            log_start,
            plan,
        } => format!(
            "Fetch {}, hw {}, log start {log_start}, {}",
            partition_answer(partition),
            watermark(*high_watermark),
            fetch_plan(*plan)
        ),
        Answer::FetchSnapshot { partition, window } => {
            let window = window.map_or_else(
                || "nothing".to_owned(),
                |window| {
                    format!(
                        "snapshot {} of {} bytes from {}, max {} bytes",
                        snapshot_id(window.snapshot),
                        window.size,
                        window.position,
                        window.max_bytes
                    )
                },
            );
            format!("FetchSnapshot {}, {window}", partition_answer(partition))
        }
        Answer::UpdateRaftVoter(partition) => format!("UpdateRaftVoter {}", partition_answer(partition)),
        Answer::VoterChange(outcome) => match outcome {
            Ok(ReconfigOutcome::Appended { offset }) => format!("voter change NONE, appended at {offset}"),
            Ok(ReconfigOutcome::Committed { offset }) => format!("voter change NONE, committed at {offset}"),
            Ok(ReconfigOutcome::Noted) => "voter change NONE, noted".to_owned(),
            Err(refusal) => format!("voter change {}", change_refusal(refusal)),
        },
        Answer::UpgradeKRaftVersion(outcome) => match outcome {
            Ok(UpgradeOutcome::Possible) => "kraft.version NONE, possible".to_owned(),
            Ok(UpgradeOutcome::InForce) => "kraft.version NONE, in force".to_owned(),
            Err(refusal) => format!("kraft.version {}", change_refusal(refusal)),
        },
        Answer::DescribeQuorum(Ok(description)) => describe(description),
        Answer::DescribeQuorum(Err(DescribeRefusal::UnknownPartition)) => {
            "DescribeQuorum UNKNOWN_TOPIC_OR_PARTITION".to_owned()
        }
        Answer::DescribeQuorum(Err(DescribeRefusal::NotLeader)) => {
            "DescribeQuorum NOT_LEADER_OR_FOLLOWER".to_owned()
        }
    }
}

fn change_refusal(refusal: &ChangeRefusal) -> String {
    let ChangeRefusal { error, message, open } = refusal;
    let open = if *open { ", may still happen" } else { "" };
    if message.is_empty() {
        format!("{}{open}", error_name(*error))
    } else {
        format!("{}{open}: {message}", error_name(*error))
    }
}

fn partition_answer(answer: &PartitionAnswer) -> String {
    let PartitionAnswer {
        error,
        leader,
        epoch,
        endpoint,
    } = answer;
    let at = endpoint
        .as_ref()
        .map_or_else(String::new, |endpoint| format!(" at {endpoint}"));
    format!(
        "{}, epoch {epoch}, {}{at}",
        error_name(*error),
        show_leader(*leader)
    )
}

fn fetch_plan(plan: FetchPlan) -> String {
    match plan {
        FetchPlan::Empty => "no records".to_owned(),
        FetchPlan::Read {
            from,
            max_bytes,
            up_to,
        } => {
            let end = up_to.map(|end| format!(" below {end}")).unwrap_or_default();
            format!("records from {from}{end}, max {max_bytes} bytes")
        }
        FetchPlan::Diverging(at) => format!("diverging at {}-{}", at.offset, at.epoch),
        FetchPlan::Snapshot(id) => format!("snapshot {}", snapshot_id(id)),
    }
}

fn describe(description: &QuorumDescription) -> String {
    let QuorumDescription {
        leader,
        epoch,
        high_watermark,
        voters,
        observers,
        nodes,
    } = description;
    let nodes: Vec<_> = nodes
        .iter()
        .map(|(id, endpoints)| format!("{} at {}", show_node(*id), show_endpoints(endpoints)))
        .collect();
    format!(
        "DescribeQuorum leader {}, epoch {epoch}, hw {}, voters [{}], observers [{}], nodes [{}]",
        show_node(*leader),
        watermark(*high_watermark),
        progress(voters),
        progress(observers),
        nodes.join("; ")
    )
}

fn progress(replicas: &[ReplicaProgress]) -> String {
    let texts: Vec<_> = replicas
        .iter()
        .map(|replica| {
            format!(
                "{} at {}, fetched {}, caught up {}",
                show_key(&replica.key),
                watermark(replica.log_end_offset),
                moment(replica.last_fetch_ms),
                moment(replica.last_caught_up_ms)
            )
        })
        .collect();
    texts.join("; ")
}

fn moment(ms: i64) -> String {
    if ms == -1 {
        "never".to_owned()
    } else {
        format!("at {ms} ms")
    }
}

fn refusal(reason: Refusal) -> String {
    match reason {
        Refusal::NotLeader { leader, epoch } => format!("not leader; epoch {epoch}, {}", show_leader(leader)),
        Refusal::EpochFromTheFuture => "the epoch has not begun".to_owned(),
        Refusal::Empty => "nothing to append".to_owned(),
        Refusal::TooLarge { max } => format!("larger than {max} bytes"),
        Refusal::ShuttingDown => "shutting down".to_owned(),
    }
}

fn proposal_outcome(outcome: ProposalOutcome) -> &'static str {
    match outcome {
        ProposalOutcome::Committed => "committed",
        ProposalOutcome::KnownLost => "known lost",
        ProposalOutcome::Unknown => "unknown",
    }
}

/// The name of a role.
pub(crate) fn role_name(role: RoleName) -> &'static str {
    match role {
        RoleName::Unattached => "unattached",
        RoleName::Prospective => "prospective",
        RoleName::Candidate => "candidate",
        RoleName::Leader => "leader",
        RoleName::Follower => "follower",
        RoleName::Resigned => "resigned",
    }
}

const ERRORS: [(ErrorCode, &str); 20] = [
    (ErrorCode::None, "NONE"),
    (ErrorCode::UnknownServerError, "UNKNOWN_SERVER_ERROR"),
    (ErrorCode::UnknownTopicOrPartition, "UNKNOWN_TOPIC_OR_PARTITION"),
    (ErrorCode::NotLeaderOrFollower, "NOT_LEADER_OR_FOLLOWER"),
    (ErrorCode::RequestTimedOut, "REQUEST_TIMED_OUT"),
    (ErrorCode::BrokerNotAvailable, "BROKER_NOT_AVAILABLE"),
    (ErrorCode::NetworkException, "NETWORK_EXCEPTION"),
    (
        ErrorCode::ClusterAuthorizationFailed,
        "CLUSTER_AUTHORIZATION_FAILED",
    ),
    (ErrorCode::UnsupportedVersion, "UNSUPPORTED_VERSION"),
    (ErrorCode::NotController, "NOT_CONTROLLER"),
    (ErrorCode::InvalidRequest, "INVALID_REQUEST"),
    (ErrorCode::FencedLeaderEpoch, "FENCED_LEADER_EPOCH"),
    (ErrorCode::UnknownLeaderEpoch, "UNKNOWN_LEADER_EPOCH"),
    (ErrorCode::InvalidUpdateVersion, "INVALID_UPDATE_VERSION"),
    (ErrorCode::SnapshotNotFound, "SNAPSHOT_NOT_FOUND"),
    (ErrorCode::PositionOutOfRange, "POSITION_OUT_OF_RANGE"),
    (ErrorCode::InconsistentClusterId, "INCONSISTENT_CLUSTER_ID"),
    (ErrorCode::InvalidVoterKey, "INVALID_VOTER_KEY"),
    (ErrorCode::DuplicateVoter, "DUPLICATE_VOTER"),
    (ErrorCode::VoterNotFound, "VOTER_NOT_FOUND"),
];

fn error_name(error: ErrorCode) -> String {
    ERRORS.iter().find(|(known, _)| *known == error).map_or_else(
        || format!("error {}", error.code()),
        |(_, name)| (*name).to_owned(),
    )
}

/// The error of a name.
pub(crate) fn error_of(name: &str) -> Option<ErrorCode> {
    ERRORS
        .iter()
        .find(|(_, known)| *known == name)
        .map(|(error, _)| *error)
}

/// The fault of a name.
pub(crate) fn fault_of(name: &str) -> Option<RequestFault> {
    match name {
        "disconnected" => Some(RequestFault::Disconnected),
        "unsupported-version" => Some(RequestFault::UnsupportedVersion),
        "authentication" => Some(RequestFault::AuthenticationFailed),
        "malformed" => Some(RequestFault::Malformed),
        _ => None,
    }
}
