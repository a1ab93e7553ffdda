//! ControllerRegistration (70): a controller tells the leader where it listens and what it supports (KIP-919).

use super::MetadataMachine;
use crate::{
    feature::MetadataVersion,
    record::{ControllerEndpoint, ControllerFeature, RegisterControllerRecord},
    replay::SECURITY_PROTOCOL_MAX,
};
use kraft_core::state_machine::Handled;
use kraft_wire::{
    ErrorCode, UnknownTags,
    message::{ControllerRegistrationRequest, ControllerRegistrationResponse},
};

impl MetadataMachine {
    pub(super) fn register_controller(&self, version: i16, body: &[u8]) -> Handled {
        let Some(request) = super::request::<ControllerRegistrationRequest>(version, body) else {
            return Handled::Unsupported;
        };
        let answer = |code: ErrorCode, message: &str| ControllerRegistrationResponse {
            error_code: code.code(),
            error_message: Some(message.to_owned()),
            ..ControllerRegistrationResponse::default()
        };
        let not_controller = answer(
            ErrorCode::NotController,
            "This is not the correct controller for this cluster.",
        );
        let Some(appended) = self.appendable() else {
            return super::reply(&not_controller, version);
        };
        let level = appended.latest().features.metadata_version();
        if level.is_none_or(|level| level < MetadataVersion::CONTROLLER_REGISTRATION) {
            let refusal = answer(
                ErrorCode::UnsupportedVersion,
                "metadata.version 3.7-IV0 or newer is needed to register controllers",
            );
            return super::reply(&refusal, version);
        }
        if !is_reachable(&request) {
            // Kafka's leader trips over this and resigns; the peer's mistake is no reason for that.
            let refusal = answer(
                ErrorCode::UnknownServerError,
                "The server experienced an unexpected error when processing the request.",
            );
            return super::reply(&refusal, version);
        }
        let accepted = answer(ErrorCode::None, "");
        super::propose(
            appended,
            registration(request).into(),
            &accepted,
            &not_controller,
            version,
        )
    }
}

/// Kafka checks no more than this: neither names, nor ranges, nor that there is a listener at all.
fn is_reachable(request: &ControllerRegistrationRequest) -> bool {
    request.listeners.iter().all(|listener| {
        !listener.host.is_empty()
            && listener.port != 0
            && (0..=SECURITY_PROTOCOL_MAX).contains(&listener.security_protocol)
    })
}

fn registration(request: ControllerRegistrationRequest) -> RegisterControllerRecord {
    let listeners = request.listeners.into_iter();
    let features = request.features.into_iter();
    RegisterControllerRecord {
        controller_id: request.controller_id,
        incarnation_id: request.incarnation_id,
        zk_migration_ready: request.zk_migration_ready,
        end_points: listeners
            .map(|listener| ControllerEndpoint {
                name: listener.name,
                host: listener.host,
                port: listener.port,
                security_protocol: listener.security_protocol,
                unknown_tags: UnknownTags::default(),
            })
            .collect(),
        features: features
            .map(|feature| ControllerFeature {
                name: feature.name,
                min_supported_version: feature.min_supported_version,
                max_supported_version: feature.max_supported_version,
                unknown_tags: UnknownTags::default(),
            })
            .collect(),
        unknown_tags: UnknownTags::default(),
    }
}
