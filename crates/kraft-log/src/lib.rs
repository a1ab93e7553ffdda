//! The __cluster_metadata-0 log in Kafka's on-disk format, its recovery and its small files.

pub mod epoch_checkpoint;
mod java_date;
pub mod java_properties;
pub mod meta_properties;
pub mod partition_metadata;
pub mod quorum_state;
