//! RemoveRaftVoter (api key 81), version 0.

use alloc::string::String;

use uuid::Uuid;

use crate::{ErrorCode, Message, UnknownTags};

/// The request of RemoveRaftVoter.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = request, api_key = 81, versions = 0, flexible = 0, response = RemoveRaftVoterResponse)]
pub struct RemoveRaftVoterRequest {
    /// Cluster id, null = not checked.
    pub cluster_id: Option<String>,
    /// Id of the voter to drop.
    pub voter_id: i32,
    /// Its directory id; zero is refused.
    pub voter_directory_id: Uuid,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// The answer of RemoveRaftVoter.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = response, api_key = 81, versions = 0, flexible = 0)]
pub struct RemoveRaftVoterResponse {
    /// 0 from the raft layer.
    pub throttle_time_ms: i32,
    /// Result.
    pub error_code: i16,
    /// Text for people.
    #[kafka(ignorable)]
    pub error_message: Option<String>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

impl RemoveRaftVoterResponse {
    /// The answer with this outcome. An error without a text of its own carries the standard one, its name.
    pub fn of(error: ErrorCode, message: Option<String>) -> Self {
        let standard = || error.is_error().then(|| String::from(error.name()));
        Self {
            error_code: error.code(),
            error_message: message.or_else(standard),
            ..Self::default()
        }
    }
}
