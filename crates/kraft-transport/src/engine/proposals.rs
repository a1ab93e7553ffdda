//! Changes on their way into the log: joined, appended, committed, applied, answered.

use super::{
    Engine,
    accumulator::{Accumulator, Open, Part},
};
use crate::{
    error::{RaftError, SubmitChangeResult},
    network::Network,
    storage::Storage,
};
use bytes::Bytes;
use kraft_core::{
    Epoch, ProposalOutcome, Refusal, ReplyId, StateMachine, Time,
    state_machine::{Handled, NodeView, ProposeError, Provenance, RecordValues},
};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};
use tokio::sync::oneshot;

/// Somebody who waits for a change to be committed and applied.
#[derive(Debug)]
pub(super) enum Waiter {
    /// A caller of the handle.
    Change(oneshot::Sender<Result<SubmitChangeResult, RaftError>>),
    /// A request that the state machine handles.
    Request {
        reply: oneshot::Sender<Bytes>,
        done: Vec<u8>,
        failed: Vec<u8>,
    },
    /// Nobody: the state machine's own records.
    Nobody,
    /// A test.
    #[cfg(test)]
    Test(oneshot::Sender<i64>),
}

impl Waiter {
    fn is_gone(&self) -> bool {
        match self {
            Self::Change(reply) => reply.is_closed(),
            Self::Request { reply, .. } => reply.is_closed(),
            Self::Nobody => true,
            #[cfg(test)]
            Self::Test(reply) => reply.is_closed(),
        }
    }

    fn succeed(self, result: SubmitChangeResult) {
        // Callers that are gone need no answer.
        match self {
            Self::Change(reply) => drop(reply.send(Ok(result))),
            Self::Request { reply, done, .. } => drop(reply.send(Bytes::from(done))),
            Self::Nobody => {}
            #[cfg(test)]
            Self::Test(reply) => drop(reply.send(result.base_offset)),
        }
    }

    pub(super) fn fail(self, error: RaftError) {
        match self {
            Self::Change(reply) => drop(reply.send(Err(error))),
            Self::Request { reply, failed, .. } => drop(reply.send(Bytes::from(failed))),
            Self::Nobody => {}
            #[cfg(test)]
            Self::Test(_) => {}
        }
    }
}

/// What waits for its turn to be proposed.
pub(super) enum Proposal<S: StateMachine> {
    Change {
        records: Vec<S::Record>,
        expected: Option<Provenance>,
        waiter: Waiter,
    },
    Mutations {
        mutations: Vec<S::Mutation>,
        waiter: Waiter,
    },
    /// A request that the state machine answers, with or without a change.
    Request {
        api: i16,
        version: i16,
        body: Bytes,
        listener: Arc<str>,
        reply: oneshot::Sender<Bytes>,
    },
}

/// A batch that the core was asked to append.
#[derive(Debug)]
struct Batch {
    parts: Vec<Part>,
    /// Where the state machine was told that it goes.
    base: i64,
    epoch: Epoch,
    bytes: u64,
}

/// A change that is committed and waits until it is applied.
#[derive(Debug)]
struct Committed {
    waiter: Waiter,
    result: SubmitChangeResult,
}

/// All changes under way, and whether the state machine leads.
pub(super) struct Proposals<S: StateMachine> {
    waiting: VecDeque<Proposal<S>>,
    /// What is checked and not yet appended.
    pub(super) accumulator: Accumulator,
    batches: BTreeMap<ReplyId, Batch>,
    /// By rising offset.
    committed: VecDeque<Committed>,
    /// Bytes of everything that waits for its commit.
    bytes: u64,
    /// The core leads this epoch; the state machine may follow once everything below the offset is applied.
    lead: Option<(Epoch, i64)>,
    /// The epoch in which the state machine leads.
    leading: Option<Epoch>,
    /// A batch was refused that the state machine counts on.
    void: Option<Epoch>,
}

impl<S: StateMachine> Default for Proposals<S> {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            accumulator: Accumulator::default(),
            batches: BTreeMap::new(),
            committed: VecDeque::new(),
            bytes: 0,
            lead: None,
            leading: None,
            void: None,
        }
    }
}

impl<S: StateMachine> Proposals<S> {
    pub(super) fn wait(&mut self, proposal: Proposal<S>) {
        self.waiting.push_back(proposal);
    }

    pub(super) fn leading(&self) -> Option<Epoch> {
        self.leading
    }

    pub(super) fn lead_after(&mut self, epoch: Epoch, applied: i64) {
        self.lead = Some((epoch, applied));
    }

