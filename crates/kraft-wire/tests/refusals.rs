//! What a decoder refuses, with which reason and where, and what it takes because Kafka takes it.

use bytes::Bytes;
use kraft_wire::frame::{FrameError, decode_request_header};
use kraft_wire::message::{ApiVersionsRequest, FetchSnapshotResponse, VoteRequest, VoteResponse};
use kraft_wire::{ApiKey, DecodeError, DecodeErrorKind, ErrorCode, Message, Refusal};

/// The largest number that a length can be, as a varint.
const LARGEST: [u8; 5] = [0xff, 0xff, 0xff, 0xff, 0x07];

#[test]
fn the_announced_size_of_a_known_tag_is_not_looked_at() {
    // Throttle time, error, no topics, and one tag: NodeEndpoints, empty.
    let plain = [0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 1];
    let mut oversized = plain[..9].to_vec();
    oversized.extend(LARGEST);
    oversized.push(1);
    let read = |bytes: Vec<u8>| FetchSnapshotResponse::from_bytes(&Bytes::from(bytes), 1);
    let expected = read(plain.to_vec());
    assert!(expected.is_ok());
    assert_eq!(read(oversized), expected);
}

#[test]
fn the_announced_size_of_an_unknown_tag_is() {
    // No error, no topics, tag 9 with more bytes than there are.
    let mut bytes = vec![0, 0, 1, 1, 9];
    bytes.extend(LARGEST);
    let kind = DecodeErrorKind::LengthBeyondEnd {
        length: 0x7fff_ffff,
        remaining: 0,
    };
    assert_eq!(
        VoteResponse::from_bytes(&Bytes::from(bytes), 2),
        Err(DecodeError { kind, position: 5 })
    );
}

#[test]
fn more_tags_than_there_are_bytes_for() {
    // Two empty names, no cluster, no node, and a section of two fields in three bytes.
    let bytes = Bytes::from_static(&[1, 1, 0, 0, 0, 0, 0, 2, 7, 0, 8]);
    let kind = DecodeErrorKind::CountBeyondEnd {
        count: 2,
        remaining: 3,
    };
    assert_eq!(
        ApiVersionsRequest::from_bytes(&bytes, 5),
        Err(DecodeError { kind, position: 7 })
    );
}

#[test]
fn a_tag_of_another_version_is_refused_where_it_stands() {
    // In version 0 of the answer to Vote there is no NodeEndpoints.
    let bytes = Bytes::from_static(&[0, 0, 1, 1, 0, 1, 1]);
    let kind = DecodeErrorKind::TagNotInVersion { tag: 0, version: 0 };
    assert_eq!(
        VoteResponse::from_bytes(&bytes, 0),
        Err(DecodeError { kind, position: 4 })
    );
    assert!(VoteResponse::from_bytes(&bytes, 1).is_ok());
}

#[test]
fn unknown_tags_come_back_in_their_order_and_number() {
    // Tags 9, 3 and 9 again, of which one has no data.
    let bytes = Bytes::from_static(&[0, 0, 1, 3, 9, 1, 0xaa, 3, 0, 9, 2, 1, 2]);
    let read = VoteResponse::from_bytes(&bytes, 2).expect("no tag of its own");
    assert_eq!(read.unknown_tags.count(), 3);
    assert_eq!(read.to_bytes(2), Ok(bytes));
}

#[test]
fn a_known_tag_that_comes_twice_counts_the_second_time() {
    let twice = Bytes::from_static(&[0, 0, 1, 2, 0, 10, 2, 0, 0, 0, 7, 2, b'h', 0, 80, 0, 0, 1, 1]);
    let read = VoteResponse::from_bytes(&twice, 2).expect("Kafka reads it");
    assert_eq!(read.node_endpoints, []);
}

#[test]
fn lengths_are_refused_where_their_prefix_begins() {
    // A cluster id of 100 bytes in an otherwise empty request.
    let kind = DecodeErrorKind::LengthBeyondEnd {
        length: 100,
        remaining: 0,
    };
    assert_eq!(
        VoteRequest::from_bytes(&Bytes::from_static(&[101]), 2),
        Err(DecodeError { kind, position: 0 })
    );
    // Nested arrays that each announce all that is left.
    let nested = Bytes::from_static(&[0, 0, 0, 0, 1, 3, 1, 3, 0, 0, 0]);
    let error = VoteRequest::from_bytes(&nested, 2).expect_err("it ends");
    assert_eq!(
        error.kind,
        DecodeErrorKind::UnexpectedEnd {
            needed: 4,
            remaining: 3
        }
    );
    assert_eq!(error.position, 8);
}

#[test]
fn the_client_id_has_a_length_of_two_bytes_in_every_header() {
    let frame = |version: u8, client_id: &[u8]| {
        let mut frame = vec![0, 52, 0, version, 0, 0, 0, 9];
        frame.extend(client_id);
        decode_request_header(Bytes::from(frame))
    };
    let (_, header, body) = frame(2, &[0, 1, b'k', 0]).expect("a header");
    assert_eq!((header.client_id.as_deref(), body.remaining()), (Some("k"), 0));
    // Every negative length is null.
    for null in [[0xff, 0xff], [0xff, 0xfe], [0x80, 0]] {
        let (_, header, _) = frame(2, &[null[0], null[1], 0]).expect("a header");
        assert_eq!(header.client_id, None);
    }
    // Without the section of tags it is no header of this version.
    let kind = DecodeErrorKind::UnexpectedEnd {
        needed: 1,
        remaining: 0,
    };
    let error = frame(2, &[0, 1, b'k']).expect_err("no tags");
    assert_eq!(error, FrameError::Header(DecodeError { kind, position: 11 }));
}

#[test]
fn an_api_that_no_controller_has() {
    let frame = Bytes::from_static(&[0, 2, 0, 0, 0, 0, 0, 1, 0, 0]);
    let error = decode_request_header(frame).expect_err("not one of them");
    assert_eq!(error, FrameError::UnknownApi { api_key: 2 });
}

#[test]
fn of_all_that_cannot_be_read_only_an_unknown_version_of_api_versions_is_answered() {
    let answer = Refusal::Answer {
        code: ErrorCode::UnsupportedVersion,
        version: 0,
    };
    let kinds = [
        DecodeErrorKind::UnexpectedEnd {
            needed: 4,
            remaining: 3,
        },
        DecodeErrorKind::LengthBeyondEnd {
            length: 9,
            remaining: 3,
        },
        DecodeErrorKind::CountBeyondEnd {
            count: 9,
            remaining: 3,
        },
        DecodeErrorKind::VarintTooLong { max_bytes: 5 },
        DecodeErrorKind::StringTooLong { length: 40_000 },
        DecodeErrorKind::UnexpectedNull,
        DecodeErrorKind::BadPresence { marker: 2 },
        DecodeErrorKind::TagNotInVersion { tag: 0, version: 0 },
        DecodeErrorKind::UnsupportedVersion { version: 99 },
        DecodeErrorKind::OutOfProportion,
        DecodeErrorKind::TrailingBytes { remaining: 1 },
    ];
    for api in ApiKey::ALL {
        for kind in kinds {
            let is_answered = *api == ApiKey::ApiVersions && kind.name() == "UnsupportedVersion";
            let expected = if is_answered { answer } else { Refusal::Close };
            assert_eq!(Refusal::of(*api, kind), expected, "{api} {kind}");
        }
    }
}
