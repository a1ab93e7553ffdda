//! Record batches: the bytes of the format, those that Kafka wrote, and every way of being wrong.

use std::fs;
use std::path::Path;

use bytes::Bytes;
use kraft_wire::batch::{
    BatchBuilder, BatchError, BatchHeader, BatchView, Batches, Compression, HEADER_SIZE, RecordHeader, Split,
    crc32c, restamp, split_file, split_memory,
};
use kraft_wire::control::{
    ControlError, ControlRecord, KRaftVersionRecord, LeaderChangeMessage, LeaderChangeVoter,
    SnapshotFooterRecord, SnapshotHeaderRecord, VotersRecord, VotersRecordEndpoint,
    VotersRecordKRaftVersionFeature, VotersRecordVoter, control_batch, control_records,
};
use kraft_wire::metadata_frame::{MetadataFrame, MetadataFrameError, encode_metadata_record};
use kraft_wire::{DecodeError, DecodeErrorKind, Message, UnknownTags, uuid_text};
use serde_json::Value as Json;

const TIME: i64 = 1_760_000_000_000;

#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 20, versions = 0, flexible = 0)]
struct NoOpRecord {
    unknown_tags: UnknownTags,
}

#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 12, versions = 0, flexible = 0)]
struct FeatureLevelRecord {
    name: String,
    feature_level: i16,
    unknown_tags: UnknownTags,
}

mod worked_examples {
    //! The layouts of the format description, written out by hand.

    use super::*;

