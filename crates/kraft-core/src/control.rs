//! Control records and what the core is told of a batch instead of its bytes.

use crate::{
    ids::{Epoch, NodeId},
    voter_set::VoterSet,
};
use alloc::{sync::Arc, vec::Vec};
use core::{
    fmt,
    hash::{Hash, Hasher},
    ops::Deref,
    slice,
};

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

/// The batches that are appended together. One, which is the rule, is no allocation; several are shared.
#[derive(Clone, PartialEq, Eq)]
pub struct Batches(Form);

/// A list is never of less than two, so that forms can be compared.
#[derive(Clone, PartialEq, Eq)]
#[repr(u8)]
enum Form {
    Nothing,
    One(BatchInfo),
    Several(Arc<[BatchInfo]>),
}

impl Batches {
    /// None.
    #[must_use]
    pub fn new() -> Self {
        Self(Form::Nothing)
    }

    /// One.
    #[must_use]
    #[inline]
    pub fn one(batch: BatchInfo) -> Self {
        Self(Form::One(batch))
    }
}

impl Default for Batches {
    fn default() -> Self {
        Self::new()
    }
}

impl Deref for Batches {
    type Target = [BatchInfo];

    #[inline]
    fn deref(&self) -> &[BatchInfo] {
        match &self.0 {
            Form::Nothing => &[],
            Form::One(batch) => slice::from_ref(batch),
            Form::Several(batches) => batches,
        }
    }
}

impl From<Vec<BatchInfo>> for Batches {
    fn from(mut batches: Vec<BatchInfo>) -> Self {
        if batches.len() > 1 {
            return Self(Form::Several(batches.into()));
        }
        batches.pop().map_or_else(Self::new, Self::one)
    }
}

impl FromIterator<BatchInfo> for Batches {
    fn from_iter<I: IntoIterator<Item = BatchInfo>>(batches: I) -> Self {
        batches.into_iter().collect::<Vec<_>>().into()
    }
}

impl<'a> IntoIterator for &'a Batches {
    type Item = &'a BatchInfo;
    type IntoIter = slice::Iter<'a, BatchInfo>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// As a list of them.
impl Hash for Batches {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

/// As a list of them.
impl fmt::Debug for Batches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

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
