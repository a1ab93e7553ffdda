//! The batch that proposals gather in before it is appended.
//!
//! As in Kafka, a batch is closed when its time is over, when it is full, or when the core is about to write a batch of
//! its own, which would otherwise take the place that the state machine was told. Unlike Kafka's, the time is 0 unless it
//! is set: then a batch is what has gathered in one turn, and the disk sets the pace.

use super::{Engine, batches, payloads::Payload, proposals::Waiter};
use crate::{error::RaftError, network::Network, storage::Storage};
use kraft_core::{Epoch, Event, Instant, StateMachine, Time, state_machine::RecordValues};

/// At most one open batch.
#[derive(Debug, Default)]
pub(super) struct Accumulator {
    open: Option<Open>,
}

/// A batch that is being filled.
#[derive(Debug)]
pub(super) struct Open {
    values: RecordValues,
    pub(super) parts: Vec<Part>,
    /// Where the state machine was told that it goes.
    pub(super) base: i64,
    pub(super) epoch: Epoch,
    pub(super) bytes: u64,
    /// When it was opened, which is what its records are stamped with.
    opened_ms: i64,
    /// When it has waited long enough.
    due: Instant,
}

/// One proposal within a batch.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) records: i64,
    pub(super) waiter: Waiter,
}

impl Accumulator {
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.due().is_some_and(|due| due <= now)
    }

    /// When the open batch has waited long enough.
    pub(super) fn due(&self) -> Option<Instant> {
        self.open.as_ref().map(|open| open.due)
    }

    pub(super) fn take(&mut self) -> Option<Open> {
        self.open.take()
    }

    /// Whether so much more makes the open batch larger than it may get by joining.
    fn overflows(&self, bytes: u64, max: u64) -> bool {
        self.open.as_ref().is_some_and(|open| open.bytes + bytes > max)
    }
}

impl<S, L, N> Engine<S, L, N>
where
    S: StateMachine,
    L: Storage,
    N: Network,
{
    /// Puts checked records into the open batch, all of them into the same one.
    pub(super) fn join(&mut self, values: RecordValues, waiter: Waiter, now: Time) {
        let bytes = match bytes_of_possible(&values) {
            Ok(bytes) => bytes,
            Err(error) => return waiter.fail(error),
        };
        let max = self
            .config
            .append_batch_bytes
            .min(batches::BATCH_BYTES_MAX.into());
        if self.proposals.accumulator.overflows(bytes, max) {
            self.drain(now);
        }
        // Closing may have cost the leadership.
        let Some(epoch) = self.proposals.leading() else {
            return waiter.fail(RaftError::NotLeader {
                leader: self.replica.leader(),
                epoch: self.replica.epoch(),
            });
        };
        let base = self.log_end();
        let mut reserved = bytes;
        let open = self.proposals.accumulator.open.get_or_insert_with(|| {
            reserved += batches::BATCH_OVERHEAD;
            Open {
                values: Vec::new(),
                parts: Vec::new(),
                base,
                epoch,
                bytes: batches::BATCH_OVERHEAD,
                opened_ms: now.wall_ms,
                due: now.mono.after(self.config.append_linger),
            }
        });
        let first = open.base + count(&open.values);
        self.machine.appended(first, epoch, &values);
        open.bytes += bytes;
        let records = count(&values);
        open.parts.push(Part { records, waiter });
        open.values.extend(values);
        if mutated!(ReordersRecords) {
            open.values.reverse();
        }
        let full = open.bytes >= max;
        self.proposals.reserve(reserved);
        if full {
            self.drain(now);
        }
    }

    /// Records of the state machine's own, as one batch, behind whatever is open. It counts on them, so without them it leads
    /// no more.
    pub(super) fn propose_own(&mut self, values: RecordValues, now: Time) {
        if values.is_empty() {
            return;
        }
        if let Err(fault) = bytes_of_possible(&values) {
            if let Some(epoch) = self.proposals.leading() {
                self.observations.metadata_errors += 1;
                tracing::error!(epoch = epoch.0, %fault, "the state machine cannot lead: its own records cannot be appended");
                self.lead_no_more(epoch, now);
            }
            return;
        }
        self.drain(now);
        self.join(values, Waiter::Nobody, now);
        self.drain(now);
    }

    /// Hands the open batch to the core, if there is one.
    pub(super) fn drain(&mut self, now: Time) {
        let Some(mut open) = self.proposals.accumulator.take() else {
            return;
        };
        let reply = self.replies.next_id();
        let epoch = open.epoch;
        let values = std::mem::take(&mut open.values);
        let records = u32::try_from(values.len()).expect("the records of 8 MiB are fewer than 4 billion");
        let bytes = u32::try_from(open.bytes).expect("a batch is smaller than 8 MiB");
        let payload = self.payloads.keep(Payload::Values {
            values,
            timestamp_ms: open.opened_ms,
        });
        self.proposals.offered(reply, open);
        let event = Event::Propose {
            reply,
            epoch: Some(epoch),
            records,
            bytes,
            payload,
        };
        self.step(event, now);
        if let Some(epoch) = self.proposals.take_void() {
            // The state machine counts on records that are not in the log. Leading on would build on nothing.
            self.payloads.discard(payload);
            self.lead_no_more(epoch, now);
        }
    }

    /// The state machine counts on what will not be in the log: somebody else has to lead, or this node anew.
    fn lead_no_more(&mut self, epoch: Epoch, now: Time) {
        if self.proposals.unlead() {
            self.machine.unlead();
            self.step(Event::Resign { epoch }, now);
        }
    }
}

/// The most bytes that records take within a batch.
///
/// # Errors
/// No batch can hold them.
fn bytes_of_possible(values: &[Vec<u8>]) -> Result<u64, RaftError> {
    if values.iter().any(Vec::is_empty) {
        return Err(RaftError::Empty);
    }
    let bytes: u64 = values.iter().map(|value| batches::record_bytes_max(value)).sum();
    let max = batches::BATCH_BYTES_MAX;
    if bytes + batches::BATCH_OVERHEAD > max.into() {
        return Err(RaftError::TooLarge { max });
    }
    Ok(bytes)
}

fn count(values: &[Vec<u8>]) -> i64 {
    i64::try_from(values.len()).expect("a count of records in memory fits")
}
