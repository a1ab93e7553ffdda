//! A state machine for tests that never get as far as to ask one.

use kraft_core::{
    SnapshotId, StateMachine,
    state_machine::{ApplyFault, CommittedBatch, ProposeError, Provenance, RecordValues},
};

/// A state machine that nobody asks.
pub(crate) struct Nothing;

impl StateMachine for Nothing {
    type Record = ();
    type Image = ();
    type Mutation = ();
    type Snapshot = std::iter::Empty<Vec<u8>>;

    fn apply(&mut self, _: CommittedBatch<'_>) -> Result<(), ApplyFault> {
        Ok(())
    }

    fn load(&mut self, _: SnapshotId, _: i64, _: &mut dyn Iterator<Item = &[u8]>) -> Result<(), ApplyFault> {
        Ok(())
    }

    fn propose(&mut self, _: Vec<()>, _: Option<Provenance>) -> Result<RecordValues, ProposeError> {
        Ok(Vec::new())
    }

    fn image(&self) {}

    fn provenance(&self) -> Provenance {
        Provenance::NONE
    }

    fn snapshot(&self) -> Option<Self::Snapshot> {
        None
    }
}
