//! A node of a fixed set of voters, from as little as that takes.

use super::{ListenerConfig, NodeConfig};
use crate::{error::NodeError, properties::host_and_port};
use kraft_core::{Config, Endpoint, Endpoints, NodeId, ReplicaKey, SupportedVersions, VoterNode};
use kraft_fs::{FileSystem, RealFs};
use kraft_log::{METADATA_PARTITION_DIR, MetaProperties, new_directory_id};
use std::{
    collections::{BTreeMap, hash_map::RandomState},
    hash::{BuildHasher, Hasher},
    path::Path,
};

impl NodeConfig<RealFs> {
    /// Node `id` of the voters that are listed, each with the address that it listens on, with its files in `dir`. What is
    /// not said takes the defaults of [`NodeConfig`], and those are Kafka's. The voters are fixed: those of a
    /// [`founder`](Self::founder) can change.
    ///
    /// The directory is formatted when it is empty. Later starts have to name the same cluster and node.
    ///
    /// # Errors
    /// An address is none, the node is not listed, or the directory belongs to another node or cannot be used.
    pub fn voter(
        cluster_id: &str,
        id: i32,
        voters: &[(i32, &str)],
        dir: impl AsRef<Path>,
    ) -> Result<Self, NodeError> {
        Self::voter_on(RealFs, cluster_id, id, voters, dir)
    }
}

impl<F: FileSystem> NodeConfig<F> {
    /// As [`voter`](NodeConfig::voter), on another file system.
    ///
    /// # Errors
    /// As for [`voter`](NodeConfig::voter).
    pub fn voter_on(
        fs: F,
        cluster_id: &str,
        id: i32,
        voters: &[(i32, &str)],
        dir: impl AsRef<Path>,
    ) -> Result<Self, NodeError> {
        let dir = dir.as_ref();
        let endpoint = |(voter, address): &(i32, &str)| {
            let endpoint = host_and_port(address).ok_or_else(|| NodeError::Config {
                reason: format!("{address} of voter {voter} is not HOST:PORT"),
            });
            Ok((NodeId(*voter), endpoint?))
        };
        let endpoints: BTreeMap<NodeId, Endpoint> =
            voters.iter().map(endpoint).collect::<Result<_, NodeError>>()?;
        let own = endpoints
            .get(&NodeId(id))
            .cloned()
            .ok_or_else(|| NodeError::Config {
                reason: format!("node {id} is not among the voters"),
            })?;
        let directory_id = directory_id(&fs, dir, cluster_id, id)?;
        let mut core = Config::new(ReplicaKey::new(NodeId(id), directory_id), cluster_id, random());
        core.static_voters = endpoints.into_iter().map(static_voter).collect();
        Ok(listening(core, own, fs, dir))
    }
}

/// A node that listens at `own`, with its files in `dir`.
pub(super) fn listening<F>(mut core: Config, own: Endpoint, fs: F, dir: &Path) -> NodeConfig<F> {
    core.listeners = Endpoints::single(LISTENER, own.clone());
    let mut config = NodeConfig::new(core, fs, dir.join(METADATA_PARTITION_DIR));
    config.listeners.push(ListenerConfig {
        name: LISTENER.to_owned(),
        host: own.host.to_string(),
        port: own.port,
        limits: Default::default(),
    });
    config
}

fn static_voter((id, endpoint): (NodeId, Endpoint)) -> VoterNode {
    VoterNode {
        key: ReplicaKey::without_directory(id),
        endpoints: Endpoints::single(LISTENER, endpoint),
        kraft_versions: SupportedVersions { min: 0, max: 0 },
    }
}

/// The id of the directory, which it is given when it is new.
fn directory_id<F: FileSystem>(
    fs: &F,
    dir: &Path,
    cluster_id: &str,
    id: i32,
) -> Result<uuid::Uuid, NodeError> {
    let failed = |error: std::io::Error| NodeError::Storage {
        reason: format!("{}: {error}", dir.display()),
    };
    fs.create_dir_all(dir).map_err(failed)?;
    if let Some(directory_id) = belongs_to(fs, dir, cluster_id, id)? {
        return Ok(directory_id);
    }
    let mut bytes = || (u128::from(random()) << 64 | u128::from(random())).to_be_bytes();
    let directory_id = new_directory_id(&mut bytes, &[]);
    let written = MetaProperties::new(cluster_id, id, directory_id);
    written
        .store(fs, dir, crate::clock::now().wall_ms)
        .map_err(failed)?;
    Ok(directory_id)
}

/// The id of the directory; `None` where it has none yet.
pub(super) fn belongs_to<F: FileSystem>(
    fs: &F,
    dir: &Path,
    cluster_id: &str,
    id: i32,
) -> Result<Option<uuid::Uuid>, NodeError> {
    let storage = |reason: String| NodeError::Storage { reason };
    let found = MetaProperties::load(fs, dir).map_err(|error| storage(error.to_string()))?;
    let Some(found) = found else {
        return Ok(None);
    };
    if found.cluster_id.as_deref() != Some(cluster_id) || found.node_id != Some(id) {
        return Err(storage(format!(
            "{} belongs to node {} of cluster {}, not to node {id} of {cluster_id}",
            dir.display(),
            found.node_id.unwrap_or(-1),
            found.cluster_id.unwrap_or_default(),
        )));
    }
    Ok(found.directory_id)
}

/// A random number: the keys of the standard library's hash maps are the operating system's.
pub(super) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

pub(super) const LISTENER: &str = "CONTROLLER";
