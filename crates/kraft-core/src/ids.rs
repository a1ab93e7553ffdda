//! Who is meant: node ids, epochs and replica keys (KIP-853).

use uuid::Uuid;

/// A node id as in `node.id`. Negative ids other than -1 name bootstrap servers; -1 is "nobody".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub i32);

impl NodeId {
    /// The id that the wire uses for "no node".
    pub const NONE: Self = Self(-1);

    /// The id as an option: `None` for every negative id.
    #[must_use]
    pub fn known(self) -> Option<Self> {
        (self.0 >= 0).then_some(self)
    }
}

impl core::fmt::Display for NodeId {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A leader epoch: the term of one leader, never reused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Epoch(pub i32);

impl Epoch {
    /// The epoch after this one.
    ///
    /// # Panics
    /// At the end of the epoch range, which the core never lets an epoch come near to.
    #[must_use]
    pub fn next(self) -> Self {
        Self(
            self.0
                .checked_add(1)
                .expect("epochs stay below the bound that the core enforces"),
        )
    }
}

impl core::fmt::Display for Epoch {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A replica: its node id and, where it is known, the id of its metadata log directory.
///
/// The zero UUID of wire and records is `None` here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReplicaKey {
    /// The node.
    pub id: NodeId,
    /// Its directory, absent below kraft.version 1 and in old requests.
    pub directory_id: Option<Uuid>,
}

impl ReplicaKey {
    /// The key of `id` in `directory_id`, where the nil UUID stands for "unknown".
    #[must_use]
    pub fn new(id: NodeId, directory_id: Uuid) -> Self {
        Self {
            id,
            directory_id: (!directory_id.is_nil()).then_some(directory_id),
        }
    }

    /// The key of `id` without a directory.
    #[must_use]
    pub fn without_directory(id: NodeId) -> Self {
        Self {
            id,
            directory_id: None,
        }
    }

    /// The directory as the wire writes it: nil when unknown.
    #[must_use]
    pub fn directory_or_nil(&self) -> Uuid {
        self.directory_id.unwrap_or(Uuid::nil())
    }
}
