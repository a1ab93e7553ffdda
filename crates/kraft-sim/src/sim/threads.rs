//! The other threads of a node: rounds of its log thread, reads, snapshots. They run inline, at a moment that is drawn.

use super::{disk::fact, node::Node, rng::Rng};
use crate::checker::Fact;
use kraft_core::{Event, Instant, LogView as _, StateMachine, Ticket};
use kraft_log::StorageOp;
use kraft_transport::{Command, storage};
use std::collections::VecDeque;

/// What a round of the log thread has done.
#[derive(Default)]
pub(crate) struct Round {
    pub(crate) facts: Vec<Fact>,
    /// How often a fetched snapshot took the place of the log.
    pub(crate) installs: usize,
}

impl<S: StateMachine> Node<S> {
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
    pub(crate) fn round(&mut self, rng: &mut Rng, now: Instant) -> Result<Round, String> {
        let Some(running) = &mut self.running else {
            return Ok(Round::default());
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
                return Ok(Round::default());
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
        let up_to = done.up_to;
        self.enqueue(Command::Event(Event::Durable { up_to }), now);
        let done = || ops.iter().filter(|(ticket, _)| *ticket <= up_to);
        Ok(Round {
            facts: done().filter_map(|(_, op)| fact(self.id, start, op)).collect(),
            installs: done()
                .filter(|(_, op)| matches!(op, StorageOp::TruncateFully { .. }))
                .count(),
        })
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
        running.background_due = false;
        let queued = running.engine.storage_mut();
        let reads = std::mem::take(&mut queued.reads);
        let jobs = std::mem::take(&mut queued.snapshots);
        let busy = !reads.is_empty() || !jobs.is_empty();
        let reader = running.reader.clone();
        for (read, request) in reads {
            let outcome = storage::perform_read(&reader, request);
            self.enqueue(Command::ReadDone { read, outcome }, now);
        }
        for job in jobs {
            let snapshot = job.snapshot;
            let outcome = storage::perform_snapshot(&reader, job);
            self.enqueue(Command::SnapshotWritten { snapshot, outcome }, now);
        }
        busy
    }

    /// Whether the other threads have work and nothing of theirs is on its way; from now on something is.
    pub(crate) fn wants_background(&mut self) -> bool {
        let Some(running) = &mut self.running else {
            return false;
        };
        let storage = running.engine.storage_mut();
        let has_work = !storage.reads.is_empty() || !storage.snapshots.is_empty();
        let wants = has_work && !running.background_due;
        running.background_due |= wants;
        wants
    }
}
