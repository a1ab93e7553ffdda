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

impl SupportedVersions {
    /// Whether the range contains a level.
    #[must_use]
    pub fn contains(&self, level: i16) -> bool {
        (self.min..=self.max).contains(&level)
    }
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

    /// The set with `node` added; `None` when its id is already in the set, in whatever directory.
    #[must_use]
    pub fn add(&self, node: VoterNode) -> Option<Self> {
        (!self.0.contains_key(&node.key.id)).then(|| self.with(node))
    }

    /// The set without `key`, which must be exactly the key of a voter; `None` otherwise, and for the last voter.
    #[must_use]
    pub fn remove(&self, key: &ReplicaKey) -> Option<Self> {
        if self.len() < 2 || self.get(key.id)?.key != *key {
            return None;
        }
        let mut voters = self.0.clone();
        voters.remove(&key.id);
        Some(Self(voters))
    }

    /// The set with the entry of the same voter replaced; `None` when `node` is not a voter.
    #[must_use]
    pub fn update(&self, node: VoterNode) -> Option<Self> {
        self.is_voter(&node.key).then(|| self.with(node))
    }

    /// As [`update`](Self::update), for kraft.version 0: only the id has to match.
    #[must_use]
    pub fn update_ignoring_directory(&self, node: VoterNode) -> Option<Self> {
        self.0.contains_key(&node.key.id).then(|| self.with(node))
    }

    /// Whether `node` is a voter whose entry says something else.
    #[must_use]
    pub fn needs_update(&self, node: &VoterNode) -> bool {
        self.is_voter(&node.key) && self.get(node.key.id) != Some(node)
    }

    /// Whether every voter supports a kraft.version level.
    #[must_use]
    pub fn supports(&self, level: i16) -> bool {
        self.iter().all(|voter| voter.kraft_versions.contains(level))
    }

    /// Whether at most one voter has come and at most one has gone between the sets.
    #[must_use]
    pub fn has_overlapping_majority(&self, other: &Self) -> bool {
        let missing = |from: &Self, of: &Self| {
            of.iter()
                .filter(|voter| from.get(voter.key.id).map(|found| found.key) != Some(voter.key))
                .count()
        };
        missing(self, other) <= 1 && missing(other, self) <= 1
    }

    fn with(&self, node: VoterNode) -> Self {
        let mut voters = self.0.clone();
        voters.insert(node.key.id, node);
        Self(voters)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoints::Endpoint;
    use alloc::string::ToString;
    use uuid::Uuid;

    fn node(id: i32, directory: u128, port: u16) -> VoterNode {
        VoterNode {
            key: ReplicaKey::new(NodeId(id), Uuid::from_u128(directory)),
            endpoints: Endpoints::single(
                "CONTROLLER",
                Endpoint {
                    host: "localhost".to_string(),
                    port,
                },
            ),
            kraft_versions: SupportedVersions { min: 0, max: 1 },
        }
    }

    fn set(nodes: &[VoterNode]) -> VoterSet {
        nodes.iter().cloned().collect()
    }

    #[test]
    fn a_voter_without_directory_is_known_by_its_id_alone() {
        let voters = set(&[node(1, 0, 1), node(2, 22, 2)]);
        assert!(voters.is_voter(&ReplicaKey::new(NodeId(1), Uuid::from_u128(11))));
        assert!(voters.is_voter(&ReplicaKey::new(NodeId(2), Uuid::from_u128(22))));
        assert!(!voters.is_voter(&ReplicaKey::new(NodeId(2), Uuid::from_u128(23))));
        assert!(!voters.is_voter(&ReplicaKey::without_directory(NodeId(2))));
    }

    #[test]
    fn voters_are_added_removed_and_updated_by_key() {
        let voters = set(&[node(1, 11, 1), node(2, 22, 2)]);
        assert_eq!(voters.add(node(2, 23, 2)), None);
        assert_eq!(voters.add(node(3, 33, 3)).map(|voters| voters.len()), Some(3));
        assert_eq!(voters.remove(&node(2, 23, 2).key), None);
        let one = voters.remove(&node(2, 22, 2).key).expect("a voter");
        assert_eq!(one.remove(&node(1, 11, 1).key), None);
        assert_eq!(voters.update(node(2, 23, 9)), None);
        assert!(voters.update_ignoring_directory(node(2, 23, 9)).is_some());
        assert!(voters.needs_update(&node(2, 22, 9)));
        assert!(!voters.needs_update(&node(2, 22, 2)));
        assert!(!voters.needs_update(&node(2, 23, 9)));
    }

    #[test]
    fn one_change_at_a_time_keeps_majorities_overlapping() {
        let voters = set(&[node(1, 11, 1), node(2, 22, 2), node(3, 33, 3)]);
        let replaced = set(&[node(1, 12, 1), node(2, 22, 2), node(3, 33, 3)]);
        let two_gone = set(&[node(1, 11, 1)]);
        assert!(voters.has_overlapping_majority(&replaced));
        assert!(!voters.has_overlapping_majority(&two_gone));
    }
}
