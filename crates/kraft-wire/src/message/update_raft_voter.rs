//! UpdateRaftVoter (api key 82), version 0.

use alloc::string::String;
use alloc::vec::Vec;

use uuid::Uuid;

use crate::{Message, UnknownTags};

/// The request of UpdateRaftVoter.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = request, api_key = 82, versions = 0, flexible = 0, response = UpdateRaftVoterResponse)]
pub struct UpdateRaftVoterRequest {
    /// Cluster id, null = not checked.
    pub cluster_id: Option<String>,
    /// Sender's current epoch.
    pub current_leader_epoch: i32,
    /// The sender's id.
    pub voter_id: i32,
    /// The sender's directory id; zero is refused.
    pub voter_directory_id: Uuid,
    /// Listeners of the voter.
    pub listeners: Vec<UpdateRaftVoterRequestListener>,
    /// Kraft.version range the sender runs.
    #[kafka(name = "KRaftVersionFeature")]
    pub kraft_version_feature: UpdateRaftVoterRequestKRaftVersionFeature,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `listeners` of [`UpdateRaftVoterRequest`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct UpdateRaftVoterRequestListener {
    /// Listener name.
    pub name: String,
    /// Host.
    pub host: String,
    /// Port (16 bit).
    pub port: u16,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// The `kraft_version_feature` of [`UpdateRaftVoterRequest`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct UpdateRaftVoterRequestKRaftVersionFeature {
    /// Lowest level.
    pub min_supported_version: i16,
    /// Highest level.
    pub max_supported_version: i16,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// The answer of UpdateRaftVoter.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = response, api_key = 82, versions = 0, flexible = 0)]
pub struct UpdateRaftVoterResponse {
    /// 0 from the raft layer.
    pub throttle_time_ms: i32,
    /// Result.
    pub error_code: i16,
    /// Leader known to the answerer.
    #[kafka(tag = 0)]
    pub current_leader: UpdateRaftVoterResponseCurrentLeader,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// The `current_leader` of [`UpdateRaftVoterResponse`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct UpdateRaftVoterResponseCurrentLeader {
    /// Leader id, -1 none.
    #[kafka(default = -1)]
    pub leader_id: i32,
    /// Epoch of the answerer.
    #[kafka(default = -1)]
    pub leader_epoch: i32,
    /// Leader host, empty = not known.
    pub host: String,
    /// Leader port (32 bit).
    pub port: i32,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}
