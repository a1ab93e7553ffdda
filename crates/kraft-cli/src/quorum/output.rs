//! What `kafka-metadata-quorum describe` prints: scripts match on its labels and titles.

use kraft_wire::message::{
    DescribeQuorumResponseNode, DescribeQuorumResponsePartition,
    DescribeQuorumResponseReplicaState as Replica,
};
use kraft_wire::uuid_text;
use serde_json::{Value, json};
use thiserror::Error;

use crate::client::Described;
use crate::printable::printable;

/// What makes an answer unprintable.
#[derive(Debug, PartialEq, Eq, Error)]
pub(crate) enum OutputError {
    #[error("the leader {leader_id} is not among the voters, it is probably being removed: ask again")]
    LeaderNotVoter { leader_id: i32 },
    #[error("a time of {timestamp_ms} does not lie before now ({now_ms}): the clocks of the machines drift")]
    Clock { timestamp_ms: i64, now_ms: i64 },
}

/// How to show a time.
#[derive(Clone, Copy)]
pub(crate) enum Times {
    /// As epoch milliseconds.
    Epoch,
    /// As a distance.
    Before { now_ms: i64 },
}

/// `--status`: eight lines, their values in column 25.
pub(crate) fn status(described: &Described) -> Result<String, OutputError> {
    let partition = &described.partition;
    let (lag, lag_time_ms) = max_follower_lag(partition)?;
    let lines = [
        (
            "ClusterId:",
            described.cluster_id.as_deref().unwrap_or("unknown").to_owned(),
        ),
        ("LeaderId:", partition.leader_id.to_string()),
        ("LeaderEpoch:", partition.leader_epoch.to_string()),
        ("HighWatermark:", partition.high_watermark.to_string()),
        ("MaxFollowerLag:", lag.to_string()),
        ("MaxFollowerLagTimeMs:", lag_time_ms.to_string()),
        (
            "CurrentVoters:",
            members(&partition.current_voters, &described.nodes),
        ),
        // An observer has no endpoints, also where a node of its id is a voter.
        ("CurrentObservers:", members(&partition.observers, &[])),
    ];
    Ok(lines
        .iter()
        .map(|(label, value)| format!("{label:<24}{}\n", printable(value)))
        .collect())
}

/// `--replication`: a table whose cells are as wide as the widest of their column, each followed by a tab.
pub(crate) fn replication(described: &Described, times: Times) -> Result<String, OutputError> {
    let partition = &described.partition;
    let leader = leader(partition)?;
    let followers = partition
        .current_voters
        .iter()
        .filter(|replica| replica.replica_id != leader.replica_id);
    let rows = std::iter::once((leader, "Leader"))
        .chain(followers.map(|replica| (replica, "Follower")))
        .chain(partition.observers.iter().map(|replica| (replica, "Observer")));
    let mut table = vec![TITLES.map(str::to_owned)];
    for (replica, role) in rows {
        table.push([
            replica.replica_id.to_string(),
            uuid_text::format(&replica.replica_directory_id),
            replica.log_end_offset.to_string(),
            leader
                .log_end_offset
                .saturating_sub(replica.log_end_offset)
                .to_string(),
            time(replica.last_fetch_timestamp, times)?,
            time(replica.last_caught_up_timestamp, times)?,
            role.to_owned(),
        ]);
    }
    let mut widths = [0; TITLES.len()];
    for row in &table {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.len());
        }
    }
    let line = |row: &[String; 7]| -> String {
        let cells = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:<width$}\t"));
        cells.chain(["\n".to_owned()]).collect()
    };
    Ok(table.iter().map(line).collect())
}

