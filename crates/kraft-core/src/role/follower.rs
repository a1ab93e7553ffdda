//! Follows a leader, as a voter or as an observer.

use crate::{
    endpoints::{Endpoint, Endpoints},
    ids::{NodeId, ReplicaKey},
    offsets::SnapshotId,
    timer::Timer,
};

/// A replica that replicates a leader's log.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Follower {
    /// The leader.
    pub(crate) leader: NodeId,
    /// Its key as the voter set in force names it, which the requests to it are addressed to.
    pub(crate) key: ReplicaKey,
    /// Where it listens; never empty.
    pub(crate) endpoints: Endpoints,
    /// Where it listens for this replica: on the default listener, looked up once.
    pub(crate) endpoint: Option<Endpoint>,
    /// Whom this replica voted for in this epoch.
    pub(crate) voted: Option<ReplicaKey>,
    /// When a voter campaigns.
    pub(crate) fetch: Timer,
    /// When a voter next looks whether the leader has to hear of its endpoints and levels.
    pub(crate) update_voter: Timer,
    /// Whether that time has come and the leader could not be told yet.
    pub(crate) update_due: bool,
    /// Whether the leader has said that it stops: `fetch` is then this replica's turn to campaign.
    pub(crate) leader_resigned: bool,
    /// Whether this leader has answered; from then on pre-votes of others are refused.
    pub(crate) has_fetched: bool,
    /// Whether this leader knows our endpoints and levels (kraft.version 0).
    pub(crate) has_updated_leader: bool,
    /// The snapshot that is being fetched.
    pub(crate) download: Option<Download>,
}

/// A snapshot of which the first bytes are here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Download {
    /// Which one.
    pub(crate) snapshot: SnapshotId,
    /// How many bytes are here.
    pub(crate) position: u64,
}
