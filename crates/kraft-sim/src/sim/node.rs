//! One node: a whole engine on a disk of its own.

use super::{
    disk::{Disk, fact, marks},
    outbox::Outbox,
    recorded::{Recorded, Recorder},
    rng::Rng,
    settings::Lie,
    setup::formatted,
};
use crate::checker::Fact;
use kraft_core::{
    Config, Event, Instant, LogView as _, NodeId, RequestId, StateMachine, Ticket, Time, VoterSet,
};
use kraft_fs::{Fault, FaultyFs, MemFs, Unsynced};
use kraft_log::{LogOptions, LogReader, LogWriter, Preparer, StorageOp, quorum_state};
use kraft_transport::{
    Command, Engine, EngineConfig, NodeError, PeerApi, QueuedCommand, RaftError, SubmitChangeResult, Turn,
    oneshot,
};
use std::{
    collections::{BTreeMap, VecDeque},
    path::Path,
};

type Fs = FaultyFs<MemFs>;

/// A node, running or down.
pub(crate) struct Node<S: StateMachine> {
    pub(crate) id: NodeId,
    /// Whether it speaks only the versions from before KIP-853.
    pub(crate) is_old: bool,
    /// After how many new bytes it writes a snapshot by itself, if not after Kafka's default.
    snapshot_new_bytes: Option<u64>,
    config: Config,
    disk: MemFs,
    checkpoint_voters: Option<VoterSet>,
    recorder: Recorder,
    running: Option<Running<S>>,
    /// Counts the starts: what was meant for an earlier life does not reach a later one.
    pub(crate) life: u64,
    /// The digests of records that this node appended as leader.
    appended: BTreeMap<(kraft_core::Epoch, i64), u64>,
}

/// What exists while a node is up.
struct Running<S: StateMachine> {
    engine: Engine<Recorded<S>, Disk, Outbox>,
    fs: Fs,
    writer: LogWriter<Fs>,
    preparer: Preparer<Fs>,
    reader: LogReader<Fs>,
    inbox: VecDeque<QueuedCommand<Recorded<S>>>,
    served: Vec<Served>,
    clients: Vec<oneshot::Receiver<Result<SubmitChangeResult, RaftError>>>,
    round_due: bool,
    wake_at: Option<Instant>,
    /// Whether the node is expected to end: it was asked to, or its disk was told to fail.
    ending: bool,
}

/// A request of a peer that has not been answered.
pub(crate) struct Served {
    pub(crate) reply: oneshot::Receiver<bytes::Bytes>,
    pub(crate) asker: Asker,
}

/// Who asked, and under which number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asker {
    pub(crate) node: NodeId,
    pub(crate) life: u64,
    pub(crate) request: RequestId,
    pub(crate) api: PeerApi,
    pub(crate) version: i16,
}

/// What a turn leaves to the simulation.
pub(crate) struct Aftermath {
    pub(crate) turn: Turn,
    /// Answers to peers, in order; `None` where the connection is closed instead.
    pub(crate) answers: Vec<(Asker, Option<bytes::Bytes>)>,
    pub(crate) facts: Vec<Fact>,
}

const DIR: &str = "/kraft/__cluster_metadata-0";

impl<S: StateMachine> Node<S> {
    /// A node that is down, on a formatted disk; `checkpoint_voters` are those of the bootstrap checkpoint, if it names any.
    pub(crate) fn new(id: NodeId, config: Config, checkpoint_voters: Option<VoterSet>, is_old: bool) -> Self {
        Self {
            id,
            config,
            disk: formatted(checkpoint_voters.as_ref(), &[]),
            checkpoint_voters,
            is_old,
            snapshot_new_bytes: None,
            recorder: Recorder::default(),
            running: None,
            life: 0,
            appended: BTreeMap::new(),
        }
    }

    /// Formats the disk anew, with records in the bootstrap checkpoint.
    pub(crate) fn format(&mut self, records: &[Vec<u8>]) {
        self.disk = formatted(self.checkpoint_voters.as_ref(), records);
    }

    /// Has the node write a snapshot by itself after so many bytes of new batches, from its next start on.
    pub(crate) fn snapshot_after(&mut self, new_bytes: Option<u64>) {
        self.snapshot_new_bytes = new_bytes;
    }

    pub(crate) fn is_up(&self) -> bool {
        self.running.is_some()
    }

    /// Starts the node on what its disk holds. Returns what is now in its log.
    pub(crate) fn start(&mut self, machine: S, now: Time) -> Result<Fact, String> {
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
        if let Some(bytes) = self.snapshot_new_bytes {
            config.snapshot_max_new_bytes = bytes;
        }
        self.recorder = Recorder::default();
        self.appended.clear();
        let machine = Recorded::new(machine, self.recorder.clone());
        let engine = Engine::open(
            config,
            opened.index,
            opened.recovered,
            machine,
            Disk::default(),
            Outbox::default(),
            now,
        )
        .map_err(|error| error.to_string())?;
        let appended = whole_log(&opened.reader, start, end)?;
        self.running = Some(Running {
            engine,
            fs,
            writer: opened.writer,
            preparer: opened.preparer,
            reader: opened.reader,
            inbox: VecDeque::new(),
            served: Vec::new(),
            clients: Vec::new(),
            round_due: false,
            wake_at: None,
            ending: false,
        });
        Ok(Fact::Log {
            node: self.id,
            start,
            truncated_to: i64::MIN,
            appended,
        })
    }

