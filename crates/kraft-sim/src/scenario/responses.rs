//! `answer` and `fail`: what becomes of the requests that the replica has sent.

use super::{
    command::{Command, CommandError, bad},
    names, records,
    replica::Stage,
    requests::error,
    show,
};
use kraft_core::{
    AnswerContext, Endpoint, Epoch, Event, FetchedRecords, LogOffsetMetadata, LogView as _, NodeId,
    PartitionMatch, PeerRequest, ReplicaKey, RequestId, SnapshotId, SupportedVersions,
};

pub(crate) fn event(command: &Command, request: RequestId, stage: &mut Stage) -> Result<Event, CommandError> {
    let sent = stage.sent(request)?.clone();
    if command.name == "fail" {
        let fault = command.word()?;
        return Ok(Event::RequestFailed {
            request,
            fault: show::fault_of(fault).ok_or_else(|| bad("fault", fault))?,
        });
    }
    let from = command.key("from")?.unwrap_or(sent.to);
    let answer = context(command, request)?;
    let epoch = command.epoch("epoch")?.map_or_else(|| stage.epoch(), Ok)?;
    Ok(match sent.body {
        PeerRequest::Vote { .. } => Event::ReceiveVoteResponse {
            answer,
            from,
            epoch,
            vote_granted: granted(command)?,
        },
        PeerRequest::BeginQuorumEpoch { .. } => {
            Event::ReceiveBeginQuorumEpochResponse { answer, from, epoch }
        }
        PeerRequest::EndQuorumEpoch { .. } => Event::ReceiveEndQuorumEpochResponse { answer, from, epoch },
        PeerRequest::Fetch { .. } => fetch(command, stage, answer, from, epoch)?,
        PeerRequest::FetchSnapshot {
            snapshot, position, ..
        } => fetch_snapshot(command, stage, answer, from, epoch, (snapshot, position))?,
        PeerRequest::ApiVersions => Event::ReceiveApiVersionsResponse {
            request,
            from,
            error: answer.error,
            kraft_versions: features(command)?,
        },
        PeerRequest::AddRaftVoter { .. } => Event::ReceiveAddRaftVoterResponse {
            request,
            from,
            error: answer.error,
        },
        PeerRequest::RemoveRaftVoter { .. } => Event::ReceiveRemoveRaftVoterResponse {
            request,
            from,
            error: answer.error,
        },
        PeerRequest::UpdateRaftVoter { .. } => Event::ReceiveUpdateRaftVoterResponse {
            answer,
            from,
            leader_epoch: epoch,
        },
    })
}

/// The kraft.version levels that a new voter names: 0 to 1 unless `kraft-version` says `none` or the largest one.
fn features(command: &Command) -> Result<Option<SupportedVersions>, CommandError> {
    match command.text("kraft-version") {
        None => Ok(Some(SupportedVersions { min: 0, max: 1 })),
        Some("none") => Ok(None),
        Some(text) => {
            let max = text.parse().map_err(|_| bad("kraft-version", text))?;
            Ok(Some(SupportedVersions { min: 0, max }))
        }
    }
}

/// A vote answer has to say whether it grants, unless it is an error.
fn granted(command: &Command) -> Result<bool, CommandError> {
    let failed = command.text("error").is_some() || command.text("top-level").is_some();
    match (command.flag("granted"), command.flag("refused")) {
        (true, false) => Ok(true),
        (false, refused) if refused || failed => Ok(false),
        _ => Err(CommandError::new("say `granted` or `refused`")),
    }
}

fn context(command: &Command, request: RequestId) -> Result<AnswerContext, CommandError> {
    let leader = command.node("leader")?.and_then(NodeId::known);
    let leader_endpoint = match command.text("endpoint") {
        None => leader.map(names::endpoint),
        Some("none") => None,
        Some("hostless") => Some(Endpoint {
            host: String::new().into(),
            port: 9093,
        }),
        Some(text) => return Err(bad("endpoint", text)),
    };
    Ok(AnswerContext {
        request,
        top_level: error(command, "top-level")?,
        partition: if command.flag("other-partition") {
            PartitionMatch::Other
        } else {
            PartitionMatch::Metadata
        },
        error: error(command, "error")?,
        leader,
        leader_endpoint,
    })
}

fn fetch(
    command: &Command,
    stage: &mut Stage,
    answer: AnswerContext,
    from: ReplicaKey,
    leader_epoch: Epoch,
) -> Result<Event, CommandError> {
    let base = command.number("at")?.unwrap_or(stage.log().end().last_offset);
    let records = if command.flag("corrupt") {
        FetchedRecords::Corrupt
    } else if let Some(text) = command.text("records") {
        FetchedRecords::Batches {
            batches: records::batches(text, base)?.into(),
            payload: stage.next_payload(),
        }
    } else {
        FetchedRecords::Empty
    };
    Ok(Event::ReceiveFetchResponse {
        leader_id: answer.leader.unwrap_or(NodeId::NONE),
        answer,
        from,
        leader_epoch,
        high_watermark: command.number("hw")?.unwrap_or(-1),
        diverging: command.pair("diverging")?.map(|at| LogOffsetMetadata {
            epoch: at.epoch,
            offset: at.end_offset,
        }),
        snapshot: command.pair("snapshot")?,
        records,
    })
}

fn fetch_snapshot(
    command: &Command,
    stage: &mut Stage,
    answer: AnswerContext,
    from: ReplicaKey,
    leader_epoch: Epoch,
    (snapshot, position): (SnapshotId, i64),
) -> Result<Event, CommandError> {
    Ok(Event::ReceiveFetchSnapshotResponse {
        answer,
        from,
        leader_epoch,
        snapshot: command.pair("snapshot")?.unwrap_or(snapshot),
        size: command.number("size")?.unwrap_or(0),
        position: command.number("position")?.unwrap_or(position),
        bytes: command.number("bytes")?.unwrap_or(0),
        payload: stage.next_payload(),
    })
}
