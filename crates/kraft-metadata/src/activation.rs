//! What a new leader writes before anything else, as Kafka's `ActivationRecordsGenerator` decides it.

use crate::{
    feature::{ELIGIBLE_LEADER_REPLICAS_VERSION, METADATA_VERSION, MetadataVersion},
    frame::FrameError,
    record::{
        AbortTransactionRecord, BROKER_RESOURCE, BeginTransactionRecord, ConfigRecord, EndTransactionRecord,
        MetadataRecord,
    },
};
use kraft_core::state_machine::RecordValues;
use kraft_wire::UnknownTags;

/// What a leader finds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found<'a> {
    /// The metadata version of the log; none makes the log count as empty.
    pub(crate) metadata_version: Option<MetadataVersion>,
    /// Whether the log ends inside a transaction.
    pub(crate) in_transaction: bool,
    /// The values of the bootstrap checkpoint.
    pub(crate) bootstrap: &'a [Vec<u8>],
    /// The node's own `min.insync.replicas`.
    pub(crate) min_insync_replicas: i32,
}

/// Why a node must not lead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ActivationError {
    #[error("the bootstrap checkpoint holds a wrong record: {0}")]
    Record(#[from] FrameError),
    #[error("the bootstrap checkpoint names no {METADATA_VERSION}")]
    NoVersion,
    #[error("the bootstrap checkpoint names {METADATA_VERSION} {0}, which is not known")]
    UnknownVersion(i16),
    #[error("the log ends inside a transaction, which {METADATA_VERSION} {0} does not know")]
    Transaction(MetadataVersion),
    #[error("the bootstrap records take {0} bytes and have to be one batch")]
    TooLarge(usize),
}

/// The batches that come first, in order. An abort stands alone, so that no reader of a batch sees the records that it
/// voids together with later ones.
pub(crate) fn batches(found: Found<'_>) -> Result<Vec<RecordValues>, ActivationError> {
    let version = found.metadata_version.map_or_else(
        || bootstrap_level(found.bootstrap, METADATA_VERSION).and_then(known_version),
        Ok,
    )?;
    let transactions = version >= MetadataVersion::TRANSACTIONS;
    if found.in_transaction && !transactions {
        return Err(ActivationError::Transaction(version));
    }
    let mut batches = Vec::new();
    if found.in_transaction {
        batches.push(vec![value(abort())]);
    }
    if found.metadata_version.is_some() {
        return Ok(batches);
    }
    let mut values = found.bootstrap.to_vec();
    if bootstrap_level(found.bootstrap, ELIGIBLE_LEADER_REPLICAS_VERSION)?.unwrap_or(0) > 0 {
        values.push(value(min_insync_replicas(found.min_insync_replicas)));
    }
    if transactions {
        values.insert(0, value(begin()));
        values.push(value(end()));
        batches.extend(chunks(values));
    } else {
        let bytes = values.iter().map(Vec::len).sum();
        if bytes > BATCH_VALUE_BYTES_MAX {
            return Err(ActivationError::TooLarge(bytes));
        }
        batches.push(values);
    }
    Ok(batches)
}

/// The level that the bootstrap records give a feature; the last one counts.
fn bootstrap_level(bootstrap: &[Vec<u8>], feature: &str) -> Result<Option<i16>, ActivationError> {
    let mut level = None;
    for value in bootstrap {
        match MetadataRecord::decode(value)? {
            MetadataRecord::FeatureLevel(record) if record.name == feature => {
                level = Some(record.feature_level)
            }
            _ => {}
        }
    }
    Ok(level)
}

fn known_version(level: Option<i16>) -> Result<MetadataVersion, ActivationError> {
    let level = level.ok_or(ActivationError::NoVersion)?;
    MetadataVersion::from_level(level).ok_or(ActivationError::UnknownVersion(level))
}

/// A transaction may span batches: as many records and bytes in each as any follower takes.
fn chunks(values: Vec<Vec<u8>>) -> Vec<RecordValues> {
    let mut chunks: Vec<RecordValues> = Vec::new();
    let mut bytes = 0;
    for value in values {
        bytes += value.len();
        match chunks.last_mut() {
            Some(chunk) if chunk.len() < BATCH_RECORDS_MAX && bytes <= BATCH_VALUE_BYTES_MAX => {
                chunk.push(value);
            }
            _ => {
                bytes = value.len();
                chunks.push(vec![value]);
            }
        }
    }
    chunks
}

fn begin() -> MetadataRecord {
    let record = BeginTransactionRecord {
        name: Some("Bootstrap records".to_owned()),
        unknown_tags: UnknownTags::default(),
    };
    record.into()
}

fn end() -> MetadataRecord {
    EndTransactionRecord::default().into()
}

fn abort() -> MetadataRecord {
    let record = AbortTransactionRecord {
        reason: Some("Controller failover".to_owned()),
        unknown_tags: UnknownTags::default(),
    };
    record.into()
}

fn min_insync_replicas(count: i32) -> MetadataRecord {
    let record = ConfigRecord {
        resource_type: BROKER_RESOURCE,
        resource_name: String::new(),
        name: "min.insync.replicas".to_owned(),
        value: Some(count.to_string()),
        unknown_tags: UnknownTags::default(),
    };
    record.into()
}

