//! BeginQuorumEpoch (api key 53), versions 0 to 1.

use alloc::string::String;
use alloc::vec::Vec;

use uuid::Uuid;

use crate::{Message, UnknownTags};

/// The request of BeginQuorumEpoch.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = request, api_key = 53, versions = 0..=1, flexible = 1, response = BeginQuorumEpochResponse)]
pub struct BeginQuorumEpochRequest {
    /// Cluster id, null = not checked.
    #[kafka(default = null)]
    pub cluster_id: Option<String>,
    /// Id of the addressed voter; below 0 = not checked.
    #[kafka(since = 1, ignorable, default = -1)]
    pub voter_id: i32,
    /// Exactly one entry.
    pub topics: Vec<BeginQuorumEpochRequestTopic>,
    /// Every listener of the leader.
    #[kafka(since = 1, ignorable)]
    pub leader_endpoints: Vec<BeginQuorumEpochRequestLeaderEndpoint>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `topics` of [`BeginQuorumEpochRequest`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct BeginQuorumEpochRequestTopic {
    /// `__cluster_metadata`.
    pub topic_name: String,
    /// Exactly one entry.
    pub partitions: Vec<BeginQuorumEpochRequestPartition>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `partitions` of [`BeginQuorumEpochRequestTopic`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct BeginQuorumEpochRequestPartition {
    /// Always 0: the topic has one partition.
    pub partition_index: i32,
    /// Directory id of the addressed voter; zero = not checked.
    #[kafka(since = 1, ignorable)]
    pub voter_directory_id: Uuid,
    /// Id of the new leader (the sender).
    pub leader_id: i32,
    /// Epoch it leads.
    pub leader_epoch: i32,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `leader_endpoints` of [`BeginQuorumEpochRequest`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct BeginQuorumEpochRequestLeaderEndpoint {
    /// Listener name (upper case).
    pub name: String,
    /// Host.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// The answer of BeginQuorumEpoch.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = response, api_key = 53, versions = 0..=1, flexible = 1)]
pub struct BeginQuorumEpochResponse {
    /// Error for the whole request.
    pub error_code: i16,
    /// Exactly one entry.
    pub topics: Vec<BeginQuorumEpochResponseTopic>,
    /// Leader address, at most one entry.
    #[kafka(since = 1, tag = 0)]
    pub node_endpoints: Vec<BeginQuorumEpochResponseNodeEndpoint>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `topics` of [`BeginQuorumEpochResponse`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct BeginQuorumEpochResponseTopic {
    /// `__cluster_metadata`.
    pub topic_name: String,
    /// Exactly one entry.
    pub partitions: Vec<BeginQuorumEpochResponsePartition>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `partitions` of [`BeginQuorumEpochResponseTopic`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct BeginQuorumEpochResponsePartition {
    /// Always 0: the topic has one partition.
    pub partition_index: i32,
    /// Error for the partition.
    pub error_code: i16,
    /// Leader known to the answerer, -1 none.
    pub leader_id: i32,
    /// Epoch of the answerer.
    pub leader_epoch: i32,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `node_endpoints` of [`BeginQuorumEpochResponse`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct BeginQuorumEpochResponseNodeEndpoint {
    /// Leader id.
    pub node_id: i32,
    /// Leader host.
    pub host: String,
    /// Leader port (16 bit).
    pub port: u16,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}
