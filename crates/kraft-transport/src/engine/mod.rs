//! The engine: one synchronous turn over a log, a network, a state machine, and a time that it is told.
//!
//! It decides nothing about the protocol. It turns commands into events, hands them to the core, and performs the
//! core's actions: those whose ticket is durable at once, the others when it is.

mod accumulator;
mod apply;
mod batches;
mod disk_reads;
mod due;
mod observations;
mod observe;
mod payloads;
mod perform;
mod proposals;
mod reads;
mod reconfigure;
mod repeats;
mod replies;
mod snapshots;

use crate::{
    codec::{self, Origin, Topic, decode_request, decode_response},
    command::{Command, PeerResponse, QueuedCommand},
    error::{NodeError, RaftError},
    event_times::EventTimes,
    inbound::Inbound,
    network::Network,
    peer_api::PeerApi,
    storage::Storage,
    views::NodeState,
};
use apply::Applied;
use disk_reads::DiskReads;
use kraft_core::{
    Action, Config, Epoch, Event, FetchedRecords, Instant, LogView, Recovered, Replica, RequestFault,
    RequestId, RoleName, StateMachine, Ticket, Time,
};
use kraft_log::LogIndex;
use kraft_wire::ApiKey;
use observations::Observations;
use observe::Currency;
use payloads::Payloads;
use perform::Held;
use proposals::{Proposal, Proposals, Waiter};
use reads::Reads;
use reconfigure::Changes;
use repeats::Repeats;
use replies::Replies;
use snapshots::Snapshots;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};
use tokio::sync::watch;
use tracing::warn;

/// The settings of an engine.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// Those of the core.
    pub core: Config,
    /// The topic whose partition is the log.
    pub topic: Topic,
    /// How often the log thread is asked to remove what retention does not keep.
    pub clean_interval: Duration,
    /// A snapshot is written once this many bytes of batches have been applied since the last one began, as
    /// `metadata.log.max.record.bytes.between.snapshots` says.
    pub snapshot_max_new_bytes: u64,
    /// A snapshot is written with the first batch that is applied so long after the last one began, as
    /// `metadata.log.max.snapshot.interval.ms` says; `None` for never.
    pub snapshot_max_interval: Option<Duration>,
    /// How long proposals gather before they are appended, as `controller.quorum.append.linger.ms` says. With 0, those of
    /// one turn make a batch.
    pub append_linger: Duration,
    /// A batch that has grown to so many bytes by joining proposals is appended at once. A single proposal may be larger,
    /// up to 8 MiB.
    pub append_batch_bytes: u64,
    /// The most bytes of proposals that may wait for their commit; more are refused with
    /// [`RaftError::Busy`].
    pub proposal_bytes_max: u64,
    /// Measures how long commands and applying take. A simulator gives a clock that stands still.
    pub stopwatch: fn() -> Instant,
}

impl EngineConfig {
    /// The defaults around the settings of the core.
    #[must_use]
    pub fn new(core: Config) -> Self {
        Self {
            core,
            topic: Topic::default(),
            clean_interval: Duration::from_secs(60),
            snapshot_max_new_bytes: 20 * 1024 * 1024,
            snapshot_max_interval: Some(Duration::from_secs(60 * 60)),
            append_linger: Duration::ZERO,
            append_batch_bytes: 512 * 1024,
            proposal_bytes_max: 64 * 1024 * 1024,
            stopwatch: crate::clock::monotonic,
        }
    }
}

/// What a turn leaves to its caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// When the next turn is due, should nothing arrive before. A moment that has passed means: at once.
    pub next: Option<Instant>,
    /// Set once the engine has ended, and how. It must not be turned again.
    pub ended: Option<Result<(), NodeError>>,
}

