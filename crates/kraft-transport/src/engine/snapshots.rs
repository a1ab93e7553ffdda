//! Snapshots that are installed, and snapshots that are written.

use super::{Engine, due::Due};
use crate::{
    error::RaftError,
    network::Network,
    storage::{SnapshotJob, SnapshotOutcome, Storage},
};
use kraft_core::{Instant, LogView, SnapshotId, StateMachine, Ticket, Time};
use kraft_log::{SnapshotIdError, StorageOp};
use kraft_snapshot::frozen_name;
use tokio::sync::oneshot;
use tracing::{info, warn};

/// Snapshots under way.
#[derive(Debug)]
pub(super) struct Snapshots {
    /// A fetched snapshot that replaces the log with this ticket, until it is loaded.
    installing: Option<(Ticket, SnapshotId)>,
    /// Whether it is being read.
    reading: bool,
    /// When the next one is written without being asked for.
    due: Due,
    /// Whether the snapshot thread is writing one.
    writing: bool,
    /// Those who wait for the snapshot that is being written.
    waiting: Vec<oneshot::Sender<Result<(), RaftError>>>,
}

impl Snapshots {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            installing: None,
            reading: false,
            due: Due::new(now),
            writing: false,
            waiting: Vec::new(),
        }
    }

    /// How many wait for the snapshot that is being written.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// A disk that hangs lets them come and go.
    pub(super) fn forget_gone(&mut self) {
        self.waiting.retain(|reply| !reply.is_closed());
    }

    /// A batch of this size is applied.
    pub(super) fn applied(&mut self, bytes: usize) {
        self.due.applied(bytes);
    }

    /// The state machine stands on a snapshot.
    pub(super) fn restart(&mut self, now: Instant) {
        self.due.restart(now);
    }

    pub(super) fn installing(&mut self, ticket: Ticket, snapshot: SnapshotId) {
        self.installing = Some((ticket, snapshot));
        self.reading = false;
    }

    pub(super) fn is_installing(&self) -> bool {
        self.installing.is_some()
    }

    fn is_installing_this(&self, snapshot: SnapshotId) -> bool {
        self.installing
            .is_some_and(|(_, installing)| installing == snapshot)
    }

    pub(super) fn installed(&mut self, snapshot: SnapshotId) {
        if self.is_installing_this(snapshot) {
            self.installing = None;
        }
    }
}

/// Why no snapshot is begun.
enum NotBegun {
    /// Nothing has been applied since the last one.
    Exists,
    /// Nothing has been applied at all.
    Empty,
    /// What has been applied is no place for a snapshot.
    Refused(SnapshotIdError),
    /// The state machine has none to give.
    NotNow,
}