    #[test]
    fn one_data_record() {
        let batch = data_batch(&[no_op()], 100, 5);
        assert_eq!(
            batch,
            hex("00000000000000640000003c00000005
                 023938904a00000000000000000199c8
                 2cc000000001 99c82cc000ffffffffff
                 ffffffffffffffffff00000001140000
                 0001080114000000")
        );
        check(&batch, 100, 100);
    }

    #[test]
    fn two_data_records() {
        let batch = data_batch(&[no_op(), no_op()], 102, 6);
        assert_eq!(
            batch,
            hex("0000000000000066000000470000000602d002e45700000000000100000199c8
                 2cc00000000199c82cc000ffffffffffffffffffffffffffff00000002140000
                 000108011400000014000002010801140000 00")
        );
        check(&batch, 102, 103);
    }

    #[test]
    fn start_of_an_epoch() {
        let voters = |ids: &[i32]| {
            ids.iter()
                .map(|id| LeaderChangeVoter {
                    voter_id: *id,
                    ..LeaderChangeVoter::default()
                })
                .collect()
        };
        let change = LeaderChangeMessage {
            leader_id: 1,
            voters: voters(&[1, 2, 3]),
            granting_voters: voters(&[1, 3]),
            ..LeaderChangeMessage::default()
        };
        let batch = control_batch(&[ControlRecord::LeaderChange(change)], 101, 6, TIME).expect("valid");
        assert_eq!(
            batch,
            hex("00000000000000650000005e0000000602a87f2eb1002000000000 00000199c8
                 2cc00000000199c82cc000ffffffffffffffffffffffffffff00000001580000
                 00080000000244000000000001040000000100000000020000000003000300000
                 00100000000030000 00")
        );
        check(&batch, 101, 101);
    }

    #[test]
    fn first_batch_of_a_dynamic_quorum() {
        let voter = || {
            vec![LeaderChangeVoter {
                voter_id: 1,
                ..LeaderChangeVoter::default()
            }]
        };
        let change = LeaderChangeMessage {
            leader_id: 1,
            voters: voter(),
            granting_voters: voter(),
            ..LeaderChangeMessage::default()
        };
        let records = [ControlRecord::LeaderChange(change), level_one(), voters()];
        let batch = control_batch(&records, 0, 1, TIME).expect("valid");
        assert_eq!(
            batch,
            hex("0000000000000000000000a200000001023e0f38f000200000000200000199c8
                 2cc00000000199c82cc000ffffffffffffffffffffffffffff000000033a0000
                 0008000000022600000000000102000000010002000000010000001e00000208
                 000000050a00000001000082010000040800000006 6e00000200000001 27c680
                 3dc7cb42dd9baacd494ffacc81020b434f4e54524f4c4c45520a6c6f63616c68
                 6f73742385000000000100000000")
        );
        check(&batch, 0, 2);
    }

    #[test]
    fn a_zero_checkpoint() {
        let header = SnapshotHeaderRecord {
            last_contained_log_timestamp: TIME,
            ..SnapshotHeaderRecord::default()
        };
        let header = control_batch(
            &[ControlRecord::SnapshotHeader(header), level_one(), voters()],
            0,
            0,
            TIME,
        );
        let footer = [ControlRecord::SnapshotFooter(SnapshotFooterRecord::default())];
        let footer = control_batch(&footer, 4, 0, TIME).expect("valid");
        let level = FeatureLevelRecord {
            name: String::from("metadata.version"),
            feature_level: 34,
            ..FeatureLevelRecord::default()
        };
        let level = encode_metadata_record(&level, 0).expect("valid");
        let checkpoint = [header.expect("valid"), data_batch(&[level], 3, 0), footer].concat();
        assert_eq!(
            checkpoint,
            hex("00000000000000000000009a00000000020a3ef8f000200000000200000199c8
                 2cc00000000199c82cc000ffffffffffffffffffffffffffff000000032a0000
                 00080000000316000000000199c82cc00000001e00000208000000050a000000
                 01000082010000040800000006 6e0000020000000127c6803dc7cb42dd9baacd
                 494ffacc81020b434f4e54524f4c4c45520a6c6f63616c686f73742385000000
                 000100000000
                 00000000000000030000004f000000000245af0f6c00000000000000000199c8
                 2cc00000000199c82cc000ffffffffffffffffffffffffffff000000013a0000
                 00012e010c00116d657461646174612e76657273696f6e00220000
                 00000000000000040000003f0000000002ca022e3900200000000000000199c8
                 2cc00000000199c82cc000ffffffffffffffffffffffffffff000000011a0000
                 0008000000040600000000")
        );
        let batches = Batches::collect_all(checkpoint.into()).expect("valid");
        assert_eq!(
            batches.iter().map(BatchView::size).collect::<Vec<_>>(),
            [166, 91, 75]
        );
    }

    #[test]
    fn a_batch_that_a_jvm_wrote() {
        let level = FeatureLevelRecord {
            name: String::from("metadata.version"),
            feature_level: 20,
            ..FeatureLevelRecord::default()
        };
        let mut builder = BatchBuilder::data(0x0191_e05a_f818);
        builder
            .push(&encode_metadata_record(&level, 0).expect("valid"))
            .expect("small");
        assert_eq!(
            builder.build(1, 1),
            hex("00000000000000010000004f0000000102b069457c00000000000000000191e0
                 5af818 00000191e05af818ffffffffffffffffffffffffffff000000013a0000
                 00012e010c00116d657461646174612e76657273696f6e00140000")
        );
    }

    fn check(batch: &Bytes, base: i64, last: i64) {
        let view = BatchView::parse(batch.clone()).expect("a batch");
        view.validate().expect("valid");
        assert_eq!((view.base_offset(), view.last_offset()), (base, last));
        let offsets: Vec<_> = view
            .records()
            .map(|record| record.expect("valid").offset)
            .collect();
        assert_eq!(offsets, (base..=last).collect::<Vec<_>>());
    }

    fn level_one() -> ControlRecord {
        ControlRecord::KRaftVersion(KRaftVersionRecord {
            kraft_version: 1,
            ..KRaftVersionRecord::default()
        })
    }

    fn voters() -> ControlRecord {
        let endpoint = VotersRecordEndpoint {
            name: String::from("CONTROLLER"),
            host: String::from("localhost"),
            port: 9093,
            ..VotersRecordEndpoint::default()
        };
        let voter = VotersRecordVoter {
            voter_id: 1,
            voter_directory_id: uuid_text::parse("J8aAPcfLQt2bqs1JT_rMgQ").expect("an id"),
            endpoints: vec![endpoint],
            kraft_version_feature: VotersRecordKRaftVersionFeature {
                max_supported_version: 1,
                ..VotersRecordKRaftVersionFeature::default()
            },
            ..VotersRecordVoter::default()
        };
        ControlRecord::KRaftVoters(VotersRecord {
            voters: vec![voter],
            ..VotersRecord::default()
        })
    }
}

#[test]
fn batches_of_real_directories_come_back_byte_for_byte() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/batches.jsonl");
    let text = fs::read_to_string(file).expect("vectors");
    let mut batches = 0;
    for line in text.lines() {
        let line: Json = serde_json::from_str(line).expect("json");
        let source = &line["source"];
        let bytes = hex(line["hex"].as_str().expect("hex"));
        let view = BatchView::parse(bytes.clone()).unwrap_or_else(|error| panic!("{source}: {error}"));
        view.validate()
            .unwrap_or_else(|error| panic!("{source}: {error}"));
        assert_eq!(view.base_offset(), line["base"], "{source}");
        assert_eq!(view.last_offset(), line["last"], "{source}");
        assert_eq!(view.leader_epoch(), line["epoch"], "{source}");
        assert_eq!(view.record_count(), line["count"], "{source}");
        assert_eq!(view.is_control(), line["control"], "{source}");
        assert_eq!(view.header().max_timestamp, line["timestamp"], "{source}");
        assert_eq!(format!("{:08x}", view.header().crc), line["crc"], "{source}");
        let again = if view.is_control() {
            let records: Vec<_> = control_records(&view)
                .expect("valid")
                .into_iter()
                .map(|entry| entry.1)
                .collect();
            let names: Vec<_> = records.iter().map(ControlRecord::type_name).collect();
            let expected: Vec<_> = line["records"]
                .as_array()
                .expect("records")
                .iter()
                .map(|record| &record["type"])
                .collect();
            assert_eq!(names, expected, "{source}");
            control_batch(
                &records,
                view.base_offset(),
                view.leader_epoch(),
                view.header().base_timestamp,
            )
            .expect("valid")
        } else {
            let values: Vec<_> = view
                .records()
                .map(|record| record.expect("valid").value.expect("a value"))
                .collect();
            let mut builder = BatchBuilder::data(view.header().base_timestamp);
            for value in &values {
                assert_eq!(builder.size_with(value.len()), {
                    builder.push(value).expect("small");
                    builder.size()
                });
            }
            builder.build(view.base_offset(), view.leader_epoch())
        };
        assert_eq!(again, bytes, "{source}");
        batches += 1;
    }
    assert_eq!(batches, 143);
}

#[test]
fn a_batch_that_is_cut_off_is_the_end() {
    let whole = [data_batch(&[no_op()], 0, 1), data_batch(&[no_op()], 1, 1)].concat();
    for length in 0..whole.len() {
        let mut batches = Batches::new(Bytes::copy_from_slice(&whole[..length]));
        let count = batches.by_ref().filter(Result::is_ok).count();
        assert_eq!(count, length / 72, "cut at {length}");
        assert_eq!(batches.position(), count * 72);
    }
}

#[test]
fn the_two_splitters_have_their_own_rules() {
    let mut batch = data_batch(&[no_op()], 0, 1).to_vec();
    assert_eq!(split_memory(&batch), Ok(Split::Batch { size: 72 }));
    assert_eq!(split_file(&batch, 72), Ok(Split::Batch { size: 72 }));
    assert_eq!(split_file(&batch, 71), Ok(Split::End));
    assert_eq!(split_file(&batch[..17], 17), Ok(Split::End));

    batch[16] = 3;
    assert_eq!(split_memory(&batch), Err(BatchError::UnknownMagic { magic: 3 }));
    assert_eq!(split_file(&batch, 72), Ok(Split::Batch { size: 72 }));
    batch[11] = 13;
    assert_eq!(
        split_memory(&batch[..12]),
        Err(BatchError::LengthTooSmall { length: 13 })
    );
    assert_eq!(
        split_file(&batch, 72),
        Err(BatchError::LengthTooSmall { length: 13 })
    );
    assert_eq!(split_file(&[0; 17], 17), Ok(Split::End));
    assert_eq!(
        split_memory(&[0; 17]),
        Err(BatchError::LengthTooSmall { length: 0 })
    );
}

#[test]
fn an_error_ends_the_iteration_where_it_stands() {
    let good = data_batch(&[no_op()], 0, 1);
    let mut batches = Batches::new([&good[..], &[0; 40]].concat().into());
    assert!(batches.next().expect("first").is_ok());
    assert_eq!(
        batches.next(),
        Some(Err(BatchError::LengthTooSmall { length: 0 }))
    );
    assert_eq!(batches.next(), None);
    assert_eq!(batches.position(), 72);
}

#[test]
fn each_way_of_being_wrong_has_its_reason() {
    let sealed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut batch = data_batch(&[no_op(), no_op()], 7, 1).to_vec();
        change(&mut batch);
        reseal(&mut batch);
        BatchView::parse(batch.into())
            .expect("a batch")
            .validate()
            .expect_err("wrong")
    };
    let set = |at: usize, value: u8| move |batch: &mut Vec<u8>| batch[at] = value;
    // The first record starts at 61: length, attributes, timestamp, offset, key, value length, value, headers.
    assert_eq!(
        sealed(&set(22, 4)),
        BatchError::Compressed {
            codec: Compression::Zstd
        }
    );
    assert_eq!(
        sealed(&set(22, 7)),
        BatchError::Compressed {
            codec: Compression::Unknown(7)
        }
    );
    assert_eq!(sealed(&set(60, 0)), BatchError::RecordCount { count: 0 });
    assert_eq!(
        sealed(&set(57, 0x80)),
        BatchError::RecordCount { count: i32::MIN + 2 }
    );
    assert_eq!(
        sealed(&set(26, 9)),
        BatchError::LastOffsetDelta { delta: 9, count: 2 }
    );
    assert_eq!(
        sealed(&set(0, 0x80)),
        BatchError::Offsets {
            base_offset: i64::MIN + 7,
            count: 2
        }
    );
    let end = |batch: &mut Vec<u8>| batch[..8].copy_from_slice(&(i64::MAX - 1).to_be_bytes());
    assert_eq!(
        sealed(&end),
        BatchError::Offsets {
            base_offset: i64::MAX - 1,
            count: 2
        }
    );
    assert_eq!(
        sealed(&set(61, 0)),
        BatchError::RecordLength { index: 0, length: 0 }
    );
    assert_eq!(
        sealed(&set(61, 1)),
        BatchError::RecordLength { index: 0, length: -1 }
    );
    assert_eq!(
        sealed(&set(72, 0x7e)),
        BatchError::RecordLength { index: 1, length: 63 }
    );
    assert_eq!(
        sealed(&set(63, 2)),
        BatchError::TimestampDelta { index: 0, delta: 1 }
    );
    assert_eq!(
        sealed(&set(75, 4)),
        BatchError::OffsetDelta { index: 1, delta: 2 }
    );
    assert_eq!(sealed(&set(65, 0)), BatchError::KeyPresent { index: 0 });
    // One byte less of value: its last byte, 0, is taken for the number of headers.
    assert_eq!(
        sealed(&set(66, 6)),
        BatchError::RecordRest {
            index: 0,
            remaining: 1
        }
    );
    let error = DecodeError {
        kind: DecodeErrorKind::LengthBeyondEnd {
            length: 6,
            remaining: 5,
        },
        position: 67,
    };
    assert_eq!(sealed(&set(66, 12)), BatchError::Record { index: 0, error });
    assert_eq!(
        sealed(&|batch| batch.push(0)),
        BatchError::TrailingBytes { remaining: 1 }
    );
    assert_eq!(sealed(&set(22, 0x20)), BatchError::KeyMissing { index: 0 });

    let batch = data_batch(&[no_op()], 7, 1);
    let mut flipped = batch.to_vec();
    flipped[70] ^= 1;
    let view = BatchView::parse(flipped.into()).expect("a batch");
    assert!(!view.crc_is_valid());
    assert!(matches!(view.validate(), Err(BatchError::Crc { stored, .. }) if stored == view.header().crc));
    let with = |key: Option<&[u8]>, value: Option<&[u8]>, headers: &[RecordHeader]| {
        let mut builder = BatchBuilder::data(TIME);
        builder.push_record(key, value, 0, headers).expect("small");
        BatchView::parse(builder.build(0, 0)).expect("a batch").validate()
    };
    assert_eq!(with(None, None, &[]), Err(BatchError::ValueMissing { index: 0 }));
    assert_eq!(
        with(None, Some(b""), &[]),
        Err(BatchError::ValueMissing { index: 0 })
    );
    let header = RecordHeader {
        key: Bytes::from_static(b"k"),
        value: None,
    };
    assert_eq!(
        with(None, Some(b"v"), &[header]),
        Err(BatchError::Headers { index: 0, count: 1 })
    );

    let whole = |bytes: &[u8]| BatchView::parse(Bytes::copy_from_slice(bytes)).expect_err("no batch");
    assert_eq!(
        whole(&batch[..71]),
        BatchError::NotOneBatch {
            size: 72,
            available: 71
        }
    );
    let mut legacy = batch.to_vec();
    legacy[16] = 1;
    assert_eq!(whole(&legacy), BatchError::LegacyMagic { magic: 1 });
    let mut short = batch[..60].to_vec();
    short[11] = 48;
    assert_eq!(whole(&short), BatchError::TooShort { size: 60 });
}

#[test]
fn control_records_that_have_no_place_in_a_metadata_log() {
    let batch = |key: &[u8], value: &[u8]| {
        let mut builder = BatchBuilder::control(TIME);
        builder
            .push_record(Some(key), Some(value), 0, &[])
            .expect("small");
        control_records(&BatchView::parse(builder.build(0, 0)).expect("a batch")).map(|records| records.len())
    };
    assert_eq!(batch(&[0, 0, 0, 4], &[0, 0, 0]), Ok(1));
    assert_eq!(
        batch(&[0, 7, 0, 4], &[0, 0, 0]),
        Ok(1),
        "a newer key is read as version 0"
    );
    assert_eq!(
        batch(&[0, 0, 0, 1], &[0]),
        Err(ControlError::UnknownType { control_type: 1 })
    );
    assert_eq!(
        batch(&[0, 0, 0, 7], &[0]),
        Err(ControlError::UnknownType { control_type: 7 })
    );
    assert_eq!(
        batch(&[0xff, 0xff, 0, 4], &[0]),
        Err(ControlError::KeyVersion { version: -1 })
    );
    assert!(matches!(batch(&[0, 0, 0], &[0]), Err(ControlError::Key(_))));
    assert!(matches!(
        batch(&[0, 0, 0, 5], &[0, 0]),
        Err(ControlError::Value { control_type: 5, .. })
    ));
}

#[test]
fn a_batch_moves_without_a_new_checksum() {
    let mut batch = data_batch(&[no_op()], 0, 0).to_vec();
    restamp(&mut batch, 100, 5);
    assert_eq!(batch, data_batch(&[no_op()], 100, 5));
}

#[test]
fn headers_and_keys_are_read_where_they_are() {
    let headers = [
        RecordHeader {
            key: Bytes::from_static(b"a"),
            value: Some(Bytes::from_static(b"1")),
        },
        RecordHeader {
            key: Bytes::from_static(b""),
            value: None,
        },
    ];
    let mut builder = BatchBuilder::data(TIME);
    builder
        .push_record(Some(b"key"), None, 3, &headers)
        .expect("small");
    let batch = BatchView::parse(builder.build(9, 1)).expect("a batch");
    assert_eq!(batch.header().max_timestamp, TIME + 3);
    let record = batch.records().next().expect("one").expect("readable");
    assert_eq!((record.offset, record.timestamp), (9, TIME + 3));
    assert_eq!((record.key.as_deref(), record.value), (Some(&b"key"[..]), None));
    assert_eq!(record.headers, headers);
}

#[test]
fn the_frame_of_a_metadata_record() {
    assert_eq!(no_op(), Bytes::from_static(&[1, 20, 0, 0]));
    let frame = MetadataFrame::parse(&no_op()).expect("a frame");
    assert_eq!((frame.api_key, frame.version), (20, 0));
    assert_eq!(frame.decode(), Ok(NoOpRecord::default()));

    let parse =
        |bytes: &'static [u8]| MetadataFrame::parse(&Bytes::from_static(bytes)).expect_err("no frame");
    assert_eq!(
        parse(&[0, 20, 0, 0]),
        MetadataFrameError::FrameVersion { version: 0 }
    );
    assert_eq!(
        parse(&[2, 20, 0, 0]),
        MetadataFrameError::FrameVersion { version: 2 }
    );
    assert_eq!(
        parse(&[1, 0x80, 0x80, 2, 0]),
        MetadataFrameError::ApiKey { api_key: 32768 }
    );
    assert_eq!(
        parse(&[1, 20, 0x80, 0x80, 2]),
        MetadataFrameError::Version { version: 32768 }
    );
    assert!(matches!(parse(&[1, 20]), MetadataFrameError::Number(_)));
    let body = |bytes: &'static [u8]| {
        let frame = MetadataFrame::parse(&Bytes::from_static(bytes)).expect("a frame");
        match frame.decode::<NoOpRecord>() {
            Err(MetadataFrameError::Body { error, .. }) => (error.kind, error.position),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        body(&[1, 20, 0, 0, 9]),
        (DecodeErrorKind::TrailingBytes { remaining: 1 }, 4)
    );
    assert_eq!(
        body(&[1, 20, 1, 0]),
        (DecodeErrorKind::UnsupportedVersion { version: 1 }, 3)
    );
}

fn no_op() -> Bytes {
    encode_metadata_record(&NoOpRecord::default(), 0).expect("valid")
}

fn data_batch(values: &[Bytes], base: i64, epoch: i32) -> Bytes {
    let mut builder = BatchBuilder::data(TIME);
    for value in values {
        builder.push(value).expect("small");
    }
    builder.build(base, epoch)
}

/// Makes length and checksum true again after a change.
fn reseal(batch: &mut [u8]) {
    let length = (batch.len() - 12) as i32;
    batch[8..12].copy_from_slice(&length.to_be_bytes());
    let crc = crc32c(&[&batch[21..]]);
    batch[17..21].copy_from_slice(&crc.to_be_bytes());
    assert_eq!(
        BatchHeader::parse(batch).expect("long enough").size(),
        batch.len()
    );
    assert!(batch.len() > HEADER_SIZE);
}

fn hex(text: &str) -> Bytes {
    let digits: Vec<u8> = text
        .chars()
        .filter_map(|digit| digit.to_digit(16))
        .map(|digit| digit as u8)
        .collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}
