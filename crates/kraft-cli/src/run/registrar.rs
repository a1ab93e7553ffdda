//! Keeps this process registered with the active controller, itself included (Kafka's `ControllerRegistrationManager`).

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kraft_core::{Endpoints, NodeId};
use kraft_metadata::MetadataMachine;
use kraft_metadata::feature::supported_features;
use kraft_metadata::image::MetadataImage;
use kraft_metadata::registration::controller_registration_request;
use kraft_transport::node::Handle;
use kraft_wire::message::{ControllerRegistrationRequest, ControllerRegistrationResponse};
use kraft_wire::{ApiKey, ErrorCode, Message};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tracing::{debug, info};
use uuid::Uuid;

/// Sends the registration whenever the metadata says that it is due.
pub(super) struct Registrar {
    handle: Handle<MetadataMachine>,
    image: watch::Receiver<Arc<MetadataImage>>,
    node_id: NodeId,
    incarnation_id: Uuid,
    request: ControllerRegistrationRequest,
}

impl Registrar {
    pub(super) fn new(
        handle: &Handle<MetadataMachine>,
        endpoints: &Endpoints,
        incarnation_id: Uuid,
    ) -> Registrar {
        let node_id = handle.node_id();
        let request =
            controller_registration_request(node_id, incarnation_id, endpoints, &supported_features());
        Registrar {
            handle: handle.clone(),
            image: handle.watch_image(),
            node_id,
            incarnation_id,
            request,
        }
    }

    /// Goes on until the node has ended.
    pub(super) async fn run(mut self) {
        let mut backoff = BACKOFF_FIRST;
        loop {
            let (node_id, incarnation_id) = (self.node_id, self.incarnation_id);
            let due = self
                .image
                .wait_for(|image| image.wants_registration(node_id, incarnation_id));
            if due.await.is_err() {
                return;
            }
            match self.register().await {
                // Only the record in the log counts; the request goes out again if it does not appear.
                Ok(()) => {
                    let appears = self
                        .image
                        .wait_for(|image| !image.wants_registration(node_id, incarnation_id));
                    if matches!(timeout(APPEARS_WITHIN, appears).await, Ok(Ok(_))) {
                        info!("registered with the active controller");
                        backoff = BACKOFF_FIRST;
                    }
                }
                Err(reason) => {
                    debug!(reason, "not registered yet");
                    sleep(backoff).await;
                    backoff = (backoff * 2).min(BACKOFF_MAX);
                }
            }
        }
    }

    async fn register(&self) -> Result<(), String> {
        let body = self
            .request
            .to_bytes(VERSION)
            .map_err(|error| error.to_string())?;
        let api = ApiKey::ControllerRegistration;
        let answer = self
            .handle
            .send_to_leader(api, VERSION, body, ANSWER_WITHIN)
            .await;
        let answer: Bytes = answer.map_err(|error| error.to_string())?;
        let answer = ControllerRegistrationResponse::from_bytes(&answer, VERSION)
            .map_err(|error| error.to_string())?;
        match ErrorCode::from_code(answer.error_code) {
            code if code.is_error() => Err(code.name().to_owned()),
            _ => Ok(()),
        }
    }
}

const VERSION: i16 = 0;
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
const APPEARS_WITHIN: Duration = Duration::from_secs(5);
const BACKOFF_FIRST: Duration = Duration::from_millis(100);

/// Much less than Kafka's two minutes: a quorum whose leader has just changed should not wait for that long.
const BACKOFF_MAX: Duration = Duration::from_secs(5);
