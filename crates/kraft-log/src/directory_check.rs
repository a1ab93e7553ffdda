//! Whether the log directories are this node's, before anything in them is opened (Kafka's `KafkaRaftServer`).

use std::{
    io,
    path::{Path, PathBuf},
};

use kraft_fs::FileSystem;
use kraft_wire::uuid_text;
use thiserror::Error;
use uuid::Uuid;

use crate::{
    METADATA_PARTITION_DIR,
    meta_properties::{FILE_NAME, MetaProperties, MetaPropertiesError, new_directory_id},
    small_file::SmallFileError,
};

/// What the configuration says of the directories.
#[derive(Debug, Clone, Copy)]
pub struct ConfiguredDirectories<'a> {
    /// `node.id`.
    pub node_id: i32,
    /// The directory of the metadata log, which need not be one of `log_dirs`.
    pub metadata_dir: &'a Path,
    /// `log.dirs`.
    pub log_dirs: &'a [PathBuf],
}

/// One directory that passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedDirectory {
    /// Its path.
    pub path: PathBuf,
    /// Its `meta.properties`.
    pub properties: MetaProperties,
}

/// The directories of a node that passed. The one of the metadata log comes first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedDirectories {
    cluster_id: String,
    directories: Vec<CheckedDirectory>,
}

/// Why a node must not start on its directories. Nothing has been written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DirectoryCheckError {
    /// The operating system does not give a file or directory.
    #[error("{}: {source}; check the path and its permissions", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A configured directory that is not there.
    #[error("{}: there is no such directory; mount it, or correct log.dirs and metadata.log.dir, or format it", dir.display())]
    NoSuchDirectory {
        /// The directory.
        dir: PathBuf,
    },
    /// A directory without the file.
    #[error("{}: the file is missing, so the directory is not formatted; format it first", file.display())]
    NotFormatted {
        /// The missing file.
        file: PathBuf,
    },
    /// A file that a later release wrote, or no release.
    #[error("{}: version={version} is not known to this release; start the release that wrote the file", file.display())]
    UnknownVersion {
        /// The file.
        file: PathBuf,
        /// The version.
        version: String,
    },
    /// A file that cannot be understood.
    #[error("{}: {reason}; restore the file from a copy", file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        reason: MetaPropertiesError,
    },
    /// A file of version 0 that lacks what a node needs.
    #[error("{}: {key} is missing; restore the file from a copy, or add the key", file.display())]
    MissingKey {
        /// The file.
        file: PathBuf,
        /// The key.
        key: &'static str,
    },
    /// The directory of another node.
    #[error("{}: the directory belongs to node {found}, node.id is {configured}; correct node.id or log.dirs", file.display())]
    OtherNode {
        /// The file.
        file: PathBuf,
        /// The node that it names.
        found: i32,
        /// The configured node.
        configured: i32,
    },
    /// Directories of two clusters.
    #[error("{}: the directory belongs to cluster {found}, but {} to cluster {expected}; correct log.dirs", file.display(), other_file.display())]
    OtherCluster {
        /// The file.
        file: PathBuf,
        /// The cluster that it names.
        found: String,
        /// The file that it is compared with.
        other_file: PathBuf,
        /// The cluster that that one names.
        expected: String,
    },
    /// A directory id that means something else.
    #[error("{}: directory.id={} is reserved; remove the line to let the node choose an id", file.display(), uuid_text::format(id))]
    ReservedDirectoryId {
        /// The file.
        file: PathBuf,
        /// The id.
        id: Uuid,
    },
    /// Two directories with one id: one is a copy of the other.
    #[error("{}: directory.id={} is also that of {}; one directory is a copy, correct log.dirs", file.display(), uuid_text::format(id), other_file.display())]
    DuplicateDirectoryId {
        /// The file.
        file: PathBuf,
        /// The other file.
        other_file: PathBuf,
        /// The id.
        id: Uuid,
    },
    /// A metadata log in a directory that is not configured for it.
    #[error("{}: a metadata log outside of the metadata directory {}; correct metadata.log.dir, or move the log away", path.display(), metadata_dir.display())]
    StrayMetadataLog {
        /// Where it is.
        path: PathBuf,
        /// Where it should be.
        metadata_dir: PathBuf,
    },
}

/// Checks all directories of a node, reading only.
///
/// Stricter than Kafka in one point: a broken file is refused in every directory, not only in the metadata directory.
///
/// # Errors
/// The first of [`DirectoryCheckError`]'s reasons that is met.
pub fn check_directories<F: FileSystem>(
    fs: &F,
    configured: ConfiguredDirectories<'_>,
) -> Result<CheckedDirectories, DirectoryCheckError> {
    let mut directories: Vec<CheckedDirectory> = Vec::new();
    for path in configured.paths() {
        let properties = read(fs, path)?;
        directories.push(CheckedDirectory {
            path: path.to_owned(),
            properties,
        });
    }
    let mut cluster_id = None;
    for (index, directory) in directories.iter().enumerate() {
        directory.check_node(configured.node_id)?;
        let (first_file, expected) = match &cluster_id {
            None => cluster_id.insert((directory.file(), directory.cluster_id()?)),
            Some(known) => known,
        };
        directory.check_cluster(first_file, expected)?;
        directory.check_id(&directories[..index])?;
    }
    for directory in &directories[1..] {
        directory.check_no_metadata_log(fs, configured.metadata_dir)?;
    }
    let (_, cluster_id) = cluster_id.expect("the metadata directory is always among them");
    Ok(CheckedDirectories {
        cluster_id,
        directories,
    })
}