    /// Ends the node in the middle of whatever it was doing. Its disk keeps what a crash may leave.
    pub(crate) fn crash(&mut self, rng: &mut Rng, lie: Option<Lie>) {
        let Some(mut running) = self.running.take() else {
            return;
        };
        let queue = &mut running.engine.storage_mut().queue;
        if !queue.is_empty() && rng.chance(700) {
            // The crash comes in the middle of a round.
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
    }

    /// Asks the node to end gracefully.
    pub(crate) fn stop(&mut self, now: Instant) {
        if let Some(running) = &mut self.running {
            running.ending = true;
        }
        self.enqueue(Command::Shutdown, now);
    }

    /// Lets the disk fail at one of its next calls.
    pub(crate) fn break_disk(&mut self, rng: &mut Rng) {
        let kinds = Fault::ALL.len() as u64;
        let fault = Fault::ALL[usize::try_from(rng.below(kinds)).expect("few kinds")];
        self.fail_disk_after(rng.below(12), fault);
    }

    /// Whether a failure of the disk is still to come.
    #[cfg(test)]
    pub(crate) fn disk_will_fail(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.fs.is_armed())
    }

    /// Lets the disk fail behind the next `calls` calls.
    pub(crate) fn fail_disk_after(&mut self, calls: u64, fault: Fault) {
        if let Some(running) = &mut self.running {
            running.ending = true;
            running.fs.arm(calls, fault);
        }
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
        if let Some(running) = &mut self.running {
            running.inbox.push_back(QueuedCommand {
                command,
                enqueued_at: now,
            });
        }
    }

    pub(crate) fn serve(&mut self, served: Served) {
        if let Some(running) = &mut self.running {
            running.served.push(served);
        }
    }

    /// Proposes a record. Returns whether there is a node to propose to.
    pub(crate) fn propose(&mut self, records: Vec<S::Record>, now: Instant) -> bool {
        let (reply, outcome) = oneshot::channel();
        let Some(running) = &mut self.running else {
            return false;
        };
        running.clients.push(outcome);
        let command = Command::SubmitChange {
            records,
            expected_image: None,
            reply,
        };
        self.enqueue(command, now);
        true
    }

    /// Takes one turn of the engine and looks at what came of it.
    pub(crate) fn turn(&mut self, now: Time) -> Option<Aftermath> {
        let running = self.running.as_mut()?;
        let turn = running.engine.turn(&mut running.inbox, now);
        running.engine.replica().check_invariants(running.engine.log());
        let answers = running.answers();
        let mut facts = Vec::new();
        let seen = self.recorder.take();
        self.appended.extend(
            seen.appended
                .into_iter()
                .map(|(epoch, offset, digest)| ((epoch, offset), digest)),
        );
        facts.extend(seen.loaded.into_iter().map(|(snapshot, digest)| Fact::Loaded {
            node: self.id,
            snapshot,
            digest,
        }));
        facts.extend(seen.applied.into_iter().map(|(batch, records)| Fact::Applied {
            node: self.id,
            batch,
            records,
        }));
        facts.extend(self.acknowledgements());
        facts.push(self.state()?);
        Some(Aftermath { turn, answers, facts })
    }

    fn state(&self) -> Option<Fact> {
        let replica = self.running.as_ref()?.engine.replica();
        Some(Fact::State {
            node: self.id,
            role: replica.role(),
            epoch: replica.epoch(),
            leader: replica.leader(),
            high_watermark: replica.high_watermark(),
        })
    }

    fn acknowledgements(&mut self) -> Vec<Fact> {
        let Some(running) = &mut self.running else {
            return Vec::new();
        };
        let mut facts = Vec::new();
        running.clients.retain_mut(|client| match client.try_recv() {
            Ok(Ok(result)) => {
                let offsets = result.base_offset..=result.last_offset;
                let digests = offsets.map(|offset| self.appended.get(&(result.epoch, offset)).copied());
                facts.push(Fact::Acknowledged {
                    base: result.base_offset,
                    records: digests.map(Option::unwrap_or_default).collect(),
                });
                false
            }
            Ok(Err(error)) => {
                facts.push(Fact::Refused {
                    node: self.id,
                    reason: error.to_string(),
                });
                false
            }
            Err(oneshot::error::TryRecvError::Closed) => false,
            Err(oneshot::error::TryRecvError::Empty) => true,
        });
        facts
    }

