//! The __cluster_metadata-0 log in Kafka's on-disk format, its recovery and its small files.
