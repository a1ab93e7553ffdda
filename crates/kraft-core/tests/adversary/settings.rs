//! Who is who in these tests.

use kraft_core::{Config, Endpoint, Endpoints, NodeId, ReplicaKey, SupportedVersions, VoterNode, VoterSet};
use uuid::Uuid;

pub(crate) const LISTENER: &str = "CONTROLLER";
pub(crate) const CLUSTER: &str = "a cluster";

pub(crate) fn key(id: i32) -> ReplicaKey {
    ReplicaKey::new(
        NodeId(id),
        Uuid::from_u128(0x1000 + u128::from(id.unsigned_abs())),
    )
}

pub(crate) fn endpoint(id: i32) -> Endpoint {
    Endpoint {
        host: format!("host-{id}").into(),
        port: 9093,
    }
}

pub(crate) fn endpoints(id: i32) -> Endpoints {
    Endpoints::single(LISTENER, endpoint(id))
}

/// Voters with directories, as records name them.
pub(crate) fn dynamic_voters(ids: &[i32]) -> VoterSet {
    let voter = |id: &i32| VoterNode {
        key: key(*id),
        endpoints: endpoints(*id),
        kraft_versions: SupportedVersions { min: 0, max: 1 },
    };
    ids.iter().map(voter).collect()
}

/// Voters as `controller.quorum.voters` names them.
pub(crate) fn static_voters(ids: &[i32]) -> VoterSet {
    let voter = |id: &i32| VoterNode {
        key: ReplicaKey::without_directory(NodeId(*id)),
        endpoints: endpoints(*id),
        kraft_versions: SupportedVersions { min: 0, max: 0 },
    };
    ids.iter().map(voter).collect()
}

pub(crate) fn config(local: i32, voters: &[i32]) -> Config {
    Config {
        listeners: endpoints(local),
        static_voters: static_voters(voters),
        fetch_max_bytes: 1024,
        fetch_snapshot_max_bytes: 64,
        ..Config::new(key(local), CLUSTER, 1)
    }
}