impl<'a> ConfiguredDirectories<'a> {
    /// The metadata directory, then the others, each once.
    fn paths(&self) -> Vec<&'a Path> {
        let mut paths = vec![self.metadata_dir];
        for dir in self.log_dirs {
            if !paths.contains(&dir.as_path()) {
                paths.push(dir);
            }
        }
        paths
    }
}

impl CheckedDirectories {
    /// The cluster that all of them belong to.
    #[must_use]
    pub fn cluster_id(&self) -> &str {
        &self.cluster_id
    }

    /// The directories, that of the metadata log first.
    #[must_use]
    pub fn directories(&self) -> &[CheckedDirectory] {
        &self.directories
    }

    /// The id of the metadata log's directory; `None` until [`Self::give_missing_ids`] where the file has none.
    #[must_use]
    pub fn metadata_directory_id(&self) -> Option<Uuid> {
        self.directories[0].properties.directory_id
    }

    /// Gives an id to each directory without one and rewrites its file. To be called under the directory's lock.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn give_missing_ids<F: FileSystem>(
        &mut self,
        fs: &F,
        random_bytes: &mut dyn FnMut() -> [u8; 16],
        now_ms: i64,
    ) -> Result<(), DirectoryCheckError> {
        let ids = self.directories.iter();
        let mut taken: Vec<Uuid> = ids
            .filter_map(|directory| directory.properties.directory_id)
            .collect();
        for directory in &mut self.directories {
            if directory.properties.directory_id.is_none() {
                let id = new_directory_id(random_bytes, &taken);
                taken.push(id);
                directory.properties.directory_id = Some(id);
                let stored = directory.properties.store(fs, &directory.path, now_ms);
                stored.map_err(|source| DirectoryCheckError::Io {
                    path: directory.file(),
                    source,
                })?;
            }
        }
        Ok(())
    }
}

fn read<F: FileSystem>(fs: &F, dir: &Path) -> Result<MetaProperties, DirectoryCheckError> {
    let io_error = |source| DirectoryCheckError::Io {
        path: dir.to_owned(),
        source,
    };
    if fs.metadata(dir).map_err(io_error)?.is_none() {
        return Err(DirectoryCheckError::NoSuchDirectory { dir: dir.to_owned() });
    }
    match MetaProperties::load(fs, dir) {
        Ok(Some(properties)) => Ok(properties),
        Ok(None) => Err(DirectoryCheckError::NotFormatted {
            file: dir.join(FILE_NAME),
        }),
        Err(SmallFileError::Io { path, source }) => Err(DirectoryCheckError::Io { path, source }),
        Err(SmallFileError::Malformed {
            path: file,
            reason: MetaPropertiesError::UnknownVersion { version },
        }) => Err(DirectoryCheckError::UnknownVersion { file, version }),
        Err(SmallFileError::Malformed { path: file, reason }) => {
            Err(DirectoryCheckError::Malformed { file, reason })
        }
    }
}

impl CheckedDirectory {
    fn file(&self) -> PathBuf {
        self.path.join(FILE_NAME)
    }

    fn missing(&self, key: &'static str) -> DirectoryCheckError {
        DirectoryCheckError::MissingKey {
            file: self.file(),
            key,
        }
    }

    fn cluster_id(&self) -> Result<String, DirectoryCheckError> {
        self.properties
            .cluster_id
            .clone()
            .ok_or_else(|| self.missing("cluster.id"))
    }

    fn check_node(&self, configured: i32) -> Result<(), DirectoryCheckError> {
        match self.properties.node_id {
            // Only version 0 may lack it, and calls it by its old name.
            None => Err(self.missing("broker.id")),
            Some(found) if found != configured => Err(DirectoryCheckError::OtherNode {
                file: self.file(),
                found,
                configured,
            }),
            Some(_) => Ok(()),
        }
    }

    fn check_cluster(&self, other_file: &Path, expected: &str) -> Result<(), DirectoryCheckError> {
        let found = self.cluster_id()?;
        if found == expected {
            return Ok(());
        }
        Err(DirectoryCheckError::OtherCluster {
            file: self.file(),
            found,
            other_file: other_file.to_owned(),
            expected: expected.to_owned(),
        })
    }

    fn check_id(&self, others: &[Self]) -> Result<(), DirectoryCheckError> {
        let Some(id) = self.properties.directory_id else {
            return Ok(());
        };
        let file = self.file();
        if uuid_text::is_reserved(&id) {
            return Err(DirectoryCheckError::ReservedDirectoryId { file, id });
        }
        match others
            .iter()
            .find(|other| other.properties.directory_id == Some(id))
        {
            None => Ok(()),
            Some(other) => Err(DirectoryCheckError::DuplicateDirectoryId {
                file,
                other_file: other.file(),
                id,
            }),
        }
    }

    fn check_no_metadata_log<F: FileSystem>(
        &self,
        fs: &F,
        metadata_dir: &Path,
    ) -> Result<(), DirectoryCheckError> {
        let path = self.path.join(METADATA_PARTITION_DIR);
        match fs.metadata(&path) {
            Ok(None) => Ok(()),
            Ok(Some(_)) => Err(DirectoryCheckError::StrayMetadataLog {
                path,
                metadata_dir: metadata_dir.to_owned(),
            }),
            Err(source) => Err(DirectoryCheckError::Io { path, source }),
        }
    }
}
