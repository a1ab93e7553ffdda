//! Whoever waits for an answer, and the reads that answers wait for.

use super::{Engine, batches, disk_reads::Purpose, perform::Held};
use crate::{
    codec::{Echo, encode_answer},
    network::Network,
    peer_api::PeerApi,
    storage::{ReadId, ReadOutcome, ReadRequest, Storage},
    views::MetadataFetchSlice,
};
use bytes::Bytes;
use kraft_core::{
    Answer, ErrorCode, Event, FetchPlan, Instant, LogView, ReplicaKey, ReplyId, SnapshotId, SnapshotWindow,
    StateMachine, Time,
};
use std::{collections::BTreeMap, time::Duration};
use tokio::sync::oneshot;
use tracing::{debug, warn};

/// A peer that waits for an answer.
#[derive(Debug)]
pub(super) struct Caller {
    api: PeerApi,
    version: i16,
    echo: Echo,
    sender: oneshot::Sender<Bytes>,
}

impl Caller {
    pub(super) fn is_gone(&self) -> bool {
        self.sender.is_closed()
    }
}

/// The last answer to a Fetch and its bytes. A commit ends the waits of all observers, and they all get the same.
#[derive(Debug)]
struct Repeated {
    version: i16,
    answer: Answer,
    log: LogState,
    body: Bytes,
}

/// What the records of an answer depend on besides what it says: while the log does not change, the same plan reads the
/// same records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LogState {
    end: i64,
    truncations: u64,
}

/// Those who wait for an answer.
#[derive(Debug, Default)]
pub(super) struct Replies {
    next_reply: u64,
    callers: BTreeMap<ReplyId, Caller>,
    looked_for_gone: Instant,
    /// How many callers there were when they were last looked after.
    callers_then: usize,
    repeated: Option<Repeated>,
}

impl Repeated {
    fn fits(&self, version: i16, answer: &Answer, log: LogState) -> bool {
        self.version == version && self.log == log && self.answer == *answer
    }
}

impl Replies {
    pub(super) fn next_id(&mut self) -> ReplyId {
        self.next_reply += 1;
        ReplyId(self.next_reply)
    }

    pub(super) fn park(
        &mut self,
        reply: ReplyId,
        api: PeerApi,
        version: i16,
        echo: Echo,
        sender: oneshot::Sender<Bytes>,
    ) {
        let caller = Caller {
            api,
            version,
            echo,
            sender,
        };
        self.callers.insert(reply, caller);
    }
}

