//! One node: a whole engine on a disk of its own.

use super::{
    clients::{Clients, Watcher, voter_keys},
    clock::Clock,
    disk::{Disk, marks},
    outbox::Outbox,
    plan::NodeTraits,
    quorum::LISTENER,
    recorded::{Recorded, Recorder, Tagged},
    rng::Rng,
    settings::Lie,
    setup::{formatted, replica_key},
};
use crate::checker::{BatchMark, Fact, OpId};
use bytes::Bytes;
use kraft_core::{
    Config, Endpoints, Instant, LogView as _, NodeId, ReconfigOutcome, ReplicaKey, RequestId, StateMachine,
    VoterSet,
};
use kraft_fs::{Fault, FaultyFs, MemFs, Unsynced};
use kraft_log::{LogOptions, LogReader, LogWriter, Preparer, quorum_state};
use kraft_transport::{
    Command, Engine, EngineConfig, Inbound, NodeError, PeerApi, QueuedCommand, RaftError, Turn, codec::Topic,
    oneshot,
};
use kraft_wire::{
    Message as _,
    message::{DescribeQuorumRequest, DescribeQuorumRequestPartition, DescribeQuorumRequestTopic},
};
use std::{
    collections::VecDeque,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::Path,
    sync::Arc,
    time::Duration,
};

type Fs = FaultyFs<MemFs>;

/// A node, running or down.
pub(crate) struct Node<S: StateMachine> {
    pub(crate) id: NodeId,
    pub(crate) traits: NodeTraits,
    pub(super) clock: Clock,
    /// After how many new bytes it writes a snapshot by itself, if not after Kafka's default.
    snapshot_new_bytes: Option<u64>,
    /// How long proposals gather before they are appended.
    append_linger: Duration,
    config: Config,
    /// Counts the disks that it has lost.
    incarnation: u32,
    disk: MemFs,
    checkpoint_voters: Option<VoterSet>,
    checkpoint_records: Vec<Vec<u8>>,
    recorder: Recorder,
    pub(super) running: Option<Running<S>>,
    /// Counts the starts: what was meant for an earlier life does not reach a later one.
    pub(crate) life: u64,
    /// How long it stays down when it ends next.
    pub(super) down: Duration,
    /// Until when it stands still.
    pub(super) paused: Option<Instant>,
    /// Until when its disk is slow, and how long a round then takes.
    pub(super) slow: Option<(Instant, Duration)>,
    shown: Shown,
    /// When it was last found to be a voter again because its log was cut. The disk may not have taken that yet.
    pub(super) voter_again: Option<Instant>,
}

/// What was told of a node last. A fact is told when it is another one.
#[derive(Default)]
struct Shown {
    state: Option<Fact>,
    log_start: Option<Fact>,
    voters: VoterSet,
    log_end: i64,
    committed: i64,
    committed_voters: Vec<ReplicaKey>,
}

/// What exists while a node is up.
pub(super) struct Running<S: StateMachine> {
    pub(super) engine: Engine<Recorded<S>, Disk, Outbox>,
    pub(super) fs: Fs,
    pub(super) writer: LogWriter<Fs>,
    pub(super) preparer: Preparer<Fs>,
    pub(super) reader: LogReader<Fs>,
    inbox: VecDeque<QueuedCommand<Recorded<S>>>,
    served: Vec<Served>,
    pub(super) clients: Clients,
    pub(super) round_due: bool,
    pub(super) background_due: bool,
    wake_at: Option<Instant>,
    /// Whether the node is expected to end: it was asked to, or its disk was told to fail.
    pub(super) ending: bool,
}

/// A request of a peer that has not been answered.
pub(crate) struct Served {
    pub(crate) reply: oneshot::Receiver<Bytes>,
    pub(crate) asker: Asker,
    /// When the asker closes its connection at the latest.
    pub(crate) until: Instant,
}