    /// The epoch that the state machine may lead now and does not yet.
    pub(super) fn may_lead(&self, applied: i64) -> Option<Epoch> {
        let (epoch, needed) = self.lead?;
        (applied >= needed || mutated!(LeadsBeforeApplying)).then_some(epoch)
    }

    pub(super) fn leads(&mut self, epoch: Epoch) {
        self.lead = None;
        self.leading = Some(epoch);
    }

    /// What is not appended is void. Returns whether the state machine led, and so has to be told.
    pub(super) fn unlead(&mut self) -> bool {
        self.lead = None;
        self.drop_open();
        self.leading.take().is_some()
    }

    /// What is not appended never will be.
    pub(super) fn drop_unappended(&mut self) {
        self.drop_open();
        for proposal in self.waiting.drain(..) {
            match proposal {
                Proposal::Change { waiter, .. } | Proposal::Mutations { waiter, .. } => {
                    waiter.fail(RaftError::Lost);
                }
                // Dropping the sender closes the connection.
                Proposal::Request { .. } => {}
            }
        }
    }

    fn drop_open(&mut self) {
        if let Some(open) = self.accumulator.take() {
            self.release(open.bytes);
            for part in open.parts {
                part.waiter.fail(RaftError::Lost);
            }
        }
    }

    pub(super) fn accepted(&mut self, reply: ReplyId, base: i64, epoch: Epoch) {
        let batch = self
            .batches
            .get(&reply)
            .expect("only what was proposed is accepted");
        assert_eq!(
            base, batch.base,
            "nothing comes between a batch and its place in the log"
        );
        assert_eq!(
            epoch, batch.epoch,
            "a batch is appended in the epoch that it was proposed in"
        );
    }

    pub(super) fn refused(&mut self, reply: ReplyId, reason: Refusal) {
        let Some(batch) = self.take(reply) else {
            return;
        };
        self.void = Some(batch.epoch);
        for part in batch.parts {
            part.waiter.fail(refusal(reason));
        }
    }

    pub(super) fn outcome(&mut self, reply: ReplyId, outcome: ProposalOutcome) {
        let Some(batch) = self.take(reply) else {
            return;
        };
        let mut base_offset = batch.base;
        for part in batch.parts {
            let result = SubmitChangeResult {
                base_offset,
                last_offset: base_offset + part.records - 1,
                epoch: batch.epoch,
            };
            base_offset += part.records;
            if mutated!(ForgetsWaiters) && result.base_offset > batch.base {
                continue;
            }
            match outcome {
                ProposalOutcome::Committed if mutated!(AnswersBeforeApplying) => part.waiter.succeed(result),
                ProposalOutcome::Unknown if mutated!(CallsUnknownLost) => part.waiter.fail(RaftError::Lost),
                ProposalOutcome::KnownLost | ProposalOutcome::Unknown if mutated!(ForgetsTheDeposed) => {}
                ProposalOutcome::Committed => self.committed.push_back(Committed {
                    waiter: part.waiter,
                    result,
                }),
                ProposalOutcome::KnownLost => part.waiter.fail(RaftError::Lost),
                ProposalOutcome::Unknown => part.waiter.fail(RaftError::Unknown),
            }
        }
    }

    /// Answers those whose changes are committed and applied.
    pub(super) fn answer_applied(&mut self, applied: i64) {
        let mut before = None;
        while self
            .committed
            .front()
            .is_some_and(|oldest| oldest.result.last_offset < applied)
        {
            let done = self.committed.pop_front().expect("there is a front");
            let twice = before.replace(done.result).filter(|_| mutated!(AnswersTwice));
            done.waiter.succeed(twice.unwrap_or(done.result));
        }
    }

    /// How many changes are committed and not yet applied.
    pub(super) fn committed(&self) -> usize {
        self.committed.len()
    }

    /// A change whose caller has gone is applied all the same.
    pub(super) fn forget_applied_for_nobody(&mut self) {
        self.committed.retain(|change| !change.waiter.is_gone());
    }

    fn take(&mut self, reply: ReplyId) -> Option<Batch> {
        let batch = self.batches.remove(&reply)?;
        self.release(batch.bytes);
        Some(batch)
    }

    /// Bytes that wait for their commit, appended or not.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn reserve(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    fn release(&mut self, bytes: u64) {
        self.bytes -= bytes;
    }

    /// The core is asked to append a batch under this number.
    pub(super) fn offered(&mut self, reply: ReplyId, open: Open) {
        let Open {
            parts,
            base,
            epoch,
            bytes,
            ..
        } = open;
        self.batches.insert(
            reply,
            Batch {
                parts,
                base,
                epoch,
                bytes,
            },
        );
    }

    /// The epoch of a batch that was refused although the state machine counts on it, if there was one.
    pub(super) fn take_void(&mut self) -> Option<Epoch> {
        self.void.take()
    }
}

