//! What a record says, in Kafka's words.

use bytes::Bytes;
use kraft_metadata::record as metadata;
use kraft_wire::batch::Record;
use kraft_wire::control::ControlRecord;
use kraft_wire::metadata_frame::{MetadataFrame, MetadataFrameError};
use kraft_wire::{Message, uuid_text};
use serde_json::{Value, json};

/// What stands behind the fields that every record has.
pub(super) fn text(is_control: bool, record: &Record) -> String {
    if is_control {
        return match control(record) {
            // Only this one has a colon in Kafka's output.
            Ok(record @ ControlRecord::LeaderChange(_)) => {
                format!(" {}: {}", record.type_name(), record.to_json_value())
            }
            Ok(record) => format!(" {} {}", record.type_name(), record.to_json_value()),
            Err(problem) => format!(" ! offset {}: {problem}", record.offset),
        };
    }
    match payload(record) {
        Ok(Payload {
            type_name,
            version,
            data,
        }) => {
            format!(" payload: {{\"type\":\"{type_name}\",\"version\":{version},\"data\":{data}}}")
        }
        Err(problem) => format!(" ! offset {}: {problem}", record.offset),
    }
}

/// The record as a JSON object.
pub(super) fn json(is_control: bool, record: &Record) -> Value {
    let shown = if is_control {
        control(record).map(|record| {
            (
                record.type_name().to_owned(),
                None,
                record.to_json_value().to_string(),
            )
        })
    } else {
        payload(record).map(|payload| (payload.type_name, Some(payload.version), payload.data))
    };
    match shown {
        Ok((type_name, version, data)) => {
            let data: Value = serde_json::from_str(&data).unwrap_or(Value::String(data));
            json!({ "offset": record.offset, "type": type_name, "version": version, "data": data })
        }
        Err(problem) => json!({ "offset": record.offset, "unreadable": problem }),
    }
}

struct Payload {
    type_name: String,
    version: i16,
    data: String,
}

fn control(record: &Record) -> Result<ControlRecord, String> {
    let (Some(key), Some(value)) = (&record.key, &record.value) else {
        return Err("a control record without key or value".to_owned());
    };
    ControlRecord::decode(key, value).map_err(|error| error.to_string())
}

/// The body of a record of one of these types; `None` of any other.
macro_rules! data_of {
    ($frame:expr, $($record:ident),* $(,)?) => {
        match $frame.api_key {
            $(metadata::$record::API_KEY => Some(data::<metadata::$record>($frame)),)*
            _ => None,
        }
    };
}

fn payload(record: &Record) -> Result<Payload, String> {
    let value = record.value.as_ref().ok_or("a record without a value")?;
    let frame = MetadataFrame::parse(value).map_err(|error| error.to_string())?;
    let known = data_of!(
        &frame,
        RegisterBrokerRecord,
        UnregisterBrokerRecord,
        TopicRecord,
        PartitionRecord,
        ConfigRecord,
        PartitionChangeRecord,
        FenceBrokerRecord,
        UnfenceBrokerRecord,
        RemoveTopicRecord,
        DelegationTokenRecord,
        UserScramCredentialRecord,
        FeatureLevelRecord,
        ClientQuotaRecord,
        ProducerIdsRecord,
        BrokerRegistrationChangeRecord,
        AccessControlEntryRecord,
        RemoveAccessControlEntryRecord,
        NoOpRecord,
        ZkMigrationStateRecord,
        RemoveUserScramCredentialRecord,
        BeginTransactionRecord,
        EndTransactionRecord,
        AbortTransactionRecord,
        RemoveDelegationTokenRecord,
        RegisterControllerRecord,
        ClearElrRecord,
        UnregisterControllerRecord,
    );
    let unknown = || Ok((format!("RECORD_TYPE_{}", frame.api_key), base64(&frame.body)));
    let (type_name, data) = known.unwrap_or_else(unknown).map_err(|error| error.to_string())?;
    Ok(Payload {
        type_name,
        version: frame.version,
        data,
    })
}

fn data<M: Message>(frame: &MetadataFrame) -> Result<(String, String), MetadataFrameError> {
    let record: M = frame.decode()?;
    Ok((
        upper_snake(M::NAME),
        record.to_json_value(frame.version).to_string(),
    ))
}

/// A record of a type that is not known.
fn base64(body: &Bytes) -> String {
    format!("\"{}\"", uuid_text::base64(body))
}

/// `FeatureLevelRecord` is `FEATURE_LEVEL_RECORD` in Kafka's output.
fn upper_snake(name: &str) -> String {
    let mut text = String::with_capacity(name.len() + 4);
    for (at, letter) in name.chars().enumerate() {
        if letter.is_ascii_uppercase() && at > 0 {
            text.push('_');
        }
        text.push(letter.to_ascii_uppercase());
    }
    text
}