/// Who asked, and under which number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asker {
    pub(crate) node: NodeId,
    pub(crate) life: u64,
    pub(crate) request: RequestId,
    pub(crate) api: PeerApi,
    pub(crate) version: i16,
    /// Whether it asks for a vote, and not only whether it would get one.
    pub(crate) campaigns: bool,
}

/// What a turn leaves to the simulation.
pub(crate) struct Aftermath {
    pub(crate) turn: Turn,
    /// Answers to peers, in order; `None` where the connection is closed instead.
    pub(crate) answers: Vec<(Asker, Option<Bytes>)>,
    pub(crate) facts: Vec<Fact>,
}

const DIR: &str = "/kraft/__cluster_metadata-0";

impl<S: StateMachine> Node<S> {
    /// A node that is down, on a formatted disk; `checkpoint_voters` are those of the bootstrap checkpoint, if it names any.
    pub(crate) fn new(config: Config, checkpoint_voters: Option<VoterSet>, traits: NodeTraits) -> Self {
        let shown = Shown {
            voters: checkpoint_voters.clone().unwrap_or_default(),
            ..Shown::default()
        };
        Self {
            id: config.local.id,
            clock: Clock::new(traits.clock_ppm),
            traits,
            config,
            incarnation: 0,
            disk: formatted(checkpoint_voters.as_ref(), &[]),
            checkpoint_voters,
            checkpoint_records: Vec::new(),
            snapshot_new_bytes: None,
            append_linger: Duration::ZERO,
            recorder: Recorder::default(),
            running: None,
            life: 0,
            down: Duration::ZERO,
            paused: None,
            slow: None,
            shown,
            voter_again: None,
        }
    }

    /// Formats the disk anew, with records in the bootstrap checkpoint.
    pub(crate) fn format(&mut self, records: &[Vec<u8>]) {
        self.checkpoint_records = records.to_vec();
        self.disk = formatted(self.checkpoint_voters.as_ref(), records);
    }

    /// Puts an empty disk in the place of the one it has. It is formatted as that of a node that joins: it names no voters.
    pub(super) fn lose_disk(&mut self) -> Fact {
        let former = self.config.local;
        self.incarnation += 1;
        self.config.local = replica_key(self.id, self.incarnation);
        self.disk = formatted(None, &self.checkpoint_records);
        Fact::Wiped {
            node: self.id,
            former,
            key: self.config.local,
        }
    }

    /// Has the node listen on another port from its next start on.
    pub(super) fn move_away(&mut self) {
        if let Some(endpoint) = self.config.listeners.of(LISTENER) {
            let mut endpoint = endpoint.clone();
            endpoint.port = endpoint.port.wrapping_add(1);
            self.config.listeners = Endpoints::single(LISTENER, endpoint);
        }
    }

    /// Has the node write a snapshot by itself after so many bytes of new batches, from its next start on.
    pub(crate) fn snapshot_after(&mut self, new_bytes: Option<u64>) {
        self.snapshot_new_bytes = new_bytes;
    }

    /// Has proposals gather for so long before they are appended, from its next start on.
    pub(crate) fn linger(&mut self, time: Duration) {
        self.append_linger = time;
    }

    pub(crate) fn is_up(&self) -> bool {
        self.running.is_some()
    }

    /// The replica that this node is now.
    pub(crate) fn key(&self) -> ReplicaKey {
        self.config.local
    }

    /// Where it listens.
    pub(crate) fn endpoints(&self) -> &Endpoints {
        &self.config.listeners
    }

    /// The voters that it goes by, or went by when it was up last, or will go by.
    pub(crate) fn voters(&self) -> &VoterSet {
        &self.shown.voters
    }

