//! A replica with a log that is a list of batches.

use crate::{
    action::{Action, DiskOp},
    config::{Config, Recovered},
    control::{BatchInfo, ControlRecord},
    election_state::ElectionState,
    endpoints::{Endpoint, Endpoints},
    error_code::ErrorCode,
    event::{
        AnswerContext, ClusterMatch, Event, FetchedRecords, PartitionMatch, RequestContext, SuccessorRank,
    },
    handles::{PayloadId, ReplyId, RequestId, Ticket},
    ids::{Epoch, NodeId, ReplicaKey},
    log_view::LogView,
    offsets::{LogEnd, LogOffsetMetadata, SnapshotId},
    peer_request::PeerRequest,
    replica::{Replica, turn::Turn},
    time::{Instant, Time},
    voter_set::{SupportedVersions, VoterNode, VoterSet},
};
use alloc::{vec, vec::Vec};
use core::time::Duration;
use uuid::Uuid;

pub(super) const LISTENER: &str = "CONTROLLER";
const CLUSTER: &str = "cluster";

/// What storage holds, flushed or not.
#[derive(Clone)]
pub(super) struct TestLog {
    pub(super) election: Option<ElectionState>,
    pub(super) end: LogEnd,
    pub(super) control: Vec<Vec<ControlRecord>>,
    start: i64,
    pub(super) flushed: i64,
    pub(super) batches: Vec<BatchInfo>,
    epochs: Vec<(Epoch, i64)>,
    snapshot: Option<SnapshotId>,
    pub(super) unfinished: Option<(Ticket, Instant)>,
}

impl TestLog {
    pub(super) fn new() -> Self {
        Self {
            election: None,
            end: LogEnd {
                last_epoch: Epoch(0),
                last_offset: 0,
            },
            control: Vec::new(),
            start: 0,
            flushed: 0,
            batches: Vec::new(),
            epochs: Vec::new(),
            snapshot: None,
            unfinished: None,
        }
    }

    pub(super) fn submit(&mut self, ticket: Ticket, op: &DiskOp, now: Instant) {
        let since = self.unfinished.map_or(now, |(_, since)| since);
        self.unfinished = Some((ticket, since));
        match op {
            DiskOp::Append { base, batches, .. } => {
                assert_eq!(*base, self.end.last_offset);
                for batch in batches {
                    self.enter_epoch(batch.epoch, batch.base);
                    self.end.last_offset = batch.last + 1;
                    self.control.extend(batch.control.clone());
                    self.batches.push(batch.clone());
                }
            }
            DiskOp::Truncate { to } => {
                self.batches.retain(|batch| batch.last < *to);
                self.epochs.retain(|(_, start)| start < to);
                self.end = LogEnd {
                    last_epoch: self.epochs.last().map_or(Epoch(0), |(epoch, _)| *epoch),
                    last_offset: *to,
                };
                self.flushed = self.flushed.min(*to);
            }
            DiskOp::StoreElection(state) => self.election = Some(state.clone()),
            DiskOp::StartEpoch { epoch, start } => self.enter_epoch(*epoch, *start),
            DiskOp::SnapshotChunk { .. } | DiskOp::TruncateFully { .. } => {}
        }
    }

    fn enter_epoch(&mut self, epoch: Epoch, start: i64) {
        if self.epochs.last().is_none_or(|(newest, _)| *newest < epoch) {
            self.epochs.push((epoch, start));
        }
        self.end.last_epoch = epoch;
    }

    /// The control records of the log, each with its offset.
    pub(super) fn control_records(&self) -> Vec<(i64, ControlRecord)> {
        self.batches
            .iter()
            .flat_map(|batch| (batch.base..).zip(batch.control.iter().flatten().cloned()))
            .collect()
    }

    pub(super) fn install(&mut self, id: SnapshotId) {
        self.start = id.end_offset;
        self.end = LogEnd {
            last_epoch: id.epoch,
            last_offset: id.end_offset,
        };
        self.flushed = id.end_offset;
        self.epochs = vec![(id.epoch, id.end_offset)];
        self.snapshot = Some(id);
    }
}

impl LogView for TestLog {
    fn start(&self) -> i64 {
        self.start
    }

    fn end(&self) -> LogEnd {
        self.end
    }

    fn flushed_end(&self) -> i64 {
        self.flushed
    }

