//! Record values against those of Kafka.

use crate::support;

use kraft_metadata::frame::{self, Frame};
use kraft_metadata::record::{
    AccessControlEntryRecord, BrokerRegistrationChangeRecord, ClearElrRecord, ClientQuotaRecord,
    DelegationTokenRecord, FenceBrokerRecord, MetadataRecord, PartitionChangeRecord, PartitionRecord,
    ProducerIdsRecord, RegisterBrokerRecord, RemoveAccessControlEntryRecord, RemoveDelegationTokenRecord,
    RemoveTopicRecord, TopicRecord, UnfenceBrokerRecord, UnregisterBrokerRecord,
};
use kraft_wire::{Message, Value};

fn json(record: &MetadataRecord) -> Option<Value> {
    Some(match record {
        MetadataRecord::Config(record) => record.to_json_value(0),
        MetadataRecord::UserScramCredential(record) => record.to_json_value(0),
        MetadataRecord::FeatureLevel(record) => record.to_json_value(0),
        MetadataRecord::NoOp(record) => record.to_json_value(0),
        MetadataRecord::ZkMigrationState(record) => record.to_json_value(0),
        MetadataRecord::RemoveUserScramCredential(record) => record.to_json_value(0),
        MetadataRecord::BeginTransaction(record) => record.to_json_value(0),
        MetadataRecord::EndTransaction(record) => record.to_json_value(0),
        MetadataRecord::AbortTransaction(record) => record.to_json_value(0),
        MetadataRecord::RegisterController(record) => record.to_json_value(0),
        MetadataRecord::UnregisterController(record) => record.to_json_value(0),
        MetadataRecord::Carried(_) => return None,
        other => panic!("{other:?} has no test"),
    })
}

#[test]
fn records_mean_what_kafka_means_and_are_written_as_kafka_writes_them() {
    let mut understood = 0;
    for example in support::json_lines("records.jsonl") {
        let value = support::hex(example["hex"].as_str().unwrap());
        let record = MetadataRecord::decode(&value).unwrap_or_else(|error| panic!("{example}: {error}"));
        assert_eq!(record.encode().unwrap(), value, "{example}");
        match (json(&record), &record) {
            (Some(meaning), _) => {
                understood += 1;
                let meaning: serde_json::Value = serde_json::from_str(&meaning.to_string()).unwrap();
                assert_eq!(meaning, example["json"], "{example}");
            }
            (None, MetadataRecord::Carried(carried)) => {
                assert_eq!(i64::from(carried.api_key), example["key"], "{example}");
                assert_eq!(i64::from(carried.version), example["version"], "{example}");
            }
            (None, other) => panic!("{other:?}"),
        }
    }
    assert!(understood > 40, "{understood}");
}

/// What a record says whose body is of the type `M`, and its bytes when it is written again.
fn body<M: Message>(frame: &Frame<'_>) -> (Value, Vec<u8>) {
    let record: M = frame.decode().unwrap();
    let again = frame::encode(&record, frame.version).unwrap();
    (record.to_json_value(frame.version), again)
}

#[test]
fn what_is_only_carried_can_be_read_too() {
    for example in support::json_lines("records-carried.jsonl") {
        let value = support::hex(example["hex"].as_str().unwrap());
        assert!(
            matches!(MetadataRecord::decode(&value), Ok(MetadataRecord::Carried(_))),
            "{example}"
        );
        let frame = Frame::parse(&value).unwrap();
        let (meaning, again) = match frame.api_key {
            RegisterBrokerRecord::API_KEY => body::<RegisterBrokerRecord>(&frame),
            UnregisterBrokerRecord::API_KEY => body::<UnregisterBrokerRecord>(&frame),
            TopicRecord::API_KEY => body::<TopicRecord>(&frame),
            PartitionRecord::API_KEY => body::<PartitionRecord>(&frame),
            PartitionChangeRecord::API_KEY => body::<PartitionChangeRecord>(&frame),
            FenceBrokerRecord::API_KEY => body::<FenceBrokerRecord>(&frame),
            UnfenceBrokerRecord::API_KEY => body::<UnfenceBrokerRecord>(&frame),
            RemoveTopicRecord::API_KEY => body::<RemoveTopicRecord>(&frame),
            DelegationTokenRecord::API_KEY => body::<DelegationTokenRecord>(&frame),
            ClientQuotaRecord::API_KEY => body::<ClientQuotaRecord>(&frame),
            ProducerIdsRecord::API_KEY => body::<ProducerIdsRecord>(&frame),
            BrokerRegistrationChangeRecord::API_KEY => body::<BrokerRegistrationChangeRecord>(&frame),
            AccessControlEntryRecord::API_KEY => body::<AccessControlEntryRecord>(&frame),
            RemoveAccessControlEntryRecord::API_KEY => body::<RemoveAccessControlEntryRecord>(&frame),
            RemoveDelegationTokenRecord::API_KEY => body::<RemoveDelegationTokenRecord>(&frame),
            ClearElrRecord::API_KEY => body::<ClearElrRecord>(&frame),
            other => panic!("{other} has no test"),
        };
        let meaning: serde_json::Value = serde_json::from_str(&meaning.to_string()).unwrap();
        assert_eq!(meaning, example["json"], "{example}");
        assert_eq!(again, value, "{example}");
    }
}

#[test]
fn every_cut_of_a_record_is_refused() {
    for example in support::json_lines("records.jsonl") {
        let value = support::hex(example["hex"].as_str().unwrap());
        let carried = matches!(MetadataRecord::decode(&value), Ok(MetadataRecord::Carried(_)));
        let ends = if carried { 0..3 } else { 0..value.len() };
        for end in ends {
            assert!(
                MetadataRecord::decode(&value[..end]).is_err(),
                "{example} cut at {end}"
            );
        }
    }
}

#[test]
fn what_kafka_refuses_is_refused_unless_it_is_only_carried() {
    for case in support::json_lines("decode-cases.jsonl") {
        let Some(text) = case["hex"].as_str() else {
            continue;
        };
        let name = case["case"].as_str().unwrap();
        let decoded = MetadataRecord::decode(&support::hex(text));
        if matches!(decoded, Ok(MetadataRecord::Carried(_))) {
            continue;
        }
        // Three forms that no writer makes are refused here: numbers beyond 15 bits that Kafka cuts to 16, versions
        // that are not known, tagged fields in a disorder that Kafka itself cannot write again.
        let stricter = name.contains("low 16 bits")
            || name.contains("NoOp at version")
            || name.contains("at version 1, no arrays")
            || name.contains("out of order");
        if case["ok"] == true && !stricter {
            assert!(decoded.is_ok(), "{name}: {decoded:?}");
        } else if case["ok"] == false {
            assert!(decoded.is_err(), "{name}: {decoded:?}");
        }
    }
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..64)) {
        let _ = MetadataRecord::decode(&bytes);
    }

    #[test]
    fn any_body_is_read_without_a_panic(
        key in 0_u8..32,
        bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..64),
    ) {
        let value = [&[1, key, 0][..], &bytes].concat();
        if let Ok(record) = MetadataRecord::decode(&value) {
            proptest::prop_assert!(record.encode().is_ok());
        }
    }
}
