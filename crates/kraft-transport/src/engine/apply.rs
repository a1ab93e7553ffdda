//! From committed batches to the state machine.

use super::Engine;
use crate::{
    error::NodeError,
    network::Network,
    storage::{SnapshotContents, Storage},
};
use bytes::Bytes;
use kraft_core::{
    Epoch, Event, Instant, LogView, SnapshotId, StateMachine, Time,
    state_machine::{ApplyFault, CommittedBatch},
};
use kraft_log::LogIndex;
use kraft_wire::batch::{BatchView, Batches};

/// How far the state machine is.
#[derive(Debug)]
pub(super) struct Applied {
    /// The next offset to apply.
    next: i64,
    /// Epoch of the last record that was applied.
    epoch: Epoch,
    /// Timestamp of the last batch that was applied.
    timestamp_ms: i64,
    /// Everything below is committed.
    committed: i64,
    /// The highest high watermark that anybody told.
    heard: i64,
    /// Whether the state machine stands on what the log starts at.
    loaded: bool,
    /// Whether a read for the state machine is under way.
    reading: bool,
    passes: Passes,
}

/// Where batches that are applied come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// They were made here, or checked when they were fetched.
    Memory,
    /// Anything can have happened to them.
    Disk,
}

/// How long passes over committed batches took.
#[derive(Debug, Default, Clone, Copy)]
struct Passes {
    count: u64,
    total_us: u64,
    max_us: u64,
}

impl Applied {
    pub(super) fn new(index: &LogIndex) -> Self {
        Self {
            next: 0,
            epoch: Epoch(0),
            timestamp_ms: 0,
            committed: 0,
            heard: -1,
            loaded: index.latest_snapshot().is_none(),
            reading: false,
            passes: Passes::default(),
        }
    }

    /// Everything below the high watermark is committed.
    pub(super) fn commit(&mut self, high_watermark: i64) {
        if mutated!(DropsCommits) && high_watermark % 2 == 0 {
            return;
        }
        self.committed = self.committed.max(high_watermark);
        self.heard = self.heard.max(high_watermark);
    }

    /// Somebody knows of commits up to here.
    pub(super) fn heard(&mut self, high_watermark: i64) {
        self.heard = self.heard.max(high_watermark);
    }

    pub(super) fn read_ended(&mut self) {
        self.reading = false;
    }

    pub(super) fn next(&self) -> i64 {
        self.next
    }

    pub(super) fn epoch(&self) -> Epoch {
        self.epoch
    }

    pub(super) fn timestamp_ms(&self) -> i64 {
        self.timestamp_ms
    }

    pub(super) fn quorum_high_watermark(&self) -> i64 {
        self.heard
    }

    /// Average and maximum in microseconds.
    pub(super) fn pass_times(&self) -> (u64, u64) {
        let average = self.passes.total_us.checked_div(self.passes.count).unwrap_or(0);
        (average, self.passes.max_us)
    }

    fn passed(&mut self, began: Instant, ended: Instant) {
        let took = u64::try_from(ended.since(began).as_micros()).unwrap_or(u64::MAX);
        self.passes.count += 1;
        self.passes.total_us = self.passes.total_us.saturating_add(took);
        self.passes.max_us = self.passes.max_us.max(took);
    }
}

