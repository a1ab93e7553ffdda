//! FetchSnapshot (api key 59), versions 0 to 1.

use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;
use uuid::Uuid;

use crate::{Message, UnknownTags};

/// The request of FetchSnapshot.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = request, api_key = 59, versions = 0..=1, flexible = 0, response = FetchSnapshotResponse)]
pub struct FetchSnapshotRequest {
    /// Cluster id, absent = not checked.
    #[kafka(tag = 0, default = null)]
    pub cluster_id: Option<String>,
    /// Fetcher id.
    #[kafka(default = -1)]
    pub replica_id: i32,
    /// Limit on the chunk.
    #[kafka(default = i32::MAX)]
    pub max_bytes: i32,
    /// Exactly one entry.
    pub topics: Vec<FetchSnapshotRequestTopic>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `topics` of [`FetchSnapshotRequest`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct FetchSnapshotRequestTopic {
    /// `__cluster_metadata`.
    pub name: String,
    /// Exactly one entry.
    pub partitions: Vec<FetchSnapshotRequestPartition>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `partitions` of [`FetchSnapshotRequestTopic`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct FetchSnapshotRequestPartition {
    /// Always 0: the topic has one partition.
    pub partition: i32,
    /// Fetcher's current epoch.
    pub current_leader_epoch: i32,
    /// Snapshot wanted.
    pub snapshot_id: FetchSnapshotRequestSnapshotId,
    /// First byte wanted.
    pub position: i64,
    /// Fetcher's directory id.
    #[kafka(since = 1, tag = 0, ignorable)]
    pub replica_directory_id: Uuid,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// The `snapshot_id` of [`FetchSnapshotRequestPartition`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct FetchSnapshotRequestSnapshotId {
    /// Its end offset.
    pub end_offset: i64,
    /// Its epoch.
    pub epoch: i32,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// The answer of FetchSnapshot.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = response, api_key = 59, versions = 0..=1, flexible = 0)]
pub struct FetchSnapshotResponse {
    /// Always 0: the topic has one partition.
    #[kafka(ignorable)]
    pub throttle_time_ms: i32,
    /// Error for the whole request.
    pub error_code: i16,
    /// One entry, or none with a top-level error.
    pub topics: Vec<FetchSnapshotResponseTopic>,
    /// Leader address, at most one entry.
    #[kafka(since = 1, tag = 0)]
    pub node_endpoints: Vec<FetchSnapshotResponseNodeEndpoint>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `topics` of [`FetchSnapshotResponse`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct FetchSnapshotResponseTopic {
    /// `__cluster_metadata`.
    pub name: String,
    /// Exactly one entry.
    pub partitions: Vec<FetchSnapshotResponsePartition>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `partitions` of [`FetchSnapshotResponseTopic`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct FetchSnapshotResponsePartition {
    /// Always 0: the topic has one partition.
    pub index: i32,
    /// Error for the partition.
    pub error_code: i16,
    /// Snapshot served; zeros on error.
    pub snapshot_id: FetchSnapshotResponseSnapshotId,
    /// Leader and epoch known to the answerer; note the defaults are 0 and 0.
    #[kafka(tag = 0)]
    pub current_leader: FetchSnapshotResponseCurrentLeader,
    /// Total snapshot size in bytes.
    pub size: i64,
    /// Position of the first byte sent (echo of the request).
    pub position: i64,
    /// Raw bytes of the snapshot file; chunk borders need not match batch borders.
    #[kafka(records)]
    pub unaligned_records: Bytes,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// The `snapshot_id` of [`FetchSnapshotResponsePartition`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct FetchSnapshotResponseSnapshotId {
    /// Its end offset.
    pub end_offset: i64,
    /// Its epoch.
    pub epoch: i32,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// The `current_leader` of [`FetchSnapshotResponsePartition`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct FetchSnapshotResponseCurrentLeader {
    /// Leader id, -1 none.
    pub leader_id: i32,
    /// Epoch of the answerer.
    pub leader_epoch: i32,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `node_endpoints` of [`FetchSnapshotResponse`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct FetchSnapshotResponseNodeEndpoint {
    /// Leader id.
    pub node_id: i32,
    /// Leader host.
    pub host: String,
    /// Leader port (16 bit).
    pub port: u16,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}
