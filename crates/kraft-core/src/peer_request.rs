//! The requests that a replica sends. The engine encodes them at a version that the peer speaks.

use crate::{
    endpoints::Endpoints,
    ids::{Epoch, NodeId, ReplicaKey},
    offsets::{LogEnd, SnapshotId},
    text::Text,
    voter_set::SupportedVersions,
};
use alloc::vec::Vec;

/// A request to a peer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PeerRequest {
    /// Vote or pre-vote.
    Vote {
        /// Our cluster.
        cluster_id: Text,
        /// The voter that is asked.
        voter: ReplicaKey,
        /// The candidate: this replica.
        candidate: ReplicaKey,
        /// Its epoch.
        epoch: Epoch,
        /// Its log end.
        log_end: LogEnd,
        /// Whether it only asks for a pre-vote. A peer below version 2 cannot be asked: `RequestFault::UnsupportedVersion`.
        pre_vote: bool,
    },
    /// The announcement of a leader.
    BeginQuorumEpoch {
        /// Our cluster.
        cluster_id: Text,
        /// The voter that is told.
        voter: ReplicaKey,
        /// This replica.
        leader: NodeId,
        /// The epoch it leads.
        epoch: Epoch,
        /// Where it listens.
        endpoints: Endpoints,
    },
    /// The resignation of a leader.
    EndQuorumEpoch {
        /// Our cluster.
        cluster_id: Text,
        /// This replica.
        leader: NodeId,
        /// The epoch that it gives up.
        epoch: Epoch,
        /// Who should follow it, best first.
        preferred_successors: Vec<ReplicaKey>,
    },
    /// Records, please.
    Fetch {
        /// Our cluster.
        cluster_id: Text,
        /// This replica.
        replica: ReplicaKey,
        /// The epoch it is in.
        epoch: Epoch,
        /// Its log end: the next offset and the epoch before it.
        log_end: LogEnd,
        /// The high watermark it knows, -1 for none.
        high_watermark: i64,
        /// How long the leader may wait.
        max_wait_ms: i32,
        /// The most bytes.
        max_bytes: i32,
    },
    /// A window of a snapshot, please.
    FetchSnapshot {
        /// Our cluster.
        cluster_id: Text,
        /// This replica.
        replica: ReplicaKey,
        /// The epoch it is in.
        epoch: Epoch,
        /// Which snapshot.
        snapshot: SnapshotId,
        /// From which byte on.
        position: i64,
        /// The most bytes.
        max_bytes: i32,
    },
    /// Which features does a replica support that is to become a voter?
    ApiVersions,
    /// An observer asks to become a voter (auto-join). A peer below version 1 cannot be asked:
    /// `RequestFault::UnsupportedVersion`.
    AddRaftVoter {
        /// Our cluster.
        cluster_id: Text,
        /// How long this replica waits for the answer.
        timeout_ms: i32,
        /// This replica.
        voter: ReplicaKey,
        /// Where it listens.
        endpoints: Endpoints,
        /// Whether the answer waits for the commit.
        ack_when_committed: bool,
    },
    /// An observer asks to remove the voter that it was under another directory id (auto-join).
    RemoveRaftVoter {
        /// Our cluster.
        cluster_id: Text,
        /// The voter that is no more.
        voter: ReplicaKey,
    },
    /// Our own endpoints and levels.
    UpdateRaftVoter {
        /// Our cluster.
        cluster_id: Text,
        /// The leader's epoch.
        epoch: Epoch,
        /// This replica.
        voter: ReplicaKey,
        /// Where it listens.
        endpoints: Endpoints,
        /// The levels it supports.
        kraft_versions: SupportedVersions,
    },
}