/// One node of the quorum.
///
/// [`turn`](Self::turn) is called with what has arrived, or when the moment has come that the last turn named.
pub struct Engine<S: StateMachine, L, N> {
    config: EngineConfig,
    replica: Replica,
    index: LogIndex,
    machine: S,
    storage: L,
    network: N,
    /// When the log is to be cleaned next.
    clean_at: Instant,
    /// Whether there may be something to clean before that: a snapshot has come.
    clean_soon: bool,
    /// The newest operation that the log thread has been given.
    submitted: Ticket,
    /// Whether the replica took no part in elections when it was last looked at.
    abstained: bool,
    /// Everything up to this is durable.
    durable: Ticket,
    /// What waits for a ticket. Bounded by the core: one request per peer, one answer per caller.
    held: BTreeMap<Ticket, Vec<Held>>,
    /// Consequences of actions, not yet stepped.
    events: VecDeque<Event>,
    /// Room for the actions of a step; empty between two of them.
    actions: Vec<Action>,
    /// Truncations submitted so far: a read that began before one is worth nothing.
    truncations: u64,
    payloads: Payloads,
    replies: Replies,
    changes: Changes,
    reads: Reads,
    disk_reads: DiskReads,
    event_times: Arc<EventTimes>,
    observations: Observations,
    repeats: Repeats,
    /// Whether what is applied is what the leader has.
    currency: Currency,
    /// Why the core has the role that it has.
    reason: &'static str,
    proposals: Proposals<S>,
    applied: Applied,
    snapshots: Snapshots,
    state: watch::Sender<NodeState>,
    image: watch::Sender<S::Image>,
    ended: Option<Result<(), NodeError>>,
}

