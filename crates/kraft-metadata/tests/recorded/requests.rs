//! Answers of the state machine against those of Kafka's controllers.

use crate::support;
use kraft_core::{Endpoint, Endpoints};
use kraft_core::{
    Epoch, Instant, NodeId, StateMachine, Time,
    state_machine::{CommittedBatch, Handled, NodeView},
};
use kraft_metadata::{
    MetadataMachine, MetadataRecord, MetadataSettings,
    bootstrap::bootstrap_records,
    feature::{MetadataVersion, supported_features},
    registration::controller_registration_request,
};
use kraft_wire::{Message, Request, message::DescribeClusterRequest, message::DescribeClusterResponse};
use uuid::Uuid;

const CLUSTER: &str = "ntpjg8OrToGHRt4yC6tdVQ";

fn view(node: i32, leader: Option<i32>) -> NodeView<'static> {
    NodeView {
        node_id: NodeId(node),
        cluster_id: CLUSTER,
        leader: leader.map(NodeId),
        epoch: Epoch(8),
        leading: leader == Some(node),
        listener: "CONTROLLER",
    }
}

/// A committed log with the three controllers of the recorded quorum, on a node that leads or not.
fn quorum(leads: bool) -> MetadataMachine {
    let mut machine = MetadataMachine::new(MetadataSettings::default());
    let mut values = bootstrap_records(MetadataVersion::LATEST_PRODUCTION, &[].into(), &[]).unwrap();
    for (id, port) in [(1, 37219), (2, 36107), (3, 53533)] {
        let endpoint = Endpoint {
            host: "127.0.0.1".into(),
            port,
        };
        let request = controller_registration_request(
            NodeId(id),
            Uuid::from_u128(7),
            &Endpoints::single("CONTROLLER", endpoint),
            &supported_features(),
        );
        values.push(registered(&request));
    }
    let slices: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
    machine
        .apply(CommittedBatch {
            base: 0,
            last: i64::try_from(slices.len()).unwrap() - 1,
            epoch: Epoch(8),
            timestamp_ms: 0,
            values: &slices,
        })
        .unwrap();
    if leads {
        let time = Time {
            mono: Instant(0),
            wall_ms: 0,
        };
        assert_eq!(machine.lead(Epoch(8), time), Ok(vec![]));
    }
    machine
}

/// The record that a leader makes of a registration.
fn registered(request: &kraft_wire::message::ControllerRegistrationRequest) -> Vec<u8> {
    let mut record = kraft_metadata::record::RegisterControllerRecord {
        controller_id: request.controller_id,
        incarnation_id: request.incarnation_id,
        ..Default::default()
    };
    for listener in &request.listeners {
        record
            .end_points
            .push(kraft_metadata::record::ControllerEndpoint {
                name: listener.name.clone(),
                host: listener.host.clone(),
                port: listener.port,
                ..Default::default()
            });
    }
    for feature in &request.features {
        record.features.push(kraft_metadata::record::ControllerFeature {
            name: feature.name.clone(),
            min_supported_version: feature.min_supported_version,
            max_supported_version: feature.max_supported_version,
            ..Default::default()
        });
    }
    MetadataRecord::from(record).encode().unwrap()
}

/// The request's body: what follows key, version, correlation id, client id and, in flexible versions, the tags.
fn request_body(frame: &[u8]) -> &[u8] {
    let client_id = usize::from(u16::from_be_bytes([frame[8], frame[9]]));
    &frame[10 + client_id + 1..]
}

