//! Those who wait for an answer of one node: clients with records, and operators.

use super::{disk::marks, recorded::Note, rng::Rng};
use crate::checker::{Fact, Fate, OpId};
use bytes::Bytes;
use kraft_core::{Epoch, NodeId, ReconfigOutcome, Replica, ReplicaKey, VoterSet};
use kraft_transport::{
    MetadataFetchSlice, QuorumStateSnapshot, RaftError, SubmitChangeResult,
    metrics::EngineMetrics,
    oneshot::{self, error::TryRecvError},
};
use kraft_wire::{Message as _, message::UpdateFeaturesResponse};

/// Everybody who waits at a node, for as long as it is up.
#[derive(Default)]
pub(super) struct Clients {
    writers: Vec<Writer>,
    operators: Vec<(OpId, oneshot::Receiver<Result<ReconfigOutcome, RaftError>>)>,
    upgraders: Vec<(OpId, oneshot::Receiver<Bytes>)>,
    readers: Vec<oneshot::Receiver<MetadataFetchSlice>>,
    newest_readers: Vec<(OpId, oneshot::Receiver<Result<(), RaftError>>)>,
    watchers: Vec<Watcher>,
}

/// Somebody who looks at a node from outside.
pub(super) enum Watcher {
    /// A monitor.
    Metrics(oneshot::Receiver<EngineMetrics>),
    /// An embedder.
    Status(oneshot::Receiver<QuorumStateSnapshot>),
    /// An operator who describes the quorum.
    Description(oneshot::Receiver<Bytes>),
}

impl Watcher {
    /// Whether it has to wait on; `None` if it never will be answered.
    fn waits(&mut self) -> Option<bool> {
        fn waits<T>(answer: &mut oneshot::Receiver<T>) -> Option<bool> {
            match answer.try_recv() {
                Ok(_) => Some(false),
                Err(TryRecvError::Empty) => Some(true),
                Err(TryRecvError::Closed) => None,
            }
        }
        match self {
            Self::Metrics(answer) => waits(answer),
            Self::Status(answer) => waits(answer),
            Self::Description(answer) => waits(answer),
        }
    }
}

/// A client that has proposed records.
struct Writer {
    op: OpId,
    outcome: oneshot::Receiver<Result<SubmitChangeResult, RaftError>>,
    /// The digests of the records, once they are appended.
    records: Vec<u64>,
}

impl Clients {
    pub(super) fn write(
        &mut self,
        op: OpId,
        outcome: oneshot::Receiver<Result<SubmitChangeResult, RaftError>>,
    ) {
        self.writers.push(Writer {
            op,
            outcome,
            records: Vec::new(),
        });
    }

    pub(super) fn reconfigure(
        &mut self,
        op: OpId,
        outcome: oneshot::Receiver<Result<ReconfigOutcome, RaftError>>,
    ) {
        self.operators.push((op, outcome));
    }

    pub(super) fn upgrade(&mut self, op: OpId, outcome: oneshot::Receiver<Bytes>) {
        self.upgraders.push((op, outcome));
    }

    pub(super) fn read(&mut self, slice: oneshot::Receiver<MetadataFetchSlice>) {
        self.readers.push(slice);
    }

    pub(super) fn read_newest(&mut self, op: OpId, outcome: oneshot::Receiver<Result<(), RaftError>>) {
        self.newest_readers.push((op, outcome));
    }

    pub(super) fn watch(&mut self, watcher: Watcher) {
        self.watchers.push(watcher);
    }

    /// Some of those who wait do so no more: about every second one. Says who of them is followed.
    pub(super) fn leave(&mut self, node: NodeId, rng: &mut Rng) -> Vec<Fact> {
        let mut left = Vec::new();
        let mut stays = |op: OpId| {
            let stays = rng.chance(500);
            if !stays {
                left.push(Fact::Left { op, node });
            }
            stays
        };
        self.writers.retain(|writer| stays(writer.op));
        self.newest_readers.retain(|(op, _)| stays(*op));
        self.operators.retain(|(op, _)| stays(*op));
        self.upgraders.retain(|(op, _)| stays(*op));
        self.readers.clear();
        self.watchers.clear();
        left
    }

    pub(super) fn is_empty(&self) -> bool {
        self.writers.is_empty()
            && self.watchers.is_empty()
            && self.operators.is_empty()
            && self.upgraders.is_empty()
            && self.readers.is_empty()
            && self.newest_readers.is_empty()
    }

    /// The fact that a note of the state machine stands for.
    pub(super) fn fact(&mut self, node: NodeId, note: Note) -> Option<Fact> {
        Some(match note {
            Note::Applied(batch, records) => Fact::Applied { node, batch, records },
            Note::Loaded(snapshot, digest) => Fact::Loaded {
                node,
                snapshot,
                digest,
            },
            Note::Leading(epoch) => Fact::Leading { node, epoch },
            Note::Appended {
                op,
                epoch,
                base,
                records,
            } => self.appended(op?, epoch, base, records),
        })
    }