    /// Starts the node on what its disk holds. Returns what is now in its log.
    pub(crate) fn start(&mut self, machine: S, now: Instant) -> Result<Vec<Fact>, String> {
        self.life += 1;
        let fs = Fs::new(self.disk.clone());
        // Small segments, so that runs roll; little memory, so that followers are served from the disk.
        let options = LogOptions {
            segment_bytes: 4096,
            prepare_bytes: 1024,
            recent_bytes: 512,
            ..LogOptions::default()
        };
        let opened =
            kraft_log::open(fs.clone(), Path::new(DIR), options).map_err(|error| error.to_string())?;
        let start = opened.index.start();
        let end = opened.index.end().last_offset;
        let mut config = EngineConfig::new(self.config.clone());
        config.stopwatch = || Instant(0);
        config.append_linger = self.append_linger;
        if let Some(bytes) = self.snapshot_new_bytes {
            config.snapshot_max_new_bytes = bytes;
        }
        let mut facts = vec![Fact::Log {
            node: self.id,
            start,
            truncated_to: i64::MIN,
            appended: whole_log(&opened.reader, start, end)?,
        }];
        if let Some(election) = &opened.recovered.election {
            facts.push(Fact::Stored {
                node: self.id,
                epoch: election.epoch,
                leader: election.leader,
                voted: election.voted,
            });
        }
        self.recorder = Recorder::default();
        self.shown = Shown::default();
        let machine = Recorded::new(machine, self.recorder.clone());
        let engine = Engine::open(
            config,
            opened.index,
            opened.recovered,
            machine,
            Disk::default(),
            Outbox::default(),
            self.clock.shows(now),
        )
        .map_err(|error| error.to_string())?;
        self.running = Some(Running {
            engine,
            fs,
            writer: opened.writer,
            preparer: opened.preparer,
            reader: opened.reader,
            inbox: VecDeque::new(),
            served: Vec::new(),
            clients: Clients::default(),
            round_due: false,
            background_due: false,
            wake_at: None,
            ending: false,
        });
        Ok(facts)
    }

    /// Ends the node in the middle of whatever it was doing. Its disk keeps what a crash may leave. Returns whether a round of
    /// writing was cut short.
    pub(crate) fn crash(&mut self, rng: &mut Rng, lie: Option<Lie>) -> bool {
        self.paused = None;
        let Some(mut running) = self.running.take() else {
            return false;
        };
        let queue = &mut running.engine.storage_mut().queue;
        let torn = !queue.is_empty() && rng.chance(700);
        if torn {
            running.fs.arm(rng.below(8), Fault::Io);
            let mut round = std::mem::take(queue);
            drop(running.writer.run_round(&mut round));
        }
        let unsynced = match rng.below(4) {
            0 => Unsynced::Lost,
            1 => Unsynced::Kept,
            _ => Unsynced::Torn { seed: rng.next() },
        };
        self.disk = self.disk.crash_image(unsynced);
        if lie == Some(Lie::ElectionForgotten) {
            self.forget_election(rng);
        }
        torn
    }

    /// Asks the node to end gracefully.
    pub(crate) fn stop(&mut self, now: Instant) {
        if let Some(running) = &mut self.running {
            running.ending = true;
        }
        self.enqueue(Command::Shutdown, now);
    }

    /// Lets the disk fail at the call behind the next `after` ones.
    pub(crate) fn break_disk(&mut self, after: u64, fault: Fault) {
        if let Some(running) = &mut self.running {
            running.ending = true;
            running.fs.arm(after, fault);
        }
    }