impl<S, L, N> Engine<S, L, N>
where
    S: StateMachine,
    L: Storage,
    N: Network,
{
    /// Reads a snapshot once it has replaced the log.
    pub(super) fn read_installed(&mut self, up_to: Ticket) {
        if let Some((ticket, snapshot)) = self.snapshots.installing
            && ticket <= up_to
            && !self.snapshots.reading
        {
            self.snapshots.reading = true;
            self.read_to_load(snapshot, true);
        }
    }

    /// A snapshot that the state machine needs is not there. That is no fault if a newer one has taken its place; the
    /// next turn looks for it.
    pub(super) fn snapshot_missing(&mut self, snapshot: SnapshotId, now: Time) {
        if self.index.latest_snapshot() == Some(snapshot) || self.snapshots.is_installing_this(snapshot) {
            let reason = format!("{} is gone", frozen_name(snapshot));
            self.storage_failed(reason, now);
        }
    }

    /// Asks the log thread to remove what retention does not keep: from time to time, after a snapshot was written, and
    /// after a start, once all that is committed is applied. One that was fetched has taken the place of all there was.
    pub(super) fn clean_if_due(&mut self, now: Time) {
        let high_watermark = self.replica.high_watermark();
        let caught_up = high_watermark.is_some_and(|high_watermark| self.applied.next() >= high_watermark);
        if now.mono < self.clean_at && !(self.clean_soon && caught_up) {
            return;
        }
        self.clean_at = now.mono.after(self.config.clean_interval);
        if let Some(high_watermark) = high_watermark {
            self.clean_soon = false;
            // What is not applied yet may have to be read.
            let high_watermark = high_watermark.min(self.applied.next());
            let clean = StorageOp::Clean {
                high_watermark,
                now_ms: now.wall_ms,
            };
            self.storage.submit(self.submitted, clean);
        }
    }

    /// A voter that had lost its log has it again: the next start shall know.
    pub(super) fn resume_voting(&mut self) {
        if self.abstained && !self.replica.abstains() {
            self.abstained = false;
            info!("everything that was committed is here again: the node votes as before");
            self.storage.submit(self.submitted, StorageOp::ResumeVoting);
        }
    }

    /// Starts a snapshot of the state machine, or joins the one that is being written.
    pub(super) fn trigger_snapshot(&mut self, reply: oneshot::Sender<Result<(), RaftError>>, now: Time) {
        if self.snapshots.writing {
            return self.snapshots.waiting.push(reply);
        }
        let refusal = match self.begin_snapshot(now) {
            Ok(()) => return self.snapshots.waiting.push(reply),
            // Nothing has happened since.
            Err(NotBegun::Exists) => Ok(()),
            Err(NotBegun::Empty) => Err("nothing is committed".to_owned()),
            Err(NotBegun::NotNow) => Err("the state machine gives no snapshot of its state".to_owned()),
            Err(NotBegun::Refused(reason)) => Err(reason.to_string()),
        };
        // Callers that are gone learn nothing.
        let _ = reply.send(refusal.map_err(|reason| RaftError::NoSnapshot { reason }));
    }

    /// Starts a snapshot if enough has been applied, or for long enough. Comes behind every pass over committed batches,
    /// where Kafka looks, too: there is no timer.
    pub(super) fn snapshot_if_due(&mut self, now: Time) {
        let high_watermark = self.replica.high_watermark();
        if high_watermark.is_some_and(|high_watermark| self.applied.next() >= high_watermark) {
            self.snapshots.due.catch_up(now.mono);
        }
        let Some(reason) = self.snapshots.due.reason(&self.config, now.mono) else {
            return;
        };
        // What stands below the log's beginning is about to be replaced.
        let replaced = self.snapshots.is_installing() || self.applied.next() < self.index.start();
        if self.snapshots.writing || replaced {
            return;
        }
        match self.begin_snapshot(now) {
            Ok(()) => info!(end_offset = self.applied.next(), ?reason, "writing a snapshot"),
            Err(NotBegun::NotNow) => {
                if self.snapshots.due.put_off() {
                    let next = self.applied.next();
                    info!(
                        next,
                        ?reason,
                        "a snapshot is due and cannot be taken of this state"
                    );
                }
            }
            Err(NotBegun::Refused(reason)) => {
                // It is due again when as much has been applied once more.
                self.snapshots.due.restart(now.mono);
                warn!(end_offset = self.applied.next(), %reason, "no snapshot can be taken here");
            }
            Err(NotBegun::Exists | NotBegun::Empty) => {}
        }
    }

    fn begin_snapshot(&mut self, now: Time) -> Result<(), NotBegun> {
        let snapshot = SnapshotId {
            end_offset: if mutated!(SnapshotsPastApplied) {
                self.replica
                    .high_watermark()
                    .unwrap_or(0)
                    .max(self.applied.next() + 1)
            } else {
                self.applied.next()
            },
            epoch: self.applied.epoch(),
        };
        if self.index.latest_snapshot() == Some(snapshot) && snapshot != SnapshotId::BOOTSTRAP {
            return Err(NotBegun::Exists);
        }
        if snapshot.end_offset == 0 {
            return Err(NotBegun::Empty);
        }
        let checked = self
            .index
            .check_snapshot_id(snapshot, self.replica.high_watermark());
        checked.map_err(NotBegun::Refused)?;
        let values = self.machine.snapshot().ok_or(NotBegun::NotNow)?;
        let last = snapshot.end_offset - 1;
        let kraft_version = self.replica.kraft_version_at(last);
        let voters = self.replica.voters_at(last).filter(|_| kraft_version > 0);
        // Before the outcome is known: one that fails is not repeated with every batch.
        self.snapshots.due.restart(now.mono);
        self.snapshots.writing = true;
        self.storage.write_snapshot(SnapshotJob {
            snapshot,
            last_contained_timestamp_ms: self.applied.timestamp_ms(),
            wall_ms: now.wall_ms,
            kraft_version,
            voters: voters.cloned(),
            values: Box::new(values),
        });
        Ok(())
    }

    pub(super) fn snapshot_written(&mut self, snapshot: SnapshotId, outcome: SnapshotOutcome, now: Time) {
        let result = match outcome {
            SnapshotOutcome::Written { size } => {
                info!(end_offset = snapshot.end_offset, size, "snapshot written");
                self.index.snapshot_stored(snapshot, size);
                self.observations.snapshot_written(size, now.mono);
                self.clean_soon = true;
                Ok(())
            }
            SnapshotOutcome::Failed { reason } => {
                warn!(end_offset = snapshot.end_offset, %reason, "snapshot not written");
                Err(RaftError::NoSnapshot { reason })
            }
        };
        self.snapshots.writing = false;
        for reply in self.snapshots.waiting.drain(..) {
            let _ = reply.send(result.clone());
        }
    }
}