    fn appended(&mut self, op: OpId, epoch: Epoch, base: i64, records: Vec<u64>) -> Fact {
        let last = base + i64::try_from(records.len()).expect("few records") - 1;
        if let Some(writer) = self.writers.iter_mut().find(|writer| writer.op == op) {
            writer.records = records;
        }
        Fact::Appended {
            op,
            epoch,
            base,
            last,
        }
    }

    /// What has been told since the last look, when everything below `applied` is in the image; `ended` when the node takes the
    /// others' answers with it.
    pub(super) fn told(
        &mut self,
        node: NodeId,
        replica: &Replica,
        applied: i64,
        ended: bool,
        facts: &mut Vec<Fact>,
    ) {
        let forgotten = |op: OpId| (!ended).then_some(Fact::Forgotten { op, node });
        // A leader that removes itself has stepped down, and has no high watermark, in the moment in which it says so.
        let committed = replica.committed();
        hear(&mut self.operators, facts, |op, answer| match answer {
            None => forgotten(op),
            Some(Ok(ReconfigOutcome::Committed { offset })) => Some(Fact::ChangeTold {
                op,
                node,
                offset,
                committed,
                voters: voter_keys(replica, offset),
            }),
            // What is only written may be lost.
            Some(Ok(ReconfigOutcome::Appended { .. } | ReconfigOutcome::Noted) | Err(_)) => None,
        });
        hear(&mut self.upgraders, facts, |op, answer| match answer {
            None => forgotten(op),
            Some(body) => is_upgraded(&body).then(|| Fact::UpgradeTold {
                op,
                node,
                level: replica.kraft_version_at(committed - 1),
            }),
        });
        hear(&mut self.newest_readers, facts, |op, answer| match answer {
            None => forgotten(op),
            Some(read) => {
                let end = read.is_ok().then_some(applied);
                Some(Fact::ReadDone { op, node, end })
            }
        });
        self.watchers.retain_mut(|watcher| match watcher.waits() {
            Some(waits) => waits,
            None => {
                facts.extend(forgotten(OpId(0)));
                false
            }
        });
        self.readers.retain_mut(|reader| match reader.try_recv() {
            Err(TryRecvError::Empty) => true,
            Err(TryRecvError::Closed) => false,
            Ok(slice) => {
                let batches = marks(slice.records);
                facts.push(Fact::Served { node, batches });
                false
            }
        });
        self.writers.retain_mut(|writer| {
            let fact = match writer.outcome.try_recv() {
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Closed) if ended => return false,
                Err(TryRecvError::Closed) => Fact::Forgotten { op: writer.op, node },
                Ok(Ok(result)) => Fact::Acknowledged {
                    op: writer.op,
                    epoch: result.epoch,
                    base: result.base_offset,
                    last: result.last_offset,
                    records: std::mem::take(&mut writer.records),
                },
                Ok(Err(error)) => Fact::Refused {
                    op: writer.op,
                    node,
                    fate: fate(&error),
                    reason: error.to_string(),
                },
            };
            facts.push(fact);
            false
        });
    }
}

/// The voters that are recorded at an offset of a replica's log or before it.
pub(super) fn voter_keys(replica: &Replica, offset: i64) -> Vec<ReplicaKey> {
    let voters = replica.voters_at(offset).into_iter().flat_map(VoterSet::iter);
    voters.map(|voter| voter.key).collect()
}

/// Whether an answer to UpdateFeatures says that everything was done.
fn is_upgraded(body: &Bytes) -> bool {
    let answer = UpdateFeaturesResponse::from_bytes(body, UPDATE_FEATURES_VERSION);
    answer.is_ok_and(|answer| answer.error_code == 0)
}

/// The version of UpdateFeatures in which operators ask, where the answer has one error for all.
pub(super) const UPDATE_FEATURES_VERSION: i16 = 2;

/// Lets go of those who have their answer, or will never have one, and notes what follows from it.
fn hear<T>(
    waiting: &mut Vec<(OpId, oneshot::Receiver<T>)>,
    facts: &mut Vec<Fact>,
    fact: impl Fn(OpId, Option<T>) -> Option<Fact>,
) {
    waiting.retain_mut(|(op, answer)| {
        let answer = match answer.try_recv() {
            Err(TryRecvError::Empty) => return true,
            Err(TryRecvError::Closed) => None,
            Ok(answer) => Some(answer),
        };
        facts.extend(fact(*op, answer));
        false
    });
}

/// What the contract of the handle lets a client conclude.
fn fate(error: &RaftError) -> Fate {
    match error {
        RaftError::Unknown | RaftError::Stopped => Fate::Unknown,
        _ => Fate::Not,
    }
}
