//! Fetch (api key 1), versions 4 to 18.

use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;
use uuid::Uuid;

use crate::{Message, UnknownTags};

/// The request of Fetch.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = request, api_key = 1, versions = 4..=18, flexible = 12, response = FetchResponse)]
pub struct FetchRequest {
    /// Cluster id, absent = not checked.
    #[kafka(since = 12, tag = 0, ignorable, default = null)]
    pub cluster_id: Option<String>,
    /// Fetcher id up to v14.
    #[kafka(until = 14, default = -1)]
    pub replica_id: i32,
    /// Fetcher identity from v15 on.
    #[kafka(since = 15, tag = 1)]
    pub replica_state: FetchRequestReplicaState,
    /// How long the leader may hold the request.
    pub max_wait_ms: i32,
    /// Ignored by the metadata quorum.
    pub min_bytes: i32,
    /// Limit on record bytes; one whole batch is always returned.
    #[kafka(ignorable, default = i32::MAX)]
    pub max_bytes: i32,
    /// Ignored by the metadata quorum.
    #[kafka(ignorable)]
    pub isolation_level: i8,
    /// Ignored by the metadata quorum.
    #[kafka(since = 7, ignorable)]
    pub session_id: i32,
    /// Ignored by the metadata quorum.
    #[kafka(since = 7, ignorable, default = -1)]
    pub session_epoch: i32,
    /// Exactly one entry.
    pub topics: Vec<FetchRequestTopic>,
    /// Ignored by the metadata quorum.
    #[kafka(since = 7)]
    pub forgotten_topics_data: Vec<FetchRequestForgottenTopic>,
    /// Ignored by the metadata quorum.
    #[kafka(since = 11, ignorable)]
    pub rack_id: String,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// The `replica_state` of [`FetchRequest`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct FetchRequestReplicaState {
    /// Fetcher id, -1 = no id.
    #[kafka(default = -1)]
    pub replica_id: i32,
    /// Not used by KRaft (-1).
    #[kafka(default = -1)]
    pub replica_epoch: i64,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `topics` of [`FetchRequest`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct FetchRequestTopic {
    /// Topic by name (old versions).
    #[kafka(until = 12, ignorable)]
    pub topic: String,
    /// Topic by id: 00000000-0000-0000-0000-000000000001.
    #[kafka(since = 13, ignorable)]
    pub topic_id: Uuid,
    /// Exactly one entry.
    pub partitions: Vec<FetchRequestPartition>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `partitions` of [`FetchRequestTopic`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct FetchRequestPartition {
    /// Always 0: the topic has one partition.
    pub partition: i32,
    /// Fetcher's current epoch.
    #[kafka(since = 9, ignorable, default = -1)]
    pub current_leader_epoch: i32,
    /// Fetcher's log end offset.
    pub fetch_offset: i64,
    /// Epoch of the fetcher's last record.
    #[kafka(since = 12, default = -1)]
    pub last_fetched_epoch: i32,
    /// Ignored by the metadata quorum.
    #[kafka(since = 5, ignorable, default = -1)]
    pub log_start_offset: i64,
    /// Ignored by the metadata quorum.
    pub partition_max_bytes: i32,
    /// Fetcher's directory id.
    #[kafka(since = 17, tag = 0, ignorable)]
    pub replica_directory_id: Uuid,
    /// High watermark the fetcher knows: -1 unknown; default (max i64) = sender has no such feature.
    #[kafka(since = 18, tag = 1, ignorable, default = i64::MAX)]
    pub high_watermark: i64,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `forgotten_topics_data` of [`FetchRequest`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct FetchRequestForgottenTopic {
    /// Not used by the metadata quorum.
    #[kafka(until = 12, ignorable)]
    pub topic: String,
    /// Not used by the metadata quorum.
    #[kafka(since = 13, ignorable)]
    pub topic_id: Uuid,
    /// Not used by the metadata quorum.
    pub partitions: Vec<i32>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// The answer of Fetch.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = response, api_key = 1, versions = 4..=18, flexible = 12)]
pub struct FetchResponse {
    /// 0 from a metadata quorum.
    #[kafka(ignorable)]
    pub throttle_time_ms: i32,
    /// Error for the whole request.
    #[kafka(since = 7, ignorable)]
    pub error_code: i16,
    /// 0 from a metadata quorum.
    #[kafka(since = 7)]
    pub session_id: i32,
    /// One entry, or none with a top-level error.
    pub responses: Vec<FetchResponseTopic>,
    /// Leader address, at most one entry; KRaft fills it from v17 on only.
    #[kafka(since = 16, tag = 0)]
    pub node_endpoints: Vec<FetchResponseNodeEndpoint>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `responses` of [`FetchResponse`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct FetchResponseTopic {
    /// Topic by name (old versions).
    #[kafka(until = 12, ignorable)]
    pub topic: String,
    /// The metadata topic id.
    #[kafka(since = 13, ignorable)]
    pub topic_id: Uuid,
    /// Exactly one entry.
    pub partitions: Vec<FetchResponsePartition>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `partitions` of [`FetchResponseTopic`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct FetchResponsePartition {
    /// Always 0: the topic has one partition.
    pub partition_index: i32,
    /// Error for the partition.
    pub error_code: i16,
    /// Leader's high watermark, -1 unknown.
    pub high_watermark: i64,
    /// -1 from a metadata quorum.
    #[kafka(ignorable, default = -1)]
    pub last_stable_offset: i64,
    /// Leader's log start offset.
    #[kafka(since = 5, ignorable, default = -1)]
    pub log_start_offset: i64,
    /// Set when the fetcher must truncate.
    #[kafka(since = 12, tag = 0)]
    pub diverging_epoch: FetchResponseDivergingEpoch,
    /// Leader and epoch known to the answerer.
    #[kafka(since = 12, tag = 1)]
    pub current_leader: FetchResponseCurrentLeader,
    /// Set when the fetcher must load a snapshot.
    #[kafka(since = 12, tag = 2)]
    pub snapshot_id: FetchResponseSnapshotId,
    /// Empty list from KRaft (not null).
    #[kafka(ignorable)]
    pub aborted_transactions: Option<Vec<FetchResponseAbortedTransaction>>,
    /// -1 from a metadata quorum.
    #[kafka(since = 11, default = -1)]
    pub preferred_read_replica: i32,
    /// Record batches; empty, never null, from KRaft.
    #[kafka(records)]
    pub records: Option<Bytes>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// The `diverging_epoch` of [`FetchResponsePartition`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct FetchResponseDivergingEpoch {
    /// Largest epoch at or below the fetcher's that the leader holds.
    #[kafka(default = -1)]
    pub epoch: i32,
    /// End offset of that epoch at the leader.
    #[kafka(default = -1)]
    pub end_offset: i64,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// The `current_leader` of [`FetchResponsePartition`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct FetchResponseCurrentLeader {
    /// Leader id, -1 none.
    #[kafka(default = -1)]
    pub leader_id: i32,
    /// Epoch of the answerer.
    #[kafka(default = -1)]
    pub leader_epoch: i32,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// The `snapshot_id` of [`FetchResponsePartition`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct FetchResponseSnapshotId {
    /// Snapshot end offset (FIRST here, second in DivergingEpoch).
    #[kafka(default = -1)]
    pub end_offset: i64,
    /// Snapshot epoch.
    #[kafka(default = -1)]
    pub epoch: i32,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `aborted_transactions` of [`FetchResponsePartition`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct FetchResponseAbortedTransaction {
    /// Not used by the metadata quorum.
    pub producer_id: i64,
    /// Not used by the metadata quorum.
    pub first_offset: i64,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `node_endpoints` of [`FetchResponse`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct FetchResponseNodeEndpoint {
    /// Leader id.
    pub node_id: i32,
    /// Leader host.
    pub host: String,
    /// Leader port (32 bit in this API).
    pub port: i32,
    /// Null from a metadata quorum.
    #[kafka(default = null)]
    pub rack: Option<String>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}
