//! The __cluster_metadata-0 log in Kafka's on-disk format, its recovery and its small files.

mod batch_info;
mod directory;
pub mod directory_check;
pub mod epoch_checkpoint;
mod epochs;
mod examine;
pub mod format;
mod index;
pub mod info;
mod java_date;
pub mod java_properties;
mod layout;
pub mod meta_properties;
mod names;
mod op;
mod open;
mod open_error;
mod options;
pub mod partition_metadata;
pub mod quorum_state;
mod reader;
mod recent;
mod scan;
mod segment_index;
mod small_file;
mod storage_error;
mod synced_mark;
mod tail;
mod writer;

pub use batch_info::batch_info;
pub use directory_check::{
    CheckedDirectories, CheckedDirectory, ConfiguredDirectories, DirectoryCheckError, check_directories,
};
pub use index::LogIndex;
pub use info::{DirectoryInfo, DirectoryProblem, directory_info};
pub use meta_properties::MetaProperties;
pub use op::StorageOp;
pub use open::{Opened, open};
pub use open_error::OpenError;
pub use options::LogOptions;
pub use reader::{LogReader, ReadError};
pub use scan::BatchFault;
pub use small_file::SmallFileError;
pub use storage_error::StorageError;
pub use tail::NotTorn;
pub use writer::LogWriter;

/// Name of the partition directory of Kafka's metadata log, inside the metadata directory.
pub const METADATA_PARTITION_DIR: &str = "__cluster_metadata-0";