impl<S, L, N> Engine<S, L, N>
where
    S: StateMachine,
    L: Storage,
    N: Network,
{
    /// Answers a caller: at once where the bytes are at hand, else when they have been read.
    pub(super) fn reply(&mut self, reply: ReplyId, answer: Answer, truncations: u64) {
        let Some(answer) = self.answer_change(reply, answer) else {
            return;
        };
        // The caller may have gone in the meantime.
        let Some(caller) = self.replies.callers.remove(&reply) else {
            return;
        };
        if caller.api == PeerApi::Fetch
            && truncations == self.truncations
            && let Some(last) = &self.replies.repeated
            && last.fits(caller.version, &answer, self.log_state())
        {
            // A caller that is gone needs no answer.
            return drop(caller.sender.send(last.body.clone()));
        }
        match &answer {
            Answer::Fetch {
                plan:
                    FetchPlan::Read {
                        from,
                        max_bytes,
                        up_to,
                    },
                ..
            } => {
                let (from, max_bytes) = (*from, limited(*max_bytes));
                // What is appended before the read is done belongs to a later answer.
                let up_to = up_to.unwrap_or(self.log_end());
                if self.was_cut_since(truncations) {
                    self.send_answer(caller, &truncated(answer), Bytes::new());
                } else if from >= self.log_end() {
                    self.send_answer(caller, &answer, Bytes::new());
                } else if let Some(bytes) = self.index.recent(from, max_bytes as usize, up_to) {
                    self.send_and_keep(caller, answer, bytes);
                } else {
                    let purpose = Purpose::Answer {
                        caller,
                        answer,
                        truncations,
                    };
                    let request = ReadRequest::Batches {
                        from,
                        max_bytes,
                        up_to,
                    };
                    self.start_read(purpose, request);
                }
            }
            Answer::FetchSnapshot {
                window: Some(window), ..
            } if window.max_bytes > 0 => {
                let window = SnapshotWindow {
                    max_bytes: window.max_bytes.min(ANSWER_BYTES_MAX),
                    ..*window
                };
                let purpose = Purpose::Answer {
                    caller,
                    answer,
                    truncations,
                };
                self.start_read(purpose, ReadRequest::Window(window));
            }
            Answer::Fetch { .. } => self.send_and_keep(caller, answer, Bytes::new()),
            Answer::TopLevel(_)
            | Answer::Vote { .. }
            | Answer::BeginQuorumEpoch(_)
            | Answer::EndQuorumEpoch(_)
            | Answer::FetchSnapshot { .. }
            | Answer::UpdateRaftVoter(_)
            | Answer::VoterChange(_)
            | Answer::UpgradeKRaftVersion(_)
            | Answer::DescribeQuorum(_) => self.send_answer(caller, &answer, Bytes::new()),
        }
    }

    /// Whether many wait for answers, or did so lately.
    pub(crate) fn is_crowded(&self) -> bool {
        self.replies.callers.len().max(self.replies.callers_then) >= CROWD
    }

    /// Tells the core of callers that wait no more. Looking costs something for each of them, so it is not done in
    /// every turn.
    pub(super) fn forget_callers(&mut self, now: Time) {
        if now.mono < self.replies.looked_for_gone.after(GONE_INTERVAL) {
            return;
        }
        self.replies.looked_for_gone = now.mono;
        self.replies.callers_then = self.replies.callers.len();
        let callers = self.replies.callers.iter();
        let gone: Vec<ReplyId> = callers
            .filter(|(_, caller)| caller.is_gone())
            .map(|(reply, _)| *reply)
            .chain(self.changes.gone())
            .chain(self.reads.gone())
            .collect();
        self.reads.forget_confirmed();
        self.disk_reads.forget_gone();
        self.snapshots.forget_gone();
        self.proposals.forget_applied_for_nobody();
        if gone.is_empty() {
            return;
        }
        for reply in gone {
            self.replies.callers.remove(&reply);
            self.changes.forget(reply);
            self.reads.forget(reply);
            self.step(Event::CallerGone { reply }, now);
        }
        self.forget_held_answers();
    }

    /// On a disk that hangs, answers would gather for as long as callers come and go.
    fn forget_held_answers(&mut self) {
        let (callers, changes) = (&self.replies.callers, &self.changes);
        self.held.retain(|_, held| {
            held.retain(|held| match held {
                Held::Reply { reply, .. } => callers.contains_key(reply) || changes.knows(*reply),
                Held::Send(_) => true,
            });
            !held.is_empty()
        });
    }

    /// Committed batches for an observer.
    pub(super) fn metadata_fetch(
        &mut self,
        fetch_offset: i64,
        max_size: u64,
        replica: Option<ReplicaKey>,
        reply: oneshot::Sender<MetadataFetchSlice>,
    ) {
        debug!(
            fetch_offset,
            replica = replica.map(|key| key.id.0),
            "metadata fetch"
        );
        let committed = if mutated!(ServesUncommitted) {
            Some(self.log_end())
        } else {
            self.replica.high_watermark()
        };
        let slice = MetadataFetchSlice {
            records: Bytes::new(),
            snapshot_id: None,
            log_start_offset: self.index.start(),
            high_watermark: committed.unwrap_or(-1),
            quorum_high_watermark: self.applied.quorum_high_watermark(),
        };
        let slice = if fetch_offset < self.index.start() {
            MetadataFetchSlice {
                snapshot_id: self.index.latest_snapshot(),
                ..slice
            }
        } else if committed.is_some_and(|committed| fetch_offset < committed) {
            let max_bytes = limited(i32::try_from(max_size).unwrap_or(i32::MAX));
            let up_to = slice.high_watermark;
            let recent = self.index.recent(fetch_offset, max_bytes as usize, up_to);
            let Some(records) = recent else {
                let request = ReadRequest::Batches {
                    from: fetch_offset,
                    max_bytes,
                    up_to,
                };
                return self.start_read(Purpose::Slice { slice, reply }, request);
            };
            MetadataFetchSlice { records, ..slice }
        } else {
            slice
        };
        // A caller that is gone needs no answer.
        let _ = reply.send(slice);
    }

    /// Starts to read committed batches for the state machine.
    pub(super) fn read_to_apply(&mut self, from: i64, max_bytes: u32, up_to: i64) {
        let request = ReadRequest::Batches {
            from,
            max_bytes,
            up_to,
        };
        self.start_read(Purpose::Apply, request);
    }

    /// Starts to read a snapshot for the state machine.
    pub(super) fn read_to_load(&mut self, snapshot: SnapshotId, installed: bool) {
        let purpose = Purpose::Load { snapshot, installed };
        self.start_read(purpose, ReadRequest::Snapshot(snapshot));
    }

    /// What a read gave, put to its purpose.
    pub(super) fn read_done(&mut self, read: ReadId, outcome: ReadOutcome, now: Time) {
        let purpose = self.disk_reads.done(read);
        if let ReadOutcome::Failed { reason } = outcome {
            // What cannot be read is never taken for absent, whoever asked.
            return self.storage_failed(reason, now);
        }
        self.start_waiting_reads();
        let Some(purpose) = purpose else {
            return;
        };
        match purpose {
            Purpose::Answer {
                caller,
                answer,
                truncations,
            } => {
                let bytes = match outcome {
                    ReadOutcome::Batches(bytes) | ReadOutcome::Window(bytes) => Some(bytes),
                    ReadOutcome::Snapshot(_) | ReadOutcome::Gone | ReadOutcome::Failed { .. } => None,
                };
                match bytes.filter(|_| !self.was_cut_since(truncations)) {
                    Some(bytes) => self.send_answer(caller, &answer, bytes),
                    None => self.send_answer(caller, &truncated(answer), Bytes::new()),
                }
            }
            Purpose::Slice { mut slice, reply } => {
                if let ReadOutcome::Batches(records) = outcome {
                    slice.records = records;
                }
                let _ = reply.send(slice);
            }
            Purpose::Apply => {
                let batches = match outcome {
                    ReadOutcome::Batches(batches) => Some(batches),
                    ReadOutcome::Window(_)
                    | ReadOutcome::Snapshot(_)
                    | ReadOutcome::Gone
                    | ReadOutcome::Failed { .. } => None,
                };
                self.applied.read_ended();
                if let Some(batches) = batches {
                    self.apply_read(batches, now);
                }
            }
            Purpose::Load { snapshot, installed } => {
                self.applied.read_ended();
                match outcome {
                    ReadOutcome::Snapshot(contents) => {
                        self.load_snapshot(snapshot, contents, installed, now);
                    }
                    ReadOutcome::Gone
                    | ReadOutcome::Batches(_)
                    | ReadOutcome::Window(_)
                    | ReadOutcome::Failed { .. } => self.snapshot_missing(snapshot, now),
                }
            }
        }
    }

    /// Whether the log is not the one any more on which something was decided when there had been so many truncations.
    fn was_cut_since(&self, truncations: u64) -> bool {
        truncations != self.truncations && !mutated!(AnswersAfterCut)
    }

    fn send_answer(&mut self, caller: Caller, answer: &Answer, bytes: Bytes) {
        if let Some(body) = self.encode(&caller, answer, bytes) {
            // A caller that is gone needs no answer.
            drop(caller.sender.send(body));
        }
    }

    /// As [`send_answer`](Self::send_answer), for what the next callers may be answered as well.
    fn send_and_keep(&mut self, caller: Caller, answer: Answer, bytes: Bytes) {
        let Some(body) = self.encode(&caller, &answer, bytes) else {
            return;
        };
        if body.len() <= REPEATED_BYTES_MAX {
            self.replies.repeated = Some(Repeated {
                version: caller.version,
                answer,
                log: self.log_state(),
                body: body.clone(),
            });
        }
        // As above.
        drop(caller.sender.send(body));
    }

    fn log_state(&self) -> LogState {
        LogState {
            end: self.log_end(),
            truncations: self.truncations,
        }
    }

    fn encode(&self, caller: &Caller, answer: &Answer, bytes: Bytes) -> Option<Bytes> {
        let Caller { api, version, .. } = *caller;
        match encode_answer(&self.config.topic, api, version, answer, &caller.echo, bytes) {
            Ok(body) => Some(body),
            Err(error) => {
                warn!(?api, version, %error, "an answer cannot be encoded");
                None
            }
        }
    }
}

