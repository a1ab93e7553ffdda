//! The file `meta.properties`: which cluster, node and directory a log directory belongs to.

use std::{io, path::Path};

use kraft_fs::FileSystem;
use kraft_wire::uuid_text;
use thiserror::Error;
use uuid::Uuid;

use crate::{
    java_date,
    java_properties::{self, PropertiesError},
    small_file::{self, SmallFileError},
};

/// Name of the file in each log directory.
pub const FILE_NAME: &str = "meta.properties";

/// The versions of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MetaPropertiesVersion {
    /// Older than KRaft: everything in it is optional, the node id is called `broker.id`.
    V0,
    /// KRaft's: cluster and node id are there.
    V1,
}

/// What a `meta.properties` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetaProperties {
    /// The version of the format.
    pub version: MetaPropertiesVersion,
    /// The cluster, a text that is only ever compared.
    pub cluster_id: Option<String>,
    /// The node.
    pub node_id: Option<i32>,
    /// The id of this directory; a node gives one to a directory without at its start.
    pub directory_id: Option<Uuid>,
}

/// Why the content of a `meta.properties` cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MetaPropertiesError {
    /// No properties text.
    #[error(transparent)]
    Syntax(#[from] PropertiesError),
    /// A version that this build does not know.
    #[error("version={version} is not known, 0 and 1 are")]
    UnknownVersion {
        /// The value.
        version: String,
    },
    /// Version 1 without a key that it has to have.
    #[error("{key} is missing")]
    MissingKey {
        /// The key.
        key: &'static str,
    },
    /// A node id that is no number.
    #[error("{key}={value} is not an integer")]
    NotAnInteger {
        /// The key.
        key: &'static str,
        /// The value.
        value: String,
    },
    /// A directory id that is none.
    #[error("directory.id={value} is not an id of 22 base64 characters")]
    NotADirectoryId {
        /// The value.
        value: String,
    },
}

impl MetaProperties {
    /// A file of the current version.
    #[must_use]
    pub fn new(cluster_id: &str, node_id: i32, directory_id: Uuid) -> Self {
        Self {
            version: MetaPropertiesVersion::V1,
            cluster_id: Some(cluster_id.to_owned()),
            node_id: Some(node_id),
            directory_id: Some(directory_id),
        }
    }

    /// Reads the content of the file; unknown keys are passed over, as Kafka does.
    ///
    /// # Errors
    /// No properties text, an unknown version, or values that are missing or mean nothing.
    pub fn parse(bytes: &[u8]) -> Result<Self, MetaPropertiesError> {
        let properties = java_properties::parse(bytes)?;
        let text = |key| java_properties::value_of(&properties, key);
        let version = match text(VERSION_KEY).map(|value| (value, value.parse::<i32>())) {
            None | Some((_, Ok(0))) => MetaPropertiesVersion::V0,
            Some((_, Ok(1))) => MetaPropertiesVersion::V1,
            Some((value, _)) => {
                return Err(MetaPropertiesError::UnknownVersion {
                    version: value.to_owned(),
                });
            }
        };
        let node_key = version.node_key();
        let node_id = text(node_key)
            .map(|value| parse_node_id(node_key, value))
            .transpose()?;
        let cluster_id = text(CLUSTER_KEY).map(str::to_owned);
        let directory_id = text(DIRECTORY_KEY).map(parse_directory_id).transpose()?;
        if version == MetaPropertiesVersion::V1 {
            let missing = |key| MetaPropertiesError::MissingKey { key };
            cluster_id.as_ref().ok_or(missing(CLUSTER_KEY))?;
            node_id.ok_or(missing(node_key))?;
        }
        Ok(Self {
            version,
            cluster_id,
            node_id,
            directory_id,
        })
    }

    /// The content of the file, with the keys in the order in which Kafka on JDK 17 writes them.
    #[must_use]
    pub fn format(&self, written_at_ms: i64) -> Vec<u8> {
        let mut text = format!("#\n#{}\n", java_date::date(written_at_ms));
        for (key, value) in self.entries(Order::Written) {
            java_properties::write_entry(&mut text, key, &value);
        }
        text.into_bytes()
    }

    /// Reads the file in `dir`; `None` if it does not exist, and only then.
    ///
    /// # Errors
    /// The file cannot be read, or [`parse`](Self::parse) refuses it.
    pub fn load<F: FileSystem>(
        fs: &F,
        dir: &Path,
    ) -> Result<Option<Self>, SmallFileError<MetaPropertiesError>> {
        small_file::read(fs, dir, FILE_NAME, Self::parse)
    }

    /// Replaces the file in `dir`, durably and all at once.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn store<F: FileSystem>(&self, fs: &F, dir: &Path, written_at_ms: i64) -> io::Result<()> {
        kraft_fs::replace_file(fs, dir, FILE_NAME, &self.format(written_at_ms))
    }

    /// Keys and values in the order of the keys, as `info` prints them.
    pub fn sorted_entries(&self) -> Vec<(&'static str, String)> {
        self.entries(Order::Sorted)
    }

    fn entries(&self, order: Order) -> Vec<(&'static str, String)> {
        let version = match self.version {
            MetaPropertiesVersion::V0 => "0",
            MetaPropertiesVersion::V1 => "1",
        };
        let node = self.node_id.map(|id| (self.version.node_key(), id.to_string()));
        let directory = self
            .directory_id
            .map(|id| (DIRECTORY_KEY, uuid_text::format(&id)));
        let version = Some((VERSION_KEY, version.to_owned()));
        let cluster = self.cluster_id.clone().map(|id| (CLUSTER_KEY, id));
        let mut entries: Vec<_> = [node, directory, version, cluster]
            .into_iter()
            .flatten()
            .collect();
        if order == Order::Sorted {
            entries.sort_unstable();
        }
        entries
    }
}

impl MetaPropertiesVersion {
    fn node_key(self) -> &'static str {
        match self {
            Self::V0 => "broker.id",
            Self::V1 => "node.id",
        }
    }
}

/// A random id for a directory, all of its bits random as in Kafka: no reserved one, none of `taken`, and none whose
/// text begins with `-`, which a command line would take for an option.
pub fn new_directory_id(random_bytes: &mut dyn FnMut() -> [u8; 16], taken: &[Uuid]) -> Uuid {
    loop {
        let id = Uuid::from_bytes(random_bytes());
        let begins_with_dash = uuid_text::format(&id).starts_with('-');
        if !begins_with_dash && !uuid_text::is_reserved(&id) && !taken.contains(&id) {
            return id;
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Written,
    Sorted,
}

fn parse_node_id(key: &'static str, value: &str) -> Result<i32, MetaPropertiesError> {
    value.parse().map_err(|_| MetaPropertiesError::NotAnInteger {
        key,
        value: value.to_owned(),
    })
}

fn parse_directory_id(value: &str) -> Result<Uuid, MetaPropertiesError> {
    uuid_text::parse(value).map_err(|_| MetaPropertiesError::NotADirectoryId {
        value: value.to_owned(),
    })
}

const VERSION_KEY: &str = "version";
const CLUSTER_KEY: &str = "cluster.id";
const DIRECTORY_KEY: &str = "directory.id";
