//! UnregisterController (94): a controller that is gone is forgotten (KIP-1312).

use super::MetadataMachine;
use crate::{feature::MetadataVersion, record::UnregisterControllerRecord, replay::Replay};
use kraft_core::{
    NodeId,
    state_machine::{Handled, NodeView},
};
use kraft_wire::{
    ErrorCode, UnknownTags,
    message::{UnregisterControllerRequest, UnregisterControllerResponse},
};

impl MetadataMachine {
    pub(super) fn unregister_controller(&self, version: i16, body: &[u8], view: NodeView<'_>) -> Handled {
        let Some(request) = super::request::<UnregisterControllerRequest>(version, body) else {
            return Handled::Unsupported;
        };
        let answer = |code: ErrorCode, message: String| UnregisterControllerResponse {
            error_code: code.code(),
            error_message: Some(message),
            ..UnregisterControllerResponse::default()
        };
        let not_controller = answer(ErrorCode::NotController, super::active_controller(view));
        let Some(appended) = self.appendable() else {
            return super::reply(&not_controller, version);
        };
        let id = NodeId(request.controller_id);
        if let Some((code, message)) = refusal(appended, id, view.node_id) {
            return super::reply(&answer(code, message), version);
        }
        let record = UnregisterControllerRecord {
            controller_id: id.0,
            unknown_tags: UnknownTags::default(),
        };
        let accepted = answer(ErrorCode::None, String::new());
        super::propose(appended, record.into(), &accepted, &not_controller, version)
    }
}

fn refusal(appended: &Replay, id: NodeId, local: NodeId) -> Option<(ErrorCode, String)> {
    let image = appended.latest();
    let level = image.features.metadata_version();
    if level.is_none_or(|level| level < MetadataVersion::UNREGISTER_CONTROLLER) {
        let needed = MetadataVersion::UNREGISTER_CONTROLLER;
        let message = format!("controllers are unregistered from metadata.version {needed} on");
        return Some((ErrorCode::UnsupportedVersion, message));
    }
    if id == local {
        let message = "Controller cannot unregister itself while it is active.";
        return Some((ErrorCode::InvalidRequest, message.to_owned()));
    }
    image.controller(id).is_none().then(|| {
        let message = format!("Controller ID {id} is not currently registered.");
        (ErrorCode::ControllerIdNotRegistered, message)
    })
}
