//! An independent codec agrees with ours about every recorded message, in every version that both have.

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages as theirs;
use kafka_protocol::protocol::{Decodable, Encodable};
use kraft_bench::{decode, exchanges};
use kraft_wire::{ApiKey, Message, message as ours};

/// How many encodings were compared.
#[derive(Default)]
struct Compared(usize);

impl Compared {
    fn message<O, T>(&mut self, id: &str, body: &Bytes, version: i16)
    where
        O: Message,
        T: kafka_protocol::protocol::Message + Decodable + Encodable,
    {
        let Some(message) = decode::<O>(body, version) else {
            panic!("{id}: not readable")
        };
        let lowest = O::VERSION_MIN.max(T::VERSIONS.min);
        let highest = O::VERSION_MAX.min(T::VERSIONS.max);
        for version in lowest..=highest {
            // A field that a version lacks and that must not be lost: no encoding to compare.
            let Ok(written) = message.to_bytes(version) else {
                continue;
            };
            let mut rest = written.clone();
            let read = T::decode(&mut rest, version);
            let read = read.unwrap_or_else(|error| panic!("{id} v{version}: they cannot read ours: {error}"));
            assert!(
                rest.is_empty(),
                "{id} v{version}: they leave {} bytes",
                rest.len()
            );
            let mut again = BytesMut::new();
            read.encode(&mut again, version)
                .unwrap_or_else(|error| panic!("{id} v{version}: {error}"));
            assert_eq!(again.freeze(), written, "{id} v{version}");
            self.0 += 1;
        }
    }
}

macro_rules! compare {
    ($compared:ident, $exchange:ident, { $($api:ident => $request:ident, $response:ident;)* }) => {
        match $exchange.api {
            $(ApiKey::$api => {
                let (id, version) = ($exchange.id.as_str(), $exchange.version);
                $compared.message::<ours::$request, theirs::$request>(id, &$exchange.request, version);
                $compared.message::<ours::$response, theirs::$response>(id, &$exchange.response, version);
            })*
            _ => {}
        }
    };
}

#[test]
fn an_independent_codec_agrees() {
    let mut compared = Compared::default();
    for exchange in exchanges().expect("the recordings are there") {
        compare!(compared, exchange, {
            Vote => VoteRequest, VoteResponse;
            BeginQuorumEpoch => BeginQuorumEpochRequest, BeginQuorumEpochResponse;
            EndQuorumEpoch => EndQuorumEpochRequest, EndQuorumEpochResponse;
            FetchSnapshot => FetchSnapshotRequest, FetchSnapshotResponse;
            DescribeQuorum => DescribeQuorumRequest, DescribeQuorumResponse;
            DescribeCluster => DescribeClusterRequest, DescribeClusterResponse;
            ControllerRegistration => ControllerRegistrationRequest, ControllerRegistrationResponse;
            UpdateRaftVoter => UpdateRaftVoterRequest, UpdateRaftVoterResponse;
            RemoveRaftVoter => RemoveRaftVoterRequest, RemoveRaftVoterResponse;
        });
    }
    assert!(compared.0 > 200, "only {} encodings were compared", compared.0);
    println!("{} encodings compared", compared.0);
}