    fn end_for_epoch(&self, epoch: Epoch) -> LogOffsetMetadata {
        match self.epochs.iter().find(|(larger, _)| *larger > epoch) {
            None => LogOffsetMetadata {
                epoch: self.end.last_epoch,
                offset: self.end.last_offset,
            },
            Some((_, start)) => LogOffsetMetadata {
                epoch: self
                    .epochs
                    .iter()
                    .rfind(|(smaller, _)| *smaller <= epoch)
                    .map_or(epoch, |(smaller, _)| *smaller),
                offset: *start,
            },
        }
    }

    fn earliest_snapshot(&self) -> Option<SnapshotId> {
        self.snapshot
    }

    fn latest_snapshot(&self) -> Option<SnapshotId> {
        self.snapshot
    }

    fn snapshot_size(&self, id: SnapshotId) -> Option<u64> {
        (self.snapshot == Some(id)).then_some(100)
    }

    fn batch_end_at_or_before(&self, offset: i64) -> i64 {
        self.batches
            .iter()
            .map(|batch| batch.last + 1)
            .filter(|end| *end <= offset)
            .max()
            .unwrap_or(self.start)
    }

    fn oldest_unfinished(&self) -> Option<Instant> {
        self.unfinished.map(|(_, since)| since)
    }
}

pub(super) fn key(id: i32) -> ReplicaKey {
    ReplicaKey::new(NodeId(id), Uuid::from_u128(u128::from(id.unsigned_abs()) + 100))
}

pub(super) fn endpoints(id: i32) -> Endpoints {
    let port = u16::try_from(9000 + id).expect("a port");
    Endpoints::single(
        LISTENER,
        Endpoint {
            host: "localhost".into(),
            port,
        },
    )
}

pub(super) fn config(voters: &[i32]) -> Config {
    Config {
        listeners: endpoints(1),
        static_voters: voters
            .iter()
            .map(|id| VoterNode {
                key: ReplicaKey::without_directory(NodeId(*id)),
                endpoints: endpoints(*id),
                kraft_versions: SupportedVersions { min: 0, max: 0 },
            })
            .collect(),
        fetch_max_bytes: 1024,
        fetch_snapshot_max_bytes: 1024,
        ..Config::new(key(1), CLUSTER, 1)
    }
}

/// Replica 1 with its log and its clock.
#[derive(Clone)]
pub(super) struct Node {
    pub(super) replica: Replica,
    pub(super) log: TestLog,
    pub(super) now: Time,
    requests: Vec<(RequestId, ReplicaKey, PeerRequest)>,
}

impl Node {
    pub(super) fn open(voters: &[i32]) -> Self {
        Self::start(voters, Recovered::default())
    }

    pub(super) fn reopen(voters: &[i32], stored: impl FnOnce(&mut ElectionState)) -> Self {
        let mut state = ElectionState {
            epoch: Epoch(0),
            leader: None,
            voted: None,
            voters: Vec::new(),
            kraft_version: 0,
        };
        stored(&mut state);
        let recovered = Recovered {
            election: Some(state),
            ..Recovered::default()
        };
        Self::start(voters, recovered)
    }

    /// One that has lost its log.
    pub(super) fn abstaining(voters: &[i32], state: ElectionState) -> Self {
        let recovered = Recovered {
            election: Some(state),
            abstains: true,
            ..Recovered::default()
        };
        Self::start(voters, recovered)
    }

    fn start(voters: &[i32], recovered: Recovered) -> Self {
        let mut log = TestLog::new();
        let now = Time {
            mono: Instant::from_millis(1000),
            wall_ms: 1_000_000,
        };
        let mut out = Vec::new();
        let replica = Replica::open(config(voters), recovered, &log, now, &mut out).expect("opens");
        let mut requests = Vec::new();
        perform(&out, &mut log, &mut requests, now.mono);
        Self {
            replica,
            log,
            now,
            requests,
        }
    }

    pub(super) fn step(&mut self, event: Event) -> Vec<Action> {
        let mut out = Vec::new();
        self.replica.step(event, &self.log, self.now, &mut out);
        perform(&out, &mut self.log, &mut self.requests, self.now.mono);
        self.replica.check_invariants(&self.log);
        out
    }

    /// Lets time pass, stopping at every deadline on the way.
    pub(super) fn pass(&mut self, time: Duration) -> Vec<Action> {
        let end = self.now.mono.after(time);
        let mut out = Vec::new();
        while let Some(deadline) = self.replica.next_deadline().filter(|deadline| *deadline <= end) {
            assert!(
                deadline > self.now.mono,
                "time stands still at {deadline:?} in {:?}",
                self.replica
            );
            self.advance(deadline);
            out.extend(self.step(Event::Tick));
        }
        self.advance(end);
        out
    }