#[test]
fn answers_are_kafkas() {
    let mut compared = 0;
    let mut machines = [quorum(false), quorum(true)];
    for exchange in support::json_lines("exchanges.jsonl") {
        let id = exchange["id"].as_str().unwrap();
        let number = |key: &str| i32::try_from(exchange[key].as_i64().unwrap()).unwrap();
        let (api, version) = (number("api") as i16, number("version") as i16);
        let request = support::hex(exchange["request"].as_str().unwrap());
        let response = support::hex(exchange["response"].as_str().unwrap());
        let leads = exchange["role"] == "leader";
        let machine = &mut machines[usize::from(leads)];
        let view = view(number("node"), Some(number("leader")));
        let handled = machine.handle(api, version, request_body(&request), view);
        // The registrations of ids 200 and up were made on the way, and kraft.version is not ours to check.
        let skipped = exchange["what"].as_str().unwrap();
        if skipped.contains("again removed") || skipped.starts_with("kraft.version to 1") {
            continue;
        }
        let skipped_downgrade = skipped.starts_with("kraft.version down");
        if skipped_downgrade {
            continue;
        }
        let body = match handled {
            Handled::Reply(body) => body,
            Handled::Propose { reply, values, .. } => {
                assert_eq!(values.len(), 1, "{id}");
                reply
            }
            Handled::Unsupported => panic!("{id} is not answered"),
        };
        // The header of the answers in question is a correlation id and an empty tag section.
        assert_eq!(body, response[5..], "{id}: {skipped}");
        compared += 1;
    }
    assert!(compared > 50, "{compared}");
}

proptest::proptest! {
    #[test]
    fn damaged_requests_are_answered_or_not_but_never_fatal(
        exchange in 0_usize..58,
        damage in proptest::collection::vec((0_usize..120, proptest::num::u8::ANY), 1..4),
    ) {
        let exchanges = support::json_lines("exchanges.jsonl");
        let exchange = &exchanges[exchange % exchanges.len()];
        let number = |key: &str| i16::try_from(exchange[key].as_i64().unwrap()).unwrap();
        let request = support::hex(exchange["request"].as_str().unwrap());
        let mut body = request_body(&request).to_vec();
        for (position, byte) in damage {
            let length = body.len().max(1);
            if let Some(damaged) = body.get_mut(position % length) {
                *damaged = byte;
            }
        }
        let mut machine = quorum(true);
        if let Handled::Propose { values, .. } =
            machine.handle(number("api"), number("version"), &body, view(2, Some(2)))
        {
            machine.appended(100, Epoch(8), &values);
        }
    }
}

#[test]
fn unreadable_requests_are_not_answered() {
    let mut machine = quorum(true);
    for api in [57, 60, 70, 94] {
        let handled = machine.handle(api, 0, &[0xff], view(2, Some(2)));
        assert_eq!(handled, Handled::Unsupported, "{api}");
        let handled = machine.handle(api, 99, &[], view(2, Some(2)));
        assert_eq!(handled, Handled::Unsupported, "{api}");
    }
    assert_eq!(machine.handle(62, 0, &[], view(2, Some(2))), Handled::Unsupported);
    assert_eq!(machine.handle(-1, 0, &[], view(2, Some(2))), Handled::Unsupported);
}

#[test]
fn names_that_no_longer_fit_are_no_reason_to_panic() {
    let mut machine = quorum(true);
    // A feature's name of 32767 broken characters, each of which becomes three bytes.
    let mut body = vec![0, 0, 0, 1, 2];
    body.extend([0x80, 0x80, 0x02]);
    body.extend(std::iter::repeat_n(0xff, 32_767));
    body.extend([0, 1, 1, 0, 0, 0]);
    let handled = machine.handle(57, 2, &body, view(2, Some(2)));
    assert!(matches!(handled, Handled::Reply(_)), "{handled:?}");
}

#[test]
fn without_a_metadata_version_there_is_nothing_to_describe() {
    let mut machine = MetadataMachine::new(MetadataSettings::default());
    let request = DescribeClusterRequest {
        endpoint_type: 2,
        ..DescribeClusterRequest::default()
    };
    let body = request.to_bytes(2).unwrap();
    let Handled::Reply(reply) = machine.handle(60, 2, &body, view(1, None)) else {
        panic!("no answer");
    };
    let answer = <DescribeClusterRequest as Request>::Response::from_bytes(&reply.into(), 2).unwrap();
    let text =
        "There is no finalized MetadataVersion, so direct-to-controller communication is not supported.";
    let expected = DescribeClusterResponse {
        error_code: 35,
        error_message: Some(text.to_owned()),
        ..DescribeClusterResponse::default()
    };
    assert_eq!(answer, expected);
}
