//! The __cluster_metadata-0 log in Kafka's on-disk format, its recovery and its small files.

pub mod directory_check;
pub mod epoch_checkpoint;
pub mod format;
pub mod info;
mod java_date;
pub mod java_properties;
pub mod meta_properties;
pub mod partition_metadata;
pub mod quorum_state;
mod small_file;

pub use directory_check::{
    CheckedDirectories, CheckedDirectory, ConfiguredDirectories, DirectoryCheckError, check_directories,
};
pub use info::{DirectoryInfo, DirectoryProblem, directory_info};
pub use meta_properties::MetaProperties;
pub use small_file::SmallFileError;

/// Name of the partition directory of Kafka's metadata log, inside the metadata directory.
pub const METADATA_PARTITION_DIR: &str = "__cluster_metadata-0";
