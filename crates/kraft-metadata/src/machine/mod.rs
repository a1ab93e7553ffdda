//! The state machine.

mod describe_cluster;
mod features;
mod registration;
mod snapshot;
mod unregister;
mod update_features;

use crate::{
    activation::{self, Found},
    image::MetadataImage,
    record::{MetadataRecord, NoOpRecord},
    replay::{Replay, place},
};
use bytes::Bytes;
use kraft_core::{
    Epoch, Instant, SnapshotId, StateMachine, Time,
    state_machine::{
        ApplyFault, CommittedBatch, Features, Handled, HandledApi, NodeView, ProposeError, Provenance,
        RecordValues,
    },
};
use kraft_wire::{ApiKey, ErrorCode, Message};
use std::{convert::Infallible, sync::Arc, time::Duration};

pub use snapshot::SnapshotValues;

/// What a [`MetadataMachine`] takes from the node's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataSettings {
    /// `min.insync.replicas`: what a new cluster starts with.
    pub min_insync_replicas: i32,
    /// `metadata.max.idle.interval.ms`: how often a leader writes a no-op record; absent where it is 0.
    pub max_idle_interval: Option<Duration>,
}

impl Default for MetadataSettings {
    /// Kafka's defaults.
    fn default() -> Self {
        Self {
            min_insync_replicas: 1,
            max_idle_interval: Some(Duration::from_millis(500)),
        }
    }
}

/// Kafka's metadata, as far as this crate interprets it, behind the engine's trait.
///
/// Committed records are replayed as strictly as a Kafka controller on standby replays them, and proposals are
/// replayed in the same way before they are appended, so that a leader of this kind writes nothing at which a Kafka
/// controller would halt. A change made in a transaction shows in the image once the transaction has ended.
#[derive(Debug)]
pub struct MetadataMachine {
    settings: MetadataSettings,
    /// What the bootstrap checkpoint holds: written by whoever leads an empty log first.
    bootstrap: Vec<Vec<u8>>,
    committed: Replay,
    /// A copy of the committed image outside transactions, shared with readers.
    published: Arc<MetadataImage>,
    leading: Option<Leading>,
}

/// What only a leader has.
#[derive(Debug)]
struct Leading {
    /// The committed state and everything appended since.
    appended: Replay,
    next_no_op: Option<Instant>,
    /// The log ended inside a transaction whose abort is not committed yet. Nothing is appended meanwhile: a Kafka
    /// node that reads the abort together with later records would take the voided ones for good.
    aborting: bool,
}

impl MetadataMachine {
    /// The machine of an empty log.
    #[must_use]
    pub fn new(settings: MetadataSettings) -> Self {
        let committed = Replay::empty();
        Self {
            settings,
            bootstrap: Vec::new(),
            published: Arc::new(committed.published().clone()),
            committed,
            leading: None,
        }
    }

    /// The state that a leader checks against, and may append to.
    fn appendable(&self) -> Option<&Replay> {
        self.leading
            .as_ref()
            .filter(|leading| !leading.aborting)
            .map(|leading| &leading.appended)
    }

    fn publish(&mut self) {
        let was_complete = self.published.complete;
        self.published = Arc::new(self.committed.published().clone());
        if was_complete && !self.published.complete {
            tracing::warn!(
                last_offset = self.published.provenance.last_offset,
                "the log has records that are only carried here, or cannot be written again: this node writes no snapshots, \
                 and its log grows"
            );
        }
        if let Some(leading) = &mut self.leading {
            leading.aborting &= self.committed.in_transaction();
            // Control batches are committed without having been told as appended.
            let committed = self.committed.latest().provenance;
            if leading.appended.latest().provenance < committed {
                leading.appended.advance(committed);
            }
        }
    }
}

impl StateMachine for MetadataMachine {
    type Record = MetadataRecord;
    type Image = Arc<MetadataImage>;
    type Mutation = Infallible;
    type Snapshot = SnapshotValues;

    fn apply(&mut self, batch: CommittedBatch<'_>) -> Result<(), ApplyFault> {
        let mut next = self.committed.clone();
        replay_batch(&mut next, batch.base, batch.last, batch.epoch, batch.values)?;
        self.committed = next;
        self.publish();
        Ok(())
    }

    fn load(
        &mut self,
        id: SnapshotId,
        _timestamp_ms: i64,
        values: &mut dyn Iterator<Item = &[u8]>,
    ) -> Result<(), ApplyFault> {
        if id == SnapshotId::BOOTSTRAP {
            let values: Vec<_> = values.map(<[u8]>::to_vec).collect();
            // Up to Kafka 4.3 this checkpoint held control records only, beside a file of its own for the others.
            if !values.is_empty() {
                self.bootstrap = values;
            }
            return Ok(());
        }
        let mut next = Replay::empty();
        for (index, value) in (0..).zip(values) {
            let fault = |reason: String| ApplyFault {
                offset: index,
                reason: format!("snapshot {}-{}: {reason}", id.end_offset, id.epoch),
            };
            let record = MetadataRecord::decode(value).map_err(|error| fault(error.to_string()))?;
            next.snapshot_record(&record)
                .map_err(|error| fault(error.to_string()))?;
        }
        next.end_snapshot(id.into());
        self.committed = next;
        self.publish();
        Ok(())
    }

