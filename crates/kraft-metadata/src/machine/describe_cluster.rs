//! DescribeCluster (60): the registered controllers, by which Kafka's tools find the leader.

use super::MetadataMachine;
use crate::{feature::MetadataVersion, record::RegisterControllerRecord};
use kraft_core::state_machine::{Handled, NodeView};
use kraft_wire::{
    ErrorCode, UnknownTags,
    message::{DescribeClusterRequest, DescribeClusterResponse, DescribeClusterResponseBroker},
};

impl MetadataMachine {
    pub(super) fn describe_cluster(&self, version: i16, body: &[u8], view: NodeView<'_>) -> Handled {
        let Some(request) = super::request::<DescribeClusterRequest>(version, body) else {
            return Handled::Unsupported;
        };
        let answer = match self.describe_refusal(version, request.endpoint_type) {
            Some((code, message)) => DescribeClusterResponse {
                error_code: code.code(),
                error_message: Some(message),
                ..DescribeClusterResponse::default()
            },
            None => self.controllers(&request, view),
        };
        super::reply(&answer, version)
    }

    fn describe_refusal(&self, version: i16, endpoint_type: i8) -> Option<(ErrorCode, String)> {
        // Version 0 cannot tell the kinds of endpoints apart, nor can its readers tell these errors.
        let typed = |code| {
            if version == 0 {
                ErrorCode::InvalidRequest
            } else {
                code
            }
        };
        let level = self.published.features.metadata_version();
        match (level, endpoint_type) {
            (None, _) => Some((
                ErrorCode::UnsupportedVersion,
                "There is no finalized MetadataVersion, so direct-to-controller communication is not supported."
                    .to_owned(),
            )),
            (Some(level), _) if level < MetadataVersion::CONTROLLER_REGISTRATION => Some((
                ErrorCode::UnsupportedVersion,
                format!("metadata.version {level} knows no registered controllers to describe"),
            )),
            (_, CONTROLLERS) => None,
            (_, BROKERS) => Some((
                typed(ErrorCode::MismatchedEndpointType),
                "The request was sent to an endpoint of type CONTROLLER, but we wanted an endpoint of type BROKER"
                    .to_owned(),
            )),
            (_, other) => Some((
                typed(ErrorCode::UnsupportedEndpointType),
                format!("Unsupported endpoint type {other}"),
            )),
        }
    }

    fn controllers(&self, request: &DescribeClusterRequest, view: NodeView<'_>) -> DescribeClusterResponse {
        let entry = |controller: &RegisterControllerRecord| {
            let endpoint = controller.listener(view.listener)?;
            Some(DescribeClusterResponseBroker {
                broker_id: controller.controller_id,
                host: endpoint.host.clone(),
                port: i32::from(endpoint.port),
                rack: None,
                is_fenced: false,
                unknown_tags: UnknownTags::default(),
            })
        };
        let brokers: Vec<_> = self.published.controllers().filter_map(entry).collect();
        let listed = |id: &i32| brokers.iter().any(|controller| controller.broker_id == *id);
        DescribeClusterResponse {
            endpoint_type: CONTROLLERS,
            cluster_id: view.cluster_id.to_owned(),
            controller_id: view.leader.map(|leader| leader.0).filter(listed).unwrap_or(-1),
            brokers,
            cluster_authorized_operations: if request.include_cluster_authorized_operations {
                EVERY_CLUSTER_OPERATION
            } else {
                i32::MIN
            },
            ..DescribeClusterResponse::default()
        }
    }
}

const BROKERS: i8 = 1;
const CONTROLLERS: i8 = 2;
/// Without an authorizer everybody may do everything that there is to do on a cluster: a bit per operation.
const EVERY_CLUSTER_OPERATION: i32 = 0x1fa0;
