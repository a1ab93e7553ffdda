//! AddRaftVoter (api key 80), versions 0 to 1.

use alloc::string::String;
use alloc::vec::Vec;

use uuid::Uuid;

use crate::{ErrorCode, Message, UnknownTags};

/// The request of AddRaftVoter.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = request, api_key = 80, versions = 0..=1, flexible = 0, response = AddRaftVoterResponse)]
pub struct AddRaftVoterRequest {
    /// Cluster id, null = not checked.
    pub cluster_id: Option<String>,
    /// Sent, but the reference server does not use it.
    pub timeout_ms: i32,
    /// Id of the new voter.
    pub voter_id: i32,
    /// Its directory id; zero is refused.
    pub voter_directory_id: Uuid,
    /// Listeners of the voter.
    pub listeners: Vec<AddRaftVoterRequestListener>,
    /// True: answer after commit; false: answer after the local append.
    #[kafka(since = 1, default = true)]
    pub ack_when_committed: bool,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `listeners` of [`AddRaftVoterRequest`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct AddRaftVoterRequestListener {
    /// Listener name.
    pub name: String,
    /// Host.
    pub host: String,
    /// Port (16 bit).
    pub port: u16,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// The answer of AddRaftVoter.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = response, api_key = 80, versions = 0..=1, flexible = 0)]
pub struct AddRaftVoterResponse {
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

impl AddRaftVoterResponse {
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
