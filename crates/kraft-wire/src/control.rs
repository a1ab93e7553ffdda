//! Control records: what the quorum itself writes into the log and into snapshots.
//!
//! ```
//! use kraft_wire::batch::BatchView;
//! use kraft_wire::control::{ControlRecord, KRaftVersionRecord, control_batch, control_records};
//!
//! let record = ControlRecord::KRaftVersion(KRaftVersionRecord { kraft_version: 1, ..KRaftVersionRecord::default() });
//! let bytes = control_batch(&[record.clone()], 145, 8, 1_795_963_390_718)?;
//! assert_eq!(control_records(&BatchView::parse(bytes)?)?, [(145, record)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;
use thiserror::Error;
use uuid::Uuid;

use crate::batch::{BatchBuilder, BatchError, BatchView};
use crate::error::{DecodeError, EncodeError};
use crate::reader::Reader;
use crate::value::Value;
use crate::{Message, UnknownTags};

/// The version in which every control record is written and read, whatever the `version` field inside it says.
pub const CONTROL_RECORD_VERSION: i16 = 0;

/// The first record of an epoch: who leads, and by whose votes.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 2, versions = 0..=1, flexible = 0)]
pub struct LeaderChangeMessage {
    /// Always 0.
    pub version: i16,
    /// Id of the leader.
    pub leader_id: i32,
    /// The voters of the epoch.
    pub voters: Vec<LeaderChangeVoter>,
    /// The voters that granted their vote, the leader among them.
    pub granting_voters: Vec<LeaderChangeVoter>,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}

/// A voter in a [`LeaderChangeMessage`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct LeaderChangeVoter {
    /// Its id.
    pub voter_id: i32,
    /// Its directory id. Version 0, the one that is written, does not carry it.
    #[kafka(since = 1, ignorable)]
    pub voter_directory_id: Uuid,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}

/// The first record of a snapshot.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 3, versions = 0, flexible = 0)]
pub struct SnapshotHeaderRecord {
    /// Always 0.
    pub version: i16,
    /// Time of the last record that the snapshot covers, in milliseconds since 1970.
    pub last_contained_log_timestamp: i64,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}

/// The last record of a snapshot.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 4, versions = 0, flexible = 0)]
pub struct SnapshotFooterRecord {
    /// Always 0.
    pub version: i16,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}

/// The level of the feature `kraft.version` from here on.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 5, versions = 0, flexible = 0)]
pub struct KRaftVersionRecord {
    /// Always 0.
    pub version: i16,
    /// The level.
    #[kafka(name = "KRaftVersion")]
    pub kraft_version: i16,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}

/// The voter set from here on.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 6, versions = 0, flexible = 0)]
pub struct VotersRecord {
    /// Always 0.
    pub version: i16,
    /// The voters; their order means nothing.
    pub voters: Vec<VotersRecordVoter>,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}

/// A voter in a [`VotersRecord`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct VotersRecordVoter {
    /// Its id.
    pub voter_id: i32,
    /// Its directory id; zero = not known.
    pub voter_directory_id: Uuid,
    /// Where it listens.
    pub endpoints: Vec<VotersRecordEndpoint>,
    /// The levels of `kraft.version` that it runs.
    #[kafka(name = "KRaftVersionFeature")]
    pub kraft_version_feature: VotersRecordKRaftVersionFeature,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}

/// An endpoint of a [`VotersRecordVoter`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct VotersRecordEndpoint {
    /// Name of the listener, in upper case.
    pub name: String,
    /// Host.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}

/// The range of `kraft.version` of a [`VotersRecordVoter`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct VotersRecordKRaftVersionFeature {
    /// Lowest level.
    pub min_supported_version: i16,
    /// Highest level.
    pub max_supported_version: i16,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}

/// A control record of any type.
#[derive(Clone, Debug, PartialEq)]
pub enum ControlRecord {
    /// Type 2.
    LeaderChange(LeaderChangeMessage),
    /// Type 3.
    SnapshotHeader(SnapshotHeaderRecord),
    /// Type 4.
    SnapshotFooter(SnapshotFooterRecord),
    /// Type 5.
    KRaftVersion(KRaftVersionRecord),
    /// Type 6.
    KRaftVoters(VotersRecord),
}

/// Why a record is not a control record of a metadata log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ControlError {
    /// The batch is wrong as such.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// The key cannot be read.
    #[error("control record key: {0}")]
    Key(DecodeError),
    /// The key has a negative version.
    #[error("control record key of version {version}")]
    KeyVersion {
        /// The version.
        version: i16,
    },
    /// A type that has no place in a metadata log.
    #[error("control record of type {control_type}")]
    UnknownType {
        /// The type.
        control_type: i16,
    },
    /// The value cannot be read.
    #[error("control record of type {control_type}: {error}")]
    Value {
        /// The type.
        control_type: i16,
        /// What is wrong with the value.
        error: DecodeError,
    },
    /// A voter that nobody can be.
    #[error("control record of type 6: voter {voter_id} {fault}")]
    Voter {
        /// Its id.
        voter_id: i32,
        /// What is wrong with it.
        fault: VoterFault,
    },
}

