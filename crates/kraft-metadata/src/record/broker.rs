//! The records of brokers: RegisterBrokerRecord (type 0), UnregisterBrokerRecord (1), FenceBrokerRecord (7),
//! UnfenceBrokerRecord (8) and BrokerRegistrationChangeRecord (17).

use kraft_wire::{Message, UnknownTags};
use uuid::Uuid;

/// A process of a broker has registered.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 0, versions = 0..=4, flexible = 0)]
pub struct RegisterBrokerRecord {
    /// Its node id.
    pub broker_id: i32,
    /// Left over from the migration away from ZooKeeper.
    #[kafka(since = 2)]
    pub is_migrating_zk_broker: bool,
    /// Random per process.
    pub incarnation_id: Uuid,
    /// The offset that the registration has got.
    pub broker_epoch: i64,
    /// Its listeners.
    pub end_points: Vec<BrokerEndpoint>,
    /// The feature levels that it can run at.
    pub features: Vec<BrokerFeature>,
    /// The rack.
    pub rack: Option<String>,
    /// Whether clients are kept away from it.
    #[kafka(default = true)]
    pub fenced: bool,
    /// Whether it is about to stop.
    #[kafka(since = 1)]
    pub in_controlled_shutdown: bool,
    /// Its log directories that work.
    #[kafka(since = 3, tag = 0)]
    pub log_dirs: Vec<Uuid>,
    /// Those that get no new replicas; null before the broker has told.
    #[kafka(since = 4, tag = 1, default = null)]
    pub cordoned_log_dirs: Option<Vec<Uuid>>,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}

/// One of `end_points` of [`RegisterBrokerRecord`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct BrokerEndpoint {
    /// The name of the listener.
    pub name: String,
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL.
    pub security_protocol: i16,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}

/// One of `features` of [`RegisterBrokerRecord`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct BrokerFeature {
    /// The name of the feature.
    pub name: String,
    /// The lowest level.
    pub min_supported_version: i16,
    /// The highest level.
    pub max_supported_version: i16,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}

/// A broker's registration is forgotten.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 1, versions = 0, flexible = 0)]
pub struct UnregisterBrokerRecord {
    /// Its node id.
    pub broker_id: i32,
    /// The epoch of the registration.
    pub broker_epoch: i64,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}

/// A broker is fenced. Only old releases write it.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 7, versions = 0, flexible = 0)]
pub struct FenceBrokerRecord {
    /// Its node id.
    pub id: i32,
    /// The epoch of the registration.
    pub epoch: i64,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}

/// A broker is no longer fenced. Only old releases write it.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 8, versions = 0, flexible = 0)]
pub struct UnfenceBrokerRecord {
    /// Its node id.
    pub id: i32,
    /// The epoch of the registration.
    pub epoch: i64,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}

/// Something about a registered broker changes.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 17, versions = 0..=3, flexible = 0)]
pub struct BrokerRegistrationChangeRecord {
    /// Its node id.
    pub broker_id: i32,
    /// The epoch of the registration.
    pub broker_epoch: i64,
    /// -1 no longer fenced, 0 as before, 1 fenced.
    #[kafka(tag = 0)]
    pub fenced: i8,
    /// 0 as before, 1 about to stop.
    #[kafka(since = 1, tag = 1)]
    pub in_controlled_shutdown: i8,
    /// The log directories that work; empty where they are as before.
    #[kafka(since = 2, tag = 2)]
    pub log_dirs: Vec<Uuid>,
    /// Those that get no new replicas; null where they are as before.
    #[kafka(since = 3, tag = 3, default = null)]
    pub cordoned_log_dirs: Option<Vec<Uuid>>,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}
