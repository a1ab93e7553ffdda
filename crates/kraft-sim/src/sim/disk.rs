//! The disk of a node as its engine sees it: everything is taken at once and done later.

use crate::checker::{BatchMark, Fact};
use bytes::Bytes;
use kraft_core::{Epoch, NodeId, Ticket};
use kraft_log::StorageOp;
use kraft_transport::{ReadId, ReadRequest, SnapshotJob, storage::Storage};
use kraft_wire::batch::Batches;
use std::{
    collections::VecDeque,
    hash::{DefaultHasher, Hash, Hasher},
};

/// What the log thread and the other threads have been asked for.
#[derive(Default)]
pub(crate) struct Disk {
    pub(crate) queue: VecDeque<(Ticket, StorageOp)>,
    pub(crate) reads: Vec<(ReadId, ReadRequest)>,
    pub(crate) snapshots: Vec<SnapshotJob>,
}

impl Storage for Disk {
    fn submit(&mut self, ticket: Ticket, op: StorageOp) {
        self.queue.push_back((ticket, op));
    }

    fn read(&mut self, read: ReadId, request: ReadRequest) {
        self.reads.push((read, request));
    }

    fn write_snapshot(&mut self, job: SnapshotJob) {
        self.snapshots.push(job);
    }
}

/// What an operation changes of the node's log or election, once it is durable.
pub(crate) fn fact(node: NodeId, start: i64, op: &StorageOp) -> Option<Fact> {
    let log = |truncated_to, appended| Fact::Log {
        node,
        start,
        truncated_to,
        appended,
    };
    match op {
        StorageOp::Append { batches, .. } => Some(log(i64::MAX, marks(batches.clone()))),
        StorageOp::Truncate { to } => Some(log(*to, Vec::new())),
        StorageOp::TruncateFully { .. } => Some(log(i64::MIN, Vec::new())),
        StorageOp::StoreElection(state) => Some(Fact::Stored {
            node,
            epoch: state.epoch,
            leader: state.leader,
            voted: state.voted,
        }),
        StorageOp::SnapshotChunk { .. }
        | StorageOp::AbandonSnapshot { .. }
        | StorageOp::Clean { .. }
        | StorageOp::ResumeVoting
        | StorageOp::StartEpoch { .. } => None,
    }
}

/// The batches in some bytes of a log.
pub(crate) fn marks(bytes: Bytes) -> Vec<BatchMark> {
    Batches::new(bytes)
        .map(|batch| {
            let batch = batch.expect("what is in a log has been checked");
            let mut hasher = DefaultHasher::new();
            batch.bytes().hash(&mut hasher);
            BatchMark {
                base: batch.base_offset(),
                last: batch.last_offset(),
                epoch: Epoch(batch.leader_epoch()),
                digest: hasher.finish(),
            }
        })
        .collect()
}