impl<S, L, N> Engine<S, L, N>
where
    S: StateMachine,
    L: Storage,
    N: Network,
{
    /// Starts an engine on what storage found. The first turn is due at once: it loads the latest snapshot.
    ///
    /// # Errors
    /// Configuration and storage contradict each other.
    pub fn open(
        mut config: EngineConfig,
        index: LogIndex,
        recovered: Recovered,
        machine: S,
        storage: L,
        network: N,
        now: Time,
    ) -> Result<Self, NodeError> {
        // Without any time between two cleanings, turn would follow turn.
        config.clean_interval = config.clean_interval.max(Duration::from_millis(1));
        let mut actions = Vec::new();
        let replica = Replica::open(config.core.clone(), recovered, &index, now, &mut actions)?;
        let image = watch::Sender::new(machine.image());
        let mut engine = Self {
            applied: Applied::new(&index),
            state: watch::Sender::new(NodeState::new(config.core.local.id)),
            clean_at: now.mono.after(config.clean_interval),
            clean_soon: true,
            config,
            abstained: replica.abstains(),
            replica,
            index,
            machine,
            storage,
            network,
            submitted: Ticket::NONE,
            durable: Ticket::NONE,
            held: BTreeMap::new(),
            events: VecDeque::new(),
            actions: Vec::new(),
            truncations: 0,
            payloads: Payloads::default(),
            replies: Replies::default(),
            changes: Changes::default(),
            reads: Reads::default(),
            disk_reads: DiskReads::default(),
            event_times: Arc::default(),
            observations: Observations::new(now.mono),
            repeats: Repeats::default(),
            currency: Currency::default(),
            reason: "not begun",
            proposals: Proposals::default(),
            snapshots: Snapshots::new(now.mono),
            image,
            ended: None,
        };
        for action in actions {
            engine.perform(action, now);
        }
        engine.step_consequences(now);
        engine.publish(now);
        Ok(engine)
    }

    /// Takes what has arrived, one command after the other, and does everything that follows from it.
    pub fn turn(&mut self, commands: &mut VecDeque<QueuedCommand<S>>, now: Time) -> Turn {
        let mut began = (self.config.stopwatch)();
        while let Some(queued) = commands.pop_front() {
            if self.ended.is_some() {
                break;
            }
            self.event_times.queue.record(now.mono.since(queued.enqueued_at));
            let command = queued.command;
            if command.needs_caller() && command.caller_gone() {
                self.observations.abandoned += 1;
            } else {
                self.handle(command, now);
            }
            let ended = (self.config.stopwatch)();
            self.event_times.processing.record(ended.since(began));
            began = ended;
        }
        if self.ended.is_none() {
            self.forget_callers(now);
            if self.replica.next_deadline().is_some_and(|due| due <= now.mono) {
                self.step(Event::Tick, now);
            }
            self.resume_voting();
            self.clean_if_due(now);
            self.propose_waiting(now);
            self.apply_committed(now);
            self.poll_machine(now);
            self.work_on_log(now);
        }
        self.publish(now);
        Turn {
            next: self.next_turn(now),
            ended: self.ended.clone(),
        }
    }

    /// Has the storage do what the turn has ordered, where it has no thread for that, and goes on from there.
    fn work_on_log(&mut self, now: Time) {
        let mut done = Vec::new();
        loop {
            self.storage.work(|command| done.push(command));
            if done.is_empty() || self.ended.is_some() {
                return;
            }
            for command in done.drain(..) {
                self.handle(command, now);
            }
            self.apply_committed(now);
        }
    }

    /// How long commands wait and take.
    #[must_use]
    pub fn event_times(&self) -> Arc<EventTimes> {
        Arc::clone(&self.event_times)
    }

    /// The state for watchers.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<NodeState> {
        self.state.subscribe()
    }

    /// The published image for watchers.
    #[must_use]
    pub fn watch_image(&self) -> watch::Receiver<S::Image> {
        self.image.subscribe()
    }

    /// The core, for checkers.
    #[must_use]
    pub fn replica(&self) -> &Replica {
        &self.replica
    }

    /// The log's index, for checkers.
    #[must_use]
    pub fn log(&self) -> &LogIndex {
        &self.index
    }

    /// The state machine, for checkers.
    #[must_use]
    pub fn machine(&self) -> &S {
        &self.machine
    }

    /// Bytes of proposals that wait for their commit, appended or not.
    #[must_use]
    pub fn proposal_bytes(&self) -> u64 {
        self.proposals.bytes()
    }

    /// How many requests and answers wait for the disk, for checkers.
    #[must_use]
    pub fn held_back(&self) -> usize {
        self.held.values().map(Vec::len).sum()
    }

    /// How many callers wait for a read of the disk, for a snapshot, or until what is committed is applied, for checkers.
    #[must_use]
    pub fn callers_of_the_disk(&self) -> usize {
        let (reads, snapshots) = (self.reads.readers(), self.snapshots.waiting());
        reads + snapshots + self.disk_reads.callers() + self.proposals.committed()
    }

    /// The storage, for whoever drives it.
    pub fn storage_mut(&mut self) -> &mut L {
        &mut self.storage
    }

    /// The network, for whoever drives it.
    pub fn network_mut(&mut self) -> &mut N {
        &mut self.network
    }

    fn handle(&mut self, command: Command<S>, now: Time) {
        match command {
            Command::Inbound(inbound) => self.handle_inbound(inbound, now),
            Command::Request {
                api,
                version,
                body,
                listener,
                reply,
            } => {
                if api == ApiKey::ApiVersions.key() {
                    return self.answer_api_versions(version, &body, reply);
                }
                let reply = if api == ApiKey::UpdateFeatures.key() {
                    match self.update_kraft_version(version, &body, reply, now) {
                        Some(reply) => reply,
                        None => return,
                    }
                } else {
                    reply
                };
                self.proposals.wait(Proposal::Request {
                    api,
                    version,
                    body,
                    listener,
                    reply,
                });
            }
            Command::Event(Event::Durable { up_to }) => self.durable(up_to, now),
            Command::Event(event) => {
                if let Event::SnapshotRejected { snapshot } = event {
                    self.index.snapshot_rejected(snapshot);
                }
                self.step(event, now);
            }
            Command::LogCleaned(cleaned) => self.index.cleaned(cleaned),
            Command::FetchResponse(response) => self.handle_response(PeerApi::Fetch, &response, now),
            Command::VoteResponse(response) => self.handle_response(PeerApi::Vote, &response, now),
            Command::FetchSnapshotResponse(response) => {
                self.handle_response(PeerApi::FetchSnapshot, &response, now);
            }
            Command::BeginQuorumEpochResponse(response) => {
                self.handle_response(PeerApi::BeginQuorumEpoch, &response, now);
            }
            Command::EndQuorumEpochResponse(response) => {
                self.handle_response(PeerApi::EndQuorumEpoch, &response, now);
            }
            Command::UpdateRaftVoterResponse(response) => {
                self.handle_response(PeerApi::UpdateRaftVoter, &response, now);
            }
            Command::AddRaftVoterResponse(response) => {
                self.handle_response(PeerApi::AddRaftVoter, &response, now);
            }
            Command::RemoveRaftVoterResponse(response) => {
                self.handle_response(PeerApi::RemoveRaftVoter, &response, now);
            }
            Command::ApiVersionsResponse(response) => {
                self.handle_response(PeerApi::ApiVersions, &response, now);
            }
            Command::Timer(tick) => self.step(tick.into(), now),
            Command::ReadDone { read, outcome } => self.read_done(read, outcome, now),
            Command::SnapshotWritten { snapshot, outcome } => {
                self.snapshot_written(snapshot, outcome, now);
            }
            Command::StorageFailed { reason } => self.storage_failed(reason, now),
            Command::SubmitChange {
                records,
                expected_image,
                reply,
            } => self.proposals.wait(Proposal::Change {
                records,
                expected: expected_image,
                waiter: Waiter::Change(reply),
            }),
            Command::SubmitDelegationTokenMutations { mutations, reply } => {
                self.proposals.wait(Proposal::Mutations {
                    mutations,
                    waiter: Waiter::Change(reply),
                });
            }
            Command::Reconfigure { change, reply } => self.reconfigure(change, reply, now),
            Command::Resign { reply } => {
                let outcome = self.resign(now);
                // Whoever is told so finds it in the state.
                self.publish(now);
                // A caller that is gone learns nothing.
                let _ = reply.send(outcome);
            }
            Command::ReadBarrier { reply } => self.read_barrier(reply, now),
            Command::ThreadEnded { thread } => {
                self.step(Event::StorageFailed, now);
                self.end(Err(NodeError::Thread { thread }));
            }
            Command::TriggerSnapshot { reply } => self.trigger_snapshot(reply, now),
            Command::QuorumStateSnapshot { reply } => {
                let _ = reply.send(self.quorum_state(now));
            }
            Command::Metrics { reply } => {
                let _ = reply.send(self.metrics(now));
            }
            Command::MetadataFetch {
                fetch_offset,
                max_size,
                replica,
                reply,
            } => self.metadata_fetch(fetch_offset, max_size, replica, reply),
            #[cfg(test)]
            Command::TestAppendAndCommit { records, reply } => self.proposals.wait(Proposal::Change {
                records,
                expected: None,
                waiter: Waiter::Test(reply),
            }),
            Command::Shutdown => {
                let timeout = self.config.core.shutdown_timeout;
                // What came before it is appended first.
                self.propose_waiting(now);
                self.drain(now);
                self.step(Event::Shutdown { timeout }, now);
            }
            Command::Halt => self.end(Ok(())),
        }
    }

    fn handle_inbound(&mut self, inbound: Inbound, now: Time) {
        let (api, body, version, listener, sender) = inbound.into_parts();
        if api == PeerApi::ApiVersions {
            return self.answer_api_versions(version, &body, sender);
        }
        let reply = self.replies.next_id();
        let origin = Origin {
            listener: self.config.core.listeners.listener(&listener),
            reply,
            local: self.config.core.local,
            cluster_id: &self.config.core.cluster_id,
        };
        // What cannot be decoded drops the sender, which closes the connection.
        if let Ok((event, echo)) = decode_request(&self.config.topic, api, body, version, &origin) {
            self.replies.park(reply, api, version, echo, sender);
            self.step(event, now);
        }
    }

    fn handle_response(&mut self, api: PeerApi, response: &PeerResponse, now: Time) {
        match decode_response(&self.config.topic, api, response, &mut self.payloads) {
            Ok(event) => {
                if let Event::ReceiveFetchResponse {
                    answer,
                    high_watermark,
                    records,
                    ..
                } = &event
                {
                    if answer.error == kraft_core::ErrorCode::None {
                        self.applied.heard(*high_watermark);
                        self.currency.heard();
                    }
                    if *records == FetchedRecords::Corrupt
                        && let Some(left_out) = self.repeats.line("records", now.mono)
                    {
                        let peer = response.from.id.0;
                        warn!(peer, left_out, "fetched records fail their checks");
                    }
                }
                self.step(event, now);
            }
            Err(error) => {
                if let Some(left_out) = self.repeats.line("answer", now.mono) {
                    let peer = response.from.id.0;
                    warn!(peer, ?api, %error, left_out, "an answer cannot be decoded");
                }
                self.request_failed(response.request, RequestFault::Malformed, now);
            }
        }
    }

    fn request_failed(&mut self, request: RequestId, fault: RequestFault, now: Time) {
        self.step(Event::RequestFailed { request, fault }, now);
    }

    fn answer_api_versions(
        &mut self,
        version: i16,
        body: &bytes::Bytes,
        reply: tokio::sync::oneshot::Sender<bytes::Bytes>,
    ) {
        let apis = codec::api_versions::served(self.machine.apis());
        let level =
            codec::api_versions::kraft_version(self.config.core.kraft_versions, self.replica.kraft_version());
        let features = self.machine.features();
        match codec::api_versions::answer(version, body, &apis, features, level) {
            Some(Ok(body)) => {
                let _ = reply.send(body);
            }
            Some(Err(error)) => warn!(%error, "ApiVersions cannot be answered"),
            None => {}
        }
    }

    fn durable(&mut self, up_to: Ticket, now: Time) {
        self.durable = self.durable.max(up_to);
        self.observations.durable(up_to, now.mono);
        self.index.complete(up_to);
        self.release_held(now);
        self.step(Event::Durable { up_to }, now);
        self.read_installed(up_to);
    }

    /// One event of the outside, and everything that follows from it inside.
    fn step(&mut self, event: Event, now: Time) {
        if event.may_append_control() {
            // What has gathered was promised the next offsets.
            self.drain(now);
        }
        self.events.push_back(event);
        self.step_consequences(now);
    }

    fn step_consequences(&mut self, now: Time) {
        let mut actions = std::mem::take(&mut self.actions);
        while let Some(event) = self.events.pop_front() {
            self.replica.step(event, &self.index, now, &mut actions);
            for action in actions.drain(..) {
                self.perform(action, now);
            }
            if cfg!(debug_assertions) {
                self.replica.check_invariants(&self.index);
            }
        }
        actions.shrink_to(ACTIONS_KEPT);
        self.actions = actions;
    }

    fn resign(&mut self, now: Time) -> Result<Epoch, RaftError> {
        let epoch = self.replica.epoch();
        if self.replica.role() != RoleName::Leader {
            let leader = self.replica.leader();
            return Err(RaftError::NotLeader { leader, epoch });
        }
        self.step(Event::Resign { epoch }, now);
        Ok(epoch)
    }

    /// The core has its last word, then the node ends.
    fn storage_failed(&mut self, reason: String, now: Time) {
        self.step(Event::StorageFailed, now);
        self.end(Err(NodeError::Storage { reason }));
    }

    fn end(&mut self, how: Result<(), NodeError>) {
        self.proposals.drop_unappended();
        self.ended.get_or_insert(how);
    }

    fn next_turn(&self, now: Time) -> Option<Instant> {
        if self.has_more_to_apply() {
            return Some(now.mono);
        }
        let polls = self.proposals.leading().is_some() && !self.replica.shutting_down();
        let poll = if polls { self.machine.next_poll() } else { None };
        let linger = self.proposals.accumulator.due();
        let due = [self.replica.next_deadline(), poll, linger, Some(self.clean_at)];
        due.into_iter().flatten().min()
    }

    fn log_end(&self) -> i64 {
        self.index.end().last_offset
    }
}

/// The room that stays for the actions of the next step. One that answers a thousand callers takes more while it lasts.
const ACTIONS_KEPT: usize = 64;
