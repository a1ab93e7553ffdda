//! The load: records that are due by a clock, whether or not those before them are committed.
//!
//! Their latency counts from when they are due, so what keeps the generator itself from being in time counts, too.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use kraft_core::Epoch;
use kraft_transport::node::Handle;
use kraft_transport::{Command, NodeState, RaftError, SubmitChangeResult, oneshot};
use tokio::runtime;
use tokio::sync::{Notify, mpsc, watch};
use tracing::{error, info};

use super::load::{Clock, Load};
use super::machine::Opaque;
use super::measured::Measured;

/// Proposes records whenever this node leads.
pub(super) struct Generator {
    handle: Handle<Opaque>,
    state: watch::Receiver<NodeState>,
    load: Load,
    record: Vec<u8>,
    measured: Arc<Measured>,
    waiting: Arc<Waiting>,
    proposed: mpsc::UnboundedSender<Proposed>,
}

/// How many records wait for their commit.
#[derive(Default)]
struct Waiting {
    records: AtomicU64,
    /// Told whenever they have become fewer.
    fewer: Notify,
}

/// Records that were proposed together.
struct Proposed {
    count: u64,
    due: Instant,
    epoch: Epoch,
    answer: oneshot::Receiver<Result<SubmitChangeResult, RaftError>>,
}

impl Generator {
    pub(super) fn new(handle: &Handle<Opaque>, load: Load, measured: Arc<Measured>) -> Self {
        let waiting = Arc::new(Waiting::default());
        // Bounded by what may wait for its commit.
        let (proposed, answers) = mpsc::unbounded_channel();
        tokio::spawn(collect(answers, Arc::clone(&measured), Arc::clone(&waiting)));
        Self {
            handle: handle.clone(),
            state: handle.watch(),
            load,
            record: (0..load.record_bytes).map(|at| at as u8).collect(),
            measured,
            waiting,
            proposed,
        }
    }

    /// Proposes until the node has ended.
    ///
    /// The state changes with every commit, so whoever waits for the leadership is a task, which costs a follower less
    /// than a thread that is woken. So are few callers that wait for their answers, as those of an embedder would be.
    pub(super) fn start(self) {
        tokio::spawn(Arc::new(self).run());
    }

    async fn run(self: Arc<Self>) {
        let mut state = self.state.clone();
        loop {
            let leading = state.wait_for(|state| state.leading).await;
            let Ok(epoch) = leading.map(|state| state.epoch) else {
                return;
            };
            info!(%epoch, "leads and makes the load");
            self.measured.begin();
            let ended = match (self.load.throughput, self.load.in_flight_max, self.load.clock()) {
                (0, ..=FEW, _) => self.propose_all_there_is_room_for(epoch).await,
                (1.., _, Clock::Runtime) => self.propose_by_the_clock(epoch, Clock::Runtime).await,
                (throughput, ..) => {
                    let (generator, runtime) = (Arc::clone(&self), runtime::Handle::current());
                    on_a_thread(move || match throughput {
                        0 => runtime.block_on(generator.propose_all_there_is_room_for(epoch)),
                        _ => runtime.block_on(generator.propose_by_the_clock(epoch, Clock::Thread)),
                    })
                    .await
                }
            };
            self.measured.end();
            if ended {
                return;
            }
        }
    }

    /// Says whether the node has ended.
    async fn propose_by_the_clock(&self, epoch: Epoch, clock: Clock) -> bool {
        let started = Instant::now();
        let (throughput, every) = (f64::from(self.load.throughput), self.load.tick());
        let due_of = |record: u64| started + Duration::from_secs_f64(record as f64 / throughput);
        let mut next = 0_u64;
        loop {
            if !self.leads(epoch) {
                return false;
            }
            let tick = Instant::now();
            let due = (started.elapsed().as_secs_f64() * throughput) as u64 + 1;
            let together = (due - next).div_ceil(PROPOSALS_PER_TICK).min(self.together_max());
            for _ in 0..PROPOSALS_PER_TICK {
                let count = together.min(due - next);
                if count == 0 {
                    break;
                }
                if !self.has_room(count) {
                    self.measured.refused(due - next);
                    next = due;
                    break;
                }
                if self.propose(count, due_of(next), epoch).await {
                    return true;
                }
                next += count;
            }
            clock.reach(due_of(next).max(tick + every)).await;
        }
    }

    /// Says whether the node has ended.
    async fn propose_all_there_is_room_for(&self, epoch: Epoch) -> bool {
        let count = (self.load.in_flight_max / PROPOSALS_PER_TICK).clamp(1, self.together_max());
        while self.leads(epoch) {
            let fewer = self.waiting.fewer.notified();
            if !self.has_room(count) {
                // Whatever happens to the leadership, those who wait get an answer.
                fewer.await;
                continue;
            }
            if self.propose(count, Instant::now(), epoch).await {
                return true;
            }
        }
        false
    }

    fn leads(&self, epoch: Epoch) -> bool {
        let state = self.state.borrow();
        state.leading && state.epoch == epoch
    }

    fn has_room(&self, count: u64) -> bool {
        self.waiting.records.load(Ordering::Relaxed) + count <= self.load.in_flight_max
    }

    /// Records that fit into one batch with room to spare.
    fn together_max(&self) -> u64 {
        (TOGETHER_BYTES_MAX / self.load.record_bytes as u64).max(1)
    }

    /// Proposes records as one change. Says whether the node has ended.
    async fn propose(&self, count: u64, due: Instant, epoch: Epoch) -> bool {
        let (reply, answer) = oneshot::channel();
        let command = Command::SubmitChange {
            records: (0..count).map(|_| self.record.clone()).collect(),
            expected_image: None,
            reply,
        };
        self.waiting.records.fetch_add(count, Ordering::Relaxed);
        let proposed = Proposed {
            count,
            due,
            epoch,
            answer,
        };
        self.handle.commands().send(command).await.is_err() || self.proposed.send(proposed).is_err()
    }
}

/// Runs `propose` on a thread of its own. Says what it says; a thread that is not to be had ends the load.
async fn on_a_thread(propose: impl FnOnce() -> bool + Send + 'static) -> bool {
    let (ended, end) = oneshot::channel();
    let spawned = thread::Builder::new().name("load".to_owned()).spawn(move || {
        // Whoever waits for it may be gone with the runtime.
        let _ = ended.send(propose());
    });
    if let Err(error) = spawned {
        error!(%error, "no thread for the load");
        return true;
    }
    end.await.unwrap_or(true)
}

/// Waits for the answers in the order of the proposals, which is that of the log.
async fn collect(
    mut proposed: mpsc::UnboundedReceiver<Proposed>,
    measured: Arc<Measured>,
    waiting: Arc<Waiting>,
) {
    let mut committed_in = None;
    while let Some(Proposed {
        count,
        due,
        epoch,
        answer,
    }) = proposed.recv().await
    {
        let answer = answer.await;
        waiting.records.fetch_sub(count, Ordering::Relaxed);
        waiting.fewer.notify_one();
        if let Ok(Ok(SubmitChangeResult { base_offset, .. })) = answer {
            measured.committed(count, due.elapsed());
            if committed_in != Some(epoch) {
                committed_in = Some(epoch);
                info!(%epoch, base_offset, "the first of its records is committed");
            }
        } else {
            measured.refused(count);
        }
    }
}

/// Up to so many records that are due at one moment are proposed one by one.
const PROPOSALS_PER_TICK: u64 = 64;
const TOGETHER_BYTES_MAX: u64 = 256 * 1024;
/// So many callers are no work for a thread of their own.
const FEW: u64 = 64;