    /// What the engine wants to send.
    pub(crate) fn take_outbox(&mut self) -> Vec<kraft_transport::OutboundRequest> {
        self.running
            .as_mut()
            .map(|running| std::mem::take(&mut running.engine.network_mut().0))
            .unwrap_or_default()
    }

    /// Whether the log thread has work and no round is on its way; from now on one is.
    pub(crate) fn wants_round(&mut self) -> bool {
        let Some(running) = &mut self.running else {
            return false;
        };
        let wants = !running.round_due && !running.engine.storage_mut().queue.is_empty();
        running.round_due |= wants;
        wants
    }

    /// One round of the log thread, over as much of the queue as chance shows it.
    pub(crate) fn round(&mut self, rng: &mut Rng, now: Instant) -> Result<Vec<Fact>, String> {
        let Some(running) = &mut self.running else {
            return Ok(Vec::new());
        };
        running.round_due = false;
        let queue = &mut running.engine.storage_mut().queue;
        let seen = usize::try_from(rng.between(1, queue.len() as u64)).expect("a queue fits in memory");
        let mut round: VecDeque<(Ticket, StorageOp)> = queue.drain(..seen.min(queue.len())).collect();
        let start = running.engine.log().start();
        let ops: Vec<_> = round.iter().cloned().collect();
        let done = match running.writer.run_round(&mut round) {
            Ok(done) if done.rejected.is_some() => {
                return Err("a snapshot that was fetched whole has failed its checks".to_owned());
            }
            Ok(done) => done,
            Err(error) if running.ending => {
                let reason = error.to_string();
                self.enqueue(Command::StorageFailed { reason }, now);
                return Ok(Vec::new());
            }
            Err(error) => return Err(error.to_string()),
        };
        // Without blocks made ready the log goes on; a failure here is the disk's that is about to end the node.
        while running.preparer.step().is_ok_and(|more| more) {}
        for left in round.into_iter().rev() {
            running.engine.storage_mut().queue.push_front(left);
        }
        if let Some(cleaned) = done.cleaned {
            self.enqueue(Command::LogCleaned(cleaned), now);
        }
        let done = done.up_to;
        self.enqueue(Command::Event(Event::Durable { up_to: done }), now);
        let done_ops = ops.iter().filter(|(ticket, _)| *ticket <= done);
        Ok(done_ops.filter_map(|(_, op)| fact(self.id, start, op)).collect())
    }

    /// Reports what is queued as durable although it is not.
    pub(crate) fn claim_durable(&mut self, now: Instant) -> bool {
        let Some(running) = &mut self.running else {
            return false;
        };
        let queue = &mut running.engine.storage_mut().queue;
        let Some((newest, _)) = queue.back() else {
            return false;
        };
        let up_to = *newest;
        self.enqueue(Command::Event(Event::Durable { up_to }), now);
        true
    }

    /// Does the reads and writes of the other threads.
    pub(crate) fn background(&mut self, now: Instant) -> bool {
        let Some(running) = &mut self.running else {
            return false;
        };
        let storage = running.engine.storage_mut();
        let reads = std::mem::take(&mut storage.reads);
        let jobs = std::mem::take(&mut storage.snapshots);
        let busy = !reads.is_empty() || !jobs.is_empty();
        let reader = running.reader.clone();
        for (read, request) in reads {
            let outcome = kraft_transport::storage::perform_read(&reader, request);
            self.enqueue(Command::ReadDone { read, outcome }, now);
        }
        for job in jobs {
            let snapshot = job.snapshot;
            let outcome = kraft_transport::storage::perform_snapshot(&reader, job);
            self.enqueue(Command::SnapshotWritten { snapshot, outcome }, now);
        }
        busy
    }

    pub(crate) fn has_background_work(&mut self) -> bool {
        self.running.as_mut().is_some_and(|running| {
            let storage = running.engine.storage_mut();
            !storage.reads.is_empty() || !storage.snapshots.is_empty()
        })
    }

    /// Whether a wake-up at this moment has to be entered: none is, at or before it, that is still to come.
    pub(crate) fn wake_earlier(&mut self, at: Instant, now: Instant) -> bool {
        let Some(running) = &mut self.running else {
            return false;
        };
        let known = running.wake_at.filter(|known| *known > now);
        if known.is_some_and(|known| known <= at) {
            return false;
        }
        running.wake_at = Some(at);
        true
    }

    pub(crate) fn leads(&self) -> bool {
        self.running
            .as_ref()
            .is_some_and(|running| running.engine.replica().role() == kraft_core::RoleName::Leader)
    }

    /// Whether somebody waits for the outcome of a proposal.
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
    fn answers(&mut self) -> Vec<(Asker, Option<bytes::Bytes>)> {
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

fn whole_log(reader: &LogReader<Fs>, start: i64, end: i64) -> Result<Vec<crate::checker::BatchMark>, String> {
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