    fn advance(&mut self, to: Instant) {
        let passed = to.since(self.now.mono);
        self.now.wall_ms += i64::try_from(passed.as_millis()).expect("short");
        self.now.mono = to;
    }

    pub(super) fn flush(&mut self) -> Vec<Action> {
        let Some((up_to, _)) = self.log.unfinished.take() else {
            return Vec::new();
        };
        self.log.flushed = self.log.end.last_offset;
        self.step(Event::Durable { up_to })
    }

    /// The requests sent since this was last asked.
    pub(super) fn sent(&mut self) -> Vec<(RequestId, ReplicaKey, PeerRequest)> {
        core::mem::take(&mut self.requests)
            .into_iter()
            .map(|(request, to, body)| (request, key(to.id.0), address(body)))
            .collect()
    }

    pub(super) fn vote(&mut self, from: i32, epoch: i32, log_end: (i32, i64), pre_vote: bool) -> Vec<Action> {
        self.step(Event::ReceiveVoteRequest {
            context: context(),
            from: key(from),
            cluster_id: Some(CLUSTER.into()),
            voter_id: NodeId(1),
            voter_directory_id: Uuid::nil(),
            candidate_epoch: Epoch(epoch),
            candidate: NodeId(from),
            candidate_directory_id: key(from).directory_or_nil(),
            candidate_log_end: LogEnd {
                last_epoch: Epoch(log_end.0),
                last_offset: log_end.1,
            },
            pre_vote,
        })
    }

    pub(super) fn answer_vote(&mut self, request: RequestId, epoch: i32, vote_granted: bool) -> Vec<Action> {
        self.step(Event::ReceiveVoteResponse {
            answer: answer(request, None),
            from: key(2),
            epoch: Epoch(epoch),
            vote_granted,
        })
    }

    pub(super) fn begin_quorum_epoch(&mut self, leader: i32, epoch: i32) -> Vec<Action> {
        self.step(Event::ReceiveBeginQuorumEpoch {
            context: context(),
            cluster_id: None,
            voter_id: NodeId(1),
            voter_directory_id: Uuid::nil(),
            leader_id: NodeId(leader),
            leader_epoch: Epoch(epoch),
            leader_endpoints: endpoints(leader),
        })
    }

    pub(super) fn end_quorum_epoch(&mut self, leader: i32, epoch: i32, rank: SuccessorRank) -> Vec<Action> {
        self.step(Event::ReceiveEndQuorumEpoch {
            context: context(),
            cluster_id: None,
            leader_id: NodeId(leader),
            leader_epoch: Epoch(epoch),
            leader_endpoints: Endpoints::empty(),
            successor_rank: rank,
        })
    }

    pub(super) fn fetch(&mut self, from: i32, offset: i64, epoch: i32, max_wait_ms: i32) -> Vec<Action> {
        self.fetch_knowing(from, offset, epoch, max_wait_ms, -1)
    }

    pub(super) fn fetch_knowing(
        &mut self,
        from: i32,
        offset: i64,
        epoch: i32,
        max_wait_ms: i32,
        high_watermark: i64,
    ) -> Vec<Action> {
        self.step(Event::ReceiveFetch {
            context: context(),
            from: key(from),
            cluster: ClusterMatch::Ours,
            fetch_epoch: Epoch(epoch),
            fetch_offset: offset,
            last_fetched_epoch: Epoch(epoch),
            high_watermark,
            max_wait_ms,
            max_bytes: 1024,
        })
    }

    pub(super) fn fetch_response(
        &mut self,
        request: RequestId,
        epoch: i32,
        high_watermark: i64,
        records: FetchedRecords,
    ) -> Vec<Action> {
        self.fetch_answer(request, epoch, high_watermark, None, None, records)
    }

    pub(super) fn diverging(&mut self, request: RequestId, epoch: i32, at: LogOffsetMetadata) -> Vec<Action> {
        self.fetch_answer(request, epoch, -1, Some(at), None, FetchedRecords::Empty)
    }

    pub(super) fn snapshot_offered(&mut self, request: RequestId, epoch: i32, id: SnapshotId) -> Vec<Action> {
        self.fetch_answer(request, epoch, -1, None, Some(id), FetchedRecords::Empty)
    }

    fn fetch_answer(
        &mut self,
        request: RequestId,
        epoch: i32,
        high_watermark: i64,
        diverging: Option<LogOffsetMetadata>,
        snapshot: Option<SnapshotId>,
        records: FetchedRecords,
    ) -> Vec<Action> {
        let leader = self.replica.leader();
        self.step(Event::ReceiveFetchResponse {
            answer: answer(request, leader),
            from: key(2),
            leader_id: leader.unwrap_or(NodeId::NONE),
            leader_epoch: Epoch(epoch),
            high_watermark,
            diverging,
            snapshot,
            records,
        })
    }

