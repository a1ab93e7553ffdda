//! The metadata as the records say it, all of it: what the tree is made of.

mod brokers;
mod topics;

use std::collections::BTreeMap;

use kraft_metadata::feature::{KRAFT_VERSION, METADATA_VERSION, MetadataVersion};
use kraft_metadata::record::{
    AccessControlEntryRecord, BrokerRegistrationChangeRecord, ClearElrRecord, ClientQuotaRecord,
    ConfigRecord, DelegationTokenRecord, FeatureLevelRecord, FenceBrokerRecord, NoOpRecord,
    PartitionChangeRecord, PartitionRecord, ProducerIdsRecord, RegisterBrokerRecord,
    RegisterControllerRecord, RemoveAccessControlEntryRecord, RemoveDelegationTokenRecord, RemoveTopicRecord,
    RemoveUserScramCredentialRecord, TopicRecord, UnfenceBrokerRecord, UnregisterBrokerRecord,
    UnregisterControllerRecord, UserScramCredentialRecord, ZkMigrationStateRecord,
};
use kraft_wire::Message;
use kraft_wire::metadata_frame::{MetadataFrame, MetadataFrameError};
use thiserror::Error;
use uuid::Uuid;

use super::names;

pub(super) use topics::{Partition, Topic, Topics};

/// Where the image stands: what was read last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Provenance {
    pub(super) offset: i64,
    pub(super) epoch: i32,
    pub(super) time_ms: i64,
}

/// All that the records up to a place say.
#[derive(Debug)]
pub(super) struct Image {
    pub(super) provenance: Provenance,
    pub(super) metadata_version: Option<MetadataVersion>,
    pub(super) features: BTreeMap<String, i16>,
    pub(super) brokers: BTreeMap<i32, RegisterBrokerRecord>,
    pub(super) controllers: BTreeMap<i32, RegisterControllerRecord>,
    pub(super) topics: Topics,
    /// By kind and name of the resource.
    pub(super) configs: BTreeMap<(i8, String), BTreeMap<String, String>>,
    /// By the name of the entity in the tree.
    pub(super) quotas: BTreeMap<String, BTreeMap<String, f64>>,
    pub(super) next_producer_id: i64,
    pub(super) acls: BTreeMap<Uuid, AccessControlEntryRecord>,
    /// By mechanism, then user.
    pub(super) scram: BTreeMap<i8, BTreeMap<String, UserScramCredentialRecord>>,
    pub(super) tokens: BTreeMap<String, DelegationTokenRecord>,
}

/// Why a record leaves nothing in the image.
#[derive(Debug, Error)]
pub(super) enum NotShown {
    #[error(transparent)]
    Unreadable(#[from] MetadataFrameError),
    #[error("record type {api_key} is not known to this release")]
    UnknownType { api_key: i16 },
    #[error("{0} is not there")]
    NotThere(String),
    #[error("{0}")]
    Contradiction(String),
}

impl Image {
    /// The image of nothing.
    pub(super) fn empty() -> Self {
        Self {
            provenance: Provenance {
                offset: -1,
                epoch: -1,
                time_ms: -1,
            },
            metadata_version: None,
            features: BTreeMap::new(),
            brokers: BTreeMap::new(),
            controllers: BTreeMap::new(),
            topics: Topics::default(),
            configs: BTreeMap::new(),
            quotas: BTreeMap::new(),
            next_producer_id: -1,
            acls: BTreeMap::new(),
            scram: BTreeMap::new(),
            tokens: BTreeMap::new(),
        }
    }

