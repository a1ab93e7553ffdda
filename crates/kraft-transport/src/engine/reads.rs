//! Whoever wants to read what is committed.

use super::Engine;
use crate::{error::RaftError, network::Network, storage::Storage};
use kraft_core::{Event, ReplyId, StateMachine, Time};
use std::collections::{BTreeMap, VecDeque};
use tokio::sync::oneshot;

type Reader = oneshot::Sender<Result<(), RaftError>>;

/// The readers.
#[derive(Debug, Default)]
pub(super) struct Reads {
    /// Those for whom the core asks the voters.
    asked: BTreeMap<ReplyId, Reader>,
    /// Those who read once so much is applied; by rising offset, as high watermarks rise.
    confirmed: VecDeque<(i64, Reader)>,
}

impl Reads {
    /// Those who have gone before the voters have answered.
    pub(super) fn gone(&self) -> impl Iterator<Item = ReplyId> + '_ {
        let gone = self.asked.iter().filter(|(_, reader)| reader.is_closed());
        gone.map(|(reply, _)| *reply)
    }

    pub(super) fn forget(&mut self, reply: ReplyId) {
        self.asked.remove(&reply);
    }

    /// Of those who only wait until enough is applied, the core knows nothing any more.
    pub(super) fn forget_confirmed(&mut self) {
        self.confirmed.retain(|(_, reader)| !reader.is_closed());
    }

    pub(super) fn readers(&self) -> usize {
        self.asked.len() + self.confirmed.len()
    }

    /// The image has everything below `applied`.
    pub(super) fn answer_applied(&mut self, applied: i64) {
        while self
            .confirmed
            .front()
            .is_some_and(|(needed, _)| *needed <= applied || mutated!(ReadsBeforeApplying))
        {
            let (_, reader) = self.confirmed.pop_front().expect("there is a front");
            // A reader that is gone needs no answer.
            let _ = reader.send(Ok(()));
        }
    }
}

impl<S, L, N> Engine<S, L, N>
where
    S: StateMachine,
    L: Storage,
    N: Network,
{
    /// A read is taken where changes are: by a state machine that leads.
    pub(super) fn read_barrier(&mut self, reader: Reader, now: Time) {
        if self.reads.readers() >= READS_MAX {
            let _ = reader.send(Err(RaftError::TooManyReads { max: READS_MAX }));
            return;
        }
        let reply = self.replies.next_id();
        self.reads.asked.insert(reply, reader);
        self.step(Event::ReadBarrier { reply }, now);
    }

    /// The core knows whether this replica led.
    pub(super) fn read_decided(&mut self, reply: ReplyId, applied: Option<i64>) {
        let Some(reader) = self.reads.asked.remove(&reply) else {
            return;
        };
        match applied {
            Some(needed) => {
                self.reads.confirmed.push_back((needed, reader));
                self.reads.answer_applied(self.applied.next());
            }
            None => {
                let _ = reader.send(Err(RaftError::NotLeader {
                    leader: self.replica.leader(),
                    epoch: self.replica.epoch(),
                }));
            }
        }
    }
}

/// More than this many readers are sent away: they can gather for as long as no majority answers, or the disk does not.
const READS_MAX: usize = 10_000;
