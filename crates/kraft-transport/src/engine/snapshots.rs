//! Snapshots that are installed, and snapshots that are written.

use super::Engine;
use crate::{
    error::RaftError,
    network::Network,
    storage::{SnapshotJob, SnapshotOutcome, Storage},
};
use kraft_core::{LogView, SnapshotId, StateMachine, Ticket, Time};
use kraft_log::StorageOp;
use kraft_snapshot::frozen_name;
use tokio::sync::oneshot;
use tracing::{info, warn};

/// Snapshots under way.
#[derive(Debug, Default)]
pub(super) struct Snapshots {
    /// A fetched snapshot that replaces the log with this ticket, until it is loaded.
    installing: Option<(Ticket, SnapshotId)>,
    /// Whether it is being read.
    reading: bool,
    /// Those who wait for the snapshot that is being written.
    waiting: Vec<oneshot::Sender<Result<(), RaftError>>>,
}

impl Snapshots {
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

    /// Asks the log thread to remove what retention does not keep.
    pub(super) fn clean_if_due(&mut self, now: Time) {
        if now.mono < self.clean_at {
            return;
        }
        self.clean_at = now.mono.after(self.config.clean_interval);
        if let Some(high_watermark) = self.replica.high_watermark() {
            // What is not applied yet may have to be read.
            let high_watermark = high_watermark.min(self.applied.next());
            let clean = StorageOp::Clean {
                high_watermark,
                now_ms: now.wall_ms,
            };
            self.storage.submit(self.submitted, clean);
        }
    }

    /// Starts a snapshot of the state machine, or joins the one that is being written.
    pub(super) fn trigger_snapshot(&mut self, reply: oneshot::Sender<Result<(), RaftError>>, now: Time) {
        if !self.snapshots.waiting.is_empty() {
            return self.snapshots.waiting.push(reply);
        }
        let snapshot = SnapshotId {
            end_offset: self.applied.next(),
            epoch: self.applied.epoch(),
        };
        if self.index.latest_snapshot() == Some(snapshot) && snapshot != SnapshotId::BOOTSTRAP {
            // Nothing has happened since. Callers that are gone learn nothing.
            let _ = reply.send(Ok(()));
            return;
        }
        let refuse = |reason: &str| {
            Err(RaftError::NoSnapshot {
                reason: reason.to_owned(),
            })
        };
        if snapshot.end_offset == 0 {
            let _ = reply.send(refuse("nothing is committed"));
            return;
        }
        let Some(values) = self.machine.snapshot() else {
            let _ = reply.send(refuse("the state machine is in the middle of a transaction"));
            return;
        };
        let last = snapshot.end_offset - 1;
        let kraft_version = self.replica.kraft_version_at(last);
        let voters = self.replica.voters_at(last).filter(|_| kraft_version > 0);
        self.snapshots.waiting.push(reply);
        self.storage.write_snapshot(SnapshotJob {
            snapshot,
            last_contained_timestamp_ms: self.applied.timestamp_ms(),
            wall_ms: now.wall_ms,
            kraft_version,
            voters: voters.cloned(),
            values: Box::new(values),
        });
    }

    pub(super) fn snapshot_written(&mut self, snapshot: SnapshotId, outcome: SnapshotOutcome) {
        let result = match outcome {
            SnapshotOutcome::Written { size } => {
                info!(end_offset = snapshot.end_offset, size, "snapshot written");
                self.index.snapshot_stored(snapshot, size);
                Ok(())
            }
            SnapshotOutcome::Failed { reason } => {
                warn!(end_offset = snapshot.end_offset, %reason, "snapshot not written");
                Err(RaftError::NoSnapshot { reason })
            }
        };
        for reply in self.snapshots.waiting.drain(..) {
            let _ = reply.send(result.clone());
        }
    }
}
