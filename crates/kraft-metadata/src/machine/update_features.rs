//! UpdateFeatures (57), as far as it can be decided here.
//!
//! The checks come in Kafka's order and fail with Kafka's words. What passes them and would change a level is refused
//! all the same: it needs the ranges of all brokers and of all voters, and this machine does not know them.

use super::MetadataMachine;
use crate::{
    feature::{Feature, KRAFT_VERSION, METADATA_VERSION, MetadataVersion},
    image::MetadataImage,
    replay::Replay,
};
use kraft_core::{
    NodeId,
    state_machine::{Handled, NodeView},
};
use kraft_wire::{
    ErrorCode, UnknownTags,
    message::{
        UpdateFeaturesRequest, UpdateFeaturesRequestFeatureUpdate, UpdateFeaturesResponse,
        UpdateFeaturesResponseResult,
    },
};

impl MetadataMachine {
    pub(super) fn update_features(&self, version: i16, body: &[u8], view: NodeView<'_>) -> Handled {
        let Some(request) = super::request::<UpdateFeaturesRequest>(version, body) else {
            return Handled::Unsupported;
        };
        let refused = |code: ErrorCode, message: String| UpdateFeaturesResponse {
            error_code: code.code(),
            error_message: Some(message),
            ..UpdateFeaturesResponse::default()
        };
        let Some(appended) = self.appendable() else {
            let answer = refused(ErrorCode::NotController, super::active_controller(view));
            return super::reply(&answer, version);
        };
        let updates = &request.feature_updates;
        let failure = updates
            .iter()
            .find_map(|update| refusal(appended, update, version, view.node_id));
        let answer = match failure {
            Some(failure) => refused(
                ErrorCode::InvalidUpdateVersion,
                format!(
                    "The update failed for all features since the following feature had an error: {failure}"
                ),
            ),
            None => UpdateFeaturesResponse {
                error_message: None,
                results: if version < 2 { results(updates) } else { Vec::new() },
                ..UpdateFeaturesResponse::default()
            },
        };
        super::reply(&answer, version)
    }
}

fn results(updates: &[UpdateFeaturesRequestFeatureUpdate]) -> Vec<UpdateFeaturesResponseResult> {
    let result = |update: &UpdateFeaturesRequestFeatureUpdate| UpdateFeaturesResponseResult {
        feature: update.feature.clone(),
        error_code: ErrorCode::None.code(),
        error_message: Some(ErrorCode::None.name().to_owned()),
        unknown_tags: UnknownTags::default(),
    };
    updates.iter().map(result).collect()
}

fn refusal(
    appended: &Replay,
    update: &UpdateFeaturesRequestFeatureUpdate,
    version: i16,
    local: NodeId,
) -> Option<String> {
    let image = appended.latest();
    let (name, level) = (update.feature.as_str(), update.max_version_level);
    let reason = reason(image, update, version, local)?;
    // A name may be as long as the whole text.
    let name: String = name.chars().take(NAME_SHOWN_MAX).collect();
    Some(format!(
        "Invalid update version {level} for feature {name}. {reason}"
    ))
}

fn reason(
    image: &MetadataImage,
    update: &UpdateFeaturesRequestFeatureUpdate,
    version: i16,
    local: NodeId,
) -> Option<String> {
    let (name, level) = (update.feature.as_str(), update.max_version_level);
    let Some(change) = Change::of(update, version) else {
        return Some("The upgrade type is not known.".to_owned());
    };
    if level < 0 {
        return Some("No level is below 0.".to_owned());
    }
    let Some((min, max)) = supported(name) else {
        return Some(format!("Local controller {local} does not support this feature."));
    };
    if !(min..=max).contains(&level) {
        return Some(format!(
            "Local controller {local} only supports versions {min}-{max}"
        ));
    }
    let lacking = image
        .controllers()
        .find(|controller| controller.controller_id != local.0 && !controller.supports(name, level));
    if let Some(controller) = lacking {
        let id = controller.controller_id;
        return Some(format!(
            "Controller {id} does not support this level of the feature."
        ));
    }
    if name == KRAFT_VERSION {
        return Some(
            "kraft.version is changed by the quorum itself, which this request does not reach.".to_owned(),
        );
    }
    let current = current(image, name);
    if level < current && change == Change::Upgrade {
        return Some(
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe \
             downgrade."
                .to_owned(),
        );
    }
    if level > current && change != Change::Upgrade {
        return Some("The level is above the current one, which only an upgrade may ask for.".to_owned());
    }
    (level != current).then(|| {
        "This controller does not know what every broker and voter supports, and changes no level. A Kafka \
         controller that leads can."
            .to_owned()
    })
}

/// The range of a feature here.
fn supported(name: &str) -> Option<(i16, i16)> {
    if name == METADATA_VERSION {
        let (min, max) = (MetadataVersion::MINIMUM, MetadataVersion::LATEST_PRODUCTION);
        return Some((min.level(), max.level()));
    }
    Feature::named(name).map(|feature| (0, feature.level_max))
}

fn current(image: &MetadataImage, name: &str) -> i16 {
    let features = image.features();
    if name == METADATA_VERSION {
        features.metadata_version().map_or(0, MetadataVersion::level)
    } else {
        features.level(name)
    }
}

/// What an update asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Upgrade,
    Downgrade,
}

impl Change {
    /// Version 0 says it with a flag, later ones with a number. Safe and unsafe downgrades are the same to us: Kafka
    /// refuses what either would lose.
    fn of(update: &UpdateFeaturesRequestFeatureUpdate, version: i16) -> Option<Self> {
        match (version, update.allow_downgrade, update.upgrade_type) {
            (0, true, _) => Some(Self::Downgrade),
            (0, false, _) => Some(Self::Upgrade),
            (_, _, 1) => Some(Self::Upgrade),
            (_, _, 2 | 3) => Some(Self::Downgrade),
            _ => None,
        }
    }
}

const NAME_SHOWN_MAX: usize = 249;
