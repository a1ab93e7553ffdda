// A replicated key-value store: what the log means. It takes every change whatever its state, so it needs no speculative
// one, and the defaults of the trait do for the rest.

use kraft_core::{
    SnapshotId, StateMachine,
    state_machine::{ApplyFault, CommittedBatch, ProposeError, Provenance, RecordValues},
};
use std::{collections::BTreeMap, convert::Infallible, sync::Arc};

/// What was put under each key last.
#[derive(Default)]
pub(crate) struct KeyValues {
    entries: Arc<BTreeMap<String, String>>,
    provenance: Provenance,
}

/// The record that puts a value under a key.
pub(crate) fn put(key: &str, value: &str) -> String {
    format!("{key}={value}")
}

impl StateMachine for KeyValues {
    type Record = String;
    type Image = Arc<BTreeMap<String, String>>;
    type Mutation = Infallible;
    type Snapshot = std::vec::IntoIter<Vec<u8>>;

    fn apply(&mut self, batch: CommittedBatch<'_>) -> Result<(), ApplyFault> {
        for (offset, value) in (batch.base..).zip(batch.values) {
            let record = String::from_utf8_lossy(value);
            let reason = || format!("{record} is not KEY=VALUE");
            let entry = record.split_once('=').ok_or_else(|| ApplyFault {
                offset,
                reason: reason(),
            })?;
            Arc::make_mut(&mut self.entries).insert(entry.0.to_owned(), entry.1.to_owned());
        }
        self.provenance = batch.provenance();
        Ok(())
    }

    fn load(
        &mut self,
        id: SnapshotId,
        timestamp_ms: i64,
        values: &mut dyn Iterator<Item = &[u8]>,
    ) -> Result<(), ApplyFault> {
        let values: Vec<&[u8]> = values.collect();
        let (last, epoch) = (id.end_offset - 1, id.epoch);
        self.entries = Arc::default();
        self.apply(CommittedBatch {
            base: 0,
            last,
            epoch,
            timestamp_ms,
            values: &values,
        })
    }

    fn propose(
        &mut self,
        records: Vec<String>,
        _expected: Option<Provenance>,
    ) -> Result<RecordValues, ProposeError> {
        // What cannot be applied must never be in the log.
        let code = 42;
        match records.iter().find(|record| !record.contains('=')) {
            Some(wrong) => Err(ProposeError::Invalid {
                code,
                reason: format!("{wrong} is not KEY=VALUE"),
            }),
            None => Ok(records.into_iter().map(String::into_bytes).collect()),
        }
    }

    fn image(&self) -> Self::Image {
        Arc::clone(&self.entries)
    }

    fn provenance(&self) -> Provenance {
        self.provenance
    }

    fn snapshot(&self) -> Option<Self::Snapshot> {
        let records: Vec<_> = self
            .entries
            .iter()
            .map(|(key, value)| put(key, value).into_bytes())
            .collect();
        Some(records.into_iter())
    }
}
