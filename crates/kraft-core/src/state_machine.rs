//! The trait by which a broker project brings its own metadata.

use crate::{
    ids::{Epoch, NodeId},
    offsets::SnapshotId,
    time::Time,
    voter_set::SupportedVersions,
};
use alloc::{string::String, vec::Vec};

/// Where an image stands: the last offset and epoch that it contains. Images are compared by it, never by content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Provenance {
    /// Offset of the last record in the image, -1 for none.
    pub last_offset: i64,
    /// Epoch of that record.
    pub last_epoch: Epoch,
}

impl Provenance {
    /// That of an image in which nothing is yet.
    pub const NONE: Self = Self {
        last_offset: -1,
        last_epoch: Epoch(0),
    };
}

impl Default for Provenance {
    fn default() -> Self {
        Self::NONE
    }
}

/// Where an image stands that has been [loaded](StateMachine::load) from a snapshot.
impl From<SnapshotId> for Provenance {
    fn from(id: SnapshotId) -> Self {
        Self {
            last_offset: id.end_offset - 1,
            last_epoch: id.epoch,
        }
    }
}

/// The values of records that belong into one batch.
pub type RecordValues = Vec<Vec<u8>>;

/// A committed batch, as the state machine sees it.
#[derive(Debug, Clone, Copy)]
pub struct CommittedBatch<'a> {
    /// Offset of the first record.
    pub base: i64,
    /// Offset of the last record.
    pub last: i64,
    /// Epoch of the leader that wrote it.
    pub epoch: Epoch,
    /// Milliseconds since 1970.
    pub timestamp_ms: i64,
    /// The values of its records, in order; empty for a control batch.
    pub values: &'a [&'a [u8]],
}

impl CommittedBatch<'_> {
    /// Where an image stands once the batch has been [applied](StateMachine::apply).
    #[must_use]
    pub fn provenance(&self) -> Provenance {
        Provenance {
            last_offset: self.last,
            last_epoch: self.epoch,
        }
    }
}

/// Why committed input cannot be applied. Final: the machine does not advance past it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("record at offset {offset} cannot be applied: {reason}")]
pub struct ApplyFault {
    /// The record.
    pub offset: i64,
    /// What is wrong with it.
    pub reason: String,
}

/// Why a proposal is not appended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProposeError {
    /// The expected image is not the current one.
    #[error("the image has moved on to offset {} (epoch {})", current.last_offset, current.last_epoch.0)]
    Conflict {
        /// Where the current image stands.
        current: Provenance,
    },
    /// The records contradict the current image.
    #[error("{reason}")]
    Invalid {
        /// Kafka's error code.
        code: i16,
        /// What is wrong.
        reason: String,
    },
}

/// Who the node is and who leads, when a request is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeView<'a> {
    /// This node.
    pub node_id: NodeId,
    /// The cluster.
    pub cluster_id: &'a str,
    /// The leader, if known.
    pub leader: Option<NodeId>,
    /// The epoch.
    pub epoch: Epoch,
    /// Whether the state machine leads: `lead` has been called and `unlead` has not.
    pub leading: bool,
    /// The listener that the request arrived on.
    pub listener: &'a str,
}

/// What a state machine makes of a request that the engine does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Handled {
    /// The encoded body of the response.
    Reply(Vec<u8>),
    /// Append these records; answer `reply` when they are committed and applied, `failed` if that does not happen.
    Propose {
        /// One batch.
        values: RecordValues,
        /// The encoded body of the response after the commit.
        reply: Vec<u8>,
        /// The encoded body of the response otherwise.
        failed: Vec<u8>,
    },
    /// Not an API of this state machine: answered as Kafka answers an API that it does not serve.
    Unsupported,
}

/// An API that a state machine handles, with the versions of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandledApi {
    /// The api key.
    pub key: i16,
    /// The lowest version.
    pub min_version: i16,
    /// The highest version.
    pub max_version: i16,
}

/// A feature as ApiVersions tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feature {
    /// Its name.
    pub name: String,
    /// The levels that this node can run.
    pub supported: SupportedVersions,
    /// The level in force; 0 for none.
    pub finalized: i16,
}

/// The features of a state machine. `kraft.version` is not among them: the engine adds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Features {
    /// Last offset of the image in which a level changed last, -1 before anything was loaded.
    pub finalized_epoch: i64,
    /// The features.
    pub features: Vec<Feature>,
}

impl Default for Features {
    fn default() -> Self {
        Self {
            finalized_epoch: -1,
            features: Vec::new(),
        }
    }
}

