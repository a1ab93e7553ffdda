//! ControllerRegistration (api key 70), version 0.

use alloc::string::String;
use alloc::vec::Vec;

use uuid::Uuid;

use crate::{Message, UnknownTags};

/// The request of ControllerRegistration.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = request, api_key = 70, versions = 0, flexible = 0, response = ControllerRegistrationResponse)]
pub struct ControllerRegistrationRequest {
    /// Id of the registering controller.
    pub controller_id: i32,
    /// Random per process start.
    pub incarnation_id: Uuid,
    /// False.
    pub zk_migration_ready: bool,
    /// Its controller listeners.
    pub listeners: Vec<ControllerRegistrationRequestListener>,
    /// Feature ranges it can run.
    pub features: Vec<ControllerRegistrationRequestFeature>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `listeners` of [`ControllerRegistrationRequest`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct ControllerRegistrationRequestListener {
    /// Listener name.
    pub name: String,
    /// Host, must not be empty.
    pub host: String,
    /// Port, must not be 0.
    pub port: u16,
    /// 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL.
    pub security_protocol: i16,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `features` of [`ControllerRegistrationRequest`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct ControllerRegistrationRequestFeature {
    /// Feature name.
    pub name: String,
    /// Lowest level.
    pub min_supported_version: i16,
    /// Highest level.
    pub max_supported_version: i16,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// The answer of ControllerRegistration.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = response, api_key = 70, versions = 0, flexible = 0)]
pub struct ControllerRegistrationResponse {
    /// Quota delay.
    pub throttle_time_ms: i32,
    /// Result.
    pub error_code: i16,
    /// Text for people.
    pub error_message: Option<String>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}
