//! What the engine tells about itself, as plain values.

use crate::error::NodeError;
use bytes::Bytes;
use kraft_core::{Endpoint, Epoch, NodeId, RoleName, SnapshotId, VoterSet};
use std::{collections::BTreeMap, fmt};
use uuid::Uuid;

/// Committed batches for an observer (api 1004).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataFetchSlice {
    /// Whole record batches in order, from the one that holds the asked offset.
    pub records: Bytes,
    /// What to load instead, when the asked offset lies before the log: then there are no records.
    pub snapshot_id: Option<SnapshotId>,
    /// The first offset that the log still has.
    pub log_start_offset: i64,
    /// The end of what this node can serve: its own high watermark, -1 while it knows none.
    pub high_watermark: i64,
    /// The highest commit that this node has heard of. A follower that lags serves less than that.
    pub quorum_high_watermark: i64,
}

/// A replica that fetches from this leader and does not vote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObserverReplica {
    /// Its node id.
    pub id: NodeId,
    /// Its directory, nil when it names none.
    pub directory_id: Uuid,
    /// Where it fetched last.
    pub log_end_offset: i64,
    /// Wall-clock milliseconds of its last valid fetch, -1 for never.
    pub last_fetch_ms: i64,
    /// Wall-clock milliseconds when it last had everything, -1 for never.
    pub last_caught_up_ms: i64,
}

/// The state of the quorum as this node knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuorumStateSnapshot {
    /// The leader, if known.
    pub leader_id: Option<NodeId>,
    /// The epoch.
    pub leader_epoch: Epoch,
    /// What is committed and held here, exclusive; -1 while unknown.
    pub high_watermark: i64,
    /// Timestamp of the last batch that was applied, 0 before the first.
    pub last_applied_record_timestamp_ms: i64,
    /// How long passes over newly committed batches took on average, in microseconds.
    pub pending_record_processing_time_us_avg: u64,
    /// The longest such pass, in microseconds.
    pub pending_record_processing_time_us_max: u64,
    /// The highest commit that this node has heard of; a follower that lags holds less.
    pub quorum_high_watermark: i64,
    /// Where the next record goes.
    pub log_end_offset: i64,
    /// The first offset that the log still has.
    pub log_start_offset: i64,
    /// The voters in force.
    pub voters: VoterSet,
    /// The directory of the candidate that got this node's vote in the epoch.
    pub voted_directory_id: Option<Uuid>,
    /// The observers, on a leader.
    pub observers: Vec<ObserverReplica>,
    /// Where each voter fetched last, on a leader.
    pub per_replica_fetch_offset: BTreeMap<NodeId, i64>,
    /// When each voter fetched last, in wall-clock milliseconds, on a leader.
    pub per_replica_last_fetch_ms: BTreeMap<NodeId, i64>,
    /// When each voter last had everything, in wall-clock milliseconds, on a leader.
    pub per_replica_last_caught_up_ms: BTreeMap<NodeId, i64>,
    /// Whether this node leads.
    pub is_leader: bool,
    /// The role: `leader`, `follower`, `observer`, `candidate`, `prospective`, `unattached` or `resigned`.
    pub current_state: &'static str,
}

/// What a node is and how far it is, for watchers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeState {
    /// This node.
    pub node_id: NodeId,
    /// Its role.
    pub role: RoleName,
    /// The epoch.
    pub epoch: Epoch,
    /// The leader, if known.
    pub leader: Option<NodeId>,
    /// Where the leader listens, if known.
    pub leader_endpoint: Option<Endpoint>,
    /// Everything below is committed; `None` while unknown.
    pub high_watermark: Option<i64>,
    /// Everything below is applied to the state machine.
    pub applied: i64,
    /// Whether the state machine leads, and so takes changes.
    pub leading: bool,
    /// In one phrase, why the role is what it is.
    pub reason: &'static str,
    /// Whether the disk has been silent for a second or longer about something that it was given, as of
    /// the last turn.
    pub disk_stalled: bool,
    /// Why the node is not ready; `None` when it is.
    pub not_ready: Option<NotReady>,
}

/// Why a node is not ready: others should not count on it now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NotReady {
    /// It has no leader to follow, and does not lead.
    NoLeader,
    /// It is elected, and what its epoch begins with is not committed or not applied yet.
    Activating,
    /// It follows, and has not yet applied what its leader told to be committed.
    CatchingUp,
    /// The disk is silent.
    DiskStalled,
    /// It was asked to end.
    ShuttingDown,
    /// It has ended as it was asked to.
    Ended,
    /// It has ended by a fault.
    Failed,
}

impl fmt::Display for NotReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoLeader => "no leader",
            Self::Activating => "elected, not active yet",
            Self::CatchingUp => "catching up",
            Self::DiskStalled => "the disk does not answer",
            Self::ShuttingDown => "shutting down",
            Self::Ended => "ended",
            Self::Failed => "failed",
        })
    }
}

/// How a node is, with the reason.
///
/// Its text is one line: `ready: leader of epoch 7`, or `not ready: no leader: candidate in epoch 7: …`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// What it is and how far.
    pub state: NodeState,
    /// What it ended with, if that was a fault.
    pub fault: Option<NodeError>,
}

impl Health {
    /// Whether others can count on the node: it leads and takes changes, or it follows and is up to date.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.state.not_ready.is_none()
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NodeState {
            role, epoch, leader, ..
        } = &self.state;
        match self.state.not_ready {
            None => f.write_str("ready: ")?,
            Some(why) => write!(f, "not ready: {why}: ")?,
        }
        if let Some(fault) = &self.fault {
            return write!(f, "{fault}");
        }
        match (role, leader) {
            (RoleName::Leader, _) => write!(f, "leader of epoch {epoch}")?,
            (RoleName::Follower, Some(leader)) => write!(f, "follower of node {leader} in epoch {epoch}")?,
            (role, _) => write!(f, "{} in epoch {epoch}", format!("{role:?}").to_lowercase())?,
        }
        write!(f, ": {}", self.state.reason)
    }
}

impl NodeState {
    /// A node that has not begun.
    #[must_use]
    pub fn new(node_id: NodeId) -> Self {
        Self {
            node_id,
            role: RoleName::Unattached,
            epoch: Epoch(0),
            leader: None,
            leader_endpoint: None,
            high_watermark: None,
            applied: 0,
            leading: false,
            reason: "not begun",
            disk_stalled: false,
            not_ready: Some(NotReady::NoLeader),
        }
    }
}