/// What no reader of a voter set takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum VoterFault {
    /// A listener without a name.
    #[error("has a listener without a name")]
    NamelessListener,
    /// Levels of kraft.version that are none, or end before they begin.
    #[error("supports kraft.version {min} to {max}")]
    NoRange {
        /// The lowest.
        min: i16,
        /// The highest.
        max: i16,
    },
}

impl ControlRecord {
    /// The number of the type, as it stands in the key.
    pub fn control_type(&self) -> i16 {
        match self {
            Self::LeaderChange(_) => LeaderChangeMessage::API_KEY,
            Self::SnapshotHeader(_) => SnapshotHeaderRecord::API_KEY,
            Self::SnapshotFooter(_) => SnapshotFooterRecord::API_KEY,
            Self::KRaftVersion(_) => KRaftVersionRecord::API_KEY,
            Self::KRaftVoters(_) => VotersRecord::API_KEY,
        }
    }

    /// Kafka's name of the type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::LeaderChange(_) => "LeaderChange",
            Self::SnapshotHeader(_) => "SnapshotHeader",
            Self::SnapshotFooter(_) => "SnapshotFooter",
            Self::KRaftVersion(_) => "KRaftVersion",
            Self::KRaftVoters(_) => "KRaftVoters",
        }
    }

    /// The key of the record: version 0 of the key, and the type.
    pub fn key(&self) -> [u8; 4] {
        let [high, low] = self.control_type().to_be_bytes();
        [0, 0, high, low]
    }

    /// The value of the record.
    pub fn value(&self) -> Result<Bytes, EncodeError> {
        match self {
            Self::LeaderChange(record) => record.to_bytes(CONTROL_RECORD_VERSION),
            Self::SnapshotHeader(record) => record.to_bytes(CONTROL_RECORD_VERSION),
            Self::SnapshotFooter(record) => record.to_bytes(CONTROL_RECORD_VERSION),
            Self::KRaftVersion(record) => record.to_bytes(CONTROL_RECORD_VERSION),
            Self::KRaftVoters(record) => record.to_bytes(CONTROL_RECORD_VERSION),
        }
    }

    /// Reads key and value of a record. As in Kafka, a key of a newer version is read as version 0, and bytes behind
    /// the value's last field are ignored.
    pub fn decode(key: &Bytes, value: &Bytes) -> Result<Self, ControlError> {
        let mut reader = Reader::new(key.clone());
        let version = reader.i16().map_err(ControlError::Key)?;
        if version < 0 {
            return Err(ControlError::KeyVersion { version });
        }
        let control_type = reader.i16().map_err(ControlError::Key)?;
        match control_type {
            LeaderChangeMessage::API_KEY => decode(value).map(Self::LeaderChange),
            SnapshotHeaderRecord::API_KEY => decode(value).map(Self::SnapshotHeader),
            SnapshotFooterRecord::API_KEY => decode(value).map(Self::SnapshotFooter),
            KRaftVersionRecord::API_KEY => decode(value).map(Self::KRaftVersion),
            VotersRecord::API_KEY => decode(value).map(Self::KRaftVoters),
            _ => Err(ControlError::UnknownType { control_type }),
        }
    }

    /// The record in the form in which it is shown to people.
    pub fn to_json_value(&self) -> Value {
        match self {
            Self::LeaderChange(record) => record.to_json_value(CONTROL_RECORD_VERSION),
            Self::SnapshotHeader(record) => record.to_json_value(CONTROL_RECORD_VERSION),
            Self::SnapshotFooter(record) => record.to_json_value(CONTROL_RECORD_VERSION),
            Self::KRaftVersion(record) => record.to_json_value(CONTROL_RECORD_VERSION),
            Self::KRaftVoters(record) => record.to_json_value(CONTROL_RECORD_VERSION),
        }
    }
}

/// One batch of control records. `timestamp` is in milliseconds since 1970.
///
/// # Panics
///
/// If there are no records.
pub fn control_batch(
    records: &[ControlRecord],
    base_offset: i64,
    leader_epoch: i32,
    timestamp: i64,
) -> Result<Bytes, EncodeError> {
    let mut builder = BatchBuilder::control(timestamp);
    for record in records {
        builder.push_record(Some(&record.key()), Some(&record.value()?), 0, &[])?;
    }
    Ok(builder.build(base_offset, leader_epoch))
}

/// The records of a control batch, each with its offset. The batch is [validated](BatchView::validate) first.
pub fn control_records(batch: &BatchView) -> Result<Vec<(i64, ControlRecord)>, ControlError> {
    batch.validate()?;
    let mut records = Vec::new();
    for record in batch.records() {
        let record = record?;
        let key = record.key.unwrap_or_default();
        let value = record.value.unwrap_or_default();
        records.push((record.offset, ControlRecord::decode(&key, &value)?));
    }
    Ok(records)
}

fn decode<M: Message>(value: &Bytes) -> Result<M, ControlError> {
    let wrap = |error| ControlError::Value {
        control_type: M::API_KEY,
        error,
    };
    M::from_bytes(value, CONTROL_RECORD_VERSION).map_err(wrap)
}
