//! How the nodes of a simulated quorum are configured and formatted.

use super::quorum::{LISTENER, REQUEST_TIMEOUT};
use crate::scenario::names;
use kraft_core::{Config, Endpoints, NodeId, ReplicaKey, SnapshotId, SupportedVersions, VoterNode, VoterSet};
use kraft_fs::{FileSystem as _, MemFs};
use kraft_snapshot::{SnapshotHeader, SnapshotWriteError, SnapshotWriter};
use std::path::Path;

pub(super) fn voter(id: NodeId, dynamic: bool) -> VoterNode {
    VoterNode {
        key: if dynamic {
            names::own_key(id)
        } else {
            ReplicaKey::without_directory(id)
        },
        endpoints: Endpoints::single(LISTENER, names::endpoint(id)),
        kraft_versions: SupportedVersions {
            min: 0,
            max: i16::from(dynamic),
        },
    }
}

pub(super) fn config(id: NodeId, voters: &VoterSet, dynamic: bool, auto_join: bool, seed: u64) -> Config {
    Config {
        listeners: Endpoints::single(LISTENER, names::endpoint(id)),
        static_voters: if dynamic {
            VoterSet::default()
        } else {
            voters.clone()
        },
        bootstrap_servers: if dynamic {
            voters.ids().map(names::endpoint).collect()
        } else {
            Vec::new()
        },
        request_timeout: REQUEST_TIMEOUT,
        fetch_max_bytes: 4096,
        fetch_snapshot_max_bytes: 4096,
        auto_join,
        ..Config::new(names::own_key(id), "simulated", seed)
    }
}

/// What a node is from its `incarnation` on: each disk that it loses makes it another replica.
pub(super) fn replica_key(id: NodeId, incarnation: u32) -> ReplicaKey {
    if incarnation == 0 {
        return names::own_key(id);
    }
    ReplicaKey {
        id,
        directory_id: Some(names::numbered_directory(id.0.unsigned_abs() * 100 + incarnation)),
    }
}

/// A disk as a formatted node has it: with a bootstrap checkpoint if it has something to hold, the voters or some records.
pub(crate) fn formatted(voters: Option<&VoterSet>, records: &[Vec<u8>]) -> MemFs {
    let fs = MemFs::new();
    let dir = Path::new("/kraft/__cluster_metadata-0");
    fs.create_dir_all(dir).expect("memory takes a directory");
    for parent in ["/", "/kraft"] {
        fs.sync_dir(Path::new(parent)).expect("memory syncs");
    }
    if voters.is_some() || !records.is_empty() {
        checkpoint(&fs, dir, voters, records).expect("memory takes a checkpoint");
    }
    fs
}

fn checkpoint(
    fs: &MemFs,
    dir: &Path,
    voters: Option<&VoterSet>,
    records: &[Vec<u8>],
) -> Result<(), SnapshotWriteError> {
    let header = SnapshotHeader {
        last_contained_log_timestamp: 0,
        kraft_version: i16::from(voters.is_some()),
        voters: voters.cloned(),
    };
    let mut writer = SnapshotWriter::create(fs, dir, SnapshotId::BOOTSTRAP, &header, || 0)?;
    records.iter().try_for_each(|record| writer.append(record))?;
    writer.freeze().map(drop)
}