    pub(super) fn snapshot_chunk(
        &mut self,
        request: RequestId,
        epoch: i32,
        snapshot: SnapshotId,
        position: i64,
        bytes: u32,
        size: i64,
    ) -> Vec<Action> {
        let leader = self.replica.leader();
        self.step(Event::ReceiveFetchSnapshotResponse {
            answer: answer(request, leader),
            from: key(2),
            leader_epoch: Epoch(epoch),
            snapshot,
            size,
            position,
            bytes,
            payload: PayloadId(1),
        })
    }

    pub(super) fn update_voter_response(&mut self, request: RequestId, epoch: i32) -> Vec<Action> {
        let leader = self.replica.leader();
        self.step(Event::ReceiveUpdateRaftVoterResponse {
            answer: answer(request, leader),
            from: key(2),
            leader_epoch: Epoch(epoch),
        })
    }

    /// The leader appends a record that names these voters, each with its directory.
    pub(super) fn change_voters(&mut self, voters: &[i32]) -> Vec<Action> {
        self.append_voters(Vec::new(), voters)
    }

    /// As [`change_voters`](Self::change_voters), with kraft.version 1 in the same batch.
    pub(super) fn upgrade(&mut self, voters: &[i32]) -> Vec<Action> {
        self.append_voters(vec![ControlRecord::KRaftVersion(1)], voters)
    }

    fn append_voters(&mut self, mut records: Vec<ControlRecord>, voters: &[i32]) -> Vec<Action> {
        let voters: VoterSet = voters
            .iter()
            .map(|id| VoterNode {
                key: key(*id),
                endpoints: endpoints(*id),
                kraft_versions: SupportedVersions { min: 0, max: 1 },
            })
            .collect();
        let mut out = Vec::new();
        let mut turn = Turn::new(&self.log, self.now, &mut out);
        records.push(ControlRecord::Voters(voters));
        self.replica.append_control(records, &mut turn);
        perform(&out, &mut self.log, &mut self.requests, self.now.mono);
        self.replica.check_invariants(&self.log);
        out
    }

    pub(super) fn propose(&mut self, reply: u64, records: u32) -> Vec<Action> {
        self.step(Event::Propose {
            reply: ReplyId(reply),
            epoch: None,
            records,
            bytes: 100,
            payload: PayloadId(reply),
        })
    }
}

/// A leader of `epoch` that has flushed nothing of it.
pub(super) fn elected(voters: &[i32], epoch: i32) -> Node {
    let mut node = Node::reopen(voters, |state| {
        state.epoch = Epoch(epoch);
        state.voted = Some(key(1));
    });
    node.flush();
    let request = node.sent()[0].0;
    node.answer_vote(request, epoch, true);
    node
}

/// A follower with an empty log.
pub(super) fn follower_of(leader: i32, epoch: i32) -> Node {
    let mut node = Node::open(&[1, 2, 3]);
    node.begin_quorum_epoch(leader, epoch);
    node.flush();
    node
}

fn perform(
    out: &[Action],
    log: &mut TestLog,
    requests: &mut Vec<(RequestId, ReplicaKey, PeerRequest)>,
    now: Instant,
) {
    for action in out {
        match action {
            Action::Disk { ticket, op } => log.submit(*ticket, op, now),
            Action::Send {
                request, to, body, ..
            } => requests.push((*request, *to, body.clone())),
            _ => {}
        }
    }
}

/// Static voters have no directories; the tests speak of replicas with theirs.
fn address(body: PeerRequest) -> PeerRequest {
    match body {
        PeerRequest::Vote {
            cluster_id,
            voter,
            candidate,
            epoch,
            log_end,
            pre_vote,
        } => PeerRequest::Vote {
            cluster_id,
            voter: key(voter.id.0),
            candidate,
            epoch,
            log_end,
            pre_vote,
        },
        other => other,
    }
}

fn context() -> RequestContext {
    RequestContext {
        reply: ReplyId(1),
        listener: LISTENER.into(),
        partition: PartitionMatch::Metadata,
    }
}

fn answer(request: RequestId, leader: Option<NodeId>) -> AnswerContext {
    AnswerContext {
        request,
        top_level: ErrorCode::None,
        partition: PartitionMatch::Metadata,
        error: ErrorCode::None,
        leader,
        leader_endpoint: None,
    }
}
