//! MetadataFetch (api key 1004), version 0: how an observer of this project reads the committed metadata.
//!
//! Not one of Kafka's APIs. It is listed in ApiVersions, where Kafka's clients ignore it, and is sent only to a peer
//! that lists it. It has no error codes: a request that cannot be served is answered by closing the connection.

use bytes::Bytes;
use uuid::Uuid;

use crate::{Message, UnknownTags};

/// The request of MetadataFetch.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = request, api_key = 1004, versions = 0, flexible = 0, response = MetadataFetchResponse)]
pub struct MetadataFetchRequest {
    /// First offset wanted.
    pub fetch_offset: i64,
    /// Limit on the record bytes; one whole batch is always returned.
    pub max_size: i64,
    /// Id of the observer, -1 if it has none.
    #[kafka(default = -1)]
    pub replica_id: i32,
    /// Directory id of the observer; zero = none, also if it has no id.
    pub replica_directory_id: Uuid,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// The answer of MetadataFetch.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = response, api_key = 1004, versions = 0, flexible = 0)]
pub struct MetadataFetchResponse {
    /// First offset of the answering node's log.
    pub log_start_offset: i64,
    /// Bound of what the answering node can serve.
    pub high_watermark: i64,
    /// Highest commit that the answering node has heard of.
    pub quorum_high_watermark: i64,
    /// Whole batches from the offset asked for, in order.
    #[kafka(records)]
    pub records: Bytes,
    /// The snapshot that replaces what lies before the log start; its default stands for none.
    #[kafka(tag = 0)]
    pub snapshot_id: MetadataFetchResponseSnapshotId,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// The `snapshot_id` of [`MetadataFetchResponse`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct MetadataFetchResponseSnapshotId {
    /// End offset of the snapshot.
    #[kafka(default = -1)]
    pub end_offset: i64,
    /// Epoch of the snapshot.
    #[kafka(default = -1)]
    pub epoch: i32,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}