    /// Applies a record that is no mark of a transaction, as leniently as Kafka's loader: what contradicts the image is
    /// left out, and the next record is tried.
    pub(super) fn apply(&mut self, frame: &MetadataFrame) -> Result<(), NotShown> {
        match frame.api_key {
            FeatureLevelRecord::API_KEY => self.feature_level(frame.decode()?),
            RegisterBrokerRecord::API_KEY => self.register_broker(frame.decode()?),
            UnregisterBrokerRecord::API_KEY => {
                let record: UnregisterBrokerRecord = frame.decode()?;
                self.brokers.remove(&record.broker_id);
                Ok(())
            }
            FenceBrokerRecord::API_KEY => {
                let record: FenceBrokerRecord = frame.decode()?;
                self.broker(record.id, record.epoch)?.fenced = true;
                Ok(())
            }
            UnfenceBrokerRecord::API_KEY => {
                let record: UnfenceBrokerRecord = frame.decode()?;
                self.broker(record.id, record.epoch)?.fenced = false;
                Ok(())
            }
            BrokerRegistrationChangeRecord::API_KEY => self.change_broker(frame.decode()?),
            RegisterControllerRecord::API_KEY => self.register_controller(frame.decode()?),
            UnregisterControllerRecord::API_KEY => {
                let record: UnregisterControllerRecord = frame.decode()?;
                self.controllers.remove(&record.controller_id);
                Ok(())
            }
            TopicRecord::API_KEY => {
                self.topics.create(frame.decode()?);
                Ok(())
            }
            RemoveTopicRecord::API_KEY => {
                let record: RemoveTopicRecord = frame.decode()?;
                let name = self.topics.remove(record.topic_id)?;
                self.configs.remove(&(TOPIC_RESOURCE, name));
                Ok(())
            }
            PartitionRecord::API_KEY => self.topics.partition(frame.decode()?),
            PartitionChangeRecord::API_KEY => self.topics.change_partition(frame.decode()?),
            ClearElrRecord::API_KEY => self
                .topics
                .clear_elr(&frame.decode::<ClearElrRecord>()?.topic_name),
            ConfigRecord::API_KEY => {
                self.config(frame.decode()?);
                Ok(())
            }
            ClientQuotaRecord::API_KEY => self.quota(frame.decode()?),
            ProducerIdsRecord::API_KEY => {
                self.next_producer_id = frame.decode::<ProducerIdsRecord>()?.next_producer_id;
                Ok(())
            }
            AccessControlEntryRecord::API_KEY => {
                let record: AccessControlEntryRecord = frame.decode()?;
                self.acls.insert(record.id, record);
                Ok(())
            }
            RemoveAccessControlEntryRecord::API_KEY => {
                let record: RemoveAccessControlEntryRecord = frame.decode()?;
                let removed = self.acls.remove(&record.id);
                removed
                    .map(drop)
                    .ok_or_else(|| NotShown::NotThere(format!("ACL {}", record.id)))
            }
            UserScramCredentialRecord::API_KEY => {
                let record: UserScramCredentialRecord = frame.decode()?;
                let users = self.scram.entry(record.mechanism).or_default();
                users.insert(record.name.clone(), record);
                Ok(())
            }
            RemoveUserScramCredentialRecord::API_KEY => {
                let record: RemoveUserScramCredentialRecord = frame.decode()?;
                if let Some(users) = self.scram.get_mut(&record.mechanism) {
                    users.remove(&record.name);
                }
                Ok(())
            }
            DelegationTokenRecord::API_KEY => {
                let record: DelegationTokenRecord = frame.decode()?;
                self.tokens.insert(record.token_id.clone(), record);
                Ok(())
            }
            RemoveDelegationTokenRecord::API_KEY => {
                let record: RemoveDelegationTokenRecord = frame.decode()?;
                self.tokens.remove(&record.token_id);
                Ok(())
            }
            NoOpRecord::API_KEY | ZkMigrationStateRecord::API_KEY => Ok(()),
            api_key => Err(NotShown::UnknownType { api_key }),
        }
    }

    fn feature_level(&mut self, record: FeatureLevelRecord) -> Result<(), NotShown> {
        let level = record.feature_level;
        match record.name.as_str() {
            METADATA_VERSION => {
                let unknown = || NotShown::Contradiction(format!("{METADATA_VERSION} has no level {level}"));
                self.metadata_version = Some(MetadataVersion::from_level(level).ok_or_else(unknown)?);
            }
            // What counts stands in control records.
            KRAFT_VERSION => {}
            _ if level == 0 => {
                self.features.remove(&record.name);
            }
            _ => {
                self.features.insert(record.name, level);
            }
        }
        Ok(())
    }

    fn config(&mut self, record: ConfigRecord) {
        let resource = (record.resource_type, record.resource_name);
        match record.value {
            Some(value) => {
                self.configs
                    .entry(resource)
                    .or_default()
                    .insert(record.name, value);
            }
            None => {
                if let Some(settings) = self.configs.get_mut(&resource) {
                    settings.remove(&record.name);
                    if settings.is_empty() {
                        self.configs.remove(&resource);
                    }
                }
            }
        }
    }

    fn quota(&mut self, record: ClientQuotaRecord) -> Result<(), NotShown> {
        if record.entity.is_empty() {
            let what = format!("a quota {} for nobody", record.key);
            return Err(NotShown::Contradiction(what));
        }
        let parts = record.entity.iter();
        let parts = parts.map(|part| (part.entity_type.as_str(), part.entity_name.as_deref()));
        let entity = names::of_entity(&parts.collect());
        if !record.remove {
            self.quotas
                .entry(entity)
                .or_default()
                .insert(record.key, record.value);
        } else if let Some(quotas) = self.quotas.get_mut(&entity) {
            quotas.remove(&record.key);
            if quotas.is_empty() {
                self.quotas.remove(&entity);
            }
        }
        Ok(())
    }
}

/// The resource type of topics in configuration records.
pub(super) const TOPIC_RESOURCE: i8 = 2;
