//! The `controller.quorum.*` keys.

use super::{
    address::host_and_port,
    error::ConfigError,
    listener::WILDCARD,
    values::{Values, wrong},
};
use kraft_core::{Endpoint, Endpoints, NodeId, ReplicaKey, SupportedVersions, VoterNode, VoterSet};
use std::{collections::BTreeMap, time::Duration};

/// The settings of `controller.quorum.*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuorumSettings {
    /// `voters`: the static voter set; empty for a dynamic quorum. Of a repeated id the last entry counts.
    pub voters: BTreeMap<NodeId, Endpoint>,
    /// `bootstrap.servers`: where to ask for the leader, in order.
    pub bootstrap_servers: Vec<Endpoint>,
    /// `election.timeout.ms`.
    pub election_timeout: Duration,
    /// `fetch.timeout.ms`.
    pub fetch_timeout: Duration,
    /// `election.backoff.max.ms`.
    pub election_backoff_max: Duration,
    /// `append.linger.ms`; 0 unless it is set, where Kafka waits 25 ms.
    pub append_linger: Duration,
    /// `request.timeout.ms`.
    pub request_timeout: Duration,
    /// `retry.backoff.ms`.
    pub retry_backoff: Duration,
    /// `fetch.max.bytes`.
    pub fetch_max_bytes: i32,
    /// `fetch.snapshot.max.bytes`.
    pub fetch_snapshot_max_bytes: i32,
    /// `auto.join.enable`.
    pub auto_join: bool,
}

impl QuorumSettings {
    pub(super) fn from_values(values: Values<'_>) -> Result<Self, ConfigError> {
        const MIB: i32 = 1 << 20;
        Ok(Self {
            voters: voters(values)?,
            bootstrap_servers: bootstrap_servers(values)?,
            election_timeout: values.int_millis("controller.quorum.election.timeout.ms", 1000)?,
            fetch_timeout: values.int_millis("controller.quorum.fetch.timeout.ms", 2000)?,
            election_backoff_max: values.int_millis("controller.quorum.election.backoff.max.ms", 1000)?,
            append_linger: values.int_millis("controller.quorum.append.linger.ms", 0)?,
            request_timeout: values.int_millis("controller.quorum.request.timeout.ms", 2000)?,
            retry_backoff: values.int_millis("controller.quorum.retry.backoff.ms", 20)?,
            fetch_max_bytes: values.int("controller.quorum.fetch.max.bytes", MIB, 1)?,
            fetch_snapshot_max_bytes: values.int("controller.quorum.fetch.snapshot.max.bytes", MIB, 1)?,
            auto_join: values.boolean("controller.quorum.auto.join.enable", false)?,
        })
    }

    /// The static address of a node.
    #[must_use]
    pub fn voter(&self, id: NodeId) -> Option<&Endpoint> {
        self.voters.get(&id)
    }

    /// The static voters as the core takes them: reachable on `listener`, without directories, at kraft.version 0.
    #[must_use]
    pub fn static_voters(&self, listener: &str) -> VoterSet {
        let voter = |(&id, endpoint): (&NodeId, &Endpoint)| VoterNode {
            key: ReplicaKey::without_directory(id),
            endpoints: Endpoints::single(listener, endpoint.clone()),
            kraft_versions: SupportedVersions { min: 0, max: 0 },
        };
        self.voters.iter().map(voter).collect()
    }
}

fn voters(values: Values<'_>) -> Result<BTreeMap<NodeId, Endpoint>, ConfigError> {
    const KEY: &str = "controller.quorum.voters";
    let mut voters = BTreeMap::new();
    for entry in values.list(KEY)? {
        let (id, endpoint) = voter(entry).ok_or_else(|| wrong(KEY, entry, "ID@HOST:PORT"))?;
        if endpoint.host == WILDCARD {
            return Err(wrong(KEY, entry, "a host that the other voters can reach"));
        }
        voters.insert(id, endpoint);
    }
    Ok(voters)
}

fn voter(entry: &str) -> Option<(NodeId, Endpoint)> {
    let (id, address) = entry.split_once('@')?;
    let id: i32 = id.parse().ok()?;
    // Kafka takes a negative id here and never finds it again: no node can have it.
    Some((NodeId(id).known()?, host_and_port(address)?))
}

fn bootstrap_servers(values: Values<'_>) -> Result<Vec<Endpoint>, ConfigError> {
    const KEY: &str = "controller.quorum.bootstrap.servers";
    let entries = values.list(KEY)?.into_iter();
    entries
        .map(|entry| host_and_port(entry).ok_or_else(|| wrong(KEY, entry, "HOST:PORT")))
        .collect()
}
