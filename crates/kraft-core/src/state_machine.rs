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
/// In call order: [`load`](Self::load) whenever a snapshot replaces what there was; [`apply`](Self::apply) for each
/// committed batch, in offset order and without gaps; [`lead`](Self::lead) when everything before the epoch's own
/// batches is applied; then [`propose`](Self::propose), [`appended`](Self::appended) and
/// [`poll`](Self::poll) until [`unlead`](Self::unlead), after which whatever was appended and not applied is void.
/// One thread calls all of it.
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

    /// This node leads. Returns the batches that have to be appended first.
    ///
    /// # Errors
    /// The state does not allow to lead; the engine resigns.
    fn lead(&mut self, epoch: Epoch, now: Time) -> Result<Vec<RecordValues>, ApplyFault>;

    /// This node no longer leads.
    fn unlead(&mut self);

    /// Checks records against the state that includes everything appended so far, and encodes them.
    ///
    /// # Errors
    /// The expected image is not the current one, or the records contradict it.
    fn propose(
        &mut self,
        records: Vec<Self::Record>,
        expected: Option<Provenance>,
    ) -> Result<RecordValues, ProposeError>;

    /// As [`propose`](Self::propose), for mutations that are compared and made in one turn.
    ///
    /// # Errors
    /// A mutation does not hold against the state.
    fn mutate(&mut self, mutations: Vec<Self::Mutation>, now: Time) -> Result<RecordValues, ProposeError>;

    /// These records were appended at `base`, not yet committed.
    fn appended(&mut self, base: i64, epoch: Epoch, values: &[Vec<u8>]);

    /// Periodic work of a leading machine: records to append now, if any.
    fn poll(&mut self, now: Time) -> Option<RecordValues>;

    /// When [`poll`](Self::poll) wants to be called next.
    fn next_poll(&self) -> Option<crate::time::Instant>;

    /// Handles a request that the engine does not know.
    fn handle(&mut self, api: i16, version: i16, body: &[u8], view: NodeView<'_>) -> Handled;

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
