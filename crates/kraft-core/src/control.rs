//! Control records and what the core is told of a batch instead of its bytes.

use crate::{
    ids::{Epoch, NodeId},
    voter_set::VoterSet,
};
use alloc::vec::Vec;
use smallvec::SmallVec;

/// A control record of the metadata log, decoded.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ControlRecord {
    /// The first record of an epoch.
    LeaderChange {
        /// Who leads.
        leader: NodeId,
        /// The voters at the start of the epoch.
        voters: Vec<NodeId>,
        /// Those of them that granted their vote.
        granting: Vec<NodeId>,
    },
    /// The kraft.version from here on.
    KRaftVersion(i16),
    /// The voter set from here on.
    Voters(VoterSet),
}

/// The batches that are appended together. One, which is the rule, is no allocation.
pub type Batches = SmallVec<[BatchInfo; 1]>;

/// One record batch as the core sees it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BatchInfo {
    /// Offset of the first record.
    pub base: i64,
    /// Offset of the last record.
    pub last: i64,
    /// The epoch of the leader that wrote it.
    pub epoch: Epoch,
    /// Its size.
    pub bytes: u32,
    /// The control records of a control batch; `None` for data.
    pub control: Option<Vec<ControlRecord>>,
}
