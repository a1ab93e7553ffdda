//! The metadata records: those that the machine understands ([`MetadataRecord`]), and the bodies of those that it only
//! carries, for tools that show them.

mod acl;
mod broker;
mod client_quota;
mod config;
mod controller;
mod delegation_token;
mod feature;
mod no_op;
mod partition;
mod producer_ids;
mod scram;
mod topic;
mod transaction;

pub use acl::{AccessControlEntryRecord, RemoveAccessControlEntryRecord};
pub use broker::{
    BrokerEndpoint, BrokerFeature, BrokerRegistrationChangeRecord, FenceBrokerRecord, RegisterBrokerRecord,
    UnfenceBrokerRecord, UnregisterBrokerRecord,
};
pub use client_quota::{ClientQuotaRecord, QuotaEntity};
pub use config::{BROKER_RESOURCE, ConfigRecord};
pub use controller::{
    ControllerEndpoint, ControllerFeature, RegisterControllerRecord, UnregisterControllerRecord,
};
pub use delegation_token::{DelegationTokenRecord, RemoveDelegationTokenRecord};
pub use feature::FeatureLevelRecord;
pub use no_op::{NoOpRecord, ZkMigrationStateRecord};
pub use partition::{PartitionChangeRecord, PartitionRecord};
pub use producer_ids::ProducerIdsRecord;
pub use scram::{RemoveUserScramCredentialRecord, UserScramCredentialRecord};
pub use topic::{ClearElrRecord, RemoveTopicRecord, TopicRecord};
pub use transaction::{AbortTransactionRecord, BeginTransactionRecord, EndTransactionRecord};

use crate::frame::{self, Frame, FrameError};
use kraft_wire::{EncodeError, Message};

macro_rules! records {
    ($($(#[$doc:meta])* $variant:ident($record:ident), since level $level:literal;)*) => {
        /// A metadata record.
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub enum MetadataRecord {
            $($(#[$doc])* $variant($record),)*
            /// A record that this crate carries and does not interpret.
            Carried(CarriedRecord),
        }

        impl MetadataRecord {
            /// Reads the value of a record.
            ///
            /// # Errors
            /// The value has no frame, or a record that is understood has a wrong body. A type that is not known is
            /// no error.
            pub fn decode(value: &[u8]) -> Result<Self, FrameError> {
                let frame = Frame::parse(value)?;
                match frame.api_key {
                    $($record::API_KEY => frame.decode().map(Self::$variant),)*
                    api_key => Ok(Self::Carried(CarriedRecord {
                        api_key,
                        version: frame.version,
                        value: value.to_vec(),
                    })),
                }
            }

            /// The value of the record.
            ///
            /// # Errors
            /// The record cannot be written: a string is too long.
            pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
                match self {
                    $(Self::$variant(record) => frame::encode(record, RECORD_VERSION),)*
                    Self::Carried(record) => Ok(record.value.clone()),
                }
            }

            /// Whether [`encode`](Self::encode) succeeds.
            pub(crate) fn can_be_encoded(&self) -> bool {
                match self {
                    $(Self::$variant(record) => record.encoded_size(RECORD_VERSION).is_ok(),)*
                    Self::Carried(_) => true,
                }
            }

            /// Kafka's name of the record, absent where it is only carried.
            #[must_use]
            pub fn name(&self) -> Option<&'static str> {
                match self {
                    $(Self::$variant(_) => Some($record::NAME),)*
                    Self::Carried(_) => None,
                }
            }

            /// The lowest metadata.version level at which the record may be written; absent where it is only carried.
            #[must_use]
            pub fn level_min(&self) -> Option<i16> {
                match self {
                    $(Self::$variant(_) => Some($level),)*
                    Self::Carried(_) => None,
                }
            }
        }

        $(
            impl From<$record> for MetadataRecord {
                fn from(record: $record) -> Self {
                    Self::$variant(record)
                }
            }
        )*
    };
}

records! {
    /// A setting of a broker, a topic or another resource.
    Config(ConfigRecord), since level 7;
    /// A SCRAM credential is set.
    UserScramCredential(UserScramCredentialRecord), since level 11;
    /// A feature gets a level.
    FeatureLevel(FeatureLevelRecord), since level 7;
    /// Nothing.
    NoOp(NoOpRecord), since level 7;
    /// Nothing any more.
    ZkMigrationState(ZkMigrationStateRecord), since level 8;
    /// A SCRAM credential is removed.
    RemoveUserScramCredential(RemoveUserScramCredentialRecord), since level 11;
    /// A transaction begins.
    BeginTransaction(BeginTransactionRecord), since level 13;
    /// A transaction takes effect.
    EndTransaction(EndTransactionRecord), since level 13;
    /// A transaction is dropped.
    AbortTransaction(AbortTransactionRecord), since level 13;
    /// A controller has registered.
    RegisterController(RegisterControllerRecord), since level 15;
    /// A controller's registration is forgotten.
    UnregisterController(UnregisterControllerRecord), since level 33;
}

/// A record whose type this crate does not interpret, whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarriedRecord {
    /// Its type.
    pub api_key: i16,
    /// Its version.
    pub version: i16,
    /// Its value, frame included.
    pub value: Vec<u8>,
}

/// All records that are understood have this one version.
const RECORD_VERSION: i16 = 0;
