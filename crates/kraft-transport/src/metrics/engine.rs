//! What the engine tells of itself when it is asked for metrics, as plain values.

use super::latency::LatencyMs;
use kraft_core::{Epoch, NodeId, RoleName, state_machine::Features};
use std::collections::BTreeMap;
use uuid::Uuid;

/// The engine at one moment. Latencies, averages and rates are over the last half minute to a minute; averages and maxima
/// are NaN without values.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineMetrics {
    /// The role under Kafka's name of it: `leader`, `follower`, `observer`, `candidate`, `prospective`,
    /// `prospective-voted`, `unattached` or `unattached-voted`.
    pub current_state: &'static str,
    /// The leader, if known. A leader that has resigned still names itself.
    pub leader: Option<NodeId>,
    /// Whom this node voted for in the epoch, itself included.
    pub vote: Option<NodeId>,
    /// The directory of that; nil where there is none.
    pub vote_directory_id: Uuid,
    /// The epoch.
    pub epoch: Epoch,
    /// Everything below is committed; -1 while unknown, on a new leader until its first commit.
    pub high_watermark: i64,
    /// The end of the log after the last append of this process, 0 before it. A truncation does not change it.
    pub log_end_offset: i64,
    /// The epoch of that append.
    pub log_end_epoch: Epoch,
    /// The voters in force.
    pub voters: usize,
    /// What only a leader has.
    pub leading: Option<LeaderMetrics>,
    /// From append to commit, in milliseconds and for each record of a batch, on average.
    pub commit_latency_average: f64,
    /// The longest of those.
    pub commit_latency_max: f64,
    /// From the campaign to a leader, in milliseconds, on average.
    pub election_latency_average: f64,
    /// The longest of those.
    pub election_latency_max: f64,
    /// Records appended as a follower, in a second.
    pub fetch_records_rate: f64,
    /// Records appended as the leader, in a second.
    pub append_records_rate: f64,
    /// Whether the state machine leads, and so takes changes.
    pub active: bool,
    /// The last offset that the state machine has taken: on the active node what is appended, elsewhere what is
    /// committed; -1 for none.
    pub last_applied_offset: i64,
    /// The last offset that is committed and applied; -1 for none.
    pub last_committed_offset: i64,
    /// When that of `last_applied_offset` was written, in milliseconds since 1970; -1 for none.
    pub last_applied_timestamp_ms: i64,
    /// How long ago that is; -1 for never.
    pub last_applied_lag_ms: i64,
    /// How often this node has learnt of a leader.
    pub new_leaders: u64,
    /// Commands that were taken.
    pub operations: u64,
    /// Commands that were dropped because nobody waited for them any more.
    pub operations_abandoned: u64,
    /// Faults of the metadata: records that cannot be applied, and a state that cannot lead.
    pub metadata_errors: u64,
    /// Whether the configuration names voters and records in the log go before them.
    pub ignores_static_voters: bool,
    /// Snapshots that were loaded since the start, the bootstrap checkpoint apart.
    pub snapshots_loaded: u64,
    /// Bytes of the last snapshot that was written, 0 before.
    pub snapshot_bytes: u64,
    /// How long ago that was, or the start where there was none, in milliseconds.
    pub snapshot_age_ms: u64,
    /// The kraft.version in force, and the levels that this node knows.
    pub kraft_version: (i16, kraft_core::SupportedVersions),
    /// The features of the state machine.
    pub features: Features,
    /// From handing an operation to the log thread to its being durable.
    pub disk: LatencyMs,
    /// Transitions since the start, by the new role and its reason.
    pub transitions: BTreeMap<(RoleName, &'static str), u64>,
}

/// What only a leader has.
#[derive(Debug, Clone, PartialEq)]
pub struct LeaderMetrics {
    /// Replicas that fetch and do not vote.
    pub observers: usize,
    /// Whether a change of the voter set is under way.
    pub changes_voters: bool,
    /// How long ago each other voter has fetched, in milliseconds; -1 for never.
    pub voter_fetch_age_ms: BTreeMap<NodeId, i64>,
}
