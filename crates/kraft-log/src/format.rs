//! Formatting log directories as Kafka's storage tool does (`Formatter`).
//!
//! The metadata directory of a controller gets the bootstrap checkpoint, every directory its `meta.properties`. The
//! checkpoint comes first: a run that was interrupted leaves a directory that still counts as unformatted.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use kraft_core::{NodeId, SnapshotId, VoterSet};
use kraft_fs::FileSystem;
use kraft_snapshot::{SnapshotHeader, SnapshotWriteError, SnapshotWriter};
use kraft_wire::uuid_text;
use thiserror::Error;
use uuid::Uuid;

use crate::{
    METADATA_PARTITION_DIR,
    meta_properties::{FILE_NAME, MetaProperties, new_directory_id},
};

/// The voters that a cluster begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InitialVoters {
    /// They stand in `controller.quorum.voters`; kraft.version is 0.
    Static,
    /// kraft.version 1, and other nodes know the voters: this one joins them.
    Elsewhere,
    /// kraft.version 1 with these voters, each with its directory id.
    Listed(VoterSet),
}

/// What to format, and how.
pub struct FormatRequest<'a> {
    /// All directories of the node, the metadata directory among them.
    pub directories: &'a [PathBuf],
    /// The directory of the metadata log.
    pub metadata_dir: &'a Path,
    /// The cluster.
    pub cluster_id: &'a str,
    /// `node.id`.
    pub node_id: i32,
    /// Whether the node has the controller role; without it there is no checkpoint.
    pub controller: bool,
    /// The voters that the cluster begins with.
    pub voters: InitialVoters,
    /// The encoded values of the bootstrap records, in order.
    pub bootstrap_values: &'a [Vec<u8>],
    /// Whether directories that are formatted already are passed over, instead of being a reason to refuse.
    pub ignore_formatted: bool,
    /// Tells milliseconds since 1970; asked for each timestamp anew.
    pub clock: &'a mut dyn FnMut() -> i64,
    /// Gives the randomness of the directory ids.
    pub random_bytes: &'a mut dyn FnMut() -> [u8; 16],
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatReport {
    /// The directories formatted, in the order of the request.
    pub formatted: Vec<FormattedDirectory>,
    /// The directories that were formatted already.
    pub already_formatted: Vec<PathBuf>,
    /// The directories that cannot be read and were left alone, with the reason.
    pub ignored: Vec<(PathBuf, String)>,
}

/// A directory that was formatted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormattedDirectory {
    /// Its path.
    pub path: PathBuf,
    /// What it is.
    pub kind: DirectoryKind,
    /// The id that it was given.
    pub directory_id: Uuid,
}

/// What a formatted directory is. The display form is the one in the line that Kafka's tool prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DirectoryKind {
    /// Without a metadata log.
    Data,
    /// With the metadata log; the voters are not named here.
    Metadata,
    /// With the metadata log of a listed voter.
    DynamicVoter,
    /// With the metadata log of a node that is not among the listed voters.
    DynamicNonVoter,
}

/// Why nothing is formatted, or not all.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FormatError {
    /// A node id that no node can have.
    #[error("node.id={node_id} is negative")]
    NegativeNodeId {
        /// The id.
        node_id: i32,
    },
    /// No cluster id.
    #[error("the cluster id is empty")]
    EmptyClusterId,
    /// Nothing to format.
    #[error("there is no directory to format; set log.dirs")]
    NoDirectories,
    /// The metadata directory is not one of the directories.
    #[error("{}: the metadata directory is not among the directories to format", metadata_dir.display())]
    MetadataDirNotListed {
        /// The metadata directory.
        metadata_dir: PathBuf,
    },
    /// An empty list of voters.
    #[error("the list of initial controllers is empty")]
    NoVoters,
    /// The listed voter that this node is has no directory id, or one that means something else.
    #[error(
        "initial controller {node_id}: the directory id {} is reserved",
        uuid_text::format(id)
    )]
    ReservedVoterDirectory {
        /// The voter.
        node_id: i32,
        /// The id.
        id: Uuid,
    },
    /// The directory belongs to another cluster.
    #[error("{}: the directory belongs to cluster {found}, not to {requested}", file.display())]
    OtherCluster {
        /// The file that says so.
        file: PathBuf,
        /// The cluster that it names.
        found: String,
        /// The cluster to format for.
        requested: String,
    },
    /// The directory belongs to another node.
    #[error("{}: the directory belongs to node {found}, not to {requested}", file.display())]
    OtherNode {
        /// The file that says so.
        file: PathBuf,
        /// The node that it names.
        found: i32,
        /// The node to format for.
        requested: i32,
    },
    /// A formatted directory has an id that means something else.
    #[error("{}: directory.id={} is reserved", file.display(), uuid_text::format(id))]
    ReservedDirectoryId {
        /// The file.
        file: PathBuf,
        /// The id.
        id: Uuid,
    },
    /// Two directories with one id.
    #[error("{}: directory.id={} is also that of {}", file.display(), uuid_text::format(id), other_dir.display())]
    DuplicateDirectoryId {
        /// The file.
        file: PathBuf,
        /// The other directory.
        other_dir: PathBuf,
        /// The id.
        id: Uuid,
    },
    /// A directory is formatted, and that was not to be ignored.
    #[error("Log directory {} is already formatted. Use --ignore-formatted to ignore this directory and format the others.", dir.display())]
    AlreadyFormatted {
        /// The directory.
        dir: PathBuf,
    },
    /// No directory can be read.
    #[error("{}: {reason}; there is no other directory to format", dir.display())]
    NothingReadable {
        /// The first of them.
        dir: PathBuf,
        /// Why it cannot.
        reason: String,
    },
    /// The operating system refused. The directory still counts as unformatted.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The checkpoint was not written. The directory still counts as unformatted.
    #[error("bootstrap checkpoint: {0}")]
    Checkpoint(#[from] SnapshotWriteError),
}