    fn lead(&mut self, _epoch: Epoch, now: Time) -> Result<Vec<RecordValues>, ApplyFault> {
        let in_transaction = self.committed.in_transaction();
        let batches = activation::batches(Found {
            metadata_version: self.committed.latest().features.metadata_version,
            in_transaction,
            bootstrap: &self.bootstrap,
            min_insync_replicas: self.settings.min_insync_replicas,
        });
        let batches = batches.map_err(|error| ApplyFault {
            offset: self.committed.latest().provenance.last_offset + 1,
            reason: error.to_string(),
        })?;
        let no_op_at = |interval| now.mono.after(interval);
        self.leading = Some(Leading {
            appended: self.committed.clone(),
            next_no_op: self.settings.max_idle_interval.map(no_op_at),
            aborting: in_transaction,
        });
        Ok(batches)
    }

    fn unlead(&mut self) {
        self.leading = None;
    }

    fn propose(
        &mut self,
        records: Vec<MetadataRecord>,
        expected: Option<Provenance>,
    ) -> Result<RecordValues, ProposeError> {
        let appended = self.appendable().ok_or_else(|| ProposeError::Invalid {
            code: ErrorCode::NotController.code(),
            reason: "this node does not lead".to_owned(),
        })?;
        if expected.is_some_and(|expected| !appended.still_is(expected)) {
            return Err(ProposeError::Conflict {
                current: appended.latest().provenance,
            });
        }
        checked(appended, &records).map_err(|reason| ProposeError::Invalid {
            code: ErrorCode::InvalidRequest.code(),
            reason,
        })
    }

    fn mutate(&mut self, mutations: Vec<Infallible>, _now: Time) -> Result<RecordValues, ProposeError> {
        match mutations.into_iter().next() {
            Some(never) => match never {},
            None => Err(ProposeError::Invalid {
                code: ErrorCode::InvalidRequest.code(),
                reason: "there is nothing to change".to_owned(),
            }),
        }
    }

    /// # Panics
    /// The records contradict what was appended before them: they were not the outcome of the call just before.
    fn appended(&mut self, base: i64, epoch: Epoch, values: &[Vec<u8>]) {
        let Some(leading) = &mut self.leading else {
            return;
        };
        let values: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
        let count = i64::try_from(values.len()).expect("a batch has few records");
        replay_batch(&mut leading.appended, base, base + count - 1, epoch, &values)
            .expect("only records that were checked against this state are appended");
    }

    fn poll(&mut self, now: Time) -> Option<RecordValues> {
        let interval = self.settings.max_idle_interval?;
        // A no-op that is committed before there is a metadata version halts Kafka's controllers, so it waits for one
        // that is committed, and for the abort of a transaction.
        let may_write =
            self.published.features.metadata_version.is_some() && !self.committed.in_transaction();
        let leading = self.leading.as_mut()?;
        if leading.next_no_op.is_none_or(|due| now.mono < due) {
            return None;
        }
        leading.next_no_op = Some(now.mono.after(interval));
        may_write.then(|| {
            let record = MetadataRecord::from(NoOpRecord::default());
            vec![record.encode().expect("an empty record can be written")]
        })
    }

    fn next_poll(&self) -> Option<Instant> {
        self.leading.as_ref()?.next_no_op
    }

    fn handle(&mut self, api: i16, version: i16, body: &[u8], view: NodeView<'_>) -> Handled {
        match ApiKey::from_key(api) {
            Some(ApiKey::DescribeCluster) => self.describe_cluster(version, body, view),
            Some(ApiKey::ControllerRegistration) => self.register_controller(version, body),
            Some(ApiKey::UnregisterController) => self.unregister_controller(version, body, view),
            Some(ApiKey::UpdateFeatures) => self.update_features(version, body, view),
            _ => Handled::Unsupported,
        }
    }

    fn apis(&self) -> Vec<HandledApi> {
        Self::handled_apis()
    }

    fn features(&self) -> Features {
        self.announced_features()
    }

    fn image(&self) -> Arc<MetadataImage> {
        self.published.clone()
    }

    fn provenance(&self) -> Provenance {
        self.published.provenance
    }

