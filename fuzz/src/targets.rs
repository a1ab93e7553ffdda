//! One target for each kind of bytes that comes from outside.

use std::fmt::Debug;
use std::path::Path;

use bytes::Bytes;
use kraft_core::{Epoch, SnapshotId};
use kraft_fs::{File, FileSystem, MemFs, Open};
use kraft_log::meta_properties::MetaProperties;
use kraft_log::{epoch_checkpoint, partition_metadata, quorum_state};
use kraft_snapshot::SnapshotReader;
use kraft_wire::batch::Batches;
use kraft_wire::control::{ControlRecord, control_records};
use kraft_wire::frame::{decode_request_header, decode_response_header};
use kraft_wire::metadata_frame::MetadataFrame;
use kraft_wire::{AnyDecoded, AnyMessage, ApiKey, Reader};

/// A decoder and what it has to keep.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, which is that of its corpus.
    pub name: &'static str,
    /// Panics where the decoder does, or where it does not keep what it has to.
    pub check: fn(&[u8]),
    /// Whether the input is made of batches, whose checksums hide all that lies behind them.
    pub has_checksums: bool,
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target::new("request", request),
    Target::new("response", response),
    Target::new("batches", batches).with_checksums(),
    Target::new("control", control),
    Target::new("metadata", metadata),
    Target::new("snapshot", snapshot).with_checksums(),
    Target::new("quorum_state", |input| {
        again(input, quorum_state::parse, quorum_state::format);
    }),
    Target::new("meta_properties", |input| {
        again(input, MetaProperties::parse, |properties| properties.format(0));
    }),
    Target::new("epoch_checkpoint", |input| {
        again(input, epoch_checkpoint::parse, |entries| {
            epoch_checkpoint::format(entries)
        });
    }),
    Target::new("partition_metadata", |input| {
        again(input, partition_metadata::parse, partition_metadata::format);
    }),
];

impl Target {
    const fn new(name: &'static str, check: fn(&[u8])) -> Self {
        Self {
            name,
            check,
            has_checksums: false,
        }
    }

    const fn with_checksums(mut self) -> Self {
        self.has_checksums = true;
        self
    }
}

/// A whole request frame, as a listener gets it.
fn request(input: &[u8]) {
    let Ok((api, header, mut reader)) = decode_request_header(Bytes::copy_from_slice(input)) else {
        return;
    };
    let version = header.request_api_version;
    let decode = |reader: &mut Reader| api.decode_request(reader, version);
    check_again(decode(&mut reader), version, decode);
}

/// API and version, which the asking side knows, and the frame of the answer.
fn response(input: &[u8]) {
    let [a, b, c, d, frame @ ..] = input else { return };
    let Some(api) = ApiKey::from_key(i16::from_be_bytes([*a, *b])) else {
        return;
    };
    let version = i16::from_be_bytes([*c, *d]);
    let frame = Bytes::copy_from_slice(frame);
    let Ok((_, mut reader)) = decode_response_header(frame, api, version) else {
        return;
    };
    let decode = |reader: &mut Reader| api.decode_response(reader, version);
    check_again(decode(&mut reader), version, decode);
}

/// Record batches, as a fetch or a file gives them.
fn batches(input: &[u8]) {
    for batch in Batches::new(Bytes::copy_from_slice(input)).map_while(Result::ok) {
        let is_valid = batch.validate().is_ok();
        let read = batch.records().filter(Result::is_ok).count();
        if is_valid {
            assert_eq!(
                read,
                usize::try_from(batch.record_count()).expect("a valid count")
            );
            assert!(batch.last_offset().checked_add(1).is_some());
        }
        if batch.is_control() {
            // An error is an answer, too.
            control_records(&batch).ok();
        }
        for record in batch.records().map_while(Result::ok) {
            if let Some(value) = &record.value {
                MetadataFrame::parse(value).ok();
            }
        }
    }
}

/// Key and value of a control record.
fn control(input: &[u8]) {
    let (key, value) = input.split_at(input.len().min(4));
    let (key, value) = (Bytes::copy_from_slice(key), Bytes::copy_from_slice(value));
    let Ok(record) = ControlRecord::decode(&key, &value) else {
        return;
    };
    let key = Bytes::copy_from_slice(&record.key());
    let value = record.value().expect("what was read can be written");
    let again = ControlRecord::decode(&key, &value).expect("what was written can be read");
    assert_eq!(again.value().as_ref(), Ok(&value));
}

/// The value of a data record.
fn metadata(input: &[u8]) {
    let input = Bytes::copy_from_slice(input);
    if let Ok(frame) = MetadataFrame::parse(&input) {
        assert!(frame.body.len() < input.len());
    }
}

/// A whole snapshot file.
fn snapshot(input: &[u8]) {
    let (fs, path) = (MemFs::new(), Path::new("/d/snapshot"));
    fs.create_dir_all(Path::new("/d")).expect("memory");
    let file = fs.open(path, Open::CreateNew).expect("memory");
    file.write_all_at(input, 0).expect("memory");
    let id = SnapshotId {
        end_offset: 20,
        epoch: Epoch(1),
    };
    let Ok(Some(mut reader)) = SnapshotReader::open_file(&fs, path, id) else {
        return;
    };
    while let Ok(Some(batch)) = reader.next_batch() {
        batch.values().for_each(|value| metadata(&value));
    }
}

/// What was read is written, and reads as the same again.
fn again<T: Debug + PartialEq, E: Debug>(
    input: &[u8],
    parse: impl Fn(&[u8]) -> Result<T, E>,
    format: impl Fn(&T) -> Vec<u8>,
) {
    if let Ok(read) = parse(input) {
        assert_eq!(parse(&format(&read)).expect("what was written can be read"), read);
    }
}

/// What was decoded is encoded, and the encoded form is decoded to the same again.
fn check_again(
    decoded: Option<AnyDecoded>,
    version: i16,
    decode: impl Fn(&mut Reader) -> Option<AnyDecoded>,
) {
    let Some(Ok(message)) = decoded else { return };
    drop(message.to_json_value_any(version).to_string());
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
