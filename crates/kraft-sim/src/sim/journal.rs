//! The smallest state machine worth replicating: a list of numbers.

use kraft_core::{
    Epoch, SnapshotId, StateMachine, Time,
    state_machine::{ApplyFault, CommittedBatch, Handled, NodeView, ProposeError, Provenance, RecordValues},
};
use std::{convert::Infallible, sync::Arc};

/// A list of numbers, which grows at the end.
#[derive(Debug, Clone, Default)]
pub struct Journal {
    entries: Arc<Vec<u64>>,
    provenance: Provenance,
}

impl Journal {
    fn push(&mut self, offset: i64, value: &[u8]) -> Result<(), ApplyFault> {
        let bytes = value.try_into().map_err(|_| ApplyFault {
            offset,
            reason: format!("{} bytes are no number", value.len()),
        })?;
        Arc::make_mut(&mut self.entries).push(u64::from_be_bytes(bytes));
        Ok(())
    }
}

impl StateMachine for Journal {
    type Record = u64;
    type Image = Arc<Vec<u64>>;
    type Mutation = Infallible;
    type Snapshot = std::vec::IntoIter<Vec<u8>>;

    fn apply(&mut self, batch: CommittedBatch<'_>) -> Result<(), ApplyFault> {
        for (offset, value) in (batch.base..).zip(batch.values) {
            self.push(offset, value)?;
        }
        self.provenance = batch.provenance();
        Ok(())
    }

    fn load(
        &mut self,
        id: SnapshotId,
        _timestamp_ms: i64,
        values: &mut dyn Iterator<Item = &[u8]>,
    ) -> Result<(), ApplyFault> {
        *self = Self::default();
        if id == SnapshotId::BOOTSTRAP {
            return Ok(());
        }
        for value in values {
            self.push(id.end_offset, value)?;
        }
        self.provenance = id.into();
        Ok(())
    }

    fn lead(&mut self, _epoch: Epoch, _now: Time) -> Result<Vec<RecordValues>, ApplyFault> {
        Ok(Vec::new())
    }

    fn unlead(&mut self) {}

    fn propose(
        &mut self,
        records: Vec<u64>,
        expected: Option<Provenance>,
    ) -> Result<RecordValues, ProposeError> {
        if expected.is_some_and(|expected| expected != self.provenance) {
            return Err(ProposeError::Conflict {
                current: self.provenance,
            });
        }
        Ok(records
            .into_iter()
            .map(|number| number.to_be_bytes().to_vec())
            .collect())
    }

    fn mutate(&mut self, mutations: Vec<Infallible>, _now: Time) -> Result<RecordValues, ProposeError> {
        match mutations.into_iter().next() {
            None => Ok(Vec::new()),
            Some(mutation) => match mutation {},
        }
    }

    fn appended(&mut self, _base: i64, _epoch: Epoch, _values: &[Vec<u8>]) {}

    fn poll(&mut self, _now: Time) -> Option<RecordValues> {
        None
    }

    fn next_poll(&self) -> Option<kraft_core::Instant> {
        None
    }

    fn handle(&mut self, _api: i16, _version: i16, _body: &[u8], _view: NodeView<'_>) -> Handled {
        Handled::Unsupported
    }

    fn image(&self) -> Self::Image {
        self.entries.clone()
    }

    fn provenance(&self) -> Provenance {
        self.provenance
    }

    fn snapshot(&self) -> Option<Self::Snapshot> {
        let values: Vec<_> = self
            .entries
            .iter()
            .map(|number| number.to_be_bytes().to_vec())
            .collect();
        Some(values.into_iter())
    }
}
