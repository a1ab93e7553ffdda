//! Frames as a peer and a listener handle them.

use bytes::Bytes;
use kraft_wire::frame::{
    FrameError, decode_api_versions_response, decode_request_header, decode_response, encode_request,
    encode_response, encode_response_parts,
};
use kraft_wire::message::{
    ApiVersionsRequest, ApiVersionsResponse, ApiVersionsResponseApiVersion, BeginQuorumEpochRequest,
    FetchRequest, FetchResponse, FetchResponsePartition, FetchResponseTopic, MetadataRequest,
    SaslHandshakeRequest,
};
use kraft_wire::{ApiKey, DecodeErrorKind, EncodeError, ErrorCode, Message};

#[test]
fn headers_follow_api_and_version() {
    let header_versions = |api: ApiKey, version| {
        (
            api.request_header_version(version),
            api.response_header_version(version),
        )
    };
    assert_eq!(header_versions(ApiKey::Fetch, 11), (1, 0));
    assert_eq!(header_versions(ApiKey::Fetch, 12), (2, 1));
    assert_eq!(header_versions(ApiKey::BeginQuorumEpoch, 0), (1, 0));
    assert_eq!(header_versions(ApiKey::BeginQuorumEpoch, 1), (2, 1));
    assert_eq!(header_versions(ApiKey::ApiVersions, 2), (1, 0));
    assert_eq!(header_versions(ApiKey::ApiVersions, 5), (2, 0));
    assert_eq!(header_versions(ApiKey::SaslHandshake, 1), (1, 0));
    assert_eq!(header_versions(ApiKey::ApiVersions, 99), (2, 0));
    assert_eq!(header_versions(ApiKey::ApiVersions, -1), (1, 0));
}

#[test]
fn a_request_says_who_sent_it() {
    let frame =
        encode_request(&BeginQuorumEpochRequest::default(), 1, 3, Some("raft-client-2")).expect("valid");
    let (api, header, body) = decode_request_header(frame).expect("a request");
    assert_eq!((api, header.request_api_version), (ApiKey::BeginQuorumEpoch, 1));
    assert_eq!(
        (header.correlation_id, header.client_id.as_deref()),
        (3, Some("raft-client-2"))
    );
    assert_eq!(
        body.remaining(),
        BeginQuorumEpochRequest::default().encoded_size(1).expect("valid")
    );

    let frame = encode_request(&SaslHandshakeRequest::default(), 1, i32::MAX, None).expect("valid");
    let (_, header, _) = decode_request_header(frame).expect("a request");
    assert_eq!(header.client_id, None);

    let error = encode_request(&FetchRequest::default(), 19, 0, None).expect_err("no such version");
    assert_eq!(
        error,
        EncodeError::UnsupportedVersion {
            message: "FetchRequest",
            version: 19
        }
    );
}

#[test]
fn metadata_is_read_and_not_listed() {
    // Every topic, which may be created, as a client asks for them; recorded before the connection was closed.
    let frame = b"\0\x03\0\x0c\0\0\0\x03\0\x05kwire\0\0\x01\0\0";
    let (api, header, body) = decode_request_header(Bytes::from_static(frame)).expect("a request");
    assert_eq!((api, header.request_api_version), (ApiKey::Metadata, 12));
    let request = MetadataRequest {
        topics: None,
        ..MetadataRequest::default()
    };
    assert_eq!(MetadataRequest::from_bytes(&body.rest(), 12), Ok(request.clone()));
    assert_eq!(
        encode_request(&request, 12, 3, Some("kwire")),
        Ok(Bytes::from_static(frame))
    );
    let unlisted = ApiKey::ALL.iter().filter(|api| !api.is_listed());
    assert!(unlisted.eq(&[ApiKey::Metadata, ApiKey::MetadataFetch]));
}

#[test]
fn what_is_no_request() {
    let error =
        |bytes: &'static [u8]| decode_request_header(Bytes::from_static(bytes)).expect_err("no request");
    assert_eq!(
        error(&[0, 2, 0, 0, 0, 0, 0, 1, 0xff, 0xff]),
        FrameError::UnknownApi { api_key: 2 }
    );
    assert!(matches!(error(&[]), FrameError::Header(_)));
    assert!(matches!(error(&[0, 1, 0, 11, 0, 0]), FrameError::Header(error) if error.position == 4));
}

#[test]
fn an_answer_belongs_to_its_request() {
    let frame = encode_response(&FetchResponse::default(), 18, 8).expect("valid");
    assert_eq!(
        decode_response::<FetchRequest>(frame.clone(), 18, 8),
        Ok(FetchResponse::default())
    );
    let error = decode_response::<FetchRequest>(frame.clone(), 18, 7).expect_err("another request");
    assert_eq!(
        error,
        FrameError::Correlation {
            expected: 7,
            found: 8
        }
    );
    let cut = decode_response::<FetchRequest>(frame.slice(..8), 18, 8).expect_err("cut");
    let kind = DecodeErrorKind::UnexpectedEnd {
        needed: 4,
        remaining: 3,
    };
    assert!(
        matches!(cut, FrameError::Body(error) if error.kind == kind && error.position == 5),
        "{cut:?}"
    );
}

#[test]
fn large_records_are_passed_on_and_not_copied() {
    let records = Bytes::from(vec![7; 100_000]);
    let partition = FetchResponsePartition {
        records: Some(records.clone()),
        ..FetchResponsePartition::default()
    };
    let topic = FetchResponseTopic {
        partitions: vec![partition],
        ..FetchResponseTopic::default()
    };
    let response = FetchResponse {
        responses: vec![topic],
        ..FetchResponse::default()
    };
    let parts = encode_response_parts(&response, 17, 4).expect("valid");
    assert_eq!(parts.len(), 3);
    assert_eq!(parts[1].as_ptr(), records.as_ptr());
    assert_eq!(parts.concat(), encode_response(&response, 17, 4).expect("valid"));
}

#[test]
fn a_peer_that_does_not_know_the_version_of_api_versions() {
    let range = ApiVersionsResponseApiVersion {
        api_key: 18,
        max_version: 3,
        ..Default::default()
    };
    let response = ApiVersionsResponse {
        error_code: ErrorCode::UnsupportedVersion.code(),
        api_keys: vec![range],
        ..ApiVersionsResponse::default()
    };
    let frame = encode_response(&response, 0, 1).expect("valid");
    assert_eq!(
        decode_api_versions_response(frame.clone(), 5, 1),
        Ok(response.clone())
    );
    assert!(decode_response::<ApiVersionsRequest>(frame, 5, 1).is_err());
    // Any other answer has to be in the version that was asked for.
    let other = ApiVersionsResponse {
        error_code: 42,
        ..response
    };
    let frame = encode_response(&other, 0, 1).expect("valid");
    assert!(matches!(
        decode_api_versions_response(frame, 5, 1),
        Err(FrameError::Body(_))
    ));
}
