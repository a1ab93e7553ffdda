//! Everything that can happen to a replica.

use crate::{
    control::{Batches, ControlRecord},
    endpoints::{Endpoint, Endpoints},
    error_code::ErrorCode,
    handles::{PayloadId, ReplyId, RequestId, Ticket},
    ids::{Epoch, NodeId, ReplicaKey},
    offsets::{LogEnd, LogOffsetMetadata, SnapshotId},
    reconfig::VoterChange,
    text::Text,
    voter_set::SupportedVersions,
};
use alloc::vec::Vec;
use core::time::Duration;
use uuid::Uuid;

/// The place of this replica among the successors that a resigning leader prefers (`EndQuorumEpoch`, KIP-595).
///
/// The default, the first place of an empty list, means: campaign at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SuccessorRank {
    /// Index of the first entry that is this replica; `successors` when there is none.
    pub position: u32,
    /// Length of the list.
    pub successors: u32,
}

impl SuccessorRank {
    /// The rank of `local` among `successors`. An entry without a directory stands for all of its id.
    #[must_use]
    pub fn of(local: &ReplicaKey, successors: &[ReplicaKey]) -> Self {
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let is_local = |key: &ReplicaKey| {
            key.id == local.id && (key.directory_id.is_none() || key.directory_id == local.directory_id)
        };
        let position = successors.iter().position(is_local);
        Self {
            position: count(position.unwrap_or(successors.len())),
            successors: count(successors.len()),
        }
    }
}

/// Whether a request speaks of the metadata partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PartitionMatch {
    /// Exactly one topic with exactly one partition, and it is the metadata partition.
    Metadata,
    /// One topic with one partition, another one.
    Other,
    /// No or several topics or partitions.
    Malformed,
}

/// Whether a request speaks of this cluster. One that names none does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClusterMatch {
    /// It does.
    Ours,
    /// It names another one.
    Other,
}

impl ClusterMatch {
    /// Ids are compared as strings.
    #[must_use]
    pub fn of(named: Option<&str>, ours: &Text) -> Self {
        if named.is_none_or(|id| id.as_bytes() == ours.as_bytes()) {
            Self::Ours
        } else {
            Self::Other
        }
    }
}

/// The listener that a request arrived on. Its answer names the leader's endpoint of this listener.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Listener {
    /// One that this replica advertises, by its place among [`Config::listeners`](crate::Config::listeners):
    /// [`Endpoints::listener`] knows it.
    Advertised(u16),
    /// Any, by its name.
    Named(Text),
}

impl From<&str> for Listener {
    fn from(name: &str) -> Self {
        Self::Named(name.into())
    }
}

/// What every request carries beside its own fields.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RequestContext {
    /// Where the answer goes.
    pub reply: ReplyId,
    /// The listener that it arrived on.
    pub listener: Listener,
    /// Which partition it speaks of.
    pub partition: PartitionMatch,
}

/// What the partition part of a peer's answer says beside its own fields (4.3 of the behaviour reference).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AnswerContext {
    /// The request that is answered.
    pub request: RequestId,
    /// The error of the whole answer.
    pub top_level: ErrorCode,
    /// Whether the answer speaks of the metadata partition, and of nothing else. Of no meaning beside a top-level error.
    pub partition: PartitionMatch,
    /// The error of the partition.
    pub error: ErrorCode,
    /// The leader that the answer names.
    pub leader: Option<NodeId>,
    /// The endpoint of that leader, if the answer has one.
    pub leader_endpoint: Option<Endpoint>,
}

/// The records of a Fetch answer, after the engine has decoded and checked them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FetchedRecords {
    /// No bytes.
    Empty,
    /// Whole, valid batches in order. Bytes behind the last whole batch are already cut off.
    Batches {
        /// What they are.
        batches: Batches,
        /// Where they are.
        payload: PayloadId,
    },
    /// A batch failed its checks, or none was whole: nothing may be appended.
    Corrupt,
}