/// The log, or the snapshot, is not any more what the answer was decided on.
fn truncated(answer: Answer) -> Answer {
    match answer {
        Answer::Fetch {
            mut partition,
            log_start,
            ..
        } => {
            partition.error = ErrorCode::NotLeaderOrFollower;
            Answer::Fetch {
                partition,
                high_watermark: -1,
                log_start,
                plan: FetchPlan::Empty,
            }
        }
        Answer::FetchSnapshot { mut partition, .. } => {
            partition.error = ErrorCode::SnapshotNotFound;
            Answer::FetchSnapshot {
                partition,
                window: None,
            }
        }
        other => other,
    }
}

fn limited(max_bytes: i32) -> u32 {
    u32::try_from(max_bytes.clamp(0, ANSWER_BYTES_MAX)).expect("the number is not negative")
}

/// What one answer carries at most, unless a single batch is larger. A peer that asks for more asks again.
const ANSWER_BYTES_MAX: i32 = batches::BATCH_BYTES_MAX as i32;

/// So many callers are a crowd: far more than there are voters.
const CROWD: usize = 32;

/// How often callers are looked after.
const GONE_INTERVAL: Duration = Duration::from_millis(100);

/// Larger answers are not kept: they go to those who have to catch up, each from another place.
const REPEATED_BYTES_MAX: usize = 64 * 1024;
