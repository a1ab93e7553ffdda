//! What can be seen of a running quorum.

use kraft_core::{Epoch, LogEnd, NodeId, ReplicaKey, RoleName, SnapshotId};

/// A batch of a log: where it is, who wrote it, and a digest of what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BatchMark {
    /// Offset of the first record.
    pub base: i64,
    /// Offset of the last record.
    pub last: i64,
    /// The epoch of the leader that wrote it.
    pub epoch: Epoch,
    /// Equal for equal content.
    pub digest: u64,
}

/// Something that a client wants, numbered over the whole run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpId(pub u64);

/// What a client is told of records that it is not told to be committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fate {
    /// They are not in the log and never will be.
    Not,
    /// They may be in the log or not.
    Unknown,
}

/// What an operator wants of the voters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VoterMove {
    /// A replica becomes a voter.
    Add(ReplicaKey),
    /// A voter goes.
    Remove(ReplicaKey),
}

/// Something that can be seen of a running quorum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    /// A node has crashed, and what was not durable is gone.
    Crashed {
        /// Which.
        node: NodeId,
    },
    /// The disk of a node is gone. It comes back on an empty one, as another replica.
    Wiped {
        /// Which node.
        node: NodeId,
        /// What it was.
        former: ReplicaKey,
        /// What it is from now on.
        key: ReplicaKey,
    },
    /// A node's disk has taken epoch and vote durably.
    Stored {
        /// Which node.
        node: NodeId,
        /// The epoch.
        epoch: Epoch,
        /// The leader of that epoch, where it is known.
        leader: Option<NodeId>,
        /// Whom it has voted for in that epoch.
        voted: Option<ReplicaKey>,
    },
    /// A node's state machine was replaced by a snapshot.
    Loaded {
        /// Which node.
        node: NodeId,
        /// The snapshot.
        snapshot: SnapshotId,
        /// A digest of all its records.
        digest: u64,
    },
    /// What a node has become by a step.
    State {
        /// Which node.
        node: NodeId,
        /// Its role.
        role: RoleName,
        /// Its epoch.
        epoch: Epoch,
        /// The leader that it knows.
        leader: Option<NodeId>,
        /// Its high watermark, if it knows one.
        high_watermark: Option<i64>,
    },
    /// The voters that a node goes by.
    Voters {
        /// Which node.
        node: NodeId,
        /// The voters, by rising id.
        voters: Vec<ReplicaKey>,
    },
    /// Where a node's log begins now.
    LogStart {
        /// Which node.
        node: NodeId,
        /// The first offset that it has.
        start: i64,
        /// Its earliest snapshot.
        snapshot: Option<SnapshotId>,
        /// Whether the log has a record of the snapshot's epoch, or the snapshot itself, up to the snapshot's end.
        fits: bool,
    },
    /// The log on a node's disk has changed: it was cut at `truncated_to`, where that is not its old end, and got new batches.
    Log {
        /// Which node.
        node: NodeId,
        /// Where the log begins.
        start: i64,
        /// Everything at and behind this offset was taken away.
        truncated_to: i64,
        /// What was then appended.
        appended: Vec<BatchMark>,
    },
    /// A node tells others of its epoch, and of its log if it names its end.
    Told {
        /// Which node.
        node: NodeId,
        /// The epoch.
        epoch: Epoch,
        /// Whether it asks for votes.
        campaigns: bool,
        /// Whether it says that it leads.
        leads: bool,
        /// The end of its log.
        log_end: Option<LogEnd>,
    },
    /// A node tells a candidate that it has its vote.
    Granted {
        /// Which node.
        node: NodeId,
        /// In which epoch.
        epoch: Epoch,
        /// Who gets it.
        candidate: NodeId,
    },
    /// A node's state machine was given a committed batch.
    Applied {
        /// Which node.
        node: NodeId,
        /// The batch.
        batch: BatchMark,
        /// A digest of each of its records; none for a control batch.
        records: Vec<u64>,
    },
    /// A node has served batches to somebody who is no replica, as committed.
    Served {
        /// Which node.
        node: NodeId,
        /// The batches.
        batches: Vec<BatchMark>,
    },
    /// A node has served batches of its log to a replica, as the leader of an epoch.
    Replicated {
        /// Which node.
        node: NodeId,
        /// The epoch.
        epoch: Epoch,
        /// The batches.
        batches: Vec<BatchMark>,
    },
    /// What the state machine of a node holds.
    Image {
        /// Which node.
        node: NodeId,
        /// Everything below is applied.
        applied: i64,
        /// A digest of all its records.
        digest: u64,
    },
    /// A node's state machine takes changes from now on, or does so no more.
    Leading {
        /// Which node.
        node: NodeId,
        /// In which epoch.
        epoch: Option<Epoch>,
    },
    /// A client proposes records.
    Invoked {
        /// Its number.
        op: OpId,
        /// At which node.
        node: NodeId,
    },
    /// A leader has given a client's records a place in its log.
    Appended {
        /// The client.
        op: OpId,
        /// In which epoch.
        epoch: Epoch,
        /// The offset of the first record.
        base: i64,
        /// The offset of the last one.
        last: i64,
    },
    /// A client was told that its records are committed.
    Acknowledged {
        /// The client.
        op: OpId,
        /// In which epoch they were written.
        epoch: Epoch,
        /// The offset of the first record, as it was told.
        base: i64,
        /// The offset of the last record, as it was told.
        last: i64,
        /// The digests of the records that it had proposed.
        records: Vec<u64>,
    },
    /// A client was told that its records were not taken, or that their fate is not known.
    Refused {
        /// The client.
        op: OpId,
        /// By which node.
        node: NodeId,
        /// What it may conclude.
        fate: Fate,
        /// Why.
        reason: String,
    },
    /// A client begins to read, and wants everything that is done by now.
    ReadBegan {
        /// Its number.
        op: OpId,
        /// At which node.
        node: NodeId,
    },
    /// A client has read, or was sent away.
    ReadDone {
        /// Its number.
        op: OpId,
        /// At which node.
        node: NodeId,
        /// What it read holds everything below.
        end: Option<i64>,
    },
    /// The voters that are committed, as far as a node knows.
    CommittedVoters {
        /// Which node.
        node: NodeId,
        /// Everything below is committed.
        end: i64,
        /// The voters there, by rising id; none if neither log nor snapshot names any.
        voters: Vec<ReplicaKey>,
    },
    /// An operator asks for a change of the voters.
    ChangeAsked {
        /// Its number.
        op: OpId,
        /// What it wants.
        change: VoterMove,
    },
    /// An operator was told that its change of the voters is committed.
    ChangeTold {
        /// The operator.
        op: OpId,
        /// By which node.
        node: NodeId,
        /// Where it is told to stand.
        offset: i64,
        /// Everything below is committed, as far as that node knows.
        committed: i64,
        /// The voters at that place of the node's log, by rising id.
        voters: Vec<ReplicaKey>,
    },
    /// An operator was told that kraft.version is raised.
    UpgradeTold {
        /// The operator.
        op: OpId,
        /// By which node.
        node: NodeId,
        /// The level that is committed, as far as that node knows.
        level: i16,
    },
    /// A client does not wait any more, whatever becomes of what it wanted.
    Left {
        /// The client.
        op: OpId,
        /// Whom it had asked.
        node: NodeId,
    },
    /// A client will never hear what became of its records, although its node goes on.
    Forgotten {
        /// The client.
        op: OpId,
        /// By which node.
        node: NodeId,
    },
}

/// Batches of one record each, by offset, epoch and digest.
#[cfg(test)]
pub(super) fn marks(batches: &[(i64, i32, u64)]) -> Vec<BatchMark> {
    let mark = |&(base, epoch, digest): &(i64, i32, u64)| BatchMark {
        base,
        last: base,
        epoch: Epoch(epoch),
        digest,
    };
    batches.iter().map(mark).collect()
}
