//! A state machine that is watched: whatever it is given is written down for the checkers.

use crate::checker::BatchMark;
use kraft_core::{
    Epoch, Instant, SnapshotId, StateMachine, Time,
    state_machine::{ApplyFault, CommittedBatch, Handled, NodeView, ProposeError, Provenance, RecordValues},
};
use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, PoisonError},
};

/// What a watched state machine was given since the last look.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Batches that were applied, with the digests of their records.
    pub(crate) applied: Vec<(BatchMark, Vec<u64>)>,
    /// The digests of records that the node appended as leader, by epoch and offset.
    pub(crate) appended: Vec<(Epoch, i64, u64)>,
    /// Snapshots that were loaded, with the digest of their records.
    pub(crate) loaded: Vec<(SnapshotId, u64)>,
}

/// The other end of a [`Recorded`] state machine.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recorder(Arc<Mutex<Seen>>);

impl Recorder {
    pub(crate) fn take(&self) -> Seen {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note(&self, note: impl FnOnce(&mut Seen)) {
        note(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Wraps a state machine.
#[derive(Debug)]
pub(crate) struct Recorded<S> {
    inner: S,
    recorder: Recorder,
}

impl<S> Recorded<S> {
    pub(crate) fn new(inner: S, recorder: Recorder) -> Self {
        Self { inner, recorder }
    }

    pub(crate) fn inner(&self) -> &S {
        &self.inner
    }
}

fn digest(value: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

impl<S: StateMachine> StateMachine for Recorded<S> {
    type Record = S::Record;
    type Image = S::Image;
    type Mutation = S::Mutation;
    type Snapshot = S::Snapshot;

    fn apply(&mut self, batch: CommittedBatch<'_>) -> Result<(), ApplyFault> {
        let records: Vec<u64> = batch.values.iter().map(|value| digest(value)).collect();
        let mut hasher = DefaultHasher::new();
        records.hash(&mut hasher);
        let mark = BatchMark {
            base: batch.base,
            last: batch.last,
            epoch: batch.epoch,
            digest: hasher.finish(),
        };
        self.recorder.note(|seen| seen.applied.push((mark, records)));
        self.inner.apply(batch)
    }

    fn load(
        &mut self,
        id: SnapshotId,
        timestamp_ms: i64,
        values: &mut dyn Iterator<Item = &[u8]>,
    ) -> Result<(), ApplyFault> {
        let mut hasher = DefaultHasher::new();
        let mut watched = values.inspect(|value| value.hash(&mut hasher));
        let result = self.inner.load(id, timestamp_ms, &mut watched);
        self.recorder.note(|seen| seen.loaded.push((id, hasher.finish())));
        result
    }

    fn lead(&mut self, epoch: Epoch, now: Time) -> Result<Vec<RecordValues>, ApplyFault> {
        self.inner.lead(epoch, now)
    }

    fn unlead(&mut self) {
        self.inner.unlead();
    }

    fn propose(
        &mut self,
        records: Vec<Self::Record>,
        expected: Option<Provenance>,
    ) -> Result<RecordValues, ProposeError> {
        self.inner.propose(records, expected)
    }

    fn mutate(&mut self, mutations: Vec<Self::Mutation>, now: Time) -> Result<RecordValues, ProposeError> {
        self.inner.mutate(mutations, now)
    }

    fn appended(&mut self, base: i64, epoch: Epoch, values: &[Vec<u8>]) {
        let digests = (base..)
            .zip(values)
            .map(|(offset, value)| (epoch, offset, digest(value)));
        self.recorder.note(|seen| seen.appended.extend(digests));
        self.inner.appended(base, epoch, values);
    }

    fn poll(&mut self, now: Time) -> Option<RecordValues> {
        self.inner.poll(now)
    }

    fn next_poll(&self) -> Option<Instant> {
        self.inner.next_poll()
    }

    fn handle(&mut self, api: i16, version: i16, body: &[u8], view: NodeView<'_>) -> Handled {
        self.inner.handle(api, version, body, view)
    }

    fn image(&self) -> Self::Image {
        self.inner.image()
    }

    fn provenance(&self) -> Provenance {
        self.inner.provenance()
    }

    fn snapshot(&self) -> Option<Self::Snapshot> {
        self.inner.snapshot()
    }
}
