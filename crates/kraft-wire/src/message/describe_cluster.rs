//! DescribeCluster (api key 60), versions 0 to 2.

use alloc::string::String;
use alloc::vec::Vec;

use crate::{Message, UnknownTags};

/// The request of DescribeCluster.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = request, api_key = 60, versions = 0..=2, flexible = 0, response = DescribeClusterResponse)]
pub struct DescribeClusterRequest {
    /// Ask for the ACL bit set.
    pub include_cluster_authorized_operations: bool,
    /// 1 brokers, 2 controllers.
    #[kafka(since = 1, default = 1)]
    pub endpoint_type: i8,
    /// Ask for fenced brokers too (brokers only).
    #[kafka(since = 2)]
    pub include_fenced_brokers: bool,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// The answer of DescribeCluster.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = response, api_key = 60, versions = 0..=2, flexible = 0)]
pub struct DescribeClusterResponse {
    /// Quota delay.
    pub throttle_time_ms: i32,
    /// Error.
    pub error_code: i16,
    /// Text for people.
    #[kafka(default = null)]
    pub error_message: Option<String>,
    /// Kind of nodes listed; 2 on a controller.
    #[kafka(since = 1, default = 1)]
    pub endpoint_type: i8,
    /// Cluster id.
    pub cluster_id: String,
    /// Active controller if it is in the list, else -1.
    #[kafka(default = -1)]
    pub controller_id: i32,
    /// Controllers here: those registered with the listener the request came in on.
    pub brokers: Vec<DescribeClusterResponseBroker>,
    /// ACL bit set; minimum i32 if not asked for.
    #[kafka(default = i32::MIN)]
    pub cluster_authorized_operations: i32,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `brokers` of [`DescribeClusterResponse`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct DescribeClusterResponseBroker {
    /// Node id.
    pub broker_id: i32,
    /// Host.
    pub host: String,
    /// Port (32 bit).
    pub port: i32,
    /// Null for controllers.
    #[kafka(default = null)]
    pub rack: Option<String>,
    /// False for controllers.
    #[kafka(since = 2)]
    pub is_fenced: bool,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}