/// A broker project's metadata: what the replicated log means.
///
/// # Contract, in call order
///
/// One thread makes all calls, one after the other, and none of them may wait for anything.
///
/// 1. At the start, if there is a snapshot, [`load`](Self::load); it also comes later, in place of batches, on a replica
///    that is so far behind that its leader has them no more. It replaces the whole state.
/// 2. [`apply`](Self::apply) for each committed batch, in the order of offsets and without a gap, on every replica and in
///    every role. Batches of consensus itself come too, without values, so that offsets stay exact. After a restart the
///    same batches come again, behind the snapshot: whatever `apply` does has to follow from the state and the batch alone,
///    never from a clock, a random number, the role or the node, or replicas part. `Err` is final: the node ends, since a
///    replica with a hole in its state must never lead.
/// 3. After each pass over committed batches [`image`](Self::image) is published and only then whoever proposed is
///    answered. An image never changes once it is given: share what is common with the next one.
/// 4. [`lead`](Self::lead) once this node leads *and* has applied everything before its epoch. From here on the machine
///    keeps, beside the committed state, a *speculative* one, which includes everything appended; a machine that takes
///    every record whatever the state is needs none.
/// 5. [`propose`](Self::propose) and [`mutate`](Self::mutate) check against the speculative state and encode; nothing may
///    have changed if they refuse. [`appended`](Self::appended) follows at once for what is taken, and says where it
///    stands: only now the speculative state moves. Proposals may be taken by the dozen before the first of them is
///    committed. [`poll`](Self::poll) and [`handle`](Self::handle) may bring records, too.
/// 6. Each of them comes back by `apply` when it is committed, or never.
/// 7. [`unlead`](Self::unlead): whatever was appended and not applied is void, and the speculative state with it. It may
///    still become committed, and then comes by `apply` as from any other leader.
/// 8. [`snapshot`](Self::snapshot) at any time between two calls: a value of its own, which another thread reads while the
///    machine goes on. Loaded elsewhere it has to give the same state, records of the future included that this machine
///    only carries.
///
/// # A small one
///
/// Everything that has a default below is for machines that check, that answer requests or that write by themselves.
/// `examples/kv/machine.rs` of kraft-transport is a key-value store in fifty lines, `kraft-metadata` a whole controller.
pub trait StateMachine {
    /// What `SubmitChange` carries.
    type Record: Send + 'static;
    /// A published image: cheap to clone, never changing.
    type Image: Clone + Send + Sync + 'static;
    /// What `SubmitDelegationTokenMutations` carries; `Infallible` for a machine without them.
    type Mutation: Send + 'static;
    /// An immutable snapshot of the state as encoded record values, which another thread streams out.
    type Snapshot: Iterator<Item = Vec<u8>> + Send + 'static;

    /// Applies a committed batch.
    ///
    /// # Errors
    /// The batch means nothing to this machine, or contradicts its state.
    fn apply(&mut self, batch: CommittedBatch<'_>) -> Result<(), ApplyFault>;

    /// Replaces the whole state by a snapshot's record values. The bootstrap checkpoint comes this way too, under
    /// [`SnapshotId::BOOTSTRAP`]: its records are what a first leader has to write, not state.
    ///
    /// # Errors
    /// A record cannot be read.
    fn load(
        &mut self,
        id: SnapshotId,
        timestamp_ms: i64,
        values: &mut dyn Iterator<Item = &[u8]>,
    ) -> Result<(), ApplyFault>;

    /// This node leads. Returns the batches that have to be appended first; none unless overridden. If one of them cannot be, because
    /// it is larger than any batch or has an empty record, the engine resigns.
    ///
    /// # Errors
    /// The state does not allow to lead; the engine resigns.
    fn lead(&mut self, _epoch: Epoch, _now: Time) -> Result<Vec<RecordValues>, ApplyFault> {
        Ok(Vec::new())
    }

    /// This node no longer leads.
    fn unlead(&mut self) {}

    /// Checks records against the state that includes everything appended so far, and encodes them.
    ///
    /// # Errors
    /// The expected image is not the current one, or the records contradict it.
    fn propose(
        &mut self,
        records: Vec<Self::Record>,
        expected: Option<Provenance>,
    ) -> Result<RecordValues, ProposeError>;

    /// As [`propose`](Self::propose), for mutations that are compared and made in one turn. Refuses them unless overridden.
    ///
    /// # Errors
    /// A mutation does not hold against the state.
    fn mutate(&mut self, _mutations: Vec<Self::Mutation>, _now: Time) -> Result<RecordValues, ProposeError> {
        Err(ProposeError::Invalid {
            code: crate::ErrorCode::InvalidRequest.code(),
            reason: String::from("this state machine has no mutations"),
        })
    }

    /// These records were appended at `base`, not yet committed.
    fn appended(&mut self, _base: i64, _epoch: Epoch, _values: &[Vec<u8>]) {}

    /// Periodic work of a leading machine: records to append now, if any. If they cannot be, as in [`lead`](Self::lead), the
    /// engine resigns.
    fn poll(&mut self, _now: Time) -> Option<RecordValues> {
        None
    }

    /// When [`poll`](Self::poll) wants to be called next.
    fn next_poll(&self) -> Option<crate::time::Instant> {
        None
    }

    /// Handles a request that the engine does not know.
    fn handle(&mut self, _api: i16, _version: i16, _body: &[u8], _view: NodeView<'_>) -> Handled {
        Handled::Unsupported
    }

    /// The APIs that [`handle`](Self::handle) answers; the listener closes the connection of every other request.
    fn apis(&self) -> Vec<HandledApi> {
        Vec::new()
    }

    /// The features for the answer to ApiVersions.
    fn features(&self) -> Features {
        Features::default()
    }

    /// The published image.
    fn image(&self) -> Self::Image;

    /// Where the published image stands.
    fn provenance(&self) -> Provenance;

    /// The state as a snapshot, or `None` where no snapshot may be taken (in the middle of a transaction).
    fn snapshot(&self) -> Option<Self::Snapshot>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_stands_at_the_last_record_of_its_newest_batch_or_of_its_snapshot() {
        let applied = CommittedBatch {
            base: 3,
            last: 5,
            epoch: Epoch(2),
            timestamp_ms: 0,
            values: &[],
        };
        let loaded = SnapshotId {
            end_offset: 6,
            epoch: Epoch(2),
        };
        let expected = Provenance {
            last_offset: 5,
            last_epoch: Epoch(2),
        };
        assert_eq!(applied.provenance(), expected);
        assert_eq!(Provenance::from(loaded), expected);
        assert_eq!(Provenance::from(SnapshotId::BOOTSTRAP), Provenance::NONE);
    }
}