    /// Shares the image: nothing is encoded before the values are drawn. `None` inside a transaction, before there is a
    /// metadata version, and where the log holds records that leave something in Kafka's image and nothing in this one, or that
    /// cannot be written again ([`MetadataImage::is_complete`]): a snapshot without them would lose them for the whole
    /// cluster.
    fn snapshot(&self) -> Option<Self::Snapshot> {
        let image = self.committed.published();
        let whole = image.complete && image.features.metadata_version.is_some();
        if !whole || self.committed.in_transaction() {
            return None;
        }
        Some(SnapshotValues::new(image))
    }
}

/// Replays a whole batch, or fails at a record of it.
fn replay_batch(
    state: &mut Replay,
    base: i64,
    last: i64,
    epoch: Epoch,
    values: &[&[u8]],
) -> Result<(), ApplyFault> {
    let before = state.published().clone();
    if !values.is_empty() && i64::try_from(values.len()) != Ok(last - base + 1) {
        return Err(ApplyFault {
            offset: base,
            reason: format!("{} records stand at the offsets {base} to {last}", values.len()),
        });
    }
    for (offset, value) in (base..).zip(values) {
        let fault = |reason: String| ApplyFault { offset, reason };
        let record = MetadataRecord::decode(value).map_err(|error| fault(error.to_string()))?;
        state
            .record(place(offset, epoch), &record)
            .map_err(|error| fault(error.to_string()))?;
    }
    state.end_batch(&before, place(last, epoch));
    Ok(())
}

/// The values of records that may be appended to a state: they can be written, the metadata version knows them, and
/// replaying them over the state succeeds.
fn checked(state: &Replay, records: &[MetadataRecord]) -> Result<RecordValues, String> {
    if records.is_empty() {
        return Err("there is nothing to append".to_owned());
    }
    let mut state = state.clone();
    let mut at = state.latest().provenance;
    let mut values = Vec::with_capacity(records.len());
    for record in records {
        let (Some(name), Some(level)) = (record.name(), record.level_min()) else {
            return Err(
                "records that are not interpreted cannot be checked, and are not appended".to_owned(),
            );
        };
        check_feature_level(&state, record)?;
        let version = state.latest().features.metadata_version;
        values.push(record.encode().map_err(|error| error.to_string())?);
        at.last_offset += 1;
        // The first record may be the one that sets the level, so the level is looked at behind it.
        state.record(at, record).map_err(|error| error.to_string())?;
        let version = version.or(state.latest().features.metadata_version);
        if version.is_none_or(|version| version.level() < level) {
            return Err(format!("{name} needs metadata.version {level}"));
        }
    }
    Ok(values)
}

/// What replay lets pass and a leader must not write all the same.
fn check_feature_level(state: &Replay, record: &MetadataRecord) -> Result<(), String> {
    use crate::feature::{KRAFT_VERSION, METADATA_VERSION, MetadataVersion};
    let MetadataRecord::FeatureLevel(record) = record else {
        return Ok(());
    };
    let level = record.feature_level;
    match record.name.as_str() {
        KRAFT_VERSION => Err("kraft.version stands in control records only".to_owned()),
        METADATA_VERSION => {
            let version = MetadataVersion::from_level(level).filter(|version| version.is_production());
            let version =
                version.ok_or_else(|| format!("metadata.version has no level {level} for production"))?;
            let current = state.latest().features.metadata_version;
            match current.filter(|current| *current > version) {
                Some(current) => Err(format!(
                    "metadata.version is {current} and does not go down to {version}"
                )),
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

/// Reads a request. Kafka closes the connection on one that it cannot read.
fn request<M: Message>(version: i16, body: &[u8]) -> Option<M> {
    M::from_bytes(&Bytes::copy_from_slice(body), version).ok()
}

fn reply<M: Message>(answer: &M, version: i16) -> Handled {
    encoded(answer, version).map_or(Handled::Unsupported, Handled::Reply)
}

/// Appends a record and answers when it is committed.
fn propose<M: Message>(
    appended: &Replay,
    record: MetadataRecord,
    accepted: &M,
    failed: &M,
    version: i16,
) -> Handled {
    let values = match checked(appended, &[record]) {
        Ok(values) => values,
        Err(reason) => {
            tracing::warn!(reason, "a request asks for a record that cannot be appended");
            return reply(failed, version);
        }
    };
    match (encoded(accepted, version), encoded(failed, version)) {
        (Some(reply), Some(failed)) => Handled::Propose {
            values,
            reply,
            failed,
        },
        _ => Handled::Unsupported,
    }
}

/// The answer as bytes. A name that came from a peer may not fit into a string once its broken characters have been
/// replaced; then there is no answer.
fn encoded<M: Message>(answer: &M, version: i16) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    match answer.encode(version, &mut out) {
        Ok(()) => Some(out),
        Err(error) => {
            tracing::warn!(%error, "an answer cannot be written");
            None
        }
    }
}

fn active_controller(view: NodeView<'_>) -> String {
    match view.leader {
        Some(leader) => format!("The active controller appears to be node {leader}."),
        None => "No controller appears to be active.".to_owned(),
    }
}
