//! A state machine that is watched: whatever it is given is written down for the checkers.

use crate::checker::{BatchMark, OpId};
use kraft_core::{
    Epoch, Instant, SnapshotId, StateMachine, Time,
    state_machine::{ApplyFault, CommittedBatch, Handled, NodeView, ProposeError, Provenance, RecordValues},
};
use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, PoisonError},
};

/// Something that a watched state machine was given or told.
#[derive(Debug)]
pub(crate) enum Note {
    /// A batch was applied; with the digests of its records.
    Applied(BatchMark, Vec<u64>),
    /// Records were appended by this node as leader, for a client or for nobody.
    Appended {
        op: Option<OpId>,
        epoch: Epoch,
        base: i64,
        records: Vec<u64>,
    },
    /// A snapshot was loaded; with the digest of its records.
    Loaded(SnapshotId, u64),
    /// It leads, or does so no more.
    Leading(Option<Epoch>),
}

/// A record, and whose it is.
#[derive(Debug)]
pub(crate) struct Tagged<R> {
    pub(crate) op: OpId,
    pub(crate) record: R,
}

/// The other end of a [`Recorded`] state machine.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recorder(Arc<Mutex<Vec<Note>>>);

impl Recorder {
    pub(crate) fn take(&self) -> Vec<Note> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note(&self, note: Note) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(note);
    }
}

/// Wraps a state machine.
#[derive(Debug)]
pub(crate) struct Recorded<S> {
    inner: S,
    recorder: Recorder,
    /// Whose records the state machine has just been asked about: they are the next to be appended.
    proposing: Option<OpId>,
    /// Batches that were applied.
    batches: u64,
}

impl<S> Recorded<S> {
    pub(crate) fn new(inner: S, recorder: Recorder) -> Self {
        Self {
            inner,
            recorder,
            proposing: None,
            batches: 0,
        }
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
    type Record = Tagged<S::Record>;
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
        self.recorder.note(Note::Applied(mark, records));
        self.batches += 1;
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
        self.recorder.note(Note::Loaded(id, hasher.finish()));
        result
    }

    fn lead(&mut self, epoch: Epoch, now: Time) -> Result<Vec<RecordValues>, ApplyFault> {
        self.proposing = None;
        self.recorder.note(Note::Leading(Some(epoch)));
        self.inner.lead(epoch, now)
    }

    fn unlead(&mut self) {
        self.recorder.note(Note::Leading(None));
        self.inner.unlead();
    }

    fn propose(
        &mut self,
        records: Vec<Self::Record>,
        expected: Option<Provenance>,
    ) -> Result<RecordValues, ProposeError> {
        self.proposing = records.first().map(|tagged| tagged.op);
        let records = records.into_iter().map(|tagged| tagged.record).collect();
        self.inner.propose(records, expected)
    }

    fn mutate(&mut self, mutations: Vec<Self::Mutation>, now: Time) -> Result<RecordValues, ProposeError> {
        self.proposing = None;
        self.inner.mutate(mutations, now)
    }

    fn appended(&mut self, base: i64, epoch: Epoch, values: &[Vec<u8>]) {
        self.recorder.note(Note::Appended {
            op: self.proposing.take(),
            epoch,
            base,
            records: values.iter().map(|value| digest(value)).collect(),
        });
        self.inner.appended(base, epoch, values);
    }

    fn poll(&mut self, now: Time) -> Option<RecordValues> {
        self.proposing = None;
        self.inner.poll(now)
    }

    fn next_poll(&self) -> Option<Instant> {
        self.inner.next_poll()
    }

    fn handle(&mut self, api: i16, version: i16, body: &[u8], view: NodeView<'_>) -> Handled {
        self.proposing = None;
        self.inner.handle(api, version, body, view)
    }

    fn image(&self) -> Self::Image {
        self.inner.image()
    }

    fn provenance(&self) -> Provenance {
        self.inner.provenance()
    }

    /// Now and then it cannot be told what the state is, as in the middle of a transaction.
    fn snapshot(&self) -> Option<Self::Snapshot> {
        if self.batches % 4 == 3 {
            return None;
        }
        self.inner.snapshot()
    }
}