/// Why a request of ours has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequestFault {
    /// Not connected, connection lost, or not answered in time: Kafka's BROKER_NOT_AVAILABLE.
    Disconnected,
    /// The peer does not know the API or a version that can carry the request.
    UnsupportedVersion,
    /// TLS or SASL failed: Kafka's NETWORK_EXCEPTION.
    AuthenticationFailed,
    /// The answer could not be decoded.
    Malformed,
}

/// An input of the state machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Event {
    /// A deadline of the replica has passed: everything that is due happens. Not due: nothing changes.
    Tick,
    /// The election timer may be due.
    ElectionTimeout,
    /// The fetch timer may be due.
    FetchTimeout,
    /// The check-quorum timer may be due (KAFKA-15489).
    CheckQuorumTimeout,
    /// The begin-quorum-epoch timer may be due.
    HeartbeatTimeout,
    /// A peer asks for a vote or a pre-vote (KIP-595, KIP-996).
    ReceiveVoteRequest {
        /// Reply, listener, partition.
        context: RequestContext,
        /// The peer that sent it: the candidate's key.
        from: ReplicaKey,
        /// The sender's cluster, absent when it names none.
        cluster_id: Option<Text>,
        /// The voter that the request is addressed to; -1 for anyone.
        voter_id: NodeId,
        /// The directory that the request is addressed to; nil for any.
        voter_directory_id: Uuid,
        /// The candidate's epoch.
        candidate_epoch: Epoch,
        /// The candidate; any number may come from the wire.
        candidate: NodeId,
        /// The candidate's directory; nil when unknown.
        candidate_directory_id: Uuid,
        /// The candidate's log end.
        candidate_log_end: LogEnd,
        /// Whether only a pre-vote is asked for.
        pre_vote: bool,
    },
    /// A peer answered a Vote or pre-vote.
    ReceiveVoteResponse {
        /// Request, errors, leader.
        answer: AnswerContext,
        /// The voter that was asked.
        from: ReplicaKey,
        /// The voter's epoch.
        epoch: Epoch,
        /// Whether it granted.
        vote_granted: bool,
    },
    /// A leader announces itself.
    ReceiveBeginQuorumEpoch {
        /// Reply, listener, partition.
        context: RequestContext,
        /// The sender's cluster.
        cluster_id: Option<Text>,
        /// The addressed voter; -1 for anyone.
        voter_id: NodeId,
        /// The addressed directory; nil for any.
        voter_directory_id: Uuid,
        /// Who leads.
        leader_id: NodeId,
        /// The epoch it leads.
        leader_epoch: Epoch,
        /// Its endpoints, empty when the request has none.
        leader_endpoints: Endpoints,
    },
    /// A voter answered BeginQuorumEpoch.
    ReceiveBeginQuorumEpochResponse {
        /// Request, errors, leader.
        answer: AnswerContext,
        /// The voter.
        from: ReplicaKey,
        /// Its epoch.
        epoch: Epoch,
    },
    /// A leader resigns.
    ReceiveEndQuorumEpoch {
        /// Reply, listener, partition.
        context: RequestContext,
        /// The sender's cluster.
        cluster_id: Option<Text>,
        /// Who resigned.
        leader_id: NodeId,
        /// The epoch that ends.
        leader_epoch: Epoch,
        /// Its endpoints, empty when the request has none.
        leader_endpoints: Endpoints,
        /// Where this replica stands among the preferred successors.
        successor_rank: SuccessorRank,
    },
    /// A voter answered EndQuorumEpoch.
    ReceiveEndQuorumEpochResponse {
        /// Request, errors, leader.
        answer: AnswerContext,
        /// The voter.
        from: ReplicaKey,
        /// Its epoch.
        epoch: Epoch,
    },
    /// A replica fetches.
    ReceiveFetch {
        /// Reply, listener, partition (by topic id).
        context: RequestContext,
        /// The fetcher; its id may be negative.
        from: ReplicaKey,
        /// The sender's cluster: as Fetches come with every record, the engine compares it.
        cluster: ClusterMatch,
        /// The epoch that the fetcher believes in (`CurrentLeaderEpoch`).
        fetch_epoch: Epoch,
        /// The offset it wants next.
        fetch_offset: i64,
        /// The epoch of the record before that offset.
        last_fetched_epoch: Epoch,
        /// The high watermark that it knows: -1 for none, `i64::MAX` below version 18 (KIP-1166).
        high_watermark: i64,
        /// How long the answer may wait, in milliseconds.
        max_wait_ms: i32,
        /// The most bytes it wants.
        max_bytes: i32,
    },
    /// A replica asks for a window of a snapshot (KIP-630).
    ReceiveFetchSnapshot {
        /// Reply, listener, partition.
        context: RequestContext,
        /// The fetcher.
        from: ReplicaKey,
        /// The sender's cluster.
        cluster_id: Option<Text>,
        /// The epoch that the fetcher believes in.
        fetch_epoch: Epoch,
        /// Which snapshot.
        snapshot: SnapshotId,
        /// From which byte on.
        position: i64,
        /// The most bytes it wants.
        max_bytes: i32,
    },
    /// The leader answered our Fetch.
    ReceiveFetchResponse {
        /// Request, errors, leader.
        answer: AnswerContext,
        /// Who was asked: a voter, or a bootstrap server under its negative id.
        from: ReplicaKey,
        /// The leader that the answer names, -1 for none.
        leader_id: NodeId,
        /// The answerer's epoch.
        leader_epoch: Epoch,
        /// The answerer's high watermark, -1 for unknown.
        high_watermark: i64,
        /// Where our log leaves the leader's, when it does.
        diverging: Option<LogOffsetMetadata>,
        /// The snapshot to fetch instead. Both halves as sent: one alone may be negative.
        snapshot: Option<SnapshotId>,
        /// The records.
        records: FetchedRecords,
    },
    /// The leader answered our FetchSnapshot.
    ReceiveFetchSnapshotResponse {
        /// Request, errors, leader.
        answer: AnswerContext,
        /// Who was asked.
        from: ReplicaKey,
        /// The answerer's epoch.
        leader_epoch: Epoch,
        /// The snapshot of the answer, as sent.
        snapshot: SnapshotId,
        /// The size of the whole snapshot.
        size: i64,
        /// Where these bytes begin.
        position: i64,
        /// How many bytes there are.
        bytes: u32,
        /// The bytes.
        payload: PayloadId,
    },
    /// A snapshot that was fetched is installed: the ticket of its `TruncateFully` is durable and this is what it says.
    SnapshotInstalled {
        /// Which one.
        snapshot: SnapshotId,
        /// Its control records.
        control: Vec<ControlRecord>,
    },
    /// A fetched snapshot failed its checks; it is deleted and can be fetched again. Stepped before the ticket of its
    /// last piece is reported durable, so that the log is not replaced by it.
    SnapshotRejected {
        /// Which one.
        snapshot: SnapshotId,
    },
    /// A voter tells its endpoints and levels (KIP-853, UpdateRaftVoter).
    ReceiveUpdateRaftVoter {
        /// Reply and listener.
        context: RequestContext,
        /// The sender's cluster.
        cluster_id: Option<Text>,
        /// The epoch that the sender believes in.
        leader_epoch: Epoch,
        /// The voter, directory nil when the request has none.
        voter: ReplicaKey,
        /// Its listeners.
        endpoints: Endpoints,
        /// The levels it supports, as sent.
        kraft_versions: SupportedVersions,
    },
    /// The leader answered our UpdateRaftVoter.
    ReceiveUpdateRaftVoterResponse {
        /// Request, errors, leader (partition error and top-level error are the same one).
        answer: AnswerContext,
        /// Who was asked.
        from: ReplicaKey,
        /// The answerer's epoch.
        leader_epoch: Epoch,
    },
    /// A replica is to become a voter (KIP-853, KIP-1186).
    ReceiveAddRaftVoter {
        /// Reply and listener.
        context: RequestContext,
        /// The sender's cluster.
        cluster_id: Option<Text>,
        /// The new voter, directory nil when the request has none.
        voter: ReplicaKey,
        /// Its listeners.
        endpoints: Endpoints,
        /// Whether the answer waits for the commit.
        ack_when_committed: bool,
    },
    /// A voter is to go (KIP-853).
    ReceiveRemoveRaftVoter {
        /// Reply and listener.
        context: RequestContext,
        /// The sender's cluster.
        cluster_id: Option<Text>,
        /// Which voter.
        voter: ReplicaKey,
    },
    /// The replica that is to become a voter told its features.
    ReceiveApiVersionsResponse {
        /// The request that is answered.
        request: RequestId,
        /// Who was asked.
        from: ReplicaKey,
        /// The error.
        error: ErrorCode,
        /// The kraft.version levels that it supports; `None` when it names none.
        kraft_versions: Option<SupportedVersions>,
    },
    /// The leader answered our AddRaftVoter.
    ReceiveAddRaftVoterResponse {
        /// The request that is answered.
        request: RequestId,
        /// Who was asked.
        from: ReplicaKey,
        /// The error.
        error: ErrorCode,
    },
    /// The leader answered our RemoveRaftVoter.
    ReceiveRemoveRaftVoterResponse {
        /// The request that is answered.
        request: RequestId,
        /// Who was asked.
        from: ReplicaKey,
        /// The error.
        error: ErrorCode,
    },
    /// The embedder of this node changes the voter set: the same as the request of a peer, without a cluster id.
    Reconfigure {
        /// Who waits for the answer.
        reply: ReplyId,
        /// The change.
        change: VoterChange,
    },
    /// Raise kraft.version (KIP-853). The answer waits for the commit.
    UpgradeKRaftVersion {
        /// Who waits for the answer.
        reply: ReplyId,
        /// The epoch that the asker believes to lead in; `None` takes the current one.
        epoch: Option<Epoch>,
        /// The level.
        level: i16,
        /// Whether it is only looked whether it could be done.
        validate_only: bool,
    },
    /// Somebody asks for the state of the quorum (KIP-595, KIP-836).
    ReceiveDescribeQuorum {
        /// Reply, listener, partition (by name).
        context: RequestContext,
    },
    /// An answer or request came from a newer epoch that names no leader yet.
    ReceiveLeaderlessEpoch {
        /// The newer epoch.
        epoch: Epoch,
    },
    /// A request of ours ended without an answer.
    RequestFailed {
        /// Which.
        request: RequestId,
        /// Why.
        fault: RequestFault,
    },
    /// The caller of a parked request, of a change or of a read is gone.
    CallerGone {
        /// Whose answer nobody waits for.
        reply: ReplyId,
    },
    /// Records to append, if this replica leads. Everything in one proposal is one batch.
    Propose {
        /// Who waits for the outcome.
        reply: ReplyId,
        /// The epoch that the proposer believes to lead in; `None` takes the current one.
        epoch: Option<Epoch>,
        /// How many records.
        records: u32,
        /// An upper bound of the size of the encoded batch.
        bytes: u32,
        /// The records.
        payload: PayloadId,
    },
    /// Somebody wants to read what is committed now, in a linearizable way.
    ReadBarrier {
        /// Who waits for the answer.
        reply: ReplyId,
    },
    /// All disk operations up to `up_to` are durable.
    Durable {
        /// The newest of them.
        up_to: Ticket,
    },
    /// The disk failed. Nothing is retried.
    StorageFailed,
    /// Give up leadership of `epoch`, if this replica has it.
    Resign {
        /// The epoch; older ones are ignored.
        epoch: Epoch,
    },
    /// Begin a graceful shutdown.
    Shutdown {
        /// Its bound.
        timeout: Duration,
    },
}

impl Event {
    /// Whether a leader may write a batch of control records in the very step that takes this event: a voter set or a
    /// kraft.version. Whoever has promised offsets to proposals offers those first.
    ///
    /// The batch that begins an epoch is not meant: nothing can be proposed before it.
    #[must_use]
    pub fn may_append_control(&self) -> bool {
        matches!(
            self,
            Self::Reconfigure { .. }
                | Self::UpgradeKRaftVersion { .. }
                | Self::ReceiveAddRaftVoter { .. }
                | Self::ReceiveRemoveRaftVoter { .. }
                | Self::ReceiveUpdateRaftVoter { .. }
                | Self::ReceiveApiVersionsResponse { .. }
        )
    }
}
