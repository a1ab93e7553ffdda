//! Reads that the engine waits for, and which of them the disk has been given.

use super::{Engine, replies::Caller};
use crate::{
    network::Network,
    storage::{ReadId, ReadRequest, Storage},
    views::MetadataFetchSlice,
};
use kraft_core::{Answer, SnapshotId, StateMachine};
use std::collections::{BTreeMap, VecDeque};
use tokio::sync::oneshot;

/// What a read is for.
#[derive(Debug)]
pub(super) enum Purpose {
    /// Its bytes complete an answer.
    Answer {
        caller: Caller,
        answer: Answer,
        truncations: u64,
    },
    /// Its bytes complete a slice for an observer.
    Slice {
        slice: MetadataFetchSlice,
        reply: oneshot::Sender<MetadataFetchSlice>,
    },
    /// Its batches are applied.
    Apply,
    /// The snapshot is loaded into the state machine. One that was just installed is also told to the core.
    Load { snapshot: SnapshotId, installed: bool },
}

impl Purpose {
    /// The state machine needs it; there is one such read at a time.
    fn is_own(&self) -> bool {
        matches!(self, Self::Apply | Self::Load { .. })
    }

    fn caller_gone(&self) -> bool {
        match self {
            Self::Answer { caller, .. } => caller.is_gone(),
            Self::Slice { reply, .. } => reply.is_closed(),
            Self::Apply | Self::Load { .. } => false,
        }
    }
}

/// The reads under way.
#[derive(Debug, Default)]
pub(super) struct DiskReads {
    newest: u64,
    /// What those are for whose caller is not known to have gone.
    purposes: BTreeMap<ReadId, Purpose>,
    /// What the disk has not been given yet.
    waiting: VecDeque<(ReadId, ReadRequest)>,
    /// How many the disk has been given and not answered.
    in_flight: usize,
}

impl DiskReads {
    /// The disk has done a read. There is no purpose any more where the caller has gone.
    pub(super) fn done(&mut self, read: ReadId) -> Option<Purpose> {
        self.in_flight -= 1;
        self.purposes.remove(&read)
    }

    /// On a disk that hangs, reads would gather for as long as callers come and go, and all be done when it comes back.
    pub(super) fn forget_gone(&mut self) {
        self.purposes.retain(|_, purpose| !purpose.caller_gone());
        self.waiting.retain(|(read, _)| self.purposes.contains_key(read));
    }

    /// How many callers wait for one.
    pub(super) fn callers(&self) -> usize {
        self.purposes.values().filter(|purpose| !purpose.is_own()).count()
    }
}

impl<S, L, N> Engine<S, L, N>
where
    S: StateMachine,
    L: Storage,
    N: Network,
{
    /// Starts a read, or has it wait until the disk has done others. The state machine's never do.
    pub(super) fn start_read(&mut self, purpose: Purpose, request: ReadRequest) {
        let reads = &mut self.disk_reads;
        reads.newest += 1;
        let read = ReadId(reads.newest);
        if purpose.is_own() {
            reads.in_flight += 1;
            self.storage.read(read, request);
        } else {
            reads.waiting.push_back((read, request));
        }
        reads.purposes.insert(read, purpose);
        self.start_waiting_reads();
    }

    /// Gives the disk what it has room for.
    pub(super) fn start_waiting_reads(&mut self) {
        let reads = &mut self.disk_reads;
        while reads.in_flight < IN_FLIGHT_MAX
            && let Some((read, request)) = reads.waiting.pop_front()
        {
            reads.in_flight += 1;
            self.storage.read(read, request);
        }
    }
}

/// So many reads keep the thread that reads busy; what it has been given cannot be taken back.
const IN_FLIGHT_MAX: usize = 16;