/// Formats the directories that are not.
///
/// Everything is checked before the first byte is written.
///
/// # Errors
/// The request cannot be carried out, or contradicts what the directories hold; or writing failed.
pub fn format<F: FileSystem>(fs: &F, mut request: FormatRequest<'_>) -> Result<FormatReport, FormatError> {
    let own_id = check_request(&request)?;
    let found = survey(fs, &request)?;
    let mut taken: Vec<Uuid> = found.ids.iter().map(|(id, _)| *id).collect();
    taken.extend(own_id);
    let mut report = FormatReport {
        formatted: Vec::new(),
        already_formatted: found.formatted,
        ignored: found.ignored,
    };
    for path in found.empty {
        let is_metadata_dir = path == request.metadata_dir;
        let directory_id = match own_id {
            Some(id) if is_metadata_dir => id,
            _ => new_directory_id(request.random_bytes, &taken),
        };
        taken.push(directory_id);
        create_directory(fs, &path)?;
        if is_metadata_dir && request.controller {
            write_checkpoint(fs, &path, &mut request)?;
        }
        let properties = MetaProperties::new(request.cluster_id, request.node_id, directory_id);
        let stored = properties.store(fs, &path, (request.clock)());
        stored.map_err(io_error(&path.join(FILE_NAME)))?;
        report.formatted.push(FormattedDirectory {
            kind: request.kind_of(&path),
            path,
            directory_id,
        });
    }
    Ok(report)
}

impl FormatRequest<'_> {
    fn kind_of(&self, dir: &Path) -> DirectoryKind {
        match &self.voters {
            _ if dir != self.metadata_dir => DirectoryKind::Data,
            InitialVoters::Static | InitialVoters::Elsewhere => DirectoryKind::Metadata,
            InitialVoters::Listed(voters) => match voters.get(NodeId(self.node_id)) {
                Some(_) => DirectoryKind::DynamicVoter,
                None => DirectoryKind::DynamicNonVoter,
            },
        }
    }
}

impl fmt::Display for DirectoryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Data => "data directory",
            Self::Metadata => "metadata directory",
            Self::DynamicVoter => "dynamic metadata voter directory",
            Self::DynamicNonVoter => "dynamic metadata directory",
        })
    }
}

/// Checks what needs no look at the disk. Returns the directory id that the list of voters gives to this node.
fn check_request(request: &FormatRequest<'_>) -> Result<Option<Uuid>, FormatError> {
    let node_id = request.node_id;
    if node_id < 0 {
        return Err(FormatError::NegativeNodeId { node_id });
    }
    if request.cluster_id.is_empty() {
        return Err(FormatError::EmptyClusterId);
    }
    if request.directories.is_empty() {
        return Err(FormatError::NoDirectories);
    }
    if !request.directories.iter().any(|dir| dir == request.metadata_dir) {
        return Err(FormatError::MetadataDirNotListed {
            metadata_dir: request.metadata_dir.to_owned(),
        });
    }
    let InitialVoters::Listed(voters) = &request.voters else {
        return Ok(None);
    };
    if voters.is_empty() {
        return Err(FormatError::NoVoters);
    }
    let own_id = voters
        .get(NodeId(node_id))
        .map(|voter| voter.key.directory_or_nil());
    match own_id {
        Some(id) if uuid_text::is_reserved(&id) => Err(FormatError::ReservedVoterDirectory { node_id, id }),
        own_id => Ok(own_id),
    }
}

