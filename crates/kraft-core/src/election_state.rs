//! What `quorum-state` holds: the epoch, its leader and this replica's vote.

use crate::ids::{Epoch, NodeId, ReplicaKey};
use alloc::vec::Vec;

/// The election facts that must survive a crash.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ElectionState {
    /// The epoch that these facts belong to.
    pub epoch: Epoch,
    /// The leader of the epoch, where it is known.
    pub leader: Option<NodeId>,
    /// Whom this replica voted for in the epoch.
    pub voted: Option<ReplicaKey>,
    /// The voters in force. Only version 0 of the file writes them; readers ignore them.
    pub voters: Vec<NodeId>,
    /// The kraft.version in force, which is also the version of the file that is written.
    pub kraft_version: i16,
}
