//! Metadata (api key 3), versions 0 to 13. Clients ask brokers for it; a controller closes the connection of whoever
//! asks it, and does not list it.

use alloc::string::String;
use alloc::vec::Vec;

use uuid::Uuid;

use crate::{Message, UnknownTags};

/// The request of Metadata.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = request, api_key = 3, versions = 0..=13, flexible = 9, response = MetadataResponse)]
pub struct MetadataRequest {
    /// Topics asked for. Null asks for all of them; in version 0, which has no null, an empty list does.
    #[kafka(nullable_since = 1)]
    pub topics: Option<Vec<MetadataRequestTopic>>,
    /// Whether a topic that does not exist may come into being by the question.
    #[kafka(since = 4, default = true)]
    pub allow_auto_topic_creation: bool,
    /// Ask for the ACL bit set of the cluster, which DescribeCluster tells since.
    #[kafka(since = 8, until = 10)]
    pub include_cluster_authorized_operations: bool,
    /// Ask for the ACL bit set of each topic.
    #[kafka(since = 8)]
    pub include_topic_authorized_operations: bool,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `topics` of [`MetadataRequest`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct MetadataRequestTopic {
    /// Topic by id; zero if it is asked for by name.
    #[kafka(since = 10, ignorable)]
    pub topic_id: Uuid,
    /// Topic by name; null if it is asked for by id, which brokers understand from version 12 on.
    #[kafka(nullable_since = 10)]
    pub name: Option<String>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// The answer of Metadata.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = response, api_key = 3, versions = 0..=13, flexible = 9)]
pub struct MetadataResponse {
    /// Quota delay.
    #[kafka(since = 3, ignorable)]
    pub throttle_time_ms: i32,
    /// Live brokers.
    pub brokers: Vec<MetadataResponseBroker>,
    /// Cluster id.
    #[kafka(since = 2, ignorable, default = null)]
    pub cluster_id: Option<String>,
    /// To whom a client turns as the controller: of a KRaft cluster one of the brokers.
    #[kafka(since = 1, ignorable, default = -1)]
    pub controller_id: i32,
    /// The topics asked for.
    pub topics: Vec<MetadataResponseTopic>,
    /// ACL bit set of the cluster; minimum i32 if not asked for.
    #[kafka(since = 8, until = 10, default = i32::MIN)]
    pub cluster_authorized_operations: i32,
    /// Error for the whole request.
    #[kafka(since = 13, ignorable)]
    pub error_code: i16,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `brokers` of [`MetadataResponse`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct MetadataResponseBroker {
    /// Node id.
    pub node_id: i32,
    /// Host.
    pub host: String,
    /// Port (32 bit).
    pub port: i32,
    /// Where the broker stands.
    #[kafka(since = 1, ignorable, default = null)]
    pub rack: Option<String>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `topics` of [`MetadataResponse`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct MetadataResponseTopic {
    /// Error for the topic.
    pub error_code: i16,
    /// Topic by name; null if it was asked for by an id that nobody knows.
    #[kafka(nullable_since = 12)]
    pub name: Option<String>,
    /// Topic by id.
    #[kafka(since = 10, ignorable)]
    pub topic_id: Uuid,
    /// Whether the topic is Kafka's own.
    #[kafka(since = 1, ignorable)]
    pub is_internal: bool,
    /// The partitions of the topic.
    pub partitions: Vec<MetadataResponsePartition>,
    /// ACL bit set of the topic; minimum i32 if not asked for.
    #[kafka(since = 8, default = i32::MIN)]
    pub topic_authorized_operations: i32,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `partitions` of [`MetadataResponseTopic`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct MetadataResponsePartition {
    /// Error for the partition.
    pub error_code: i16,
    /// Number within the topic.
    pub partition_index: i32,
    /// Broker that leads it, -1 if none does.
    pub leader_id: i32,
    /// Epoch of that leader.
    #[kafka(since = 7, ignorable, default = -1)]
    pub leader_epoch: i32,
    /// Brokers that hold it.
    pub replica_nodes: Vec<i32>,
    /// Those of them that are in sync.
    pub isr_nodes: Vec<i32>,
    /// Those of them that are not alive.
    #[kafka(since = 5, ignorable)]
    pub offline_replicas: Vec<i32>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}
