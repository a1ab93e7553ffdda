//! EndQuorumEpoch (api key 54), versions 0 to 1.

use alloc::string::String;
use alloc::vec::Vec;

use uuid::Uuid;

use crate::{Message, UnknownTags};

/// The request of EndQuorumEpoch.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = request, api_key = 54, versions = 0..=1, flexible = 1, response = EndQuorumEpochResponse)]
pub struct EndQuorumEpochRequest {
    /// Cluster id, null = not checked.
    #[kafka(default = null)]
    pub cluster_id: Option<String>,
    /// Exactly one entry.
    pub topics: Vec<EndQuorumEpochRequestTopic>,
    /// Listeners of the leader; the reference sender always leaves this empty.
    #[kafka(since = 1, ignorable)]
    pub leader_endpoints: Vec<EndQuorumEpochRequestLeaderEndpoint>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `topics` of [`EndQuorumEpochRequest`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct EndQuorumEpochRequestTopic {
    /// `__cluster_metadata`.
    pub topic_name: String,
    /// Exactly one entry.
    pub partitions: Vec<EndQuorumEpochRequestPartition>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `partitions` of [`EndQuorumEpochRequestTopic`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct EndQuorumEpochRequestPartition {
    /// Always 0: the topic has one partition.
    pub partition_index: i32,
    /// Resigning leader (the sender).
    pub leader_id: i32,
    /// Epoch being given up.
    pub leader_epoch: i32,
    /// Voter ids, most caught-up first.
    #[kafka(until = 0, ignorable)]
    pub preferred_successors: Vec<i32>,
    /// Voters with directory ids, most caught-up first.
    #[kafka(since = 1, ignorable)]
    pub preferred_candidates: Vec<EndQuorumEpochRequestCandidate>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `preferred_candidates` of [`EndQuorumEpochRequestPartition`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct EndQuorumEpochRequestCandidate {
    /// Voter id.
    pub candidate_id: i32,
    /// Voter directory id; zero = none.
    pub candidate_directory_id: Uuid,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `leader_endpoints` of [`EndQuorumEpochRequest`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct EndQuorumEpochRequestLeaderEndpoint {
    /// Listener name (upper case).
    pub name: String,
    /// Host.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// The answer of EndQuorumEpoch.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = response, api_key = 54, versions = 0..=1, flexible = 1)]
pub struct EndQuorumEpochResponse {
    /// Error for the whole request.
    pub error_code: i16,
    /// Exactly one entry.
    pub topics: Vec<EndQuorumEpochResponseTopic>,
    /// Leader address, at most one entry.
    #[kafka(since = 1, tag = 0)]
    pub node_endpoints: Vec<EndQuorumEpochResponseNodeEndpoint>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `topics` of [`EndQuorumEpochResponse`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct EndQuorumEpochResponseTopic {
    /// `__cluster_metadata`.
    pub topic_name: String,
    /// Exactly one entry.
    pub partitions: Vec<EndQuorumEpochResponsePartition>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `partitions` of [`EndQuorumEpochResponseTopic`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct EndQuorumEpochResponsePartition {
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

/// One of `node_endpoints` of [`EndQuorumEpochResponse`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct EndQuorumEpochResponseNodeEndpoint {
    /// Leader id.
    pub node_id: i32,
    /// Leader host.
    pub host: String,
    /// Leader port (16 bit).
    pub port: u16,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}
