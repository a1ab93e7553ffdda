//! Voter sets (KIP-853): who votes, where they listen, which kraft.version they know.

use crate::{
    endpoints::Endpoints,
    ids::{NodeId, ReplicaKey},
};
use alloc::{collections::BTreeMap, sync::Arc};

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

    /// Whether these are levels at all: none is below 0, and they do not end before they begin. A JVM that reads anything else
    /// from the log ends.
    #[must_use]
    pub fn is_range(&self) -> bool {
        (0..=self.max).contains(&self.min)
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

/// An immutable set of voters, at most one per node id, in the order of their ids.
///
/// It is shared: a copy allocates nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct VoterSet(Arc<[VoterNode]>);

/// So many voters are looked through sooner than halved.
const FEW: usize = 8;

impl FromIterator<VoterNode> for VoterSet {
    fn from_iter<I: IntoIterator<Item = VoterNode>>(voters: I) -> Self {
        let by_id: BTreeMap<NodeId, VoterNode> =
            voters.into_iter().map(|voter| (voter.key.id, voter)).collect();
        Self(by_id.into_values().collect())
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
        self.0.iter()
    }

    /// The ids, in order.
    pub fn ids(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.iter().map(|voter| voter.key.id)
    }

    /// The entry of an id.
    #[must_use]
    pub fn get(&self, id: NodeId) -> Option<&VoterNode> {
        if self.0.len() <= FEW {
            return self.0.iter().find(|voter| voter.key.id == id);
        }
        let place = self.0.binary_search_by_key(&id, |voter| voter.key.id).ok()?;
        Some(&self.0[place])
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
        self.get(node.key.id).is_none().then(|| self.with(node))
    }

    /// The set without `key`, which must be exactly the key of a voter; `None` otherwise, and for the last voter.
    #[must_use]
    pub fn remove(&self, key: &ReplicaKey) -> Option<Self> {
        if self.len() < 2 || self.get(key.id)?.key != *key {
            return None;
        }
        Some(
            self.iter()
                .filter(|voter| voter.key.id != key.id)
                .cloned()
                .collect(),
        )
    }

    /// The set with the entry of the same voter replaced; `None` when `node` is not a voter.
    #[must_use]
    pub fn update(&self, node: VoterNode) -> Option<Self> {
        self.is_voter(&node.key).then(|| self.with(node))
    }

    /// As [`update`](Self::update), for kraft.version 0: only the id has to match.
    #[must_use]
    pub fn update_ignoring_directory(&self, node: VoterNode) -> Option<Self> {
        self.get(node.key.id).is_some().then(|| self.with(node))
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
        self.iter().cloned().chain([node]).collect()
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
    use alloc::{string::ToString, vec::Vec};
    use uuid::Uuid;

    fn node(id: i32, directory: u128, port: u16) -> VoterNode {
        VoterNode {
            key: ReplicaKey::new(NodeId(id), Uuid::from_u128(directory)),
            endpoints: Endpoints::single(
                "CONTROLLER",
                Endpoint {
                    host: "localhost".into(),
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

    fn three() -> VoterSet {
        set(&[node(1, 11, 9991), node(2, 22, 9992), node(3, 33, 9993)])
    }

    fn key(id: i32, directory: u128) -> ReplicaKey {
        ReplicaKey::new(NodeId(id), Uuid::from_u128(directory))
    }

    #[test]
    fn voterset_001_an_empty_voter_set_is_a_legal_value() {
        assert_eq!(set(&[]), VoterSet::default());
        assert!(VoterSet::default().is_empty());
    }

    #[test]
    fn voterset_002_a_voter_is_found_by_id_and_listener() {
        let voters = three();
        let address = |id: i32, listener: &str| {
            let endpoints = voters.endpoints(NodeId(id));
            endpoints.of(listener).map(Endpoint::to_string)
        };
        assert_eq!(address(1, "CONTROLLER").as_deref(), Some("localhost:9991"));
        assert_eq!(address(1, "MISSING"), None);
        assert_eq!(address(4, "CONTROLLER"), None);
    }

    #[test]
    fn voterset_003_ids_and_listeners() {
        let voters = three();
        assert!(voters.ids().eq([1, 2, 3].map(NodeId)));
        assert!((1..=3).all(|id| !voters.endpoints(NodeId(id)).is_empty()));
        assert!(voters.endpoints(NodeId(4)).is_empty());
    }

    #[test]
    fn voterset_004_only_the_exact_key_is_removed_and_never_the_last_one() {
        let voters = three();
        assert_eq!(voters.remove(&key(4, 0)), None);
        assert_eq!(voters.remove(&key(4, 44)), None);
        let left = voters.remove(&key(3, 33)).expect("a voter");
        assert!(left.ids().eq([1, 2].map(NodeId)));
        assert_eq!(set(&[node(1, 11, 1)]).remove(&key(1, 11)), None);
    }

    #[test]
    fn voterset_005_an_update_needs_the_same_id_and_directory() {
        let voters = three();
        for stranger in [node(4, 44, 9994), node(3, 34, 9993)] {
            assert_eq!(voters.update(stranger.clone()), None);
            assert!(!voters.needs_update(&stranger));
        }
        let mut moved = node(3, 33, 1);
        moved.kraft_versions = SupportedVersions { min: 1, max: 1 };
        assert!(voters.needs_update(&moved));
        let updated = voters.update(moved.clone()).expect("a voter");
        assert_eq!(updated.get(NodeId(3)), Some(&moved));
        assert_eq!(updated.len(), 3);
    }

    #[test]
    fn voterset_006_an_update_that_ignores_the_directory_needs_the_id() {
        let voters = set(&[node(1, 0, 1), node(2, 0, 2), node(3, 0, 3)]);
        assert_eq!(voters.update_ignoring_directory(node(4, 44, 4)), None);
        let first = voters.update_ignoring_directory(node(3, 33, 3)).expect("a voter");
        assert_eq!(first.get(NodeId(3)), Some(&node(3, 33, 3)));
        let second = first.update_ignoring_directory(node(3, 34, 3)).expect("a voter");
        assert_eq!(second.get(NodeId(3)), Some(&node(3, 34, 3)));
    }

    #[test]
    fn voterset_007_without_a_directory_the_id_makes_the_voter() {
        let voters = set(&[node(1, 0, 1), node(2, 0, 2)]);
        assert!(voters.is_voter(&key(1, 0)));
        assert!(voters.is_voter(&key(1, 11)));
        assert!(!voters.is_voter(&key(4, 44)));
        assert!(!voters.is_voter(&key(4, 0)));
    }

    #[test]
    fn voterset_008_the_only_voter_is_the_exact_key_of_a_set_of_one() {
        let alone = set(&[node(1, 11, 1)]);
        assert!(alone.is_only_voter(&key(1, 11)));
        for other in [key(1, 12), key(1, 0), key(4, 11), key(4, 0)] {
            assert!(!alone.is_only_voter(&other));
        }
        let two = set(&[node(1, 11, 1), node(2, 22, 2)]);
        for any in [key(1, 11), key(1, 12), key(2, 22), key(4, 0)] {
            assert!(!two.is_only_voter(&any));
        }
    }

    #[test]
    fn voterset_010_two_changes_at_once_leave_no_overlapping_majority() {
        let nodes: Vec<VoterNode> = (1..=7).map(|id| node(id, id.unsigned_abs().into(), 1)).collect();
        let five = set(&nodes[..5]);
        let two_more = set(&nodes);
        let two_less = set(&nodes[..3]);
        let two_others = set(&nodes[2..]);
        for other in [two_more, two_less, two_others] {
            assert!(!five.has_overlapping_majority(&other));
            assert!(!other.has_overlapping_majority(&five));
        }
    }

    #[test]
    fn voterset_011_a_level_is_supported_when_every_voter_supports_it() {
        let mut old = node(1, 0, 1);
        old.kraft_versions = SupportedVersions { min: 0, max: 0 };
        let old = set(&[old, node(2, 0, 2)]);
        assert!(old.supports(0));
        assert!(!old.supports(1));
        assert!(three().supports(0));
        assert!(three().supports(1));
    }
}