/// What the directories are before formatting.
#[derive(Default)]
struct Survey {
    empty: Vec<PathBuf>,
    formatted: Vec<PathBuf>,
    ids: Vec<(Uuid, PathBuf)>,
    ignored: Vec<(PathBuf, String)>,
}

fn survey<F: FileSystem>(fs: &F, request: &FormatRequest<'_>) -> Result<Survey, FormatError> {
    let mut survey = Survey::default();
    for (index, dir) in request.directories.iter().enumerate() {
        if request.directories[..index].contains(dir) {
            continue;
        }
        match look_at(fs, dir) {
            Ok(None) => survey.empty.push(dir.clone()),
            Ok(Some(properties)) => survey.add_formatted(dir, &properties, request)?,
            Err(reason) => survey.ignored.push((dir.clone(), reason)),
        }
    }
    if let (Some(dir), false) = (survey.formatted.first(), request.ignore_formatted) {
        return Err(FormatError::AlreadyFormatted { dir: dir.clone() });
    }
    match survey.ignored.first() {
        Some((dir, reason)) if survey.empty.is_empty() && survey.formatted.is_empty() => {
            Err(FormatError::NothingReadable {
                dir: dir.clone(),
                reason: reason.clone(),
            })
        }
        _ => Ok(survey),
    }
}

/// The `meta.properties` of a directory, or why there is nothing to be said of it.
fn look_at<F: FileSystem>(fs: &F, dir: &Path) -> Result<Option<MetaProperties>, String> {
    match fs.metadata(dir) {
        Ok(None) => Ok(None),
        Ok(Some(metadata)) if !metadata.is_dir => Err("not a directory".to_owned()),
        Ok(Some(_)) => MetaProperties::load(fs, dir).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

impl Survey {
    fn add_formatted(
        &mut self,
        dir: &Path,
        properties: &MetaProperties,
        request: &FormatRequest<'_>,
    ) -> Result<(), FormatError> {
        let file = dir.join(FILE_NAME);
        if let Some(found) = properties
            .cluster_id
            .as_ref()
            .filter(|id| *id != request.cluster_id)
        {
            return Err(FormatError::OtherCluster {
                file,
                found: found.clone(),
                requested: request.cluster_id.to_owned(),
            });
        }
        if let Some(found) = properties.node_id.filter(|id| *id != request.node_id) {
            return Err(FormatError::OtherNode {
                file,
                found,
                requested: request.node_id,
            });
        }
        if let Some(id) = properties.directory_id {
            if uuid_text::is_reserved(&id) {
                return Err(FormatError::ReservedDirectoryId { file, id });
            }
            if let Some((_, other_dir)) = self.ids.iter().find(|(other, _)| *other == id) {
                let other_dir = other_dir.clone();
                return Err(FormatError::DuplicateDirectoryId { file, other_dir, id });
            }
            self.ids.push((id, dir.to_owned()));
        }
        self.formatted.push(dir.to_owned());
        Ok(())
    }
}

fn write_checkpoint<F: FileSystem>(
    fs: &F,
    metadata_dir: &Path,
    request: &mut FormatRequest<'_>,
) -> Result<(), FormatError> {
    let dir = metadata_dir.join(METADATA_PARTITION_DIR);
    create_directory(fs, &dir)?;
    let (kraft_version, voters) = match &request.voters {
        InitialVoters::Static => (0, None),
        InitialVoters::Elsewhere => (1, None),
        InitialVoters::Listed(voters) => (1, Some(voters.clone())),
    };
    let header = SnapshotHeader {
        last_contained_log_timestamp: (request.clock)(),
        kraft_version,
        voters,
    };
    let mut writer = SnapshotWriter::create(fs, &dir, SnapshotId::BOOTSTRAP, &header, &mut *request.clock)?;
    for value in request.bootstrap_values {
        writer.append(value)?;
    }
    writer.freeze()?;
    Ok(())
}

/// Creates a directory with those above it, and makes each new name durable.
fn create_directory<F: FileSystem>(fs: &F, dir: &Path) -> Result<(), FormatError> {
    let mut parents_of_new = Vec::new();
    for ancestor in dir.ancestors().filter(|path| !path.as_os_str().is_empty()) {
        if fs.metadata(ancestor).map_err(io_error(ancestor))?.is_some() {
            break;
        }
        parents_of_new.extend(ancestor.parent());
    }
    fs.create_dir_all(dir).map_err(io_error(dir))?;
    for parent in parents_of_new {
        let parent = if parent.as_os_str().is_empty() {
            Path::new(".")
        } else {
            parent
        };
        fs.sync_dir(parent).map_err(io_error(parent))?;
    }
    Ok(())
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> FormatError {
    move |source| FormatError::Io {
        path: path.to_owned(),
        source,
    }
}
