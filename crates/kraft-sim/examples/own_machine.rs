//! A state machine of one's own, simulated under everything that can go wrong.

use kraft_core::state_machine::{ApplyFault, CommittedBatch, ProposeError, Provenance, RecordValues};
use kraft_core::{SnapshotId, StateMachine};
use kraft_sim::sim::{Count, Counts, Failure, Settings, Simulation};
use std::convert::Infallible;

/// Everything that a project needs to simulate its state machine.
pub(crate) fn main() -> Result<(), Failure> {
    let mut counts = Counts::default();
    for seed in 0..4 {
        counts += Simulation::new(seed, Settings::of_seed(seed), Sum::default, |number| number % 10).run()?;
    }
    println!("{counts}");
    assert!(counts.of(Count::Crashes) > 0);
    Ok(())
}

/// The state machine: it adds numbers up.
#[derive(Default)]
struct Sum {
    total: u64,
    at: Provenance,
}

impl Sum {
    fn add(&mut self, offset: i64, value: &[u8]) -> Result<(), ApplyFault> {
        let bytes = value.try_into().map_err(|_| ApplyFault {
            offset,
            reason: format!("{value:?} is no number"),
        })?;
        self.total += u64::from_be_bytes(bytes);
        Ok(())
    }
}

impl StateMachine for Sum {
    type Record = u64;
    type Image = u64;
    type Mutation = Infallible;
    type Snapshot = std::iter::Once<Vec<u8>>;

    fn propose(&mut self, records: Vec<u64>, _: Option<Provenance>) -> Result<RecordValues, ProposeError> {
        Ok(records
            .into_iter()
            .map(|number| number.to_be_bytes().to_vec())
            .collect())
    }

    fn apply(&mut self, batch: CommittedBatch<'_>) -> Result<(), ApplyFault> {
        self.at = batch.provenance();
        batch
            .values
            .iter()
            .try_for_each(|value| self.add(batch.base, value))
    }

    fn load(
        &mut self,
        id: SnapshotId,
        _timestamp_ms: i64,
        values: &mut dyn Iterator<Item = &[u8]>,
    ) -> Result<(), ApplyFault> {
        *self = Self {
            total: 0,
            at: id.into(),
        };
        for value in values {
            self.add(id.end_offset, value)?;
        }
        Ok(())
    }

    fn image(&self) -> u64 {
        self.total
    }

    fn provenance(&self) -> Provenance {
        self.at
    }

    fn snapshot(&self) -> Option<Self::Snapshot> {
        Some(std::iter::once(self.total.to_be_bytes().to_vec()))
    }
}