    /// Whether a failure of the disk is still to come.
    #[cfg(test)]
    pub(crate) fn disk_will_fail(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.fs.is_armed())
    }

    /// The node has ended. Returns whether that was to be expected.
    pub(crate) fn ended(&mut self, how: &Result<(), NodeError>, rng: &mut Rng, lie: Option<Lie>) -> bool {
        let expected = self.running.as_ref().is_some_and(|running| running.ending);
        if how.is_ok()
            && let Some(running) = self.running.take()
        {
            // A disk that fails now leaves what a crash leaves.
            drop(running.writer.close());
        } else {
            self.crash(rng, lie);
        }
        expected
    }

    /// Has the node write a snapshot.
    pub(crate) fn snapshot(&mut self, now: Instant) {
        let (reply, _) = oneshot::channel();
        self.enqueue(Command::TriggerSnapshot { reply }, now);
    }

    /// Takes vote and leader out of `quorum-state`, and half of the time the newest epoch as well.
    fn forget_election(&self, rng: &mut Rng) {
        let dir = Path::new(DIR);
        if let Ok(Some(mut state)) = quorum_state::load(&self.disk, dir) {
            state.voted = None;
            state.leader = None;
            state.epoch.0 -= i32::from(state.epoch.0 > 0 && rng.chance(500));
            drop(quorum_state::store(&self.disk, dir, &state));
        }
    }

    /// Queues a command for the next turn.
    pub(crate) fn enqueue(&mut self, command: Command<Recorded<S>>, now: Instant) {
        let enqueued_at = self.clock.monotonic(now);
        if let Some(running) = &mut self.running {
            running.inbox.push_back(QueuedCommand { command, enqueued_at });
        }
    }

    pub(crate) fn serve(&mut self, served: Served) {
        if let Some(running) = &mut self.running {
            running.served.push(served);
        }
    }

    /// Peers close their connections, for whom `waits` is not so. Returns how many.
    pub(super) fn hang_up(&mut self, waits: impl Fn(&Served) -> bool) -> usize {
        let Some(running) = &mut self.running else {
            return 0;
        };
        let before = running.served.len();
        running.served.retain(waits);
        before - running.served.len()
    }

    /// The peers whose requests have not been answered.
    pub(super) fn served(&self) -> impl Iterator<Item = &Served> {
        self.running.iter().flat_map(|running| &running.served)
    }

    /// Some of those who wait for this node go away.
    pub(super) fn leave(&mut self, rng: &mut Rng) -> Vec<Fact> {
        let id = self.id;
        let running = self.running.as_mut();
        running.map_or(Vec::new(), |running| running.clients.leave(id, rng))
    }

    /// Proposes records. Returns whether there is a node to propose to.
    pub(crate) fn propose(&mut self, op: OpId, records: Vec<S::Record>, now: Instant) -> bool {
        let (reply, outcome) = oneshot::channel();
        let Some(running) = &mut self.running else {
            return false;
        };
        running.clients.write(op, outcome);
        // Some have looked before.
        let expected =
            op.0.is_multiple_of(7)
                .then(|| running.engine.machine().provenance());
        let command = Command::SubmitChange {
            records: records.into_iter().map(|record| Tagged { op, record }).collect(),
            expected_image: expected,
            reply,
        };
        self.enqueue(command, now);
        true
    }

    /// Reads committed batches from somewhere in the log.
    pub(super) fn read(&mut self, draw: u64, now: Instant) {
        let Some(running) = &mut self.running else { return };
        let (reply, slice) = oneshot::channel();
        running.clients.read(slice);
        let log = running.engine.log();
        let length = u64::try_from(log.end().last_offset - log.start()).unwrap_or(0);
        let skipped = i64::try_from(draw % (length + 1)).expect("logs are short");
        let command = Command::MetadataFetch {
            fetch_offset: log.start() + skipped,
            max_size: 2048,
            replica: None,
            reply,
        };
        self.enqueue(command, now);
    }

    /// Those look at the node who want to know how it is.
    pub(super) fn watch(&mut self, now: Instant) {
        let Some(running) = &mut self.running else { return };
        let (metrics, measured) = oneshot::channel();
        running.clients.watch(Watcher::Metrics(measured));
        let (status, seen) = oneshot::channel();
        running.clients.watch(Watcher::Status(seen));
        let (reply, described) = oneshot::channel();
        running.clients.watch(Watcher::Description(described));
        let api = PeerApi::DescribeQuorum;
        let version = *api.versions().end();
        let body = describe_quorum(version);
        let inbound = Inbound::new(api, body, version, Arc::from(LISTENER), reply);
        for command in [
            Command::Metrics { reply: metrics },
            Command::QuorumStateSnapshot { reply: status },
            Command::Inbound(inbound),
        ] {
            self.enqueue(command, now);
        }
    }

    /// A client reads what is applied, once everything is that was committed by now.
    pub(super) fn read_newest(&mut self, op: OpId, now: Instant) {
        let (reply, outcome) = oneshot::channel();
        if let Some(running) = &mut self.running {
            running.clients.read_newest(op, outcome);
        }
        self.enqueue(Command::ReadBarrier { reply }, now);
    }

    /// What the state machine holds, if it is in a state that can be told.
    pub(super) fn image(&self) -> Option<Fact> {
        let running = self.running.as_ref()?;
        let mut hasher = DefaultHasher::new();
        for value in running.engine.machine().inner().snapshot()? {
            value.hash(&mut hasher);
        }
        Some(Fact::Image {
            node: self.id,
            applied: running.engine.watch().borrow().applied,
            digest: hasher.finish(),
        })
    }

    /// An operator waits for a change of the voters.
    pub(super) fn await_change(
        &mut self,
        op: OpId,
        outcome: oneshot::Receiver<Result<ReconfigOutcome, RaftError>>,
    ) {
        if let Some(running) = &mut self.running {
            running.clients.reconfigure(op, outcome);
        }
    }

    /// An operator waits for the answer to UpdateFeatures.
    pub(super) fn await_upgrade(&mut self, op: OpId, outcome: oneshot::Receiver<Bytes>) {
        if let Some(running) = &mut self.running {
            running.clients.upgrade(op, outcome);
        }
    }

    /// Takes one turn of the engine and looks at what came of it.
    pub(crate) fn turn(&mut self, now: Instant) -> Option<Aftermath> {
        let time = self.clock.shows(now);
        let running = self.running.as_mut()?;
        let turn = running.engine.turn(&mut running.inbox, time);
        running.engine.replica().check_invariants(running.engine.log());
        let answers = running.answers();
        let mut facts = Vec::new();
        for note in self.recorder.take() {
            facts.extend(running.clients.fact(self.id, note));
        }
        let applied = running.engine.watch().borrow().applied;
        running.clients.told(
            self.id,
            running.engine.replica(),
            applied,
            turn.ended.is_some(),
            &mut facts,
        );
        self.look(&mut facts, now);
        Some(Aftermath { turn, answers, facts })
    }

    /// Tells what has changed.
    fn look(&mut self, facts: &mut Vec<Fact>, now: Instant) {
        let Some(running) = &self.running else { return };
        let (replica, log) = (running.engine.replica(), running.engine.log());
        let node = self.id;
        let end = log.end().last_offset;
        let before = std::mem::replace(&mut self.shown.log_end, end);
        if *replica.voters() != self.shown.voters {
            let key = &self.config.local;
            let is_back = !self.shown.voters.is_voter(key) && replica.voters().is_voter(key);
            if is_back && end < before {
                self.voter_again = Some(now);
            }
            self.shown.voters = replica.voters().clone();
            facts.push(Fact::Voters {
                node,
                voters: self.shown.voters.iter().map(|voter| voter.key).collect(),
            });
        }
        let end = replica.committed();
        if end > self.shown.committed {
            self.shown.committed = end;
            let voters = voter_keys(replica, end - 1);
            if voters != self.shown.committed_voters {
                self.shown.committed_voters.clone_from(&voters);
                facts.push(Fact::CommittedVoters { node, end, voters });
            }
        }
        let state = Fact::State {
            node,
            role: replica.role(),
            epoch: replica.epoch(),
            leader: replica.leader(),
            high_watermark: replica.high_watermark(),
        };
        if self.shown.state.as_ref() != Some(&state) {
            self.shown.state = Some(state.clone());
            facts.push(state);
        }
        let (start, snapshot) = (log.start(), log.earliest_snapshot());
        let log_start = Fact::LogStart {
            node,
            start,
            snapshot,
            fits: snapshot.is_none_or(|id| {
                let end = log.end_for_epoch(id.epoch);
                id.end_offset == start || (end.epoch == id.epoch && end.offset >= id.end_offset)
            }),
        };
        if self.shown.log_start.as_ref() != Some(&log_start) {
            self.shown.log_start = Some(log_start.clone());
            facts.push(log_start);
        }
    }

    /// What the engine wants to send.
    pub(crate) fn take_outbox(&mut self) -> Vec<kraft_transport::OutboundRequest> {
        self.running
            .as_mut()
            .map(|running| std::mem::take(&mut running.engine.network_mut().0))
            .unwrap_or_default()
    }

    /// The moment at which a wake-up has to be entered so that the node's clock shows `at`: none if one is on its way, at or
    /// before it, that is still to come.
    pub(crate) fn wake_earlier(&mut self, at: Instant, now: Instant) -> Option<Instant> {
        let at = self.clock.when(at).max(now);
        let running = self.running.as_mut()?;
        let known = running.wake_at.filter(|known| *known > now);
        if known.is_some_and(|known| known <= at) {
            return None;
        }
        running.wake_at = Some(at);
        Some(at)
    }

    pub(crate) fn leads(&self) -> bool {
        self.running
            .as_ref()
            .is_some_and(|running| running.engine.replica().role() == kraft_core::RoleName::Leader)
    }

    /// Whether somebody waits for an answer.
    pub(crate) fn has_clients(&self) -> bool {
        self.running
            .as_ref()
            .is_some_and(|running| !running.clients.is_empty())
    }

    /// The state machine, while the node is up.
    pub(crate) fn machine(&self) -> Option<&S> {
        self.running
            .as_ref()
            .map(|running| running.engine.machine().inner())
    }

    /// The core and its log, while the node is up.
    pub(crate) fn replica(&self) -> Option<(&kraft_core::Replica, &kraft_log::LogIndex)> {
        let running = self.running.as_ref()?;
        Some((running.engine.replica(), running.engine.log()))
    }

    /// The high watermark that the node knows.
    pub(crate) fn high_watermark(&self) -> Option<i64> {
        self.running
            .as_ref()
            .and_then(|running| running.engine.replica().high_watermark())
    }
}