/// `--json`: all that the answer holds, with the names of the wire.
pub(crate) fn json(described: &Described) -> String {
    let partition = &described.partition;
    let replicas = |replicas: &[Replica]| -> Vec<Value> {
        let one = |replica: &Replica| {
            json!({
                "replicaId": replica.replica_id,
                "replicaDirectoryId": uuid_text::format(&replica.replica_directory_id),
                "logEndOffset": replica.log_end_offset,
                "lastFetchTimestamp": replica.last_fetch_timestamp,
                "lastCaughtUpTimestamp": replica.last_caught_up_timestamp,
                "endpoints": endpoints(replica.replica_id, &described.nodes),
            })
        };
        replicas.iter().map(one).collect()
    };
    let object = json!({
        "clusterId": described.cluster_id,
        "leaderId": partition.leader_id,
        "leaderEpoch": partition.leader_epoch,
        "highWatermark": partition.high_watermark,
        "currentVoters": replicas(&partition.current_voters),
        "observers": replicas(&partition.observers),
    });
    format!("{object}\n")
}

fn leader(partition: &DescribeQuorumResponsePartition) -> Result<&Replica, OutputError> {
    let leader_id = partition.leader_id;
    let leader = partition
        .current_voters
        .iter()
        .find(|replica| replica.replica_id == leader_id);
    leader.ok_or(OutputError::LeaderNotVoter { leader_id })
}

/// How far behind the slowest voter is, in records and in milliseconds; -1 where a time is not known.
fn max_follower_lag(partition: &DescribeQuorumResponsePartition) -> Result<(i64, i64), OutputError> {
    let leader = leader(partition)?;
    let slowest = partition
        .current_voters
        .iter()
        .min_by_key(|replica| replica.log_end_offset);
    let slowest = slowest.expect("the leader is among the voters");
    let lag = leader.log_end_offset.saturating_sub(slowest.log_end_offset);
    let known = |replica: &Replica| replica.last_caught_up_timestamp >= 0;
    let time_ms = if slowest.replica_id == leader.replica_id {
        0
    } else if known(leader) && known(slowest) {
        leader
            .last_caught_up_timestamp
            .saturating_sub(slowest.last_caught_up_timestamp)
    } else {
        -1
    };
    Ok((lag, time_ms))
}

fn members(replicas: &[Replica], nodes: &[DescribeQuorumResponseNode]) -> String {
    let one = |replica: &Replica| {
        let mut fields = format!("\"id\": {}", replica.replica_id);
        if !replica.replica_directory_id.is_nil() {
            let id = uuid_text::format(&replica.replica_directory_id);
            fields.push_str(&format!(", \"directoryId\": \"{id}\""));
        }
        let endpoints = endpoints(replica.replica_id, nodes);
        if !endpoints.is_empty() {
            let list: Vec<_> = endpoints
                .iter()
                .map(|endpoint| format!("\"{endpoint}\""))
                .collect();
            fields.push_str(&format!(", \"endpoints\": [{}]", list.join(", ")));
        }
        format!("{{{fields}}}")
    };
    format!("[{}]", replicas.iter().map(one).collect::<Vec<_>>().join(", "))
}

fn endpoints(id: i32, nodes: &[DescribeQuorumResponseNode]) -> Vec<String> {
    let listeners = nodes
        .iter()
        .filter(|node| node.node_id == id)
        .flat_map(|node| &node.listeners);
    listeners
        .map(|listener| {
            let (name, host, port) = (&listener.name, &listener.host, listener.port);
            if host.contains(':') {
                format!("{name}://[{host}]:{port}")
            } else {
                format!("{name}://{host}:{port}")
            }
        })
        .collect()
}

fn time(timestamp_ms: i64, times: Times) -> Result<String, OutputError> {
    match times {
        Times::Before { now_ms } if timestamp_ms != UNKNOWN => {
            if timestamp_ms <= 0 || timestamp_ms > now_ms {
                return Err(OutputError::Clock { timestamp_ms, now_ms });
            }
            Ok(format!("{} ms ago", now_ms - timestamp_ms))
        }
        Times::Before { .. } | Times::Epoch => Ok(timestamp_ms.to_string()),
    }
}

const UNKNOWN: i64 = -1;

const TITLES: [&str; 7] = [
    "NodeId",
    "DirectoryId",
    "LogEndOffset",
    "Lag",
    "LastFetchTimestamp",
    "LastCaughtUpTimestamp",
    "Status",
];

#[cfg(test)]
#[path = "output_test.rs"]
mod tests;
