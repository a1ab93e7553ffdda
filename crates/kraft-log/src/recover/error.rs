//! Why a way out is none.

use crate::{meta_properties::MetaPropertiesError, open_error::OpenError, small_file::SmallFileError};
use std::path::PathBuf;
use thiserror::Error;

/// Why recovering does not do what was asked for. Nothing has been written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecoverError {
    /// `meta.properties` is missing, or names no node.
    #[error(
        "{}: missing, or without a node id: restore it from a copy, or name the directory that has the node's log",
        file.display()
    )]
    NotFormatted {
        /// The file.
        file: PathBuf,
    },
    /// `meta.properties` cannot be used.
    #[error("{fault}; {}", way_out(.0), fault = .0)]
    Properties(#[from] SmallFileError<MetaPropertiesError>),
    /// There is no log yet.
    #[error("{}: there is no such directory, so there is no log to recover; start the node", path.display())]
    NoLog {
        /// The partition directory.
        path: PathBuf,
    },
    /// `quorum-state` is of a version that this release does not know.
    #[error("{}: data_version {version} is not known to this release; use the release that wrote the file", path.display())]
    LaterRelease {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: i64,
    },
    /// Something stands in the way that no form of recovering deals with, or not this one.
    #[error(transparent)]
    InTheWay(#[from] OpenError),
    /// A start needs no help.
    #[error(
        "the log is whole, or a start puts it in order by itself: there is nothing to cut; start the node"
    )]
    NothingToCut,
    /// Cutting would leave no record and no snapshot.
    #[error(
        "{}: nothing whole is left that a log could begin with; restore the directory from a copy, or, where other \
         voters have the log, use --refetch", path.display()
    )]
    NothingLeft {
        /// The partition directory.
        path: PathBuf,
    },
    /// What would be cut is not garbage, and others may count on it.
    #[error(
        "{}: behind byte {position} there are {batches} whole batches, up to offset {end}, and this node is not known \
         to be the only voter: others may count on it to have them; use --refetch", path.display()
    )]
    NotGarbage {
        /// The segment.
        path: PathBuf,
        /// Where it is damaged.
        position: u64,
        /// How many whole batches would go.
        batches: u64,
        /// Where they end.
        end: i64,
    },
    /// Records are missing, and others may count on this node to have them.
    #[error(
        "records from offset {from} on are missing, and this node is not known to be the only voter: others may count \
         on it to have them; use --refetch"
    )]
    RecordsMissing {
        /// The first of them.
        from: i64,
    },
    /// The vote is gone, so the node could vote twice.
    #[error("{}: missing or damaged, so this node's vote is not known; use --new-identity first", path.display())]
    ElectionLost {
        /// `quorum-state`.
        path: PathBuf,
    },
    /// There is no other voter that has the log.
    #[error(
        "this node is the only voter, so there is nobody to fetch the log from; use --cut, or restore the directory from a copy"
    )]
    NobodyToFetchFrom,
    /// The node has no log that could be fetched again.
    #[error("there is no log yet that could be fetched again; start the node")]
    NothingToRefetch,
    /// The election state is fine.
    #[error("{}: the file is whole: nothing is lost that a new identity would be needed for; start the node", path.display())]
    ElectionKnown {
        /// `quorum-state`.
        path: PathBuf,
    },
    /// A start needs no election state.
    #[error("{} has never been used, so no vote is lost: a start needs no quorum-state; start the node", path.display())]
    NeverUsed {
        /// The partition directory.
        path: PathBuf,
    },
    /// At kraft.version 0 a voter is known by its node id alone.
    #[error(
        "at kraft.version 0 a voter has no identity but its node id: give the node another node.id, put that into \
         controller.quorum.voters of every node instead of {node}, and format its directory anew"
    )]
    StaticIdentity {
        /// This node.
        node: i32,
    },
    /// At kraft.version 0 the configuration names the voters.
    #[error(
        "at kraft.version 0 the voters are in the configuration: leave only {node} in controller.quorum.voters of this \
         node, and never start the others again"
    )]
    StaticVoters {
        /// This node.
        node: i32,
    },
    /// The node is alone already.
    #[error("this node is the only voter already; start it")]
    AlreadySoleVoter,
    /// Nobody knows where this node listens.
    #[error(
        "node {node} has never been a voter, so its endpoints are in no voter set; use --sole-voter on a node that has been one"
    )]
    NeverAVoter {
        /// This node.
        node: i32,
    },
    /// A number that only damage can explain.
    #[error("epoch {epoch} leaves no room for the epochs that follow; restore the directory from a copy")]
    EpochTooLarge {
        /// The epoch.
        epoch: i32,
    },
}

/// What cannot be read may be whole.
fn way_out(fault: &SmallFileError<MetaPropertiesError>) -> &'static str {
    match fault {
        SmallFileError::Io { .. } => "check the path and its permissions",
        SmallFileError::Malformed { .. } => "restore the file from a copy",
    }
}
