//! The request by which a controller registers with the leader.

use crate::feature::SupportedFeature;
use kraft_core::{Endpoints, NodeId};
use kraft_wire::{
    UnknownTags,
    message::{
        ControllerRegistrationRequest, ControllerRegistrationRequestFeature,
        ControllerRegistrationRequestListener,
    },
};
use uuid::Uuid;

/// The registration of one process of a controller. Its listeners speak plaintext.
///
/// It is due while [`wants_registration`](crate::image::MetadataImage::wants_registration) says so, also after it was
/// answered without an error: only the record in the log counts. A leader sends it to itself.
#[must_use]
pub fn controller_registration_request(
    node_id: NodeId,
    incarnation_id: Uuid,
    listeners: &Endpoints,
    features: &[SupportedFeature],
) -> ControllerRegistrationRequest {
    let listener = |(name, endpoint): (&str, &kraft_core::Endpoint)| ControllerRegistrationRequestListener {
        name: name.to_owned(),
        host: endpoint.host.to_string(),
        port: endpoint.port,
        security_protocol: PLAINTEXT,
        unknown_tags: UnknownTags::default(),
    };
    let feature = |feature: &SupportedFeature| ControllerRegistrationRequestFeature {
        name: feature.name.to_owned(),
        min_supported_version: feature.min,
        max_supported_version: feature.max,
        unknown_tags: UnknownTags::default(),
    };
    ControllerRegistrationRequest {
        controller_id: node_id.0,
        incarnation_id,
        zk_migration_ready: false,
        listeners: listeners.iter().map(listener).collect(),
        features: features.iter().map(feature).collect(),
        unknown_tags: UnknownTags::default(),
    }
}

const PLAINTEXT: i16 = 0;
