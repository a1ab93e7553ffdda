//! The core's actions, performed.

use super::{Engine, batches, observe::Currency, payloads::Payload};
use crate::{
    error::NodeError,
    network::{Network, OutboundRequest},
    storage::Storage,
};
use kraft_core::{
    Action, Answer, AppendPayload, BatchInfo, DiskOp, Event, LogView, NodeId, PayloadId, ReplyId,
    RequestFault, StateMachine, Ticket, Time,
};
use kraft_log::StorageOp;
use tracing::{error, info, warn};

/// An action that waits for a ticket.
#[derive(Debug)]
pub(super) enum Held {
    /// A request to a peer.
    Send(OutboundRequest),
    /// An answer, with the number of truncations when it was decided.
    Reply {
        reply: ReplyId,
        answer: Answer,
        truncations: u64,
    },
}

impl<S, L, N> Engine<S, L, N>
where
    S: StateMachine,
    L: Storage,
    N: Network,
{
    /// Performs an action, or holds it back until its ticket is durable.
    pub(super) fn perform(&mut self, action: Action, now: Time) {
        match action {
            Action::Disk { ticket, op } => self.submit(ticket, op, now),
            Action::Send {
                request,
                to,
                endpoint,
                body,
                after,
            } => {
                let request = OutboundRequest {
                    request,
                    to,
                    endpoint,
                    body,
                };
                self.perform_after(after, Held::Send(request));
            }
            Action::Reply { reply, answer, after } => {
                let truncations = self.truncations;
                self.perform_after(
                    after,
                    Held::Reply {
                        reply,
                        answer,
                        truncations,
                    },
                );
            }
            Action::Accept { reply, base, epoch } => self.proposals.accepted(reply, base, epoch),
            Action::Refuse { reply, reason } => self.proposals.refused(reply, reason),
            Action::Outcome { reply, outcome } => self.proposals.outcome(reply, outcome),
            Action::ReadBarrier { reply, applied } => self.read_decided(reply, applied),
            Action::Commit { high_watermark } => {
                self.observations.commit(high_watermark, now.mono);
                self.index.commit(high_watermark);
                self.applied.heard(high_watermark);
                // Who fetches in the middle of a batch has a high watermark there, and batches are applied whole.
                let whole = self.index.batch_end_at_or_before(high_watermark);
                self.applied.commit(whole);
            }
            Action::Transition {
                role,
                epoch,
                leader,
                reason,
            } => {
                self.reason = reason;
                self.currency = Currency::default();
                self.observations
                    .transition((role, reason), epoch, leader, now.mono);
                let leader = leader.unwrap_or(NodeId::NONE).0;
                info!(?role, epoch = epoch.0, leader, "{reason}");
            }
            Action::Lead { epoch, applied } => self.proposals.lead_after(epoch, applied),
            Action::Unlead => {
                self.observations.unlead();
                if self.proposals.unlead() {
                    self.machine.unlead();
                }
            }
            Action::Discard { payload } => self.payloads.discard(payload),
            Action::AbandonSnapshot { snapshot } => {
                // It stands behind the pieces in the queue, and is known to nobody by a ticket of its own.
                self.storage
                    .submit(self.submitted, StorageOp::AbandonSnapshot { snapshot });
                if let Some(left_out) = self.repeats.line("download", now.mono) {
                    warn!(
                        end_offset = snapshot.end_offset,
                        epoch = snapshot.epoch.0,
                        left_out,
                        "gave up a snapshot download"
                    );
                }
            }
            Action::ShutdownComplete { timed_out } => {
                info!(timed_out, "graceful shutdown complete");
                self.end(Ok(()));
            }
            Action::Fatal { reason } => {
                error!("{reason}");
                self.end(Err(NodeError::Contradiction { reason }));
            }
        }
    }

    /// Performs what waited for tickets that are durable now.
    pub(super) fn release_held(&mut self, now: Time) {
        while let Some(entry) = self.held.first_entry() {
            if *entry.key() > self.durable {
                break;
            }
            for held in entry.remove() {
                self.perform_held(held);
            }
        }
        self.step_consequences(now);
    }

    fn perform_after(&mut self, after: Ticket, held: Held) {
        let too_soon = match held {
            Held::Reply { .. } => mutated!(AnswersBeforeSync),
            Held::Send(_) => mutated!(SendsBeforeSync),
        };
        if after <= self.durable || too_soon {
            self.perform_held(held);
        } else {
            if let Held::Send(request) = &held {
                self.supersede(request);
            }
            self.held.entry(after).or_default().push(held);
        }
    }

    /// The core has one request in flight to each peer, so an older one that is still held back is not wanted any more.
    /// On a disk that hangs they would gather with every new epoch, and all go out when it comes back.
    fn supersede(&mut self, newer: &OutboundRequest) {
        let same_peer = |older: &OutboundRequest| older.to == newer.to && older.endpoint == newer.endpoint;
        let events = &mut self.events;
        self.held.retain(|_, held| {
            held.retain(|held| match held {
                Held::Send(older) if same_peer(older) => {
                    events.push_back(Event::RequestFailed {
                        request: older.request,
                        fault: RequestFault::Disconnected,
                    });
                    false
                }
                Held::Send(_) | Held::Reply { .. } => true,
            });
            !held.is_empty()
        });
    }

    fn perform_held(&mut self, held: Held) {
        match held {
            Held::Send(request) => {
                let number = request.request;
                if let Err(fault) = self.network.send(request) {
                    self.events.push_back(Event::RequestFailed {
                        request: number,
                        fault,
                    });
                }
            }
            Held::Reply {
                reply,
                answer,
                truncations,
            } => self.reply(reply, answer, truncations),
        }
    }

    fn submit(&mut self, ticket: Ticket, op: DiskOp, now: Time) {
        let op = match op {
            DiskOp::Append {
                base,
                batches,
                payload,
            } => {
                let leading = !matches!(payload, AppendPayload::Fetched(_));
                if let Some(BatchInfo { last, epoch, .. }) = batches.last() {
                    self.observations.append(base, *last, *epoch, leading, now);
                }
                match self.append(base, batches.to_vec(), payload) {
                    Ok(op) => op,
                    Err(reason) => return self.end(Err(NodeError::Contradiction { reason })),
                }
            }
            DiskOp::Truncate { to } => {
                self.truncations += 1;
                info!(to, "the log is cut");
                StorageOp::Truncate { to }
            }
            DiskOp::SnapshotChunk {
                snapshot,
                position,
                payload,
                last,
            } => StorageOp::SnapshotChunk {
                snapshot,
                position,
                bytes: self.take_chunk(payload),
                last,
            },
            DiskOp::TruncateFully { snapshot } => {
                self.truncations += 1;
                info!(
                    end_offset = snapshot.end_offset,
                    epoch = snapshot.epoch.0,
                    "the log is replaced by a snapshot"
                );
                self.snapshots.installing(ticket, snapshot);
                StorageOp::TruncateFully { snapshot }
            }
            DiskOp::StoreElection(state) => StorageOp::StoreElection(state),
            DiskOp::StartEpoch { epoch, start } => StorageOp::StartEpoch { epoch, start },
        };
        self.submitted = ticket;
        self.observations.submitted(ticket, now.mono);
        self.index.submit(ticket, &op, now.mono);
        self.storage.submit(ticket, op);
    }

    fn append(
        &mut self,
        base: i64,
        mut infos: Vec<BatchInfo>,
        payload: AppendPayload,
    ) -> Result<StorageOp, String> {
        let own = |infos: &mut Vec<BatchInfo>, encoded: Result<bytes::Bytes, kraft_wire::EncodeError>| {
            let bytes = encoded.map_err(|error| format!("a batch cannot be encoded: {error}"))?;
            let [info] = infos.as_mut_slice() else {
                return Err(format!("{} batches of one payload", infos.len()));
            };
            info.bytes = u32::try_from(bytes.len()).map_err(|error| error.to_string())?;
            Ok(bytes)
        };
        let epoch = infos.first().map(|info| info.epoch).unwrap_or_default();
        let batches = match payload {
            AppendPayload::Proposal(id) => {
                let Payload::Values { values, timestamp_ms } = self.payloads.take(id) else {
                    unreachable!("the payload of a proposal holds values");
                };
                own(
                    &mut infos,
                    batches::data_batch(&values, base, epoch, timestamp_ms),
                )?
            }
            AppendPayload::Fetched(id) => {
                let Payload::Batches(fetched) = self.payloads.take(id) else {
                    unreachable!("the payload of a Fetch answer holds batches");
                };
                batches::selected(fetched, &infos)
            }
            AppendPayload::Control {
                records,
                timestamp_ms,
            } => {
                assert!(
                    self.proposals.accumulator.due().is_none(),
                    "no proposal was promised the place of a control batch"
                );
                own(
                    &mut infos,
                    batches::own_control_batch(&records, base, epoch, timestamp_ms),
                )?
            }
        };
        Ok(StorageOp::Append { batches, infos })
    }

    fn take_chunk(&mut self, payload: PayloadId) -> bytes::Bytes {
        match self.payloads.take(payload) {
            Payload::Chunk(bytes) => bytes,
            Payload::Values { .. } | Payload::Batches(_) => {
                unreachable!("the payload of a FetchSnapshot answer holds a piece of a snapshot")
            }
        }
    }
}
