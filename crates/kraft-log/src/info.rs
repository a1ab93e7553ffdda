//! What the log directories hold and what is wrong with them, as `kafka-storage info` sees it.

use std::{
    collections::BTreeSet,
    fmt, io,
    path::{Path, PathBuf},
};

use kraft_fs::FileSystem;

use crate::{
    meta_properties::{FILE_NAME, MetaProperties, MetaPropertiesError, MetaPropertiesVersion},
    small_file::SmallFileError,
};

/// What was found.
#[derive(Debug)]
pub struct DirectoryInfo {
    /// The directories that exist, sorted.
    pub found: Vec<PathBuf>,
    /// The first readable `meta.properties` among them.
    pub metadata: Option<MetaProperties>,
    /// What is wrong.
    pub problems: Vec<DirectoryProblem>,
}

/// Something wrong with the directories. The display form is the line that Kafka's tool prints.
#[derive(Debug)]
#[non_exhaustive]
pub enum DirectoryProblem {
    /// A configured directory is not there.
    Missing(PathBuf),
    /// A file where a directory is expected.
    NotADirectory(PathBuf),
    /// A directory without `meta.properties`.
    NotFormatted(PathBuf),
    /// A file or directory that the operating system does not give.
    Unreadable(PathBuf, io::Error),
    /// A `meta.properties` that means nothing.
    Malformed(PathBuf, MetaPropertiesError),
    /// Directories of more than one cluster.
    ClustersDiffer,
    /// Directories of more than one node.
    NodesDiffer,
    /// Directories that were never used with KRaft.
    LegacyDirectories,
}

/// Looks at the log directories and the metadata directory; changes nothing and never fails: what cannot be read is
/// one of the problems.
pub fn directory_info<F: FileSystem>(fs: &F, directories: &[PathBuf]) -> DirectoryInfo {
    let mut info = DirectoryInfo {
        found: Vec::new(),
        metadata: None,
        problems: Vec::new(),
    };
    for dir in directories.iter().collect::<BTreeSet<_>>() {
        if let Err(problem) = info.look_at(fs, dir) {
            info.problems.push(problem);
        }
    }
    if let Some(properties) = &info.metadata
        && properties.version == MetaPropertiesVersion::V0
    {
        info.problems.push(DirectoryProblem::LegacyDirectories);
    }
    info
}

impl DirectoryInfo {
    fn look_at<F: FileSystem>(&mut self, fs: &F, dir: &Path) -> Result<(), DirectoryProblem> {
        match fs.metadata(dir) {
            Err(error) => return Err(DirectoryProblem::Unreadable(dir.to_owned(), error)),
            Ok(None) => return Err(DirectoryProblem::Missing(dir.to_owned())),
            Ok(Some(metadata)) if !metadata.is_dir => {
                return Err(DirectoryProblem::NotADirectory(dir.to_owned()));
            }
            Ok(Some(_)) => self.found.push(dir.to_owned()),
        }
        let properties = match MetaProperties::load(fs, dir) {
            Ok(Some(properties)) => properties,
            Ok(None) => return Err(DirectoryProblem::NotFormatted(dir.to_owned())),
            Err(SmallFileError::Io { path, source }) => {
                return Err(DirectoryProblem::Unreadable(path, source));
            }
            Err(SmallFileError::Malformed { path, reason }) => {
                return Err(DirectoryProblem::Malformed(path, reason));
            }
        };
        let first = self.metadata.get_or_insert_with(|| properties.clone());
        if first.cluster_id != properties.cluster_id {
            Err(DirectoryProblem::ClustersDiffer)
        } else if first.node_id != properties.node_id {
            Err(DirectoryProblem::NodesDiffer)
        } else {
            Ok(())
        }
    }
}

impl fmt::Display for DirectoryProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(dir) => write!(f, "{} does not exist", dir.display()),
            Self::NotADirectory(path) => write!(f, "{} is not a directory", path.display()),
            Self::NotFormatted(dir) => write!(f, "{} is not formatted.", dir.display()),
            Self::Unreadable(path, error) => write!(f, "Error loading {}: {error}", path.display()),
            Self::Malformed(path, error) => write!(f, "Error loading {}: {error}", path.display()),
            Self::ClustersDiffer => f.write_str("Mismatched cluster IDs between storage directories."),
            Self::NodesDiffer => f.write_str("Mismatched node IDs between storage directories."),
            Self::LegacyDirectories => write!(
                f,
                "The configuration is for a KRaft cluster, but {FILE_NAME} has version 0, from before KRaft."
            ),
        }
    }
}
