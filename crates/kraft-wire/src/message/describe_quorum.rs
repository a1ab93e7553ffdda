//! DescribeQuorum (api key 55), versions 0 to 2.

use alloc::string::String;
use alloc::vec::Vec;

use uuid::Uuid;

use crate::{Message, UnknownTags};

/// The request of DescribeQuorum.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = request, api_key = 55, versions = 0..=2, flexible = 0, response = DescribeQuorumResponse)]
pub struct DescribeQuorumRequest {
    /// Exactly one entry.
    pub topics: Vec<DescribeQuorumRequestTopic>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `topics` of [`DescribeQuorumRequest`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct DescribeQuorumRequestTopic {
    /// `__cluster_metadata`.
    pub topic_name: String,
    /// Exactly one entry.
    pub partitions: Vec<DescribeQuorumRequestPartition>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `partitions` of [`DescribeQuorumRequestTopic`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct DescribeQuorumRequestPartition {
    /// Always 0: the topic has one partition.
    pub partition_index: i32,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// The answer of DescribeQuorum.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = response, api_key = 55, versions = 0..=2, flexible = 0)]
pub struct DescribeQuorumResponse {
    /// Error for the whole request.
    pub error_code: i16,
    /// Text for people.
    #[kafka(since = 2, ignorable)]
    pub error_message: Option<String>,
    /// Exactly one entry.
    pub topics: Vec<DescribeQuorumResponseTopic>,
    /// One entry per voter.
    #[kafka(since = 2)]
    pub nodes: Vec<DescribeQuorumResponseNode>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `topics` of [`DescribeQuorumResponse`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct DescribeQuorumResponseTopic {
    /// `__cluster_metadata`.
    pub topic_name: String,
    /// Exactly one entry.
    pub partitions: Vec<DescribeQuorumResponsePartition>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `partitions` of [`DescribeQuorumResponseTopic`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct DescribeQuorumResponsePartition {
    /// Always 0: the topic has one partition.
    pub partition_index: i32,
    /// Error for the partition.
    pub error_code: i16,
    /// Text for people.
    #[kafka(since = 2, ignorable)]
    pub error_message: Option<String>,
    /// The answering leader.
    pub leader_id: i32,
    /// Its epoch.
    pub leader_epoch: i32,
    /// Its high watermark, -1 unknown.
    pub high_watermark: i64,
    /// Voters, the leader included.
    pub current_voters: Vec<DescribeQuorumResponseReplicaState>,
    /// Replicas that fetch without a vote.
    pub observers: Vec<DescribeQuorumResponseReplicaState>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `current_voters` of [`DescribeQuorumResponsePartition`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct DescribeQuorumResponseReplicaState {
    /// Replica id.
    pub replica_id: i32,
    /// Directory id; zero = none.
    #[kafka(since = 2)]
    pub replica_directory_id: Uuid,
    /// Last fetch offset seen, -1 unknown.
    pub log_end_offset: i64,
    /// Wall ms of the last fetch, -1 unknown; the leader reports the present time for itself.
    #[kafka(since = 1, ignorable, default = -1)]
    pub last_fetch_timestamp: i64,
    /// Wall ms when last caught up, -1 unknown; the leader reports the present time for itself.
    #[kafka(since = 1, ignorable, default = -1)]
    pub last_caught_up_timestamp: i64,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `nodes` of [`DescribeQuorumResponse`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct DescribeQuorumResponseNode {
    /// Voter id.
    pub node_id: i32,
    /// Its listeners.
    pub listeners: Vec<DescribeQuorumResponseListener>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `listeners` of [`DescribeQuorumResponseNode`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct DescribeQuorumResponseListener {
    /// Listener name.
    pub name: String,
    /// Host.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}
