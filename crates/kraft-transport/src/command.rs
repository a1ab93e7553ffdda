//! Everything that can arrive at the engine.

use crate::{
    clock,
    error::{RaftError, SubmitChangeResult},
    inbound::Inbound,
    metrics::EngineMetrics,
    peer_api::PeerApi,
    storage::{ReadId, ReadOutcome, SnapshotOutcome},
    views::{MetadataFetchSlice, QuorumStateSnapshot},
};
use bytes::Bytes;
use kraft_core::{
    Epoch, Event, Instant, ReconfigOutcome, ReplicaKey, RequestId, SnapshotId, StateMachine, VoterChange,
    state_machine::Provenance,
};
use kraft_log::Cleaned;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// An answer of a peer to a request of ours, not yet decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerResponse {
    /// The request that it answers.
    pub request: RequestId,
    /// Who was asked; a bootstrap server under its negative id.
    pub from: ReplicaKey,
    /// The version at which the request was sent.
    pub version: i16,
    /// The body.
    pub body: Bytes,
}

/// A change of delegation tokens, or whatever the state machine understands by mutations.
pub type DelegationTokenMutation<S> = <S as StateMachine>::Mutation;

/// What drives a turn of the engine.
pub enum Command<S: StateMachine> {
    /// A peer's request.
    Inbound(Inbound),
    /// A request for an API that consensus has no part in: ApiVersions, and everything that the state machine handles.
    Request {
        /// The api key.
        api: i16,
        /// The version, for ApiVersions any number.
        version: i16,
        /// The body.
        body: Bytes,
        /// The listener's name.
        listener: Arc<str>,
        /// Takes the body of the answer; dropped where the connection is to be closed.
        reply: oneshot::Sender<Bytes>,
    },
    /// An event of the core: the disk's outcomes, failed requests, and whatever a test wants.
    Event(Event),
    /// The log thread has removed what retention does not keep.
    LogCleaned(Cleaned),
    /// The answer to our Fetch. The engine decodes and checks its batches before the core sees it.
    FetchResponse(PeerResponse),
    /// The answer to our Vote or pre-vote.
    VoteResponse(PeerResponse),
    /// The answer to our FetchSnapshot.
    FetchSnapshotResponse(PeerResponse),
    /// The answer to our BeginQuorumEpoch.
    BeginQuorumEpochResponse(PeerResponse),
    /// The answer to our EndQuorumEpoch.
    EndQuorumEpochResponse(PeerResponse),
    /// The answer to our UpdateRaftVoter.
    UpdateRaftVoterResponse(PeerResponse),
    /// The answer to our AddRaftVoter.
    AddRaftVoterResponse(PeerResponse),
    /// The answer to our RemoveRaftVoter.
    RemoveRaftVoterResponse(PeerResponse),
    /// The answer of a new voter to our ApiVersions.
    ApiVersionsResponse(PeerResponse),
    /// A timer of the core may be due; the core looks itself.
    Timer(TimerTick),
    /// What a read of the log or of a snapshot gave.
    ReadDone {
        /// The read.
        read: ReadId,
        /// What it gave.
        outcome: ReadOutcome,
    },
    /// What became of a snapshot that was to be written.
    SnapshotWritten {
        /// Its name.
        snapshot: SnapshotId,
        /// What became of it.
        outcome: SnapshotOutcome,
    },
    /// A thread of the node has ended by itself: it has panicked. The node ends with it.
    ThreadEnded {
        /// Which.
        thread: &'static str,
    },
    /// The disk failed for good; the text names file and reason. The node ends with it.
    StorageFailed {
        /// What failed.
        reason: String,
    },
    /// Append these records as one unit, answer when they are committed and applied.
    SubmitChange {
        /// The records.
        records: Vec<S::Record>,
        /// The image that they are built on; `None` takes whatever there is.
        expected_image: Option<Provenance>,
        /// Takes the outcome.
        reply: oneshot::Sender<Result<SubmitChangeResult, RaftError>>,
    },
    /// Compare and change delegation tokens, or whatever the state machine understands by mutations, in one turn.
    SubmitDelegationTokenMutations {
        /// The mutations.
        mutations: Vec<DelegationTokenMutation<S>>,
        /// Takes the outcome.
        reply: oneshot::Sender<Result<SubmitChangeResult, RaftError>>,
    },
    /// Change the voter set, as the leader.
    Reconfigure {
        /// The change.
        change: VoterChange,
        /// Takes the outcome.
        reply: oneshot::Sender<Result<ReconfigOutcome, RaftError>>,
    },
    /// Answer once everything is applied that was committed when this came, if this node led then.
    ReadBarrier {
        /// Takes the outcome.
        reply: oneshot::Sender<Result<(), RaftError>>,
    },
    /// Give up the leadership.
    Resign {
        /// Takes the epoch that ends.
        reply: oneshot::Sender<Result<Epoch, RaftError>>,
    },
    /// Write a snapshot of the state machine, answer when it is complete on disk.
    TriggerSnapshot {
        /// Takes the outcome.
        reply: oneshot::Sender<Result<(), RaftError>>,
    },
    /// Tell the state of the quorum.
    QuorumStateSnapshot {
        /// Takes it.
        reply: oneshot::Sender<QuorumStateSnapshot>,
    },
    /// Tell what metrics are made of.
    Metrics {
        /// Takes it.
        reply: oneshot::Sender<EngineMetrics>,
    },
    /// Read committed batches for an observer (api 1004).
    MetadataFetch {
        /// The first offset wanted.
        fetch_offset: i64,
        /// The most bytes; one whole batch is given even if it is larger.
        max_size: u64,
        /// The observer, if it is a replica.
        replica: Option<ReplicaKey>,
        /// Takes the slice.
        reply: oneshot::Sender<MetadataFetchSlice>,
    },
    /// As `SubmitChange`, answered with the base offset as soon as the batch is committed and applied.
    #[cfg(test)]
    TestAppendAndCommit {
        /// The records.
        records: Vec<S::Record>,
        /// Takes the base offset.
        reply: oneshot::Sender<i64>,
    },
    /// End gracefully: hand leadership over, within a bound.
    Shutdown,
    /// End at once, as a killed process does.
    Halt,
}

