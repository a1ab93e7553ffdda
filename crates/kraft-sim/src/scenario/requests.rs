//! Commands that give the replica an event other than an answer to its own requests.

use super::{
    command::{Command, CommandError, bad},
    names,
    replica::Stage,
    show,
};
use kraft_core::{
    ClusterMatch, Endpoint, Endpoints, Epoch, Event, LogEnd, LogView as _, NodeId, PartitionMatch, ReplyId,
    RequestContext, SuccessorRank, SupportedVersions, Text, VoterChange, VoterNode,
};
use std::time::Duration;
use uuid::Uuid;

/// The event that a command stands for, if it stands for one.
pub(crate) fn event(command: &Command, stage: &mut Stage) -> Result<Option<Event>, CommandError> {
    let event = match command.name.as_str() {
        "vote" => vote(command, stage, false)?,
        "pre-vote" => vote(command, stage, true)?,
        "begin" => begin(command, stage)?,
        "end" => end(command, stage)?,
        "fetch" => fetch(command, stage)?,
        "fetch-snapshot" => fetch_snapshot(command, stage)?,
        "update-voter" => update_voter(command, stage)?,
        "add-voter" => add_voter(command, stage)?,
        "remove-voter" => Event::ReceiveRemoveRaftVoter {
            context: context(command, stage)?,
            cluster_id: cluster_id(command, stage),
            voter: command.need("voter", command.key("voter")?)?,
        },
        "reconfigure" => reconfigure(command, stage)?,
        "upgrade" => Event::UpgradeKRaftVersion {
            reply: stage.next_reply(),
            epoch: command.epoch("epoch")?,
            level: command.need("level", command.number("level")?)?,
            validate_only: command.flag("validate-only"),
        },
        "describe" => Event::ReceiveDescribeQuorum {
            context: context(command, stage)?,
        },
        "leaderless" => Event::ReceiveLeaderlessEpoch {
            epoch: command.need("epoch", command.epoch("epoch")?)?,
        },
        "caller-gone" => Event::CallerGone {
            reply: ReplyId(command.need("reply", command.number("reply")?)?),
        },
        "read" => Event::ReadBarrier {
            reply: stage.next_reply(),
        },
        "propose" => Event::Propose {
            reply: stage.next_reply(),
            epoch: command.epoch("epoch")?,
            records: command.number("records")?.unwrap_or(1),
            bytes: command.number("bytes")?.unwrap_or(100),
            payload: stage.next_payload(),
        },
        "resign" => Event::Resign {
            epoch: command.need("epoch", command.epoch("epoch")?)?,
        },
        "shutdown" => Event::Shutdown {
            timeout: Duration::from_millis(command.number("timeout")?.unwrap_or(5000)),
        },
        "storage-failed" => Event::StorageFailed,
        "installed" => Event::SnapshotInstalled {
            snapshot: command.need("snapshot", command.pair("snapshot")?)?,
            control: command
                .text("control")
                .map(super::records::control_records)
                .transpose()?
                .unwrap_or_default(),
        },
        "tick" => Event::Tick,
        "timer" => timer(command.word()?)?,
        _ => return Ok(None),
    };
    Ok(Some(event))
}

fn timer(name: &str) -> Result<Event, CommandError> {
    match name {
        "election" => Ok(Event::ElectionTimeout),
        "fetch" => Ok(Event::FetchTimeout),
        "check-quorum" => Ok(Event::CheckQuorumTimeout),
        "heartbeat" => Ok(Event::HeartbeatTimeout),
        other => Err(bad("timer", other)),
    }
}

fn context(command: &Command, stage: &mut Stage) -> Result<RequestContext, CommandError> {
    let partition = match command.text("partition") {
        None => PartitionMatch::Metadata,
        Some("other") => PartitionMatch::Other,
        Some("malformed") => PartitionMatch::Malformed,
        Some(text) => return Err(bad("partition", text)),
    };
    Ok(RequestContext {
        reply: stage.next_reply(),
        listener: command.text("listener").unwrap_or(names::LISTENER).into(),
        partition,
    })
}

fn cluster_id(command: &Command, stage: &Stage) -> Option<Text> {
    match command.text("cluster") {
        None => Some(stage.config().cluster_id.clone()),
        Some("none") => None,
        Some(other) => Some(other.into()),
    }
}

/// Whom a request is addressed to: nobody in particular unless `to` says so.
fn addressee(command: &Command) -> Result<(NodeId, Uuid), CommandError> {
    Ok(command.key("to")?.map_or((NodeId::NONE, Uuid::nil()), |key| {
        (key.id, key.directory_or_nil())
    }))
}

fn vote(command: &Command, stage: &mut Stage, pre_vote: bool) -> Result<Event, CommandError> {
    let from = command.need("from", command.key("from")?)?;
    let (voter_id, voter_directory_id) = addressee(command)?;
    let own_end = stage.log().end();
    let candidate_log_end = command.pair("log")?.map_or(own_end, |id| LogEnd {
        last_epoch: id.epoch,
        last_offset: id.end_offset,
    });
    Ok(Event::ReceiveVoteRequest {
        context: context(command, stage)?,
        from,
        cluster_id: cluster_id(command, stage),
        voter_id,
        voter_directory_id,
        candidate_epoch: command.need("epoch", command.epoch("epoch")?)?,
        candidate: from.id,
        candidate_directory_id: from.directory_or_nil(),
        candidate_log_end,
        pre_vote,
    })
}

