//! Vote (api key 52), versions 0 to 2.

use alloc::string::String;
use alloc::vec::Vec;

use uuid::Uuid;

use crate::{Message, UnknownTags};

/// The request of Vote.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = request, api_key = 52, versions = 0..=2, flexible = 0, response = VoteResponse)]
pub struct VoteRequest {
    /// Cluster id, null = not checked.
    #[kafka(default = null)]
    pub cluster_id: Option<String>,
    /// Id of the voter being asked; below 0 = not checked.
    #[kafka(since = 1, ignorable, default = -1)]
    pub voter_id: i32,
    /// Exactly one entry.
    pub topics: Vec<VoteRequestTopic>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `topics` of [`VoteRequest`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct VoteRequestTopic {
    /// `__cluster_metadata`.
    pub topic_name: String,
    /// Exactly one entry.
    pub partitions: Vec<VoteRequestPartition>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `partitions` of [`VoteRequestTopic`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct VoteRequestPartition {
    /// Always 0: the topic has one partition.
    pub partition_index: i32,
    /// Epoch of the asker (already raised for a real vote, not raised for a pre-vote).
    pub replica_epoch: i32,
    /// Id of the asker.
    pub replica_id: i32,
    /// Directory id of the asker; zero = none.
    #[kafka(since = 1, ignorable)]
    pub replica_directory_id: Uuid,
    /// Directory id of the voter being asked; zero = not checked.
    #[kafka(since = 1, ignorable)]
    pub voter_directory_id: Uuid,
    /// Epoch of the last record in the asker's log.
    pub last_offset_epoch: i32,
    /// Log end offset of the asker (exclusive end).
    pub last_offset: i64,
    /// True = poll without effect on stored vote.
    #[kafka(since = 2)]
    pub pre_vote: bool,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// The answer of Vote.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = response, api_key = 52, versions = 0..=2, flexible = 0)]
pub struct VoteResponse {
    /// Error for the whole request.
    pub error_code: i16,
    /// Exactly one entry.
    pub topics: Vec<VoteResponseTopic>,
    /// Leader address, at most one entry.
    #[kafka(since = 1, tag = 0)]
    pub node_endpoints: Vec<VoteResponseNodeEndpoint>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `topics` of [`VoteResponse`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct VoteResponseTopic {
    /// `__cluster_metadata`.
    pub topic_name: String,
    /// Exactly one entry.
    pub partitions: Vec<VoteResponsePartition>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `partitions` of [`VoteResponseTopic`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct VoteResponsePartition {
    /// Always 0: the topic has one partition.
    pub partition_index: i32,
    /// Error for the partition.
    pub error_code: i16,
    /// Leader known to the answerer, -1 none.
    pub leader_id: i32,
    /// Epoch of the answerer.
    pub leader_epoch: i32,
    /// Verdict.
    pub vote_granted: bool,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `node_endpoints` of [`VoteResponse`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct VoteResponseNodeEndpoint {
    /// Leader id.
    pub node_id: i32,
    /// Leader host.
    pub host: String,
    /// Leader port (16 bit).
    pub port: u16,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}