fn value(record: MetadataRecord) -> Vec<u8> {
    record.encode().expect("the record has short strings")
}

/// The most records that Kafka's controller puts into one append.
const BATCH_RECORDS_MAX: usize = 10_000;
/// Stays below Kafka's 8 MiB for a batch whatever the records' own framing takes.
const BATCH_VALUE_BYTES_MAX: usize = 7 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::bootstrap_records;
    use std::collections::BTreeMap;

    fn bootstrap(release: &str) -> Vec<Vec<u8>> {
        let version = MetadataVersion::from_name(release).unwrap();
        bootstrap_records(version, &BTreeMap::new(), &[]).unwrap()
    }

    fn found<'a>(log: Option<&str>, in_transaction: bool, bootstrap: &'a [Vec<u8>]) -> Found<'a> {
        Found {
            metadata_version: log.map(|name| MetadataVersion::from_name(name).unwrap()),
            in_transaction,
            bootstrap,
            min_insync_replicas: 1,
        }
    }

    /// The batches by what their records are.
    fn names(found: Found<'_>) -> Result<Vec<Vec<String>>, ActivationError> {
        let name = |value: &Vec<u8>| match MetadataRecord::decode(value).unwrap() {
            MetadataRecord::FeatureLevel(record) => format!("{}={}", record.name, record.feature_level),
            MetadataRecord::Config(record) => format!("{}={}", record.name, record.value.unwrap()),
            record => record.name().unwrap().to_owned(),
        };
        Ok(batches(found)?
            .iter()
            .map(|batch| batch.iter().map(name).collect())
            .collect())
    }

    const BEGIN: &str = "BeginTransactionRecord";
    const END: &str = "EndTransactionRecord";
    const ABORT: &str = "AbortTransactionRecord";

    #[test]
    fn a_default_cluster_starts_with_nine_records() {
        let records = bootstrap("4.4");
        let first = vec![
            BEGIN,
            "metadata.version=33",
            "eligible.leader.replicas.version=1",
            "group.version=1",
            "share.version=2",
            "streams.version=1",
            "transaction.version=2",
            "min.insync.replicas=1",
            END,
        ];
        assert_eq!(
            names(found(None, false, &records)),
            Ok(vec![first.iter().map(ToString::to_string).collect()])
        );
        let expected = vec![
            vec![ABORT.to_owned()],
            first.iter().map(ToString::to_string).collect(),
        ];
        assert_eq!(names(found(None, true, &records)), Ok(expected));
    }

    #[test]
    fn every_row_of_the_table() {
        let new = bootstrap("3.9");
        let old = bootstrap("3.5");
        let transaction = vec![vec![BEGIN, "metadata.version=21", END]];
        type Batches = Vec<Vec<&'static str>>;
        let cases: Vec<(&str, Found<'_>, Result<Batches, ActivationError>)> = vec![
            ("empty", found(None, false, &new), Ok(transaction)),
            (
                "empty, old",
                found(None, false, &old),
                Ok(vec![vec!["metadata.version=11"]]),
            ),
            (
                "empty, old, transaction",
                found(None, true, &old),
                Err(ActivationError::Transaction(
                    MetadataVersion::from_name("3.5").unwrap(),
                )),
            ),
            ("not empty", found(Some("4.4"), false, &new), Ok(vec![])),
            ("not empty, old", found(Some("3.3"), false, &new), Ok(vec![])),
            (
                "not empty, transaction",
                found(Some("3.6-IV1"), true, &new),
                Ok(vec![vec![ABORT]]),
            ),
            (
                "not empty, transaction, old",
                found(Some("3.6-IV0"), true, &new),
                Err(ActivationError::Transaction(
                    MetadataVersion::from_name("3.6-IV0").unwrap(),
                )),
            ),
            (
                "no version",
                found(None, false, &[]),
                Err(ActivationError::NoVersion),
            ),
        ];
        for (name, found, expected) in cases {
            let expected = expected.map(|batches| {
                let owned = |batch: Vec<&str>| batch.into_iter().map(str::to_owned).collect::<Vec<_>>();
                batches.into_iter().map(owned).collect::<Vec<_>>()
            });
            assert_eq!(names(found), expected, "{name}");
        }
    }

    #[test]
    fn wrong_bootstrap_records_are_no_reason_to_panic() {
        let unknown = vec![crate::bootstrap::feature_level(METADATA_VERSION, 99)];
        let unknown: Vec<_> = unknown.into_iter().map(|record| value(record.into())).collect();
        assert_eq!(
            names(found(None, false, &unknown)),
            Err(ActivationError::UnknownVersion(99))
        );
        let garbage = [vec![9_u8]];
        assert!(matches!(
            names(found(None, false, &garbage)),
            Err(ActivationError::Record(_))
        ));
    }

    #[test]
    fn many_records_are_split_and_none_is_lost() {
        let mut records = bootstrap("4.4");
        let one = value(min_insync_replicas(1));
        records.extend(std::iter::repeat_n(one, 25_000));
        let split = batches(found(None, false, &records)).unwrap();
        assert_eq!(
            split.iter().map(Vec::len).collect::<Vec<_>>(),
            [10_000, 10_000, 5_009]
        );

        let large = vec![0_u8; 3 << 20];
        let split = chunks(vec![large; 5]);
        assert_eq!(split.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 1]);
    }
}
