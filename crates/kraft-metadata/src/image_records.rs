//! An image as records, one after the other.

use crate::{
    bootstrap::feature_level,
    feature::{METADATA_VERSION, MetadataVersion},
    image::{MetadataImage, SharedMap},
    record::{
        BROKER_RESOURCE, ConfigRecord, MetadataRecord, RegisterControllerRecord, UserScramCredentialRecord,
    },
};
use kraft_wire::UnknownTags;
use std::ops::Bound::{Excluded, Unbounded};

/// The records that make an image out of an empty one, in Kafka's order. It shares the parts of the image, so that to make it
/// costs nothing however large the image is, and changes of the machine meanwhile do not show in it.
#[derive(Debug)]
pub(crate) struct ImageRecords {
    version: Option<MetadataVersion>,
    levels: Entries<String, i16>,
    controllers: Entries<i32, RegisterControllerRecord>,
    broker_configs: Entries<(String, String), String>,
    scram: Entries<(i8, String), UserScramCredentialRecord>,
}

impl ImageRecords {
    pub(crate) fn new(image: &MetadataImage) -> Self {
        Self {
            version: image.features.metadata_version,
            levels: Entries::new(&image.features.levels),
            controllers: Entries::new(&image.controllers),
            broker_configs: Entries::new(&image.broker_configs),
            scram: Entries::new(&image.scram),
        }
    }
}

impl Iterator for ImageRecords {
    type Item = MetadataRecord;

    fn next(&mut self) -> Option<MetadataRecord> {
        if let Some(version) = self.version.take() {
            return Some(feature_level(METADATA_VERSION, version.level()).into());
        }
        if let Some((name, level)) = self.levels.next() {
            return Some(feature_level(name, *level).into());
        }
        if let Some((_, record)) = self.controllers.next() {
            return Some(record.clone().into());
        }
        if let Some(((broker, key), value)) = self.broker_configs.next() {
            let record = ConfigRecord {
                resource_type: BROKER_RESOURCE,
                resource_name: broker.clone(),
                name: key.clone(),
                value: Some(value.clone()),
                unknown_tags: UnknownTags::default(),
            };
            return Some(record.into());
        }
        let (_, record) = self.scram.next()?;
        Some(record.clone().into())
    }
}

/// The entries of a shared map in their order.
#[derive(Debug)]
struct Entries<K, V> {
    map: SharedMap<K, V>,
    /// The key of the one before.
    last: Option<K>,
}

impl<K: Ord + Clone, V> Entries<K, V> {
    fn new(map: &SharedMap<K, V>) -> Self {
        Self {
            map: map.clone(),
            last: None,
        }
    }

    fn next(&mut self) -> Option<(&K, &V)> {
        let behind = self.last.as_ref().map_or(Unbounded, Excluded);
        let (key, value) = self.map.range((behind, Unbounded)).next()?;
        self.last = Some(key.clone());
        Some((key, value))
    }
}