impl<S: StateMachine> Command<S> {
    /// The command that brings the answer to a request of ours; `None` for APIs that this node never asks a peer for.
    #[must_use]
    pub fn response(api: PeerApi, response: PeerResponse) -> Option<Self> {
        match api {
            PeerApi::Fetch => Some(Self::FetchResponse(response)),
            PeerApi::Vote => Some(Self::VoteResponse(response)),
            PeerApi::BeginQuorumEpoch => Some(Self::BeginQuorumEpochResponse(response)),
            PeerApi::EndQuorumEpoch => Some(Self::EndQuorumEpochResponse(response)),
            PeerApi::FetchSnapshot => Some(Self::FetchSnapshotResponse(response)),
            PeerApi::UpdateRaftVoter => Some(Self::UpdateRaftVoterResponse(response)),
            PeerApi::AddRaftVoter => Some(Self::AddRaftVoterResponse(response)),
            PeerApi::RemoveRaftVoter => Some(Self::RemoveRaftVoterResponse(response)),
            PeerApi::ApiVersions => Some(Self::ApiVersionsResponse(response)),
            PeerApi::DescribeQuorum => None,
        }
    }

    /// Whether it has a caller, and that caller waits no more.
    #[must_use]
    pub fn caller_gone(&self) -> bool {
        match self {
            Self::Inbound(inbound) => inbound.caller_gone(),
            Self::Request { reply, .. } => reply.is_closed(),
            Self::SubmitChange { reply, .. } | Self::SubmitDelegationTokenMutations { reply, .. } => {
                reply.is_closed()
            }
            Self::Reconfigure { reply, .. } => reply.is_closed(),
            Self::ReadBarrier { reply } => reply.is_closed(),
            Self::Resign { reply } => reply.is_closed(),
            Self::TriggerSnapshot { reply } => reply.is_closed(),
            Self::QuorumStateSnapshot { reply } => reply.is_closed(),
            Self::Metrics { reply } => reply.is_closed(),
            Self::MetadataFetch { reply, .. } => reply.is_closed(),
            #[cfg(test)]
            Self::TestAppendAndCommit { reply, .. } => reply.is_closed(),
            Self::Event(_)
            | Self::LogCleaned(_)
            | Self::FetchResponse(_)
            | Self::VoteResponse(_)
            | Self::FetchSnapshotResponse(_)
            | Self::BeginQuorumEpochResponse(_)
            | Self::EndQuorumEpochResponse(_)
            | Self::UpdateRaftVoterResponse(_)
            | Self::AddRaftVoterResponse(_)
            | Self::RemoveRaftVoterResponse(_)
            | Self::ApiVersionsResponse(_)
            | Self::Timer(_)
            | Self::ReadDone { .. }
            | Self::SnapshotWritten { .. }
            | Self::ThreadEnded { .. }
            | Self::StorageFailed { .. }
            | Self::Shutdown
            | Self::Halt => false,
        }
    }