/// The endpoints of a leader: the usual ones unless `endpoints=none`.
fn leader_endpoints(command: &Command, leader: NodeId, usual: bool) -> Result<Endpoints, CommandError> {
    match command.text("endpoints") {
        None if usual => Ok(names::endpoints(leader)),
        None | Some("none") => Ok(Endpoints::empty()),
        Some("usual") => Ok(names::endpoints(leader)),
        Some("other-listener") => Ok(Endpoints::single("SECOND", names::endpoint(leader))),
        Some("two") => {
            let mut endpoints = names::endpoints(leader);
            endpoints.insert("SECOND", names::endpoint(leader));
            Ok(endpoints)
        }
        Some("nameless") => Ok(Endpoints::single(" ", names::endpoint(leader))),
        Some("hostless") => {
            let host = String::new().into();
            Ok(Endpoints::single("CONTROLLER", Endpoint { host, port: 9093 }))
        }
        Some(text) => Err(bad("endpoints", text)),
    }
}

fn begin(command: &Command, stage: &mut Stage) -> Result<Event, CommandError> {
    let leader_id = command.need("leader", command.node("leader")?)?;
    let (voter_id, voter_directory_id) = addressee(command)?;
    Ok(Event::ReceiveBeginQuorumEpoch {
        context: context(command, stage)?,
        cluster_id: cluster_id(command, stage),
        voter_id,
        voter_directory_id,
        leader_id,
        leader_epoch: command.need("epoch", command.epoch("epoch")?)?,
        leader_endpoints: leader_endpoints(command, leader_id, true)?,
    })
}

fn end(command: &Command, stage: &mut Stage) -> Result<Event, CommandError> {
    let leader_id = command.need("leader", command.node("leader")?)?;
    let successors = command.keys("preferring")?.unwrap_or_default();
    Ok(Event::ReceiveEndQuorumEpoch {
        context: context(command, stage)?,
        cluster_id: cluster_id(command, stage),
        leader_id,
        leader_epoch: command.need("epoch", command.epoch("epoch")?)?,
        leader_endpoints: leader_endpoints(command, leader_id, false)?,
        successor_rank: SuccessorRank::of(&stage.config().local, &successors),
    })
}

fn fetch(command: &Command, stage: &mut Stage) -> Result<Event, CommandError> {
    Ok(Event::ReceiveFetch {
        context: context(command, stage)?,
        from: command.need("from", command.key("from")?)?,
        cluster: ClusterMatch::of(cluster_id(command, stage).as_deref(), &stage.config().cluster_id),
        fetch_epoch: command.need("epoch", command.epoch("epoch")?)?,
        fetch_offset: command.need("offset", command.number("offset")?)?,
        last_fetched_epoch: command.epoch("last")?.unwrap_or(Epoch(0)),
        high_watermark: match command.text("hw") {
            None => i64::MAX,
            Some("unknown") => -1,
            Some(text) => text.parse().map_err(|_| bad("hw", text))?,
        },
        max_wait_ms: command.number("max-wait")?.unwrap_or(0),
        max_bytes: command.number("max-bytes")?.unwrap_or(1_048_576),
    })
}

fn fetch_snapshot(command: &Command, stage: &mut Stage) -> Result<Event, CommandError> {
    Ok(Event::ReceiveFetchSnapshot {
        context: context(command, stage)?,
        from: command.need("from", command.key("from")?)?,
        cluster_id: cluster_id(command, stage),
        fetch_epoch: command.need("epoch", command.epoch("epoch")?)?,
        snapshot: command.need("snapshot", command.pair("snapshot")?)?,
        position: command.number("position")?.unwrap_or(0),
        max_bytes: command.number("max-bytes")?.unwrap_or(1_048_576),
    })
}

fn update_voter(command: &Command, stage: &mut Stage) -> Result<Event, CommandError> {
    let voter = command.need("voter", command.key("voter")?)?;
    let max = command.number("max-version")?.unwrap_or(1);
    Ok(Event::ReceiveUpdateRaftVoter {
        context: context(command, stage)?,
        cluster_id: cluster_id(command, stage),
        leader_epoch: command.need("epoch", command.epoch("epoch")?)?,
        voter,
        endpoints: leader_endpoints(command, voter.id, true)?,
        kraft_versions: kraft_core::SupportedVersions { min: 0, max },
    })
}

fn add_voter(command: &Command, stage: &mut Stage) -> Result<Event, CommandError> {
    let voter = command.need("voter", command.key("voter")?)?;
    Ok(Event::ReceiveAddRaftVoter {
        context: context(command, stage)?,
        cluster_id: cluster_id(command, stage),
        voter,
        endpoints: leader_endpoints(command, voter.id, true)?,
        ack_when_committed: !command.flag("early"),
    })
}

/// The embedder's own changes, by the same names of arguments as the requests.
fn reconfigure(command: &Command, stage: &mut Stage) -> Result<Event, CommandError> {
    let key = command.need("voter", command.key("voter")?)?;
    let voter = VoterNode {
        key,
        endpoints: leader_endpoints(command, key.id, true)?,
        kraft_versions: SupportedVersions { min: 0, max: 1 },
    };
    let change = match command.word()? {
        "add" => VoterChange::Add {
            voter,
            ack_when_committed: !command.flag("early"),
        },
        "remove" => VoterChange::Remove { voter: key },
        "update" => VoterChange::Update { voter },
        other => return Err(bad("change", other)),
    };
    Ok(Event::Reconfigure {
        reply: stage.next_reply(),
        change,
    })
}

/// Reads an error name; NONE when the argument is missing.
pub(crate) fn error(command: &Command, name: &str) -> Result<kraft_core::ErrorCode, CommandError> {
    match command.text(name) {
        None => Ok(kraft_core::ErrorCode::None),
        Some(text) => show::error_of(text).ok_or_else(|| bad(name, text)),
    }
}
