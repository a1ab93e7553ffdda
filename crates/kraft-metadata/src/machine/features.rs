//! What an answer to ApiVersions (18) says about this machine: the requests that it handles, and the features.

use super::MetadataMachine;
use crate::feature::{
    KRAFT_VERSION, METADATA_VERSION, MetadataVersion, SupportedFeature, supported_features,
};
use kraft_core::{
    SupportedVersions,
    state_machine::{Feature, Features, HandledApi},
};
use kraft_wire::ApiKey;

impl MetadataMachine {
    pub(super) fn handled_apis() -> Vec<HandledApi> {
        let handled = |api: &ApiKey| HandledApi {
            key: api.key(),
            min_version: *api.versions().start(),
            max_version: *api.versions().end(),
        };
        HANDLED.iter().map(handled).collect()
    }

    /// Without a metadata version no level counts as finalized.
    pub(super) fn announced_features(&self) -> Features {
        let finalized = &self.published.features;
        let version = finalized.metadata_version().map(MetadataVersion::level);
        let level = |name: &str| match version {
            Some(version) if name == METADATA_VERSION => version,
            Some(_) => finalized.level(name),
            None => 0,
        };
        let feature = |feature: SupportedFeature| Feature {
            name: feature.name.to_owned(),
            supported: SupportedVersions {
                min: feature.min,
                max: feature.max,
            },
            finalized: level(feature.name),
        };
        let own = supported_features()
            .into_iter()
            .filter(|feature| feature.name != KRAFT_VERSION);
        Features {
            finalized_epoch: version.map_or(-1, |_| finalized.epoch()),
            features: own.map(feature).collect(),
        }
    }
}

/// The requests that [`handle`](kraft_core::StateMachine::handle) answers.
const HANDLED: [ApiKey; 4] = [
    ApiKey::UpdateFeatures,
    ApiKey::DescribeCluster,
    ApiKey::ControllerRegistration,
    ApiKey::UnregisterController,
];