    /// Whether the engine may drop it unseen once its caller is gone: it reads, or proposes what is not yet appended.
    /// Votes, announcements and voter changes tell something and are always handled.
    #[must_use]
    pub fn needs_caller(&self) -> bool {
        match self {
            Self::Inbound(inbound) => inbound.api().only_reads(),
            Self::Request { .. }
            | Self::SubmitChange { .. }
            | Self::SubmitDelegationTokenMutations { .. }
            | Self::ReadBarrier { .. }
            | Self::QuorumStateSnapshot { .. }
            | Self::Metrics { .. }
            | Self::MetadataFetch { .. } => true,
            #[cfg(test)]
            Self::TestAppendAndCommit { .. } => true,
            Self::Reconfigure { .. }
            | Self::Resign { .. }
            | Self::TriggerSnapshot { .. }
            | Self::Event(_)
            | Self::LogCleaned(_)
            | Self::FetchResponse(_)
            | Self::VoteResponse(_)
            | Self::FetchSnapshotResponse(_)
            | Self::BeginQuorumEpochResponse(_)
            | Self::EndQuorumEpochResponse(_)
            | Self::UpdateRaftVoterResponse(_)
            | Self::AddRaftVoterResponse(_)
            | Self::RemoveRaftVoterResponse(_)
            | Self::ApiVersionsResponse(_)
            | Self::Timer(_)
            | Self::ReadDone { .. }
            | Self::SnapshotWritten { .. }
            | Self::ThreadEnded { .. }
            | Self::StorageFailed { .. }
            | Self::Shutdown
            | Self::Halt => false,
        }
    }
}

/// Which timer may be due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimerTick {
    /// The election timer.
    Election,
    /// The fetch timer.
    Fetch,
    /// The leader's announcements.
    Heartbeat,
    /// The leader's check of its majority.
    CheckQuorum,
}

impl From<TimerTick> for Event {
    fn from(tick: TimerTick) -> Self {
        match tick {
            TimerTick::Election => Self::ElectionTimeout,
            TimerTick::Fetch => Self::FetchTimeout,
            TimerTick::Heartbeat => Self::HeartbeatTimeout,
            TimerTick::CheckQuorum => Self::CheckQuorumTimeout,
        }
    }
}

/// A command with the moment it was sent, before any wait for room in the queue.
pub struct QueuedCommand<S: StateMachine> {
    /// The command.
    pub command: Command<S>,
    /// When it was sent, on the clock that the engine's turns are given.
    pub enqueued_at: Instant,
}

/// The sending end of the engine's queue.
pub struct CommandSender<S: StateMachine>(mpsc::Sender<QueuedCommand<S>>);

impl<S: StateMachine> Clone for CommandSender<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: StateMachine> CommandSender<S> {
    /// A queue that holds `capacity` commands.
    #[must_use]
    pub fn channel(capacity: usize) -> (Self, mpsc::Receiver<QueuedCommand<S>>) {
        let (sender, receiver) = mpsc::channel(capacity);
        (Self(sender), receiver)
    }

    /// Stamps and sends, waiting for room.
    ///
    /// # Errors
    /// The engine is gone; the command comes back.
    pub async fn send(&self, command: Command<S>) -> Result<(), mpsc::error::SendError<Command<S>>> {
        let sent = match self.0.try_send(stamped(command)) {
            // Whoever waits already has the next room that there is.
            Err(mpsc::error::TrySendError::Full(queued)) => self.0.send(queued).await,
            Err(mpsc::error::TrySendError::Closed(queued)) => Err(mpsc::error::SendError(queued)),
            Ok(()) => Ok(()),
        };
        sent.map_err(|error| mpsc::error::SendError(error.0.command))
    }

    /// Stamps and sends if there is room; without, the command comes back.
    ///
    /// # Errors
    /// The engine is gone.
    pub(crate) fn try_send(&self, command: Command<S>) -> Result<Option<Command<S>>, RaftError> {
        match self.0.try_send(stamped(command)) {
            Ok(()) => Ok(None),
            Err(mpsc::error::TrySendError::Full(queued)) => Ok(Some(queued.command)),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(RaftError::Stopped),
        }
    }

    /// As [`send`](Self::send), for threads outside the runtime.
    ///
    /// # Errors
    /// The engine is gone.
    pub fn blocking_send(&self, command: Command<S>) -> Result<(), RaftError> {
        self.0
            .blocking_send(stamped(command))
            .map_err(|_| RaftError::Stopped)
    }

    /// How many commands still fit.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.0.capacity()
    }
}

fn stamped<S: StateMachine>(command: Command<S>) -> QueuedCommand<S> {
    QueuedCommand {
        command,
        enqueued_at: clock::monotonic(),
    }
}
