//! The properties that every decoder has to keep under arbitrary bytes: it never panics, and what it accepts it can
//! write again.
#![forbid(unsafe_code)]

use bytes::Bytes;
use kraft_log::meta_properties::MetaProperties;
use kraft_log::{epoch_checkpoint, partition_metadata, quorum_state};
use kraft_wire::batch::Batches;
use kraft_wire::control::control_records;
use kraft_wire::metadata_frame::MetadataFrame;
use kraft_wire::{AnyDecoded, AnyMessage, ApiKey, Reader, frame};

/// A whole request frame, as a listener gets it.
pub fn request(input: &[u8]) {
    let Ok((api, header, mut reader)) = frame::decode_request_header(Bytes::copy_from_slice(input)) else {
        return;
    };
    let version = header.request_api_version;
    let decode = |reader: &mut Reader| api.decode_request(reader, version);
    check_again(decode(&mut reader), version, decode);
}

/// The body of an answer, whose API and version its reader knows.
pub fn response(input: &[u8]) {
    let [key, version, body @ ..] = input else { return };
    let Some(api) = ApiKey::from_key(i16::from(*key)) else {
        return;
    };
    let version = i16::from(*version);
    let decode = |reader: &mut Reader| api.decode_response(reader, version);
    check_again(
        decode(&mut Reader::new(Bytes::copy_from_slice(body))),
        version,
        decode,
    );
}

/// Record batches, as a fetch or a file gives them.
pub fn batches(input: &[u8]) {
    for batch in Batches::new(Bytes::copy_from_slice(input)).map_while(Result::ok) {
        let is_valid = batch.validate().is_ok();
        let read = batch.records().filter(Result::is_ok).count();
        assert!(!is_valid || read == usize::try_from(batch.record_count()).expect("a valid count"));
        if batch.is_control() {
            // An error is an answer, too.
            let _ = control_records(&batch);
        }
        for record in batch.records().map_while(Result::ok) {
            if let Some(value) = &record.value {
                let _ = MetadataFrame::parse(value);
            }
        }
    }
}

/// The small files of a log directory.
pub fn small_files(input: &[u8]) {
    if let Ok(state) = quorum_state::parse(input) {
        assert_eq!(
            quorum_state::parse(&quorum_state::format(&state)).expect("what was read can be written"),
            state
        );
    }
    if let Ok(entries) = epoch_checkpoint::parse(input) {
        let written = epoch_checkpoint::format(&entries);
        assert_eq!(
            epoch_checkpoint::parse(&written).expect("what was read can be written"),
            entries
        );
    }
    if let Ok(properties) = MetaProperties::parse(input) {
        let written = properties.format(0);
        assert_eq!(
            MetaProperties::parse(&written).expect("what was read can be written"),
            properties
        );
    }
    if let Ok(topic) = partition_metadata::parse(input) {
        let written = partition_metadata::format(&topic);
        assert_eq!(
            partition_metadata::parse(&written).expect("what was read can be written"),
            topic
        );
    }
}

/// What was decoded is encoded, and the encoded form is decoded to the same again.
fn check_again(
    decoded: Option<AnyDecoded>,
    version: i16,
    decode: impl Fn(&mut Reader) -> Option<AnyDecoded>,
) {
    let Some(Ok(message)) = decoded else { return };
    let written = encode(message.as_ref(), version);
    let again = decode(&mut Reader::new(written.clone())).expect("the same API");
    let again = again.expect("what was written can be read");
    assert_eq!(encode(again.as_ref(), version), written);
}

fn encode(message: &dyn AnyMessage, version: i16) -> Bytes {
    let mut written = Vec::new();
    message
        .encode_any(version, &mut written)
        .expect("what was read can be written");
    Bytes::from(written)
}
