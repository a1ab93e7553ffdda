// A journal of which nothing is kept but how long it is and a digest of it: enough to tell exactly what a reader has seen.

use kraft_core::{
    SnapshotId, StateMachine,
    state_machine::{ApplyFault, CommittedBatch, ProposeError, Provenance, RecordValues},
};
use std::convert::Infallible;

/// Where a journal stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Journal {
    /// How many records it has.
    pub(crate) records: u64,
    /// Of all of them, in order.
    pub(crate) digest: u64,
    /// The last offset, control records included.
    pub(crate) at: Provenance,
}

impl Default for Journal {
    fn default() -> Self {
        Self {
            records: 0,
            digest: START,
            at: Provenance::NONE,
        }
    }
}

impl Journal {
    fn add(&mut self, value: &[u8]) {
        self.records += 1;
        // The byte that ends a record occurs in none.
        for byte in value.iter().chain(&[0xff]) {
            self.digest = (self.digest ^ u64::from(*byte)).wrapping_mul(PRIME);
        }
    }
}

impl StateMachine for Journal {
    type Record = String;
    type Image = Journal;
    type Mutation = Infallible;
    type Snapshot = std::option::IntoIter<Vec<u8>>;

    fn apply(&mut self, batch: CommittedBatch<'_>) -> Result<(), ApplyFault> {
        batch.values.iter().for_each(|value| self.add(value));
        self.at = batch.provenance();
        Ok(())
    }

    fn load(
        &mut self,
        id: SnapshotId,
        _timestamp_ms: i64,
        values: &mut dyn Iterator<Item = &[u8]>,
    ) -> Result<(), ApplyFault> {
        let at = Provenance::from(id);
        let numbers = values.next().and_then(|value| value.split_at_checked(8));
        let numbers = numbers.and_then(|(records, digest)| {
            let number = |bytes: &[u8]| Some(u64::from_be_bytes(bytes.try_into().ok()?));
            Some((number(records)?, number(digest)?))
        });
        let (records, digest) = numbers.ok_or_else(|| ApplyFault {
            offset: at.last_offset,
            reason: "the snapshot is not one of a journal".to_owned(),
        })?;
        *self = Journal { records, digest, at };
        Ok(())
    }

    fn propose(
        &mut self,
        records: Vec<String>,
        _expected: Option<Provenance>,
    ) -> Result<RecordValues, ProposeError> {
        Ok(records.into_iter().map(String::into_bytes).collect())
    }

    fn image(&self) -> Journal {
        *self
    }

    fn provenance(&self) -> Provenance {
        self.at
    }

    fn snapshot(&self) -> Option<Self::Snapshot> {
        let value = [self.records.to_be_bytes(), self.digest.to_be_bytes()].concat();
        Some(Some(value).into_iter())
    }
}

// FNV-1a.
const START: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;
