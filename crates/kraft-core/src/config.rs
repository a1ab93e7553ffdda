//! What a replica is told once, when it starts.

use crate::{
    control::ControlRecord,
    election_state::ElectionState,
    endpoints::{Endpoint, Endpoints},
    ids::ReplicaKey,
    offsets::SnapshotId,
    text::Text,
    voter_set::{SupportedVersions, VoterSet},
};
use alloc::vec::Vec;
use core::time::Duration;

/// The settings of a replica; the names answer to Kafka's `controller.quorum.*` keys.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Config {
    /// This replica. Its directory id is never absent.
    pub local: ReplicaKey,
    /// The id of the cluster, compared as a string.
    pub cluster_id: Text,
    /// The endpoints that this replica advertises.
    pub listeners: Endpoints,
    /// The name of the listener by which replicas talk to each other, the first of `controller.listener.names`.
    pub default_listener: Text,
    /// `controller.quorum.voters`: in force while neither snapshot nor log names voters. No directory ids, levels 0..0.
    pub static_voters: VoterSet,
    /// `controller.quorum.bootstrap.servers`, in order; they get the node ids -2, -3, ….
    pub bootstrap_servers: Vec<Endpoint>,
    /// Whether this replica has the controller role, and so may become a voter.
    pub can_become_voter: bool,
    /// The kraft.version levels that this replica supports.
    pub kraft_versions: SupportedVersions,
    /// `controller.quorum.election.timeout.ms`.
    pub election_timeout: Duration,
    /// `controller.quorum.fetch.timeout.ms`.
    pub fetch_timeout: Duration,
    /// `controller.quorum.election.backoff.max.ms`: the back-off of successors, and nothing else.
    pub election_backoff_max: Duration,
    /// `controller.quorum.request.timeout.ms`.
    pub request_timeout: Duration,
    /// `controller.quorum.retry.backoff.ms`.
    pub retry_backoff: Duration,
    /// How long a leader may hold this replica's Fetch: 500 ms in Kafka.
    pub fetch_max_wait: Duration,
    /// `controller.quorum.fetch.max.bytes`.
    pub fetch_max_bytes: i32,
    /// `controller.quorum.fetch.snapshot.max.bytes`.
    pub fetch_snapshot_max_bytes: i32,
    /// `controller.quorum.auto.join.enable`.
    pub auto_join: bool,
    /// The bound of a graceful shutdown: 5 s in Kafka.
    pub shutdown_timeout: Duration,
    /// Seeds the replica's own random numbers.
    pub seed: u64,
}

impl Config {
    /// Kafka's defaults for a controller: no listeners, no voters and no bootstrap servers yet. `seed` should differ from
    /// node to node, so that two of them do not campaign at the same moment again and again.
    #[must_use]
    pub fn new(local: ReplicaKey, cluster_id: impl Into<Text>, seed: u64) -> Self {
        Self {
            local,
            cluster_id: cluster_id.into(),
            listeners: Endpoints::empty(),
            default_listener: Text::from("CONTROLLER"),
            static_voters: VoterSet::default(),
            bootstrap_servers: Vec::new(),
            can_become_voter: true,
            kraft_versions: SupportedVersions { min: 0, max: 1 },
            election_timeout: Duration::from_millis(1000),
            fetch_timeout: Duration::from_millis(2000),
            election_backoff_max: Duration::from_millis(1000),
            request_timeout: Duration::from_millis(2000),
            retry_backoff: Duration::from_millis(20),
            fetch_max_wait: Duration::from_millis(500),
            fetch_max_bytes: 1024 * 1024,
            fetch_snapshot_max_bytes: 1024 * 1024,
            auto_join: false,
            shutdown_timeout: Duration::from_secs(5),
            seed,
        }
    }
}

/// What storage found when it was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Recovered {
    /// The content of `quorum-state`, absent on a first start.
    pub election: Option<ElectionState>,
    /// The control records of the latest snapshot, if there is one, under its id.
    pub snapshot: Option<(SnapshotId, Vec<ControlRecord>)>,
    /// The control records of the log behind the snapshot, each with its offset, uncommitted ones included.
    pub log: Vec<(i64, ControlRecord)>,
    /// Whether the replica has lost a log that others counted on, and takes no part in elections until it has it again.
    pub abstains: bool,
}
