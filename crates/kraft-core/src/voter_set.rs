//! Voter sets (KIP-853): who votes, where they listen, which kraft.version they know.

use crate::{
    endpoints::Endpoints,
    ids::{NodeId, ReplicaKey},
};
use alloc::collections::BTreeMap;

/// A closed range of feature levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SupportedVersions {
    /// Smallest level.
    pub min: i16,
    /// Largest level.
    pub max: i16,
}

/// One voter.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct VoterNode {
    /// Id and, from kraft.version 1 on, directory.
    pub key: ReplicaKey,
    /// Its controller listeners.
    pub endpoints: Endpoints,
    /// The kraft.version levels it supports.
    pub kraft_versions: SupportedVersions,
}

impl VoterNode {
    /// Whether `replica` is this voter: same id, and same directory unless the voter names none.
    #[must_use]
    pub fn is_voter(&self, replica: &ReplicaKey) -> bool {
        self.key.id == replica.id
            && (self.key.directory_id.is_none() || self.key.directory_id == replica.directory_id)
    }
}

/// An immutable set of voters, at most one per node id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct VoterSet(BTreeMap<NodeId, VoterNode>);

impl FromIterator<VoterNode> for VoterSet {
    fn from_iter<I: IntoIterator<Item = VoterNode>>(voters: I) -> Self {
        Self(voters.into_iter().map(|voter| (voter.key.id, voter)).collect())
    }
}

impl VoterSet {
    /// The number of voters.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no voter.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The voters, ordered by node id.
    pub fn iter(&self) -> impl Iterator<Item = &VoterNode> {
        self.0.values()
    }

    /// The ids, in order.
    pub fn ids(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.0.keys().copied()
    }

    /// The entry of an id.
    #[must_use]
    pub fn get(&self, id: NodeId) -> Option<&VoterNode> {
        self.0.get(&id)
    }

    /// Whether `replica` votes.
    #[must_use]
    pub fn is_voter(&self, replica: &ReplicaKey) -> bool {
        self.get(replica.id).is_some_and(|voter| voter.is_voter(replica))
    }

    /// Whether `replica` is the one and only voter.
    #[must_use]
    pub fn is_only_voter(&self, replica: &ReplicaKey) -> bool {
        self.len() == 1 && self.is_voter(replica)
    }

    /// The endpoints of a voter; empty for others.
    #[must_use]
    pub fn endpoints(&self, id: NodeId) -> Endpoints {
        self.get(id)
            .map(|voter| voter.endpoints.clone())
            .unwrap_or_default()
    }

    /// The number of voters that is more than half of them.
    #[must_use]
    pub fn majority(&self) -> usize {
        self.len() / 2 + 1
    }
}
