//! Everything that a replica can want done.

use crate::{
    answer::Answer,
    control::{Batches, ControlRecord},
    election_state::ElectionState,
    endpoints::Endpoint,
    handles::{PayloadId, ReplyId, RequestId, Ticket},
    ids::{Epoch, NodeId, ReplicaKey},
    offsets::SnapshotId,
    peer_request::PeerRequest,
    role::RoleName,
};
use alloc::{string::String, vec::Vec};

/// An effect, complete in itself. One that waits names the disk ticket that it waits for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Action {
    /// Hand this operation to the log thread.
    Disk {
        /// Its number.
        ticket: Ticket,
        /// What to do.
        op: DiskOp,
    },
    /// Send a request to a peer.
    Send {
        /// The number under which its outcome comes back.
        request: RequestId,
        /// The peer; a bootstrap server has a negative id.
        to: ReplicaKey,
        /// Where it listens.
        endpoint: Endpoint,
        /// The request.
        body: PeerRequest,
        /// Not before this is durable.
        after: Ticket,
    },
    /// Answer somebody's request.
    Reply {
        /// Whose.
        reply: ReplyId,
        /// The answer.
        answer: Answer,
        /// Not before this is durable.
        after: Ticket,
    },
    /// A proposal was taken: its batch gets these offsets. The operation that appends it precedes this action.
    Accept {
        /// Whose.
        reply: ReplyId,
        /// The offset of its first record.
        base: i64,
        /// The epoch it is written in.
        epoch: Epoch,
    },
    /// A proposal was not taken; its payload is free.
    Refuse {
        /// Whose.
        reply: ReplyId,
        /// Why.
        reason: Refusal,
    },
    /// What became of a proposal that had been taken.
    Outcome {
        /// Whose.
        reply: ReplyId,
        /// What became of it.
        outcome: ProposalOutcome,
    },
    /// A read may be served once everything below `applied` is applied: this replica led after the read had come, and no
    /// one was told of more until then.
    ReadBarrier {
        /// Whose.
        reply: ReplyId,
        /// `None` where this replica does not lead, or not any more.
        applied: Option<i64>,
    },
    /// Everything below the high watermark is committed. Waits for nothing.
    Commit {
        /// The new high watermark, exclusive.
        high_watermark: i64,
    },
    /// Role, epoch or leader changed; for logs, metrics and watchers.
    Transition {
        /// The new role.
        role: RoleName,
        /// The epoch.
        epoch: Epoch,
        /// The leader, if known.
        leader: Option<NodeId>,
        /// In one phrase, why.
        reason: &'static str,
    },
    /// Tell the state machine that it leads, once it has applied everything below `applied`.
    Lead {
        /// The epoch.
        epoch: Epoch,
        /// The end of the epoch's first control batch.
        applied: i64,
    },
    /// Tell the state machine that it no longer leads.
    Unlead,
    /// Nobody will ask for these bytes any more.
    Discard {
        /// Which bytes.
        payload: PayloadId,
    },
    /// A snapshot download was given up: delete what there is of it.
    AbandonSnapshot {
        /// Which one.
        snapshot: SnapshotId,
    },
    /// The graceful shutdown is over.
    ShutdownComplete {
        /// Whether its time ran out first.
        timed_out: bool,
    },
    /// The replica cannot go on: what it was told contradicts what it has stored. The node ends with this text.
    Fatal {
        /// What contradicts what, and what to do.
        reason: String,
    },
}

/// An operation of the log thread.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DiskOp {
    /// Append batches at the end of the log.
    Append {
        /// Offset of the first record.
        base: i64,
        /// What is appended. For a control batch of our own the size is 0: the engine encodes it.
        batches: Batches,
        /// The bytes.
        payload: AppendPayload,
    },
    /// Cut the log so that `to` is its end.
    Truncate {
        /// The new end.
        to: i64,
    },
    /// Store a piece of a snapshot that is being fetched.
    SnapshotChunk {
        /// Which snapshot.
        snapshot: SnapshotId,
        /// Where the piece begins.
        position: u64,
        /// The bytes.
        payload: PayloadId,
        /// Whether the snapshot is complete with this piece.
        last: bool,
    },
    /// Replace the whole log by a snapshot that has been fetched: the log starts and ends at its end offset.
    TruncateFully {
        /// Which snapshot.
        snapshot: SnapshotId,
    },
    /// Replace `quorum-state`.
    StoreElection(ElectionState),
    /// Enter an epoch into the leader-epoch cache.
    StartEpoch {
        /// The epoch.
        epoch: Epoch,
        /// Where it begins.
        start: i64,
    },
}

/// Where the bytes of an append come from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum AppendPayload {
    /// A proposal: the engine encodes it at the base offset.
    Proposal(PayloadId),
    /// Batches as the leader sent them; only those that the operation lists are appended, which are the first ones.
    Fetched(PayloadId),
    /// One control batch with these records, stamped with this time (milliseconds since 1970).
    Control {
        /// The records, in order.
        records: Vec<ControlRecord>,
        /// Batch timestamp.
        timestamp_ms: i64,
    },
}

/// Why a proposal was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// This replica does not lead, or no longer in the proposer's epoch.
    NotLeader {
        /// Who leads, if known.
        leader: Option<NodeId>,
        /// The current epoch.
        epoch: Epoch,
    },
    /// The proposer names an epoch that has not begun.
    EpochFromTheFuture,
    /// Nothing to append.
    Empty,
    /// The batch is larger than a batch may be.
    TooLarge {
        /// The limit in bytes.
        max: u32,
    },
    /// The node is shutting down.
    ShuttingDown,
}

/// What became of a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProposalOutcome {
    /// It is committed.
    Committed,
    /// It is certain that it never will be.
    KnownLost,
    /// This replica lost the leadership before it knew.
    Unknown,
}