impl<S, L, N> Engine<S, L, N>
where
    S: StateMachine,
    L: Storage,
    N: Network,
{
    /// Takes what has gathered in the turn into the open batch, and appends that once its time has come.
    ///
    /// Nothing else happens between the first and the last of them, so the place of each in the log is known before
    /// the core is asked, and the state machine can check the next against it.
    pub(super) fn propose_waiting(&mut self, now: Time) {
        while let Some(proposal) = self.proposals.waiting.pop_front() {
            if let Some((values, waiter)) = self.prepare(proposal, now) {
                self.join(values, waiter, now);
            }
        }
        if self.proposals.accumulator.is_due(now.mono) {
            self.drain(now);
        }
    }

    /// Lets a leading state machine do its periodic work.
    pub(super) fn poll_machine(&mut self, now: Time) {
        let due = self.machine.next_poll().is_some_and(|due| due <= now.mono);
        if self.proposals.leading.is_some()
            && !self.replica.shutting_down()
            && due
            && let Some(values) = self.machine.poll(now)
        {
            self.propose_own(values, now);
        }
    }

    /// Asks the state machine for the records of a proposal; one without records is answered here.
    fn prepare(&mut self, proposal: Proposal<S>, now: Time) -> Option<(RecordValues, Waiter)> {
        let (result, waiter) = match proposal {
            Proposal::Change {
                records,
                expected,
                waiter,
            } => match self.refusal_now() {
                Some(error) => (Err(error), waiter),
                None if records.is_empty() => (Err(RaftError::Empty), waiter),
                None => (self.machine.propose(records, expected).map_err(refused), waiter),
            },
            Proposal::Mutations { mutations, waiter } => match self.refusal_now() {
                Some(error) => (Err(error), waiter),
                None => (self.machine.mutate(mutations, now).map_err(refused), waiter),
            },
            Proposal::Request {
                api,
                version,
                body,
                listener,
                reply,
            } => {
                let view = NodeView {
                    node_id: self.config.core.local.id,
                    cluster_id: &self.config.core.cluster_id,
                    leader: self.replica.leader(),
                    epoch: self.replica.epoch(),
                    leading: self.proposals.leading.is_some(),
                    listener: &listener,
                };
                match self.machine.handle(api, version, &body, view) {
                    Handled::Reply(body) => {
                        // A caller that is gone needs no answer.
                        let _ = reply.send(Bytes::from(body));
                        return None;
                    }
                    Handled::Propose {
                        values,
                        reply: done,
                        failed,
                    } => {
                        let waiter = Waiter::Request { reply, done, failed };
                        match self.refusal_now() {
                            Some(error) => (Err(error), waiter),
                            None => (Ok(values), waiter),
                        }
                    }
                    // Dropping the sender closes the connection.
                    Handled::Unsupported => return None,
                }
            }
        };
        match result {
            Ok(values) if values.is_empty() => waiter.fail(RaftError::Empty),
            Ok(values) => return Some((values, waiter)),
            Err(error) => waiter.fail(error),
        }
        None
    }

    /// Why nothing can be proposed now, if so.
    fn refusal_now(&self) -> Option<RaftError> {
        if self.proposals.leading.is_none() {
            return Some(RaftError::NotLeader {
                leader: self.replica.leader(),
                epoch: self.replica.epoch(),
            });
        }
        if self.replica.shutting_down() {
            return Some(RaftError::ShuttingDown);
        }
        let (held, max) = (self.proposals.bytes, self.config.proposal_bytes_max);
        (held >= max).then_some(RaftError::Busy { held, max })
    }
}

fn refused(error: ProposeError) -> RaftError {
    match error {
        ProposeError::Conflict { current } => RaftError::Conflict { current },
        ProposeError::Invalid { code, reason } => RaftError::Invalid { code, reason },
        other => RaftError::Invalid {
            code: kraft_wire::ErrorCode::UnknownServerError.code(),
            reason: other.to_string(),
        },
    }
}

fn refusal(reason: Refusal) -> RaftError {
    match reason {
        Refusal::NotLeader { leader, epoch } => RaftError::NotLeader { leader, epoch },
        // The epoch is that of the core itself, so it has begun; an answer is owed all the same.
        Refusal::EpochFromTheFuture => RaftError::Unknown,
        Refusal::Empty => RaftError::Empty,
        Refusal::TooLarge { max } => RaftError::TooLarge { max },
        Refusal::ShuttingDown => RaftError::ShuttingDown,
    }
}