impl<S, L, N> Engine<S, L, N>
where
    S: StateMachine,
    L: Storage,
    N: Network,
{
    /// Applies a slice of what is committed, and lets the state machine lead once it is that far.
    pub(super) fn apply_committed(&mut self, now: Time) {
        if self.applied.reading || self.ended.is_some() {
            return;
        }
        if !self.applied.loaded || self.applied.next < self.index.start() {
            // A snapshot that is being installed is read when its ticket is durable.
            if let Some(snapshot) = self.index.latest_snapshot()
                && !self.snapshots.is_installing()
            {
                self.applied.reading = true;
                self.read_to_load(snapshot, false);
            }
            return;
        }
        let mut left = SLICE_BYTES;
        let up_to = if mutated!(AppliesBeforeCommit) {
            self.log_end()
        } else {
            self.applied.committed
        };
        while self.applied.next < up_to && left > 0 {
            let from = self.applied.next;
            let Some(parts) = self.index.recent_parts(from, left, up_to) else {
                self.applied.reading = true;
                self.read_to_apply(from, u32::try_from(SLICE_BYTES).unwrap_or(u32::MAX), up_to);
                return;
            };
            left = left.saturating_sub(parts.iter().map(Bytes::len).sum());
            if !self.apply_batches(parts, Source::Memory, now) {
                return;
            }
        }
        self.lead_if_applied(now);
    }

    /// Whether the next turn should come at once.
    pub(super) fn has_more_to_apply(&self) -> bool {
        self.ended.is_none()
            && !self.applied.reading
            && !self.snapshots.is_installing()
            && (!self.applied.loaded
                || self.applied.next < self.applied.committed
                || self.proposals.may_lead(self.applied.next).is_some())
    }

    /// Batches that had to be read from the disk.
    pub(super) fn apply_read(&mut self, bytes: Bytes, now: Time) {
        if bytes.is_empty() {
            let reason = format!(
                "offset {} is committed and not in the log, which ends at {}",
                self.applied.next,
                self.log_end()
            );
            return self.storage_failed(reason, now);
        }
        self.apply_batches(vec![bytes], Source::Disk, now);
    }

    /// The state machine starts anew from a snapshot.
    pub(super) fn load_snapshot(
        &mut self,
        snapshot: SnapshotId,
        contents: SnapshotContents,
        installed: bool,
        now: Time,
    ) {
        let mut values = contents.values.iter().map(|value| &value[..]);
        let timestamp_ms = contents.last_contained_timestamp_ms;
        if let Err(fault) = self.machine.load(snapshot, timestamp_ms, &mut values) {
            return self.cannot_apply(fault);
        }
        if snapshot != SnapshotId::BOOTSTRAP {
            self.observations.snapshots_loaded += 1;
        }
        self.applied.loaded = true;
        self.applied.next = snapshot.end_offset;
        self.applied.epoch = snapshot.epoch;
        self.applied.timestamp_ms = timestamp_ms;
        self.applied.commit(snapshot.end_offset);
        self.publish_and_answer(now);
        self.snapshots.restart(now.mono);
        if installed {
            self.snapshots.installed(snapshot);
            let control = contents.control;
            self.step(Event::SnapshotInstalled { snapshot, control }, now);
        }
    }

    /// Whoever is told that a change is applied finds it in the image.
    fn publish_and_answer(&mut self, now: Time) {
        self.publish_image();
        self.publish(now);
        self.proposals.answer_applied(self.applied.next);
        self.reads.answer_applied(self.applied.next);
    }

    fn cannot_apply(&mut self, fault: ApplyFault) {
        self.observations.metadata_errors += 1;
        self.end(Err(NodeError::Apply(fault)));
    }

    /// Returns whether the state machine took them.
    fn apply_batches(&mut self, parts: Vec<Bytes>, source: Source, now: Time) -> bool {
        let began = (self.config.stopwatch)();
        for batch in parts.into_iter().flat_map(Batches::new) {
            let taken = match batch {
                Ok(batch) if batch.last_offset() < self.applied.next => continue,
                Ok(batch) => self.apply_batch(&batch, source),
                Err(error) => Err(ApplyFault {
                    offset: self.applied.next,
                    reason: error.to_string(),
                }),
            };
            if let Err(fault) = taken {
                self.cannot_apply(fault);
                return false;
            }
        }
        self.publish_and_answer(now);
        self.applied.passed(began, (self.config.stopwatch)());
        self.snapshot_if_due(now);
        true
    }

    fn apply_batch(&mut self, batch: &BatchView, source: Source) -> Result<(), ApplyFault> {
        if source == Source::Disk {
            batch.validate().map_err(|error| ApplyFault {
                offset: batch.base_offset(),
                reason: error.to_string(),
            })?;
        }
        assert_eq!(
            batch.base_offset(),
            self.applied.next,
            "committed batches are applied without a gap"
        );
        let values: Vec<&[u8]> = match batch.is_control() {
            true => Vec::new(),
            false => batch.values().collect(),
        };
        self.machine.apply(CommittedBatch {
            base: batch.base_offset(),
            last: batch.last_offset(),
            epoch: Epoch(batch.leader_epoch()),
            timestamp_ms: batch.header().max_timestamp,
            values: &values,
        })?;
        self.snapshots.applied(batch.size());
        self.applied.next = batch.last_offset() + 1;
        self.applied.epoch = Epoch(batch.leader_epoch());
        self.applied.timestamp_ms = batch.header().max_timestamp;
        Ok(())
    }

    fn lead_if_applied(&mut self, now: Time) {
        let Some(epoch) = self.proposals.may_lead(self.applied.next) else {
            return;
        };
        match self.machine.lead(epoch, now) {
            Ok(batches) => {
                self.proposals.leads(epoch);
                for values in batches {
                    self.propose_own(values, now);
                }
            }
            Err(fault) => {
                self.observations.metadata_errors += 1;
                tracing::error!(epoch = epoch.0, %fault, "the state machine cannot lead");
                self.proposals.unlead();
                self.step(Event::Resign { epoch }, now);
            }
        }
    }
}

/// How much is applied in one turn.
const SLICE_BYTES: usize = 1024 * 1024;
