//! UnregisterController (api key 94), version 0.

use alloc::string::String;

use crate::{Message, UnknownTags};

/// The request of UnregisterController.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = request, api_key = 94, versions = 0, flexible = 0, response = UnregisterControllerResponse)]
pub struct UnregisterControllerRequest {
    /// Id to remove from the registrations.
    pub controller_id: i32,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// The answer of UnregisterController.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = response, api_key = 94, versions = 0, flexible = 0)]
pub struct UnregisterControllerResponse {
    /// Quota delay.
    pub throttle_time_ms: i32,
    /// Result.
    pub error_code: i16,
    /// Text for people.
    pub error_message: Option<String>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}
