//! The answers that a replica gives. The engine encodes them at the version of the request.

use crate::{
    endpoints::{Endpoint, Endpoints},
    error_code::ErrorCode,
    ids::{Epoch, NodeId, ReplicaKey},
    offsets::{LogOffsetMetadata, SnapshotId},
    reconfig::{ChangeRefusal, ReconfigOutcome, UpgradeOutcome},
};
use alloc::{sync::Arc, vec::Vec};

/// An answer to a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Answer {
    /// A default answer of the request's kind with nothing but this top-level error.
    TopLevel(ErrorCode),
    /// To Vote.
    Vote {
        /// Partition error, leader, epoch.
        partition: PartitionAnswer,
        /// Whether the vote is granted.
        granted: bool,
    },
    /// To BeginQuorumEpoch.
    BeginQuorumEpoch(PartitionAnswer),
    /// To EndQuorumEpoch.
    EndQuorumEpoch(PartitionAnswer),
    /// To Fetch.
    Fetch {
        /// Partition error, leader, epoch.
        partition: PartitionAnswer,
        /// -1 when unknown.
        high_watermark: i64,
        /// Start of the log.
        log_start: i64,
        /// What is sent.
        plan: FetchPlan,
    },
    /// To FetchSnapshot.
    FetchSnapshot {
        /// Partition error, leader, epoch. Without leader and epoch (schema defaults) where the partition is unknown.
        partition: PartitionAnswer,
        /// What is sent; `None` beside an error.
        window: Option<SnapshotWindow>,
    },
    /// To UpdateRaftVoter.
    UpdateRaftVoter(PartitionAnswer),
    /// To AddRaftVoter, RemoveRaftVoter and a local `Reconfigure`.
    VoterChange(Result<ReconfigOutcome, ChangeRefusal>),
    /// To a request to raise kraft.version.
    UpgradeKRaftVersion(Result<UpgradeOutcome, ChangeRefusal>),
    /// To DescribeQuorum.
    DescribeQuorum(Result<QuorumDescription, DescribeRefusal>),
}

/// What answers say of the partition.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PartitionAnswer {
    /// The error.
    pub error: ErrorCode,
    /// The leader, if known.
    pub leader: Option<NodeId>,
    /// The epoch.
    pub epoch: Epoch,
    /// The leader's endpoint on the listener of the request, if known.
    pub endpoint: Option<Endpoint>,
}

/// What a Fetch answer carries beside its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FetchPlan {
    /// Nothing.
    Empty,
    /// Batches from `from` on, as many whole ones as fit into `max_bytes`, at least one.
    Read {
        /// The offset to read from.
        from: i64,
        /// The limit.
        max_bytes: i32,
        /// Where to stop although the log goes on: behind it is what must not be served yet.
        up_to: Option<i64>,
    },
    /// The fetcher's log leaves ours here.
    Diverging(LogOffsetMetadata),
    /// The fetcher has to load this snapshot.
    Snapshot(SnapshotId),
}

/// The window of a snapshot to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SnapshotWindow {
    /// Which snapshot.
    pub snapshot: SnapshotId,
    /// Its size.
    pub size: u64,
    /// The first byte.
    pub position: u64,
    /// The most bytes.
    pub max_bytes: i32,
}

/// Why the quorum is not described.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DescribeRefusal {
    /// Every asked partition gets UNKNOWN_TOPIC_OR_PARTITION.
    UnknownPartition,
    /// This replica does not lead: NOT_LEADER_OR_FOLLOWER.
    NotLeader,
}

/// The leader's view of the quorum.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct QuorumDescription {
    /// The leader.
    pub leader: NodeId,
    /// Its epoch.
    pub epoch: Epoch,
    /// -1 when unknown.
    pub high_watermark: i64,
    /// The voters.
    pub voters: Vec<ReplicaProgress>,
    /// Everybody else who fetches.
    pub observers: Vec<ReplicaProgress>,
    /// The voters' endpoints.
    pub nodes: Arc<[(NodeId, Endpoints)]>,
}

/// How far one replica is, as the leader knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReplicaProgress {
    /// Which replica.
    pub key: ReplicaKey,
    /// Its log end, -1 when unknown.
    pub log_end_offset: i64,
    /// Wall-clock milliseconds of its last valid fetch, -1 for never.
    pub last_fetch_ms: i64,
    /// Wall-clock milliseconds when it last had everything, -1 for never.
    pub last_caught_up_ms: i64,
}
