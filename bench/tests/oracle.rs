//! `kafka-protocol` reads what we write and writes what we read, in every version that both know.

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages as peer;
use kafka_protocol::protocol::{Decodable, Encodable, Message as PeerMessage};
use kraft_wire::control::*;
use kraft_wire::message::*;
use kraft_wire::{Field, Message};
use uuid::Uuid;

#[path = "../../crates/kraft-wire/tests/messages/support.rs"]
#[allow(dead_code, reason = "the tests of kraft-wire use the rest")]
mod support;

/// Where the layouts are.
const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/kraft-wire/tests/vectors");

/// Messages of each layout and version.
const ROUNDS: usize = 40;

fn round_trip<M: Message, P: Decodable + Encodable>(message: &M, version: i16) {
    let ours = message.to_bytes(version).expect("a message of this version");
    let place = format!("{} version {version}: {message:?}", M::NAME);
    let mut rest = ours.clone();
    let read = P::decode(&mut rest, version).unwrap_or_else(|error| panic!("{place}: {error}"));
    assert!(rest.is_empty(), "{place}");
    let mut theirs = BytesMut::new();
    read.encode(&mut theirs, version)
        .unwrap_or_else(|error| panic!("{place}: {error}"));
    assert_eq!(theirs, ours, "{place}");
    assert_eq!(
        M::from_bytes(&theirs.freeze(), version).as_ref(),
        Ok(message),
        "{place}"
    );
}

/// Every version of the layouts that the peer knows; how many there are.
fn every_version<M: Message, P: PeerMessage + Decodable + Encodable>(layouts: &[support::Layout]) -> usize {
    let mut random = support::Random(M::API_KEY as u64);
    let mut count = 0;
    for layout in layouts.iter().filter(|layout| layout.name == M::NAME) {
        for version in layout.versions.0..=layout.versions.1 {
            if !(P::VERSIONS.min..=P::VERSIONS.max).contains(&version) {
                continue;
            }
            for _ in 0..ROUNDS {
                let bytes = Bytes::from(support::random_message(&layout.body, &mut random));
                let message = M::from_bytes(&bytes, version).expect("a message of this layout");
                round_trip::<M, P>(&message, version);
            }
            count += 1;
        }
    }
    count
}

macro_rules! versions {
    ($layouts:expr; $($message:ident)*) => {
        [$((stringify!($message), every_version::<$message, peer::$message>($layouts))),*]
    };
}

#[test]
fn every_message_in_every_version_that_both_know() {
    let layouts = support::layouts();
    let versions = versions! { &layouts;
        ApiVersionsRequest ApiVersionsResponse VoteRequest VoteResponse BeginQuorumEpochRequest
        BeginQuorumEpochResponse EndQuorumEpochRequest EndQuorumEpochResponse FetchRequest FetchResponse
        FetchSnapshotRequest FetchSnapshotResponse DescribeQuorumRequest DescribeQuorumResponse
        DescribeClusterRequest DescribeClusterResponse AddRaftVoterRequest AddRaftVoterResponse
        RemoveRaftVoterRequest RemoveRaftVoterResponse UpdateRaftVoterRequest UpdateRaftVoterResponse
        ControllerRegistrationRequest ControllerRegistrationResponse SaslHandshakeRequest SaslHandshakeResponse
        SaslAuthenticateRequest SaslAuthenticateResponse UpdateFeaturesRequest UpdateFeaturesResponse
        MetadataRequest MetadataResponse
    };
    for (name, count) in versions {
        assert!(count > 0, "{name}");
    }
    let all: usize = versions.iter().map(|(_, count)| count).sum();
    assert_eq!(all, VERSIONS);
}

#[test]
fn headers() {
    for client_id in [None, Some(""), Some("kraft")] {
        let header = RequestHeader {
            request_api_key: 52,
            request_api_version: 2,
            correlation_id: 7,
            client_id: client_id.map(String::from),
            ..Default::default()
        };
        for version in 1..=2 {
            round_trip::<_, peer::RequestHeader>(&header, version);
        }
    }
    let header = ResponseHeader {
        correlation_id: 7,
        ..Default::default()
    };
    for version in 0..=1 {
        round_trip::<_, peer::ResponseHeader>(&header, version);
    }
}

#[test]
fn control_records() {
    let voter = |voter_id, directory: u128| LeaderChangeVoter {
        voter_id,
        voter_directory_id: Uuid::from_u128(directory),
        ..Default::default()
    };
    for version in 0..=1 {
        let directory = |id| if version == 0 { 0 } else { id };
        let message = LeaderChangeMessage {
            version,
            leader_id: 1,
            voters: vec![voter(1, directory(7)), voter(2, directory(8))],
            granting_voters: vec![voter(2, directory(8))],
            ..Field::schema_default()
        };
        round_trip::<_, peer::LeaderChangeMessage>(&message, version);
    }
    let header = SnapshotHeaderRecord {
        last_contained_log_timestamp: 99,
        ..Default::default()
    };
    round_trip::<_, peer::SnapshotHeaderRecord>(&header, 0);
    round_trip::<_, peer::SnapshotFooterRecord>(&SnapshotFooterRecord::default(), 0);
    let record = KRaftVersionRecord {
        kraft_version: 1,
        ..Default::default()
    };
    round_trip::<_, peer::KRaftVersionRecord>(&record, 0);
    let voters = VotersRecord {
        voters: vec![VotersRecordVoter {
            voter_id: 1,
            voter_directory_id: Uuid::from_u128(7),
            endpoints: vec![VotersRecordEndpoint {
                name: "CONTROLLER".into(),
                host: "localhost".into(),
                port: 9093,
                ..Default::default()
            }],
            kraft_version_feature: VotersRecordKRaftVersionFeature {
                min_supported_version: 0,
                max_supported_version: 1,
                ..Default::default()
            },
            ..Default::default()
        }],
        ..Default::default()
    };
    round_trip::<_, peer::VotersRecord>(&voters, 0);
}

/// Of our 18 messages and their answers without those that the peer does not know: UnregisterController,
/// MetadataFetch, and what Kafka got after 4.1.
const VERSIONS: usize = 122;
