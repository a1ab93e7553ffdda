//! A state machine that takes every record and keeps none.

use std::convert::Infallible;
use std::iter;

use kraft_core::state_machine::{ApplyFault, CommittedBatch, ProposeError, Provenance, RecordValues};
use kraft_core::{SnapshotId, StateMachine};

/// Where the log has been applied to is all that there is to know.
pub(super) struct Opaque {
    applied: Provenance,
    /// Whether a snapshot without records may take the place of the log.
    snapshots: bool,
}

impl Opaque {
    pub(super) fn new(snapshots: bool) -> Self {
        Self {
            applied: Provenance::NONE,
            snapshots,
        }
    }
}

impl StateMachine for Opaque {
    type Record = Vec<u8>;
    type Image = Provenance;
    type Mutation = Infallible;
    type Snapshot = iter::Empty<Vec<u8>>;

    fn apply(&mut self, batch: CommittedBatch<'_>) -> Result<(), ApplyFault> {
        self.applied = batch.provenance();
        Ok(())
    }

    fn load(
        &mut self,
        id: SnapshotId,
        _timestamp_ms: i64,
        _values: &mut dyn Iterator<Item = &[u8]>,
    ) -> Result<(), ApplyFault> {
        self.applied = id.into();
        Ok(())
    }

    fn propose(
        &mut self,
        records: Vec<Vec<u8>>,
        _expected: Option<Provenance>,
    ) -> Result<RecordValues, ProposeError> {
        Ok(records)
    }

    fn image(&self) -> Provenance {
        self.applied
    }

    fn provenance(&self) -> Provenance {
        self.applied
    }

    /// There is no state that a snapshot would have to hold.
    fn snapshot(&self) -> Option<Self::Snapshot> {
        self.snapshots.then(iter::empty)
    }
}