impl<S: StateMachine> Running<S> {
    fn answers(&mut self) -> Vec<(Asker, Option<Bytes>)> {
        let mut answers = Vec::new();
        self.served.retain_mut(|served| match served.reply.try_recv() {
            Ok(body) => {
                answers.push((served.asker, Some(body)));
                false
            }
            Err(oneshot::error::TryRecvError::Closed) => {
                answers.push((served.asker, None));
                false
            }
            Err(oneshot::error::TryRecvError::Empty) => true,
        });
        answers
    }
}

fn describe_quorum(version: i16) -> Bytes {
    let request = DescribeQuorumRequest {
        topics: vec![DescribeQuorumRequestTopic {
            topic_name: Topic::default().name.to_string(),
            partitions: vec![DescribeQuorumRequestPartition::default()],
            ..Default::default()
        }],
        ..Default::default()
    };
    request.to_bytes(version).expect("the request is small")
}

fn whole_log(reader: &LogReader<Fs>, start: i64, end: i64) -> Result<Vec<BatchMark>, String> {
    let mut batches = Vec::new();
    let mut next = start;
    while next < end {
        let bytes = reader
            .read(next, usize::MAX, end)
            .map_err(|error| error.to_string())?;
        let read = marks(bytes);
        let Some(last) = read.last() else {
            return Err(format!(
                "the log ends at {end}, but nothing can be read at {next}"
            ));
        };
        next = last.last + 1;
        batches.extend(read);
    }
    Ok(batches)
}

/// Why a node has ended.
pub(crate) fn end_text(ended: &Result<(), NodeError>) -> String {
    match ended {
        Ok(()) => "it ended without being asked to".to_owned(),
        Err(error) => error.to_string(),
    }
}
