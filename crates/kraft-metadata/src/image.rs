//! The metadata at one offset.

use crate::{
    feature::MetadataVersion,
    image_records::ImageRecords,
    record::{MetadataRecord, RegisterControllerRecord, UserScramCredentialRecord},
};
use kraft_core::{Epoch, NodeId, state_machine::Provenance};
use rpds::RedBlackTreeMapSync;
use uuid::Uuid;

/// A map whose copies share everything but what is changed in one of them.
pub(crate) type SharedMap<K, V> = RedBlackTreeMapSync<K, V>;

/// Everything that the records up to an offset say, as far as this crate understands them.
///
/// A clone costs nothing and shares everything; a change of one of them copies the way to what it changes, however much there is.
#[derive(Debug, Clone, PartialEq)]
pub struct MetadataImage {
    pub(crate) provenance: Provenance,
    pub(crate) features: FinalizedFeatures,
    pub(crate) controllers: SharedMap<i32, RegisterControllerRecord>,
    pub(crate) broker_configs: SharedMap<(String, String), String>,
    pub(crate) scram: SharedMap<(i8, String), UserScramCredentialRecord>,
    pub(crate) complete: bool,
}

/// The levels in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinalizedFeatures {
    pub(crate) metadata_version: Option<MetadataVersion>,
    pub(crate) levels: SharedMap<String, i16>,
    pub(crate) epoch: i64,
}

impl FinalizedFeatures {
    /// The metadata version, absent before any is known.
    #[must_use]
    pub fn metadata_version(&self) -> Option<MetadataVersion> {
        self.metadata_version
    }

    /// The other features that are on, by name; `kraft.version`, which the quorum itself keeps, is not among them.
    pub fn levels(&self) -> impl Iterator<Item = (&str, i16)> {
        self.levels.iter().map(|(name, level)| (name.as_str(), *level))
    }

    /// The level of a feature other than `metadata.version`; 0 where it is off.
    #[must_use]
    pub fn level(&self, name: &str) -> i16 {
        self.levels.get(name).copied().unwrap_or(0)
    }

    /// The offset of the image in which a level last changed: what ApiVersions calls the epoch of the finalized
    /// features. -1 before any is known.
    #[must_use]
    pub fn epoch(&self) -> i64 {
        self.epoch
    }
}

impl MetadataImage {
    /// The image of an empty log.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            provenance: Provenance {
                last_offset: -1,
                last_epoch: Epoch(-1),
            },
            features: FinalizedFeatures {
                metadata_version: None,
                levels: SharedMap::default(),
                epoch: -1,
            },
            controllers: SharedMap::default(),
            broker_configs: SharedMap::default(),
            scram: SharedMap::default(),
            complete: true,
        }
    }

    /// Where the image stands.
    #[must_use]
    pub fn provenance(&self) -> Provenance {
        self.provenance
    }

    /// The levels in force.
    #[must_use]
    pub fn features(&self) -> &FinalizedFeatures {
        &self.features
    }

    /// The registered controllers, ordered by id.
    pub fn controllers(&self) -> impl Iterator<Item = &RegisterControllerRecord> {
        self.controllers.values()
    }

    /// The registration of a controller.
    #[must_use]
    pub fn controller(&self, id: NodeId) -> Option<&RegisterControllerRecord> {
        self.controllers.get(&id.0)
    }

    /// A setting of a broker, where the empty name stands for all brokers.
    #[must_use]
    pub fn broker_config(&self, broker: &str, key: &str) -> Option<&str> {
        let resource = (broker.to_owned(), key.to_owned());
        self.broker_configs.get(&resource).map(String::as_str)
    }

    /// The SCRAM credentials, ordered by mechanism and user.
    pub fn scram_credentials(&self) -> impl Iterator<Item = &UserScramCredentialRecord> {
        self.scram.values()
    }

    /// Whether the image holds everything that the log says, and all of it can be written again: no record has been seen that
    /// leaves something in Kafka's image and nothing in this one, nor a foreign writer's text of broken characters that is
    /// too long once they have been replaced. Only then does a snapshot of it lose nothing.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Whether this very process of a controller is registered.
    #[must_use]
    pub fn is_registered(&self, id: NodeId, incarnation_id: Uuid) -> bool {
        self.controller(id)
            .is_some_and(|registration| registration.incarnation_id == incarnation_id)
    }

    /// Whether this process of a controller has to register now: the metadata version knows registrations, and the
    /// image holds none of this process.
    #[must_use]
    pub fn wants_registration(&self, id: NodeId, incarnation_id: Uuid) -> bool {
        let knows = self
            .features
            .metadata_version
            .is_some_and(|version| version >= MetadataVersion::CONTROLLER_REGISTRATION);
        knows && !self.is_registered(id, incarnation_id)
    }

    /// The records that make this image out of an empty one, in Kafka's order: the metadata version first, the other
    /// features, controllers, settings, credentials.
    #[must_use]
    pub fn records(&self) -> Vec<MetadataRecord> {
        ImageRecords::new(self).collect()
    }
}
