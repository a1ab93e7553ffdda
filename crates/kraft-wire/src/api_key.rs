//! The APIs of a controller listener and the one that clients try there, with the versions that Kafka 4.4 speaks.

use core::fmt;
use core::ops::RangeInclusive;

macro_rules! api_keys {
    ($($variant:ident = $key:literal, $versions:expr, $flexible:expr;)*) => {
        /// An API of the controller listener, or one whose requests it meets and closes the connection for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        #[repr(i16)]
        pub enum ApiKey {
            $(
                #[doc = concat!("Api key ", stringify!($key), ".")]
                $variant = $key,
            )*
        }

        impl ApiKey {
            /// Every API, in rising order, be it [listed](ApiKey::is_listed) or not.
            pub const ALL: &'static [ApiKey] = &[$(ApiKey::$variant),*];

            /// The API of a number from the wire.
            pub fn from_key(key: i16) -> Option<Self> {
                match key {
                    $($key => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Kafka's name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => stringify!($variant),)*
                }
            }

            /// The versions that Kafka 4.4 has, and a controller of it lists if it lists the API at all.
            pub fn versions(self) -> RangeInclusive<i16> {
                match self {
                    $(Self::$variant => $versions,)*
                }
            }

            /// First version with compact lengths and tagged fields.
            pub fn flexible_since(self) -> Option<i16> {
                match self {
                    $(Self::$variant => $flexible,)*
                }
            }
        }
    };
}

impl ApiKey {
    /// The number on the wire.
    pub fn key(self) -> i16 {
        self as i16
    }

    /// True if a controller of Kafka 4.4 names the API in its answer to ApiVersions. It does not know our own, and it
    /// leaves Metadata to the brokers: whoever asks a controller for it is cut off.
    pub fn is_listed(self) -> bool {
        !matches!(self, Self::Metadata | Self::MetadataFetch)
    }

    /// True if `version` has compact lengths and tagged fields, be it a valid version or not.
    pub fn is_flexible(self, version: i16) -> bool {
        self.flexible_since().is_some_and(|since| version >= since)
    }

    /// Version of the header of a request. Defined for versions that do not exist too: their header is read before
    /// the version is refused.
    pub fn request_header_version(self, version: i16) -> i16 {
        if self.is_flexible(version) { 2 } else { 1 }
    }

    /// Version of the header of an answer. ApiVersions keeps the oldest form in all versions, because its reader does
    /// not yet know what the peer speaks.
    pub fn response_header_version(self, version: i16) -> i16 {
        i16::from(self != Self::ApiVersions && self.is_flexible(version))
    }
}

impl fmt::Display for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

api_keys! {
    Fetch = 1, 4..=18, Some(12);
    Metadata = 3, 0..=13, Some(9);
    SaslHandshake = 17, 0..=1, None;
    ApiVersions = 18, 0..=5, Some(3);
    CreateTopics = 19, 2..=7, Some(5);
    DeleteTopics = 20, 1..=6, Some(4);
    DescribeAcls = 29, 1..=3, Some(2);
    CreateAcls = 30, 1..=3, Some(2);
    DeleteAcls = 31, 1..=3, Some(2);
    DescribeConfigs = 32, 1..=4, Some(4);
    AlterConfigs = 33, 0..=2, Some(2);
    SaslAuthenticate = 36, 0..=2, Some(2);
    CreatePartitions = 37, 0..=3, Some(2);
    CreateDelegationToken = 38, 1..=3, Some(2);
    RenewDelegationToken = 39, 1..=2, Some(2);
    ExpireDelegationToken = 40, 1..=2, Some(2);
    DescribeDelegationToken = 41, 1..=3, Some(2);
    ElectLeaders = 43, 0..=2, Some(2);
    IncrementalAlterConfigs = 44, 0..=1, Some(1);
    AlterPartitionReassignments = 45, 0..=1, Some(0);
    ListPartitionReassignments = 46, 0..=0, Some(0);
    AlterClientQuotas = 49, 0..=1, Some(1);
    DescribeUserScramCredentials = 50, 0..=0, Some(0);
    AlterUserScramCredentials = 51, 0..=0, Some(0);
    Vote = 52, 0..=2, Some(0);
    BeginQuorumEpoch = 53, 0..=1, Some(1);
    EndQuorumEpoch = 54, 0..=1, Some(1);
    DescribeQuorum = 55, 0..=2, Some(0);
    AlterPartition = 56, 2..=3, Some(0);
    UpdateFeatures = 57, 0..=2, Some(0);
    Envelope = 58, 0..=0, Some(0);
    FetchSnapshot = 59, 0..=1, Some(0);
    DescribeCluster = 60, 0..=2, Some(0);
    BrokerRegistration = 62, 0..=4, Some(0);
    BrokerHeartbeat = 63, 0..=2, Some(0);
    UnregisterBroker = 64, 0..=0, Some(0);
    AllocateProducerIds = 67, 0..=0, Some(0);
    ControllerRegistration = 70, 0..=0, Some(0);
    AssignReplicasToDirs = 73, 0..=0, Some(0);
    AddRaftVoter = 80, 0..=1, Some(0);
    RemoveRaftVoter = 81, 0..=0, Some(0);
    UpdateRaftVoter = 82, 0..=0, Some(0);
    UnregisterController = 94, 0..=0, Some(0);
    MetadataFetch = 1004, 0..=0, Some(0);
}
