//! ApiVersions (api key 18), versions 0 to 5.

use alloc::string::String;
use alloc::vec::Vec;

use crate::{Message, UnknownTags};

/// The request of ApiVersions.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = request, api_key = 18, versions = 0..=5, flexible = 3, response = ApiVersionsResponse)]
pub struct ApiVersionsRequest {
    /// Client library name: letters, digits, and between them dots and hyphens.
    #[kafka(since = 3, ignorable)]
    pub client_software_name: String,
    /// Client library version; the same characters.
    #[kafka(since = 3, ignorable)]
    pub client_software_version: String,
    /// Cluster the client believes it dials; only brokers check it.
    #[kafka(since = 5, ignorable, default = null)]
    pub cluster_id: Option<String>,
    /// Node the client believes it dials; -1 = not stated. Both or neither of ClusterId/NodeId.
    #[kafka(since = 5, ignorable, default = -1)]
    pub node_id: i32,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// The answer of ApiVersions.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = response, api_key = 18, versions = 0..=5, flexible = 3)]
pub struct ApiVersionsResponse {
    /// 0, 35 or 42 on a controller.
    pub error_code: i16,
    /// One entry per served API.
    pub api_keys: Vec<ApiVersionsResponseApiVersion>,
    /// Quota delay, 0 if none.
    #[kafka(since = 1, ignorable)]
    pub throttle_time_ms: i32,
    /// Feature ranges this node can run; below v4 entries with MinVersion 0 are left out.
    #[kafka(since = 3, tag = 0, ignorable)]
    pub supported_features: Vec<ApiVersionsResponseSupportedFeature>,
    /// Log offset up to which the finalized set below is known; -1 unknown.
    #[kafka(since = 3, tag = 1, ignorable, default = -1)]
    pub finalized_features_epoch: i64,
    /// Cluster-wide levels in force (level 0 is left out).
    #[kafka(since = 3, tag = 2, ignorable)]
    pub finalized_features: Vec<ApiVersionsResponseFinalizedFeature>,
    /// Always false here.
    #[kafka(since = 3, tag = 3, ignorable)]
    pub zk_migration_ready: bool,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `api_keys` of [`ApiVersionsResponse`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct ApiVersionsResponseApiVersion {
    /// Number of the API.
    pub api_key: i16,
    /// Lowest version served.
    pub min_version: i16,
    /// Highest version served.
    pub max_version: i16,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `supported_features` of [`ApiVersionsResponse`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct ApiVersionsResponseSupportedFeature {
    /// Feature name.
    pub name: String,
    /// Lowest level.
    pub min_version: i16,
    /// Highest level.
    pub max_version: i16,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `finalized_features` of [`ApiVersionsResponse`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct ApiVersionsResponseFinalizedFeature {
    /// Feature name.
    pub name: String,
    /// Level in force (comes BEFORE the min).
    pub max_version_level: i16,
    /// Same value as MaxVersionLevel.
    pub min_version_level: i16,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}
