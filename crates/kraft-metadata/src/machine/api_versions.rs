//! The features in an answer to ApiVersions (18).

use super::MetadataMachine;
use crate::{
    feature::{KRAFT_VERSION, METADATA_VERSION, SupportedFeature, supported_features},
    image::FinalizedFeatures,
};
use kraft_core::state_machine::Handled;
use kraft_wire::{
    Message, UnknownTags,
    message::{
        ApiVersionsResponse, ApiVersionsResponseFinalizedFeature, ApiVersionsResponseSupportedFeature,
    },
};

impl MetadataMachine {
    /// An answer that holds the features and no APIs: those, and the finalized level of `kraft.version`, are the
    /// engine's to fill in. Versions without features are not answered.
    pub(super) fn api_versions(&self, version: i16) -> Handled {
        if !(FEATURES_SINCE..=ApiVersionsResponse::VERSION_MAX).contains(&version) {
            return Handled::Unsupported;
        }
        let features = &self.published.features;
        let answer = ApiVersionsResponse {
            supported_features: supported(version),
            finalized_features_epoch: features.epoch(),
            finalized_features: finalized(features),
            ..ApiVersionsResponse::default()
        };
        super::reply(&answer, version)
    }
}

fn supported(version: i16) -> Vec<ApiVersionsResponseSupportedFeature> {
    // Readers of version 3 take a lowest level of 0 for an error.
    let written = |feature: &SupportedFeature| version > FEATURES_SINCE || feature.min > 0;
    let entry = |feature: SupportedFeature| ApiVersionsResponseSupportedFeature {
        name: feature.name.to_owned(),
        min_version: feature.min,
        max_version: feature.max,
        unknown_tags: UnknownTags::default(),
    };
    supported_features()
        .into_iter()
        .filter(written)
        .map(entry)
        .collect()
}

fn finalized(features: &FinalizedFeatures) -> Vec<ApiVersionsResponseFinalizedFeature> {
    let Some(version) = features.metadata_version() else {
        return Vec::new();
    };
    let others = features.levels().filter(|(name, _)| *name != KRAFT_VERSION);
    std::iter::once((METADATA_VERSION, version.level()))
        .chain(others)
        .map(|(name, level)| ApiVersionsResponseFinalizedFeature {
            name: name.to_owned(),
            max_version_level: level,
            min_version_level: level,
            unknown_tags: UnknownTags::default(),
        })
        .collect()
}

/// The first version of ApiVersions whose answer holds features.
const FEATURES_SINCE: i16 = 3;
