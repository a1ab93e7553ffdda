//! Applying records, as strictly as a Kafka controller on standby does.

use crate::{
    feature::{Feature, KRAFT_VERSION, METADATA_VERSION, MetadataVersion},
    image::MetadataImage,
    record::{
        BROKER_RESOURCE, ConfigRecord, FeatureLevelRecord, MetadataRecord, RegisterControllerRecord,
        RemoveUserScramCredentialRecord, UnregisterControllerRecord,
    },
};
use kraft_core::{Epoch, state_machine::Provenance};
use std::sync::Arc;

/// The state that records lead to: the image, and the transaction that is open at its end.
///
/// A clone shares what it can, so a batch is replayed into a clone that replaces the original when all of it holds.
#[derive(Debug, Clone)]
pub(crate) struct Replay {
    /// The image, with what an open transaction holds.
    image: MetadataImage,
    /// The image from before the open transaction.
    before_transaction: Option<Arc<MetadataImage>>,
    /// The record that last had an effect.
    last_change: Provenance,
}

/// Why a record contradicts the state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Contradiction(String);

impl Replay {
    pub(crate) fn empty() -> Self {
        let image = MetadataImage::empty();
        Self {
            last_change: image.provenance,
            image,
            before_transaction: None,
        }
    }

    /// The image without what an open transaction holds.
    pub(crate) fn published(&self) -> &MetadataImage {
        self.before_transaction.as_deref().unwrap_or(&self.image)
    }

    /// The image with what an open transaction holds.
    pub(crate) fn latest(&self) -> &MetadataImage {
        &self.image
    }

    pub(crate) fn in_transaction(&self) -> bool {
        self.before_transaction.is_some()
    }

    /// Whether an image that stood at `expected` had the content that this state has: nothing but records without an
    /// effect lies between.
    pub(crate) fn still_is(&self, expected: Provenance) -> bool {
        let newest = self.image.provenance;
        let reached = expected.last_offset >= self.last_change.last_offset
            && expected.last_epoch >= self.last_change.last_epoch;
        let passed = expected.last_offset > newest.last_offset || expected.last_epoch > newest.last_epoch;
        reached && !passed
    }

    /// Moves to an offset at which nothing stands that has an effect here.
    pub(crate) fn advance(&mut self, to: Provenance) {
        self.image.provenance = to;
    }

    /// Moves to the end of a batch, and dates the features if the batch changed them.
    pub(crate) fn end_batch(&mut self, before: &MetadataImage, end: Provenance) {
        self.advance(end);
        let features = &mut self.image.features;
        let was = &before.features;
        if features.metadata_version != was.metadata_version || features.levels != was.levels {
            features.epoch = end.last_offset;
        }
    }

    /// Applies a record at its place in the log.
    pub(crate) fn record(&mut self, at: Provenance, record: &MetadataRecord) -> Result<(), Contradiction> {
        match record {
            MetadataRecord::BeginTransaction(_) => self.begin()?,
            MetadataRecord::EndTransaction(_) => self.end()?,
            MetadataRecord::AbortTransaction(_) => self.abort()?,
            MetadataRecord::NoOp(_) | MetadataRecord::ZkMigrationState(_) => {
                self.advance(at);
                return Ok(());
            }
            other => self.change(other)?,
        }
        self.advance(at);
        self.last_change = at;
        Ok(())
    }

    /// Applies a record of a snapshot, where transactions have no place.
    pub(crate) fn snapshot_record(&mut self, record: &MetadataRecord) -> Result<(), Contradiction> {
        match record {
            MetadataRecord::BeginTransaction(_)
            | MetadataRecord::EndTransaction(_)
            | MetadataRecord::AbortTransaction(_) => {
                Err(Contradiction("a snapshot holds no transactions".to_owned()))
            }
            MetadataRecord::NoOp(_) | MetadataRecord::ZkMigrationState(_) => Ok(()),
            other => self.change(other),
        }
    }

    /// Ends the loading of a snapshot that stands at `at`.
    pub(crate) fn end_snapshot(&mut self, at: Provenance) {
        self.end_batch(&MetadataImage::empty(), at);
        self.last_change = at;
    }

    fn begin(&mut self) -> Result<(), Contradiction> {
        if self.in_transaction() {
            return Err(Contradiction("a transaction begins inside another".to_owned()));
        }
        self.before_transaction = Some(Arc::new(self.image.clone()));
        Ok(())
    }

    fn end(&mut self) -> Result<(), Contradiction> {
        let open = self.before_transaction.take();
        open.map(drop)
            .ok_or_else(|| Contradiction("a transaction ends that never began".to_owned()))
    }

