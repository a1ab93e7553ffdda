//! A node of a quorum whose voters change while it runs: its first one, and those that come later.

use super::{
    NodeConfig,
    voter::{LISTENER, belongs_to, listening, random},
};
use crate::{error::NodeError, properties::host_and_port};
use kraft_core::{Config, Endpoint, Endpoints, NodeId, ReplicaKey, SupportedVersions, VoterNode};
use kraft_fs::{FileSystem, RealFs};
use kraft_log::{
    METADATA_PARTITION_DIR,
    format::{FormatRequest, InitialVoters, format},
    new_directory_id,
};
use std::path::Path;
use uuid::Uuid;

impl NodeConfig<RealFs> {
    /// Node `id` as the first voter of a quorum, and its only one until others are
    /// [added](super::Handle::reconfigure): the voters stand in the log (kraft.version 1) and not in a configuration.
    ///
    /// The directory is formatted when it is empty, and that is what founds the quorum: one node does it, once. Later starts
    /// have to name the same cluster and node.
    ///
    /// # Errors
    /// The address is none or has no port of its own, or the directory belongs to another node or cannot be used.
    pub fn founder(
        cluster_id: &str,
        id: i32,
        address: &str,
        dir: impl AsRef<Path>,
    ) -> Result<Self, NodeError> {
        Self::founder_on(RealFs, cluster_id, id, address, dir)
    }

    /// Node `id` of a quorum that a [`founder`](Self::founder) has begun, found by the addresses of any of its nodes. It
    /// follows as an observer, until the leader is told to [add](kraft_core::VoterChange::Add) it
    /// [as a voter](Self::as_voter); with [`Config::auto_join`] it sees to that itself once it has caught up.
    ///
    /// # Errors
    /// As for [`founder`](Self::founder).
    pub fn newcomer(
        cluster_id: &str,
        id: i32,
        address: &str,
        others: &[&str],
        dir: impl AsRef<Path>,
    ) -> Result<Self, NodeError> {
        Self::newcomer_on(RealFs, cluster_id, id, address, others, dir)
    }
}

impl<F: FileSystem> NodeConfig<F> {
    /// As [`founder`](NodeConfig::founder), on another file system.
    ///
    /// # Errors
    /// As for [`founder`](NodeConfig::founder).
    pub fn founder_on(
        fs: F,
        cluster_id: &str,
        id: i32,
        address: &str,
        dir: impl AsRef<Path>,
    ) -> Result<Self, NodeError> {
        let found = |own: VoterNode| InitialVoters::Listed([own].into_iter().collect());
        // Later the log knows others.
        let known = vec![endpoint(address)?];
        of_changing_quorum(fs, cluster_id, id, address, known, dir.as_ref(), found)
    }

    /// As [`newcomer`](NodeConfig::newcomer), on another file system.
    ///
    /// # Errors
    /// As for [`founder`](NodeConfig::founder).
    pub fn newcomer_on(
        fs: F,
        cluster_id: &str,
        id: i32,
        address: &str,
        others: &[&str],
        dir: impl AsRef<Path>,
    ) -> Result<Self, NodeError> {
        let others = others.iter().map(|address| endpoint(address));
        let others = others.collect::<Result<_, _>>()?;
        let found = |_| InitialVoters::Elsewhere;
        of_changing_quorum(fs, cluster_id, id, address, others, dir.as_ref(), found)
    }
}

impl<F> NodeConfig<F> {
    /// This node as a voter, for a leader that is to [add](kraft_core::VoterChange::Add) it.
    #[must_use]
    pub fn as_voter(&self) -> VoterNode {
        let core = &self.engine.core;
        VoterNode {
            key: core.local,
            endpoints: core.listeners.clone(),
            kraft_versions: core.kraft_versions,
        }
    }
}

fn of_changing_quorum<F: FileSystem>(
    fs: F,
    cluster_id: &str,
    id: i32,
    address: &str,
    bootstrap_servers: Vec<Endpoint>,
    dir: &Path,
    found: impl FnOnce(VoterNode) -> InitialVoters,
) -> Result<NodeConfig<F>, NodeError> {
    let own = endpoint(address)?;
    if own.port == 0 {
        return Err(NodeError::Config {
            reason: format!("{address} has no port of its own: others find a voter by the one in the log"),
        });
    }
    let directory_id = match belongs_to(&fs, dir, cluster_id, id)? {
        Some(directory_id) => directory_id,
        None => format_directory(&fs, cluster_id, id, &own, dir, found)?,
    };
    let mut core = Config::new(ReplicaKey::new(NodeId(id), directory_id), cluster_id, random());
    core.bootstrap_servers = bootstrap_servers;
    Ok(listening(core, own, fs, dir))
}

fn format_directory<F: FileSystem>(
    fs: &F,
    cluster_id: &str,
    id: i32,
    own: &Endpoint,
    dir: &Path,
    found: impl FnOnce(VoterNode) -> InitialVoters,
) -> Result<Uuid, NodeError> {
    // A voter that comes back under another id, beside what it has acknowledged under the first one, is two.
    let used = dir
        .join(METADATA_PARTITION_DIR)
        .join(kraft_log::quorum_state::FILE_NAME);
    let storage = |reason: String| NodeError::Storage { reason };
    let is_used = fs
        .metadata(&used)
        .map_err(|error| storage(format!("{}: {error}", used.display())))?
        .is_some();
    if is_used {
        return Err(storage(format!(
            "{}: meta.properties is missing beside a log that has been used; restore it from a copy",
            dir.display()
        )));
    }
    let mut random_bytes = || (u128::from(random()) << 64 | u128::from(random())).to_be_bytes();
    let directory_id = new_directory_id(&mut random_bytes, &[]);
    let voter = VoterNode {
        key: ReplicaKey::new(NodeId(id), directory_id),
        endpoints: Endpoints::single(LISTENER, own.clone()),
        kraft_versions: SupportedVersions { min: 0, max: 1 },
    };
    let request = FormatRequest {
        directories: &[dir.to_owned()],
        metadata_dir: dir,
        cluster_id,
        node_id: id,
        controller: true,
        voters: found(voter),
        bootstrap_values: &[],
        ignore_formatted: false,
        clock: &mut || crate::clock::now().wall_ms,
        random_bytes: &mut random_bytes,
    };
    let report = format(fs, request).map_err(|error| storage(error.to_string()))?;
    let formatted = report.formatted.first();
    Ok(formatted
        .expect("the directory was not formatted yet")
        .directory_id)
}

fn endpoint(address: &str) -> Result<Endpoint, NodeError> {
    host_and_port(address).ok_or_else(|| NodeError::Config {
        reason: format!("{address} is not HOST:PORT"),
    })
}
