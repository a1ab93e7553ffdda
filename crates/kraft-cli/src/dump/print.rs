//! Batches and records as `kafka-dump-log` prints them, and as JSON.

use std::path::Path;

use kraft_wire::batch::{BatchView, Record};
use serde_json::{Value, json};

use super::record;

/// One batch on one line.
pub(super) fn batch_line(position: u64, batch: &BatchView) -> String {
    let header = batch.header();
    format!(
        "baseOffset: {} lastOffset: {} count: {} baseSequence: {} lastSequence: {} producerId: {} producerEpoch: {} \
         partitionLeaderEpoch: {} isTransactional: {} isControl: {} deleteHorizonMs: {} position: {position} \
         {}: {} size: {} magic: {} compresscodec: {} crc: {} isvalid: {}",
        header.base_offset,
        header.last_offset(),
        header.record_count,
        header.base_sequence,
        last_sequence(batch),
        header.producer_id,
        header.producer_epoch,
        header.leader_epoch,
        header.attributes & TRANSACTIONAL_BIT != 0,
        header.is_control(),
        delete_horizon(batch),
        timestamp_type(batch),
        header.max_timestamp,
        batch.size(),
        header.magic,
        header.compression(),
        header.crc,
        batch.crc_is_valid(),
    )
}

/// One record on one line.
pub(super) fn record_line(batch: &BatchView, record: &Record) -> String {
    let keys: Vec<_> = record
        .headers
        .iter()
        .map(|header| String::from_utf8_lossy(&header.key))
        .collect();
    format!(
        "| offset: {} {}: {} keySize: {} valueSize: {} sequence: {} headerKeys: [{}]{}",
        record.offset,
        timestamp_type(batch),
        record.timestamp,
        size(record.key.as_ref()),
        size(record.value.as_ref()),
        sequence(batch, record),
        keys.join(","),
        record::text(batch.is_control(), record),
    )
}

/// One batch of a file as a JSON object, with its records if they are wanted.
pub(super) fn file_batch_json(path: &Path, position: u64, batch: &BatchView, with_records: bool) -> Value {
    let mut object = batch_json(batch, with_records);
    object["file"] = path.display().to_string().into();
    object["position"] = position.into();
    object
}

/// One batch as a JSON object, with its records if they are wanted.
pub(crate) fn batch_json(batch: &BatchView, with_records: bool) -> Value {
    let header = batch.header();
    let mut object = json!({
        "size": batch.size(),
        "baseOffset": header.base_offset,
        "lastOffset": header.last_offset(),
        "count": header.record_count,
        "partitionLeaderEpoch": header.leader_epoch,
        "isControl": header.is_control(),
        "timestamp": header.max_timestamp,
        "compresscodec": header.compression().to_string(),
        "crc": header.crc,
        "isvalid": batch.crc_is_valid(),
    });
    if with_records {
        let one = |record: Result<Record, _>| match record {
            Ok(record) => record::json(batch.is_control(), &record),
            Err(error) => json!({ "unreadable": format!("{error}") }),
        };
        object["records"] = batch.records().map(one).collect();
    }
    object
}

fn timestamp_type(batch: &BatchView) -> &'static str {
    if batch.header().attributes & LOG_APPEND_TIME_BIT == 0 {
        "CreateTime"
    } else {
        "LogAppendTime"
    }
}

fn delete_horizon(batch: &BatchView) -> String {
    let header = batch.header();
    if header.attributes & DELETE_HORIZON_BIT == 0 {
        "OptionalLong.empty".to_owned()
    } else {
        format!("OptionalLong[{}]", header.base_timestamp)
    }
}

fn last_sequence(batch: &BatchView) -> i32 {
    let header = batch.header();
    if header.base_sequence == NO_SEQUENCE {
        return NO_SEQUENCE;
    }
    next_sequence(header.base_sequence, header.last_offset_delta)
}

fn sequence(batch: &BatchView, record: &Record) -> i32 {
    let header = batch.header();
    if header.base_sequence == NO_SEQUENCE {
        return NO_SEQUENCE;
    }
    let delta = record.offset.wrapping_sub(header.base_offset);
    next_sequence(header.base_sequence, delta as i32)
}

/// Sequence numbers begin again at 0 behind the largest one.
fn next_sequence(base: i32, delta: i32) -> i32 {
    base.wrapping_add(delta) & i32::MAX
}

fn size(bytes: Option<&bytes::Bytes>) -> i64 {
    bytes.map_or(-1, |bytes| bytes.len() as i64)
}

const NO_SEQUENCE: i32 = -1;
const LOG_APPEND_TIME_BIT: i16 = 1 << 3;
const TRANSACTIONAL_BIT: i16 = 1 << 4;
const DELETE_HORIZON_BIT: i16 = 1 << 6;