    fn abort(&mut self) -> Result<(), Contradiction> {
        let before = self.before_transaction.take();
        let before =
            before.ok_or_else(|| Contradiction("a transaction is aborted that never began".to_owned()))?;
        self.image = Arc::unwrap_or_clone(before);
        Ok(())
    }

    fn change(&mut self, record: &MetadataRecord) -> Result<(), Contradiction> {
        let stays = matches!(
            record,
            MetadataRecord::RegisterController(_)
                | MetadataRecord::Config(_)
                | MetadataRecord::UserScramCredential(_)
        );
        self.image.complete &= !stays || record.can_be_encoded();
        match record {
            MetadataRecord::FeatureLevel(record) => self.feature_level(record),
            MetadataRecord::RegisterController(record) => self.register_controller(record),
            MetadataRecord::UnregisterController(record) => self.unregister_controller(record),
            MetadataRecord::Config(record) => self.config(record),
            MetadataRecord::UserScramCredential(record) => {
                let key = (record.mechanism, record.name.clone());
                self.image.scram.insert_mut(key, record.clone());
                Ok(())
            }
            MetadataRecord::RemoveUserScramCredential(record) => self.remove_scram(record),
            MetadataRecord::Carried(_) => {
                self.image.complete = false;
                Ok(())
            }
            MetadataRecord::BeginTransaction(_)
            | MetadataRecord::EndTransaction(_)
            | MetadataRecord::AbortTransaction(_)
            | MetadataRecord::NoOp(_)
            | MetadataRecord::ZkMigrationState(_) => unreachable!("handled before"),
        }
    }

    fn feature_level(&mut self, record: &FeatureLevelRecord) -> Result<(), Contradiction> {
        let (name, level) = (record.name.as_str(), record.feature_level);
        let unsupported =
            || Contradiction(format!("{name} has no level {level} that this software supports"));
        if name == METADATA_VERSION {
            let version = MetadataVersion::from_level(level).ok_or_else(unsupported)?;
            self.image.features.metadata_version = Some(version);
            return Ok(());
        }
        let supported = Feature::named(name).map_or(level == 0, |feature| feature.has_level(level));
        if !supported {
            return Err(unsupported());
        }
        // Old logs name kraft.version here; what counts stands in control records.
        if name != KRAFT_VERSION {
            let levels = &mut self.image.features.levels;
            if level == 0 {
                levels.remove_mut(name);
            } else {
                levels.insert_mut(name.to_owned(), level);
            }
        }
        Ok(())
    }

    fn register_controller(&mut self, record: &RegisterControllerRecord) -> Result<(), Contradiction> {
        let unknown = record
            .end_points
            .iter()
            .find(|endpoint| !(0..=SECURITY_PROTOCOL_MAX).contains(&endpoint.security_protocol));
        if let Some(endpoint) = unknown {
            return Err(Contradiction(format!(
                "listener {} of controller {} has the unknown security protocol {}",
                endpoint.name, record.controller_id, endpoint.security_protocol
            )));
        }
        self.image
            .controllers
            .insert_mut(record.controller_id, record.clone());
        Ok(())
    }

    fn unregister_controller(&mut self, record: &UnregisterControllerRecord) -> Result<(), Contradiction> {
        let id = record.controller_id;
        if self.image.controllers.remove_mut(&id) {
            return Ok(());
        }
        Err(Contradiction(format!("controller {id} is not registered")))
    }

    /// Settings of brokers are kept. Those of other resources come and go with the resources, which are carried.
    fn config(&mut self, record: &ConfigRecord) -> Result<(), Contradiction> {
        if record.resource_type != BROKER_RESOURCE {
            self.image.complete = false;
            return Ok(());
        }
        let broker = &record.resource_name;
        if !broker.is_empty() && broker.parse::<i32>().is_err() {
            return Err(Contradiction(format!("{broker:?} is no broker id")));
        }
        let resource = (broker.clone(), record.name.clone());
        let configs = &mut self.image.broker_configs;
        match &record.value {
            Some(value) => configs.insert_mut(resource, value.clone()),
            None => drop(configs.remove_mut(&resource)),
        }
        Ok(())
    }

    fn remove_scram(&mut self, record: &RemoveUserScramCredentialRecord) -> Result<(), Contradiction> {
        let key = (record.mechanism, record.name.clone());
        if self.image.scram.remove_mut(&key) {
            return Ok(());
        }
        Err(Contradiction(format!(
            "user {:?} has no credential of mechanism {}",
            record.name, record.mechanism
        )))
    }
}

/// The place of a record.
pub(crate) fn place(offset: i64, epoch: Epoch) -> Provenance {
    Provenance {
        last_offset: offset,
        last_epoch: epoch,
    }
}

/// 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL.
pub(crate) const SECURITY_PROTOCOL_MAX: i16 = 3;
