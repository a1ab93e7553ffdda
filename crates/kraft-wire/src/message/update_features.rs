//! UpdateFeatures (api key 57), versions 0 to 2.

use alloc::string::String;
use alloc::vec::Vec;

use crate::{Message, UnknownTags};

/// The request of UpdateFeatures.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = request, api_key = 57, versions = 0..=2, flexible = 0, response = UpdateFeaturesResponse)]
pub struct UpdateFeaturesRequest {
    /// Time allowed.
    #[kafka(default = 60000)]
    pub timeout_ms: i32,
    /// Wanted changes.
    pub feature_updates: Vec<UpdateFeaturesRequestFeatureUpdate>,
    /// Dry run.
    #[kafka(since = 1)]
    pub validate_only: bool,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `feature_updates` of [`UpdateFeaturesRequest`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct UpdateFeaturesRequestFeatureUpdate {
    /// Feature name.
    pub feature: String,
    /// Wanted level, below 1 removes the feature.
    pub max_version_level: i16,
    /// Permit a downgrade, as version 0 says it.
    #[kafka(until = 0)]
    pub allow_downgrade: bool,
    /// 1 upgrade, 2 safe downgrade, 3 unsafe downgrade.
    #[kafka(since = 1, default = 1)]
    pub upgrade_type: i8,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// The answer of UpdateFeatures.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = response, api_key = 57, versions = 0..=2, flexible = 0)]
pub struct UpdateFeaturesResponse {
    /// Quota delay.
    pub throttle_time_ms: i32,
    /// Result.
    pub error_code: i16,
    /// Text for people.
    pub error_message: Option<String>,
    /// Per feature (v0–1 only).
    #[kafka(until = 1, ignorable)]
    pub results: Vec<UpdateFeaturesResponseResult>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}

/// One of `results` of [`UpdateFeaturesResponse`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct UpdateFeaturesResponseResult {
    /// Feature name.
    pub feature: String,
    /// Result.
    pub error_code: i16,
    /// Text for people.
    pub error_message: Option<String>,
    /// Tagged fields of a newer peer.
    pub unknown_tags: UnknownTags,
}
