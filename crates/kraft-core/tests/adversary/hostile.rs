//! Everything that can be said to a replica, true or not, at any time, with any numbers.

use crate::{
    disk::{Directory, Disk, Snapshot},
    settings::{LISTENER, config, dynamic_voters, endpoint, key},
    splitmix::SplitMix,
};
use kraft_core::{
    Action, Answer, AnswerContext, AppendPayload, BatchInfo, Config, ControlRecord, DiskOp, Endpoint,
    Endpoints, Epoch, ErrorCode, Event, FetchedRecords, Instant, LogEnd, LogOffsetMetadata, LogView, NodeId,
    PartitionMatch, PayloadId, PeerRequest, Replica, ReplicaKey, ReplyId, RequestContext, RequestFault,
    RequestId, RoleName, SnapshotId, SuccessorRank, SupportedVersions, Ticket, Time, VoterChange, VoterNode,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use uuid::Uuid;

struct Victim {
    config: Config,
    replica: Replica,
    disk: Disk,
    now: Time,
    random: SplitMix,
    next: u64,
    requests: Vec<RequestId>,
    waiting: BTreeSet<ReplyId>,
    /// Bytes that the replica has been handed and has neither used nor given back.
    payloads: BTreeSet<PayloadId>,
    installing: Option<(Ticket, SnapshotId)>,
    /// What the replica has asked for last.
    asked: Option<(RequestId, PeerRequest)>,
    committed: i64,
    ended: bool,
    seen: Seen,
}

/// Shows that the driver reaches what it is meant to reach.
#[derive(Default)]
struct Seen {
    roles: BTreeMap<&'static str, usize>,
    appended: usize,
    cut: usize,
    installed: usize,
    fatal: usize,
}

fn fetched(_: SnapshotId) -> Snapshot {
    Snapshot::new(300, Vec::new())
}

impl Victim {
    fn new(seed: u64) -> Self {
        let mut random = SplitMix::new(seed);
        let mut settings = match random.below(6) {
            0 => config(1, &[1]),
            1 => config(1, &[2, 3]),
            2 => config(1, &[1, 2]),
            3 => config(1, &[]),
            _ => config(1, &[1, 2, 3]),
        };
        settings.bootstrap_servers = match random.below(3) {
            0 if !settings.static_voters.is_empty() => Vec::new(),
            _ => vec![endpoint(2), endpoint(3)],
        };
        settings.can_become_voter = !random.one_in(4);
        settings.auto_join = random.one_in(3);
        settings.seed = random.next();
        let mut directory = Directory::default();
        if settings.static_voters.is_empty() {
            directory.bootstrap(&[1, 2, 3]);
        }
        let now = Time {
            mono: Instant::from_millis(1000),
            wall_ms: 0,
        };
        let recovered = directory.recovered();
        let disk = Disk::open(directory);
        let mut out = Vec::new();
        let replica = Replica::open(settings.clone(), recovered, &disk, now, &mut out).expect("opens");
        let mut victim = Self {
            config: settings,
            replica,
            disk,
            now,
            random,
            next: 1,
            requests: Vec::new(),
            waiting: BTreeSet::new(),
            payloads: BTreeSet::new(),
            installing: None,
            asked: None,
            committed: 0,
            ended: false,
            seen: Seen::default(),
        };
        victim.perform(out);
        victim
    }

    fn step(&mut self, event: Event) {
        let before = self.replica.epoch();
        let mut out = Vec::new();
        let said = format!("{event:?}");
        self.replica.step(event, &self.disk, self.now, &mut out);
        assert!(self.replica.epoch() >= before, "epochs rise: {said}");
        self.perform(out);
        self.replica.check_invariants(&self.disk);
        let name = match self.replica.role() {
            RoleName::Unattached => "unattached",
            RoleName::Prospective => "prospective",
            RoleName::Candidate => "candidate",
            RoleName::Leader => "leader",
            RoleName::Follower => "follower",
            RoleName::Resigned => "resigned",
        };
        *self.seen.roles.entry(name).or_default() += 1;
    }

    fn perform(&mut self, out: Vec<Action>) {
        let mut newest_election = None;
        for action in out {
            match action {
                Action::Disk { ticket, op } => {
                    match &op {
                        DiskOp::Append { payload, .. } => {
                            self.seen.appended += 1;
                            if let AppendPayload::Proposal(id) | AppendPayload::Fetched(id) = payload {
                                self.used(*id);
                            }
                        }
                        DiskOp::SnapshotChunk { payload, .. } => self.used(*payload),
                        DiskOp::Truncate { to } => {
                            assert!(*to >= self.committed, "what is committed is not cut");
                            self.seen.cut += 1;
                        }
                        DiskOp::TruncateFully { snapshot } => {
                            assert!(snapshot.end_offset >= self.committed, "what is committed is kept");
                            self.installing = Some((ticket, *snapshot));
                        }
                        DiskOp::StoreElection(_) => newest_election = Some(ticket),
                        DiskOp::StartEpoch { .. } => {}
                    }
                    self.disk.submit(ticket, op, self.now.mono, &mut fetched);
                }
                Action::Send { request, body, .. } => {
                    self.requests.push(request);
                    self.asked = Some((request, body));
                }
                Action::Reply { reply, answer, after } => {
                    assert!(self.waiting.remove(&reply), "one answer to each request");
                    assert!(newest_election.is_none_or(|stored| after >= stored), "{answer:?}");
                    if let Answer::Fetch { high_watermark, .. } = answer {
                        assert!(high_watermark <= self.disk.end().last_offset);
                    }
                }
                Action::Discard { payload } => self.used(payload),
                Action::Commit { high_watermark } => {
                    assert!(high_watermark > self.committed, "high watermarks rise");
                    self.committed = high_watermark;
                }
                Action::Fatal { .. } => {
                    self.seen.fatal += 1;
                    self.ended = true;
                }
                Action::ShutdownComplete { .. } => self.ended = true,
                Action::Accept { .. }
                | Action::Refuse { .. }
                | Action::Outcome { .. }
                | Action::ReadBarrier { .. }
                | Action::Transition { .. }
                | Action::Lead { .. }
                | Action::Unlead
                | Action::AbandonSnapshot { .. } => {}
            }
        }
        assert!(self.committed <= self.disk.end().last_offset || self.ended);
    }

    fn used(&mut self, payload: PayloadId) {
        assert!(
            self.payloads.remove(&payload),
            "bytes are used or given back once"
        );
    }

    fn flush(&mut self) {
        let count = 1 + self.random.below(4);
        let Some(up_to) = self.disk.complete(count, &mut fetched) else {
            return;
        };
        self.step(Event::Durable { up_to });
        if let Some((_, snapshot)) = self.installing.filter(|(ticket, _)| *ticket <= up_to) {
            self.installing = None;
            self.seen.installed += 1;
            let control = self.control();
            self.step(Event::SnapshotInstalled { snapshot, control });
        }
    }

    fn restart(&mut self) {
        self.disk = Disk::open(self.disk.durable.clone());
        self.requests.clear();
        self.waiting.clear();
        self.payloads.clear();
        self.installing = None;
        self.committed = 0;
        self.ended = false;
        let mut out = Vec::new();
        let recovered = self.disk.seen.recovered();
        let opened = Replica::open(self.config.clone(), recovered, &self.disk, self.now, &mut out);
        // A vote for itself by a replica that has been voted out, or a level that it does not know, forbid the start.
        match opened {
            Ok(replica) => {
                self.replica = replica;
                self.perform(out);
            }
            Err(_) => self.ended = true,
        }
    }

    // What is said.

    fn number(&mut self, around: i64) -> i64 {
        match self.random.below(24) {
            0 => i64::MAX,
            1 => i64::MIN,
            2 => -1,
            3 => 0,
            4 => i64::MAX / 2,
            5..8 => around.saturating_add(1),
            8..11 => around.saturating_sub(1),
            11 => around.saturating_add(40),
            12 => i64::from(i32::MAX),
            _ => around,
        }
    }

    fn int(&mut self, around: i32) -> i32 {
        let number = self.number(i64::from(around));
        i32::try_from(number).unwrap_or(if number < 0 { i32::MIN } else { i32::MAX })
    }

    fn offset(&mut self) -> i64 {
        let end = self.disk.end().last_offset;
        if self.random.one_in(3) {
            let inside = self
                .random
                .below(usize::try_from(end.clamp(1, 1000)).expect("small"));
            return i64::try_from(inside).expect("small");
        }
        self.number(end)
    }

    fn epoch(&mut self) -> Epoch {
        let current = self.replica.epoch().0;
        match self.random.below(30) {
            0 => Epoch(self.int(current)),
            1 => Epoch(current + 1),
            2..5 => Epoch(current - 1),
            _ => Epoch(current),
        }
    }

    fn log_epoch(&mut self) -> Epoch {
        let last = self.disk.end().last_epoch.0;
        Epoch(if self.random.one_in(3) {
            self.int(last)
        } else {
            last
        })
    }

    fn node(&mut self) -> NodeId {
        NodeId(
            *self
                .random
                .pick(&[-2, -1, 1, 2, 2, 2, 3, 3, 9, i32::MAX, i32::MIN]),
        )
    }

    fn replica_key(&mut self) -> ReplicaKey {
        let id = self.node();
        if self.random.one_in(3) {
            ReplicaKey::without_directory(id)
        } else {
            key(id.0)
        }
    }

    fn directory(&mut self) -> Uuid {
        *self.random.pick(&[Uuid::nil(), Uuid::nil(), Uuid::max()])
    }

    fn cluster(&mut self) -> Option<kraft_core::Text> {
        match self.random.below(12) {
            0 => Some("another cluster".into()),
            1 => Some(kraft_core::Text::default()),
            2 => Some(crate::settings::CLUSTER.into()),
            _ => None,
        }
    }

    fn endpoints(&mut self) -> Endpoints {
        let mut endpoints = Endpoints::empty();
        for name in ["OTHER", "third", LISTENER] {
            if self.random.one_in(2) {
                endpoints.insert(name, endpoint(2));
            }
        }
        endpoints
    }

    fn one_endpoint(&mut self) -> Option<Endpoint> {
        (!self.random.one_in(3)).then(|| endpoint(2))
    }

    fn partition(&mut self) -> PartitionMatch {
        match self.random.below(16) {
            0 => PartitionMatch::Other,
            1 => PartitionMatch::Malformed,
            _ => PartitionMatch::Metadata,
        }
    }

    fn error(&mut self) -> ErrorCode {
        let codes = [
            -1, 3, 6, 6, 7, 8, 13, 35, 42, 74, 75, 98, 99, 104, 125, 126, 127, 999,
        ];
        if self.random.below(10) < 7 {
            return ErrorCode::None;
        }
        ErrorCode::from_code(*self.random.pick(&codes))
    }

    fn fresh(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn payload(&mut self) -> PayloadId {
        let payload = PayloadId(self.fresh());
        self.payloads.insert(payload);
        payload
    }

    fn context(&mut self) -> RequestContext {
        let reply = ReplyId(self.fresh());
        self.waiting.insert(reply);
        RequestContext {
            reply,
            listener: (*self.random.pick(&[LISTENER, "controller", "unknown", ""])).into(),
            partition: self.partition(),
        }
    }

    fn request(&mut self) -> RequestId {
        match (self.random.below(8), self.requests.as_slice()) {
            (0, _) | (_, []) => RequestId(self.random.next()),
            (1, sent) => *self.random.pick(sent),
            (2..5, sent) => sent[sent.len().saturating_sub(2)],
            (_, sent) => sent[sent.len() - 1],
        }
    }

    fn answer(&mut self) -> AnswerContext {
        let leader = self.replica.leader().filter(|_| !self.random.one_in(5));
        AnswerContext {
            request: self.request(),
            top_level: if self.random.one_in(12) {
                self.error()
            } else {
                ErrorCode::None
            },
            partition: self.partition(),
            error: self.error(),
            leader: leader.or_else(|| self.random.one_in(2).then(|| self.node())),
            leader_endpoint: self.one_endpoint(),
        }
    }

    fn control(&mut self) -> Vec<ControlRecord> {
        let sets: [&[i32]; 7] = [&[1, 2, 3], &[1, 2], &[2, 3], &[1], &[], &[2, 9], &[-1, 1]];
        let mut records = Vec::new();
        for _ in 0..self.random.below(4) {
            records.push(match self.random.below(8) {
                0 => ControlRecord::LeaderChange {
                    leader: self.node(),
                    voters: vec![self.node()],
                    granting: Vec::new(),
                },
                1 => ControlRecord::KRaftVersion(1),
                2 if self.random.one_in(20) => ControlRecord::KRaftVersion(*self.random.pick(&[2, i16::MIN])),
                _ => ControlRecord::Voters(dynamic_voters(sets[self.random.below(sets.len())])),
            });
        }
        records
    }

    fn records(&mut self) -> FetchedRecords {
        match self.random.below(8) {
            0 => return FetchedRecords::Empty,
            1 => return FetchedRecords::Corrupt,
            _ => {}
        }
        let mut base = self.disk.end().last_offset;
        let mut batches = Vec::new();
        for _ in 0..self.random.below(4) {
            if self.random.one_in(40) {
                base = self.offset();
            }
            let last = match self.random.below(60) {
                0 => self.number(base),
                _ => base.saturating_add(i64::try_from(self.random.below(4)).expect("small")),
            };
            let control = self.random.one_in(6).then(|| self.control());
            batches.push(BatchInfo {
                base,
                last,
                epoch: if self.random.one_in(3) {
                    self.epoch()
                } else {
                    self.log_epoch()
                },
                bytes: u32::MAX,
                control,
            });
            base = last.saturating_add(1);
        }
        let payload = self.payload();
        let batches = batches.into();
        FetchedRecords::Batches { batches, payload }
    }

    fn snapshot(&mut self) -> SnapshotId {
        if let Some(id) = self.disk.latest_snapshot().filter(|_| self.random.one_in(4)) {
            return id;
        }
        SnapshotId {
            end_offset: self.offset(),
            epoch: self.log_epoch(),
        }
    }

    fn request_event(&mut self) -> Event {
        match self.random.below(16) {
            12 | 13 => {
                let voter = self.replica_key();
                Event::ReceiveAddRaftVoter {
                    context: self.context(),
                    cluster_id: self.cluster(),
                    voter,
                    endpoints: self.endpoints(),
                    ack_when_committed: self.random.one_in(2),
                }
            }
            14 => Event::ReceiveRemoveRaftVoter {
                context: self.context(),
                cluster_id: self.cluster(),
                voter: self.replica_key(),
            },
            15 => self.change(),
            0 | 1 => Event::ReceiveVoteRequest {
                context: self.context(),
                from: self.replica_key(),
                cluster_id: self.cluster(),
                voter_id: self.node(),
                voter_directory_id: self.directory(),
                candidate_epoch: self.epoch(),
                candidate: self.node(),
                candidate_directory_id: self.directory(),
                candidate_log_end: LogEnd {
                    last_epoch: self.log_epoch(),
                    last_offset: self.offset(),
                },
                pre_vote: self.random.one_in(2),
            },
            2 => Event::ReceiveBeginQuorumEpoch {
                context: self.context(),
                cluster_id: self.cluster(),
                voter_id: self.node(),
                voter_directory_id: self.directory(),
                leader_id: self.node(),
                leader_epoch: self.epoch(),
                leader_endpoints: self.endpoints(),
            },
            3 => Event::ReceiveEndQuorumEpoch {
                context: self.context(),
                cluster_id: self.cluster(),
                leader_id: self.node(),
                leader_epoch: self.epoch(),
                leader_endpoints: self.endpoints(),
                successor_rank: SuccessorRank {
                    position: self.random.next() as u32 % 5,
                    successors: *self.random.pick(&[0, 1, 3, 4, 64, u32::MAX]),
                },
            },
            4..8 => Event::ReceiveFetch {
                context: self.context(),
                from: self.replica_key(),
                cluster_id: self.cluster(),
                fetch_epoch: self.epoch(),
                fetch_offset: self.offset(),
                last_fetched_epoch: self.log_epoch(),
                high_watermark: self.offset(),
                max_wait_ms: self.int(500),
                max_bytes: self.int(100),
            },
            8 => Event::ReceiveFetchSnapshot {
                context: self.context(),
                from: self.replica_key(),
                cluster_id: self.cluster(),
                fetch_epoch: self.epoch(),
                snapshot: self.snapshot(),
                position: self.number(100),
                max_bytes: self.int(100),
            },
            9 | 10 => Event::ReceiveUpdateRaftVoter {
                context: self.context(),
                cluster_id: self.cluster(),
                leader_epoch: self.epoch(),
                voter: self.replica_key(),
                endpoints: self.endpoints(),
                kraft_versions: SupportedVersions {
                    min: *self.random.pick(&[0, 0, 0, 1, -1, i16::MAX]),
                    max: *self.random.pick(&[1, 1, 1, 0, -1, i16::MAX]),
                },
            },
            _ => Event::ReceiveDescribeQuorum {
                context: self.context(),
            },
        }
    }

    /// What the embedder asks for.
    fn change(&mut self) -> Event {
        let reply = self.context().reply;
        let key = self.replica_key();
        let voter = VoterNode {
            key,
            endpoints: self.endpoints(),
            kraft_versions: SupportedVersions { min: 0, max: 1 },
        };
        let change = match self.random.below(4) {
            0 => {
                return Event::UpgradeKRaftVersion {
                    reply,
                    epoch: self.random.one_in(2).then(|| self.epoch()),
                    level: *self.random.pick(&[1, 1, 0, 2, -1, i16::MAX]),
                    validate_only: self.random.one_in(4),
                };
            }
            1 => VoterChange::Add {
                voter,
                ack_when_committed: self.random.one_in(2),
            },
            2 => VoterChange::Remove { voter: key },
            _ => VoterChange::Update { voter },
        };
        Event::Reconfigure { reply, change }
    }

    fn features(&mut self) -> Option<SupportedVersions> {
        let min = *self.random.pick(&[0, 0, 0, 1, -1, i16::MAX]);
        let max = *self.random.pick(&[1, 1, 1, 0, -1, i16::MAX]);
        (!self.random.one_in(5)).then_some(SupportedVersions { min, max })
    }

    fn answer_event(&mut self) -> Event {
        match self.random.below(17) {
            13 => Event::ReceiveApiVersionsResponse {
                request: self.request(),
                from: self.replica_key(),
                error: self.error(),
                kraft_versions: self.features(),
            },
            14 => Event::ReceiveAddRaftVoterResponse {
                request: self.request(),
                from: self.replica_key(),
                error: self.error(),
            },
            15 => Event::ReceiveRemoveRaftVoterResponse {
                request: self.request(),
                from: self.replica_key(),
                error: self.error(),
            },
            0..4 => Event::ReceiveVoteResponse {
                answer: self.answer(),
                from: self.replica_key(),
                epoch: self.epoch(),
                vote_granted: !self.random.one_in(4),
            },
            4 => Event::ReceiveBeginQuorumEpochResponse {
                answer: self.answer(),
                from: self.replica_key(),
                epoch: self.epoch(),
            },
            5 => Event::ReceiveEndQuorumEpochResponse {
                answer: self.answer(),
                from: self.replica_key(),
                epoch: self.epoch(),
            },
            6..10 => {
                let answer = self.answer();
                Event::ReceiveFetchResponse {
                    leader_id: answer.leader.unwrap_or(NodeId(-1)),
                    answer,
                    from: self.replica_key(),
                    leader_epoch: self.epoch(),
                    high_watermark: self.offset(),
                    diverging: self.random.one_in(10).then(|| LogOffsetMetadata {
                        epoch: self.log_epoch(),
                        offset: self.offset().max(self.committed),
                    }),
                    snapshot: self.random.one_in(6).then(|| self.snapshot()),
                    records: self.records(),
                }
            }
            10..13 => {
                let snapshot = self.snapshot();
                Event::ReceiveFetchSnapshotResponse {
                    answer: self.answer(),
                    from: self.replica_key(),
                    leader_epoch: self.epoch(),
                    snapshot,
                    size: self.number(128),
                    position: self.number(64),
                    bytes: *self.random.pick(&[0, 64, 64, 64, u32::MAX]),
                    payload: self.payload(),
                }
            }
            _ => Event::ReceiveUpdateRaftVoterResponse {
                answer: self.answer(),
                from: self.replica_key(),
                leader_epoch: self.epoch(),
            },
        }
    }

    /// What an honest peer could say to the newest request.
    fn honest_answer(&mut self) -> Option<Event> {
        let (request, body) = self.asked.clone()?;
        let epoch = self.replica.epoch();
        let leader = self
            .replica
            .leader()
            .or(Some(NodeId(2)).filter(|_| self.random.one_in(2)));
        let answer = AnswerContext {
            request,
            top_level: ErrorCode::None,
            partition: PartitionMatch::Metadata,
            error: ErrorCode::None,
            leader,
            leader_endpoint: Some(endpoint(2)),
        };
        let from = key(2);
        Some(match body {
            PeerRequest::Vote { .. } => Event::ReceiveVoteResponse {
                answer: AnswerContext {
                    leader: None,
                    ..answer
                },
                from,
                epoch,
                vote_granted: true,
            },
            PeerRequest::Fetch { log_end, .. } => {
                let (last_epoch, last) = (log_end.last_epoch, log_end.last_offset);
                let known = self.replica.high_watermark().unwrap_or(0).max(self.committed);
                let (diverging, snapshot) = match self.random.below(6) {
                    0 if last > known => {
                        let offset = known + i64::try_from(self.random.below(8)).expect("small");
                        (
                            Some(LogOffsetMetadata {
                                epoch: last_epoch,
                                offset: offset.min(last),
                            }),
                            None,
                        )
                    }
                    1 => (
                        None,
                        Some(SnapshotId {
                            end_offset: last + 10,
                            epoch: last_epoch,
                        }),
                    ),
                    _ => (None, None),
                };
                let quiet = diverging.is_some() || snapshot.is_some();
                Event::ReceiveFetchResponse {
                    leader_id: leader.unwrap_or(NodeId(-1)),
                    answer,
                    from,
                    leader_epoch: epoch,
                    high_watermark: last - i64::try_from(self.random.below(4)).expect("small"),
                    diverging,
                    snapshot,
                    records: if quiet {
                        FetchedRecords::Empty
                    } else {
                        self.records()
                    },
                }
            }
            PeerRequest::FetchSnapshot {
                snapshot, position, ..
            } => Event::ReceiveFetchSnapshotResponse {
                answer,
                from,
                leader_epoch: epoch,
                snapshot,
                size: position.max(64) + 64,
                position,
                bytes: 64,
                payload: self.payload(),
            },
            PeerRequest::BeginQuorumEpoch { .. } => {
                Event::ReceiveBeginQuorumEpochResponse { answer, from, epoch }
            }
            PeerRequest::EndQuorumEpoch { .. } => {
                Event::ReceiveEndQuorumEpochResponse { answer, from, epoch }
            }
            PeerRequest::ApiVersions => Event::ReceiveApiVersionsResponse {
                request,
                from,
                error: ErrorCode::None,
                kraft_versions: self.features(),
            },
            PeerRequest::AddRaftVoter { .. } => Event::ReceiveAddRaftVoterResponse {
                request,
                from,
                error: ErrorCode::None,
            },
            PeerRequest::RemoveRaftVoter { .. } => Event::ReceiveRemoveRaftVoterResponse {
                request,
                from,
                error: ErrorCode::None,
            },
            PeerRequest::UpdateRaftVoter { .. } => Event::ReceiveUpdateRaftVoterResponse {
                answer,
                from,
                leader_epoch: epoch,
            },
        })
    }

    fn act(&mut self) {
        match self.random.below(100) {
            0..35 => {
                let event = self.request_event();
                self.step(event);
            }
            35..45 => {
                let event = self.answer_event();
                self.step(event);
            }
            45..65 => {
                if let Some(event) = self.honest_answer() {
                    self.step(event);
                }
            }
            65..77 => self.flush(),
            77..84 => {
                let ms = self
                    .random
                    .below(*SplitMix::new(self.next).pick(&[20, 300, 2500]));
                self.now.mono = self.now.mono.after(Duration::from_millis(ms as u64));
                self.now.wall_ms = self.number(0);
                let timers = [
                    Event::Tick,
                    Event::ElectionTimeout,
                    Event::FetchTimeout,
                    Event::CheckQuorumTimeout,
                    Event::HeartbeatTimeout,
                ];
                let timer = self.random.pick(&timers).clone();
                self.step(timer);
            }
            84..90 => {
                let event = Event::Propose {
                    reply: ReplyId(self.fresh()),
                    epoch: self.random.one_in(3).then(|| self.epoch()),
                    records: *self.random.pick(&[0, 1, 1, 3, u32::MAX]),
                    bytes: *self.random.pick(&[0, 10, 10, u32::MAX]),
                    payload: PayloadId(0),
                };
                self.payloads.insert(PayloadId(0));
                self.step(event);
                self.payloads.remove(&PayloadId(0));
            }
            90..92 => {
                let request = self.request();
                let faults = [
                    RequestFault::Disconnected,
                    RequestFault::UnsupportedVersion,
                    RequestFault::AuthenticationFailed,
                    RequestFault::Malformed,
                ];
                let fault = *self.random.pick(&faults);
                self.step(Event::RequestFailed { request, fault });
            }
            92 => {
                let reply = self.waiting.iter().next().copied().unwrap_or(ReplyId(7));
                self.waiting.remove(&reply);
                self.step(Event::CallerGone { reply });
            }
            93 => {
                let snapshot = self.snapshot();
                if self.installing.is_none_or(|(_, expected)| expected != snapshot) {
                    let control = self.control();
                    self.step(Event::SnapshotInstalled { snapshot, control });
                    self.step(Event::SnapshotRejected { snapshot });
                }
            }
            94 => {
                let epoch = self.epoch();
                self.step(Event::ReceiveLeaderlessEpoch { epoch });
            }
            95 => {
                let epoch = self.epoch();
                self.step(Event::Resign { epoch });
            }
            96 if self.random.one_in(10) => self.step(Event::StorageFailed),
            97 if self.random.one_in(10) => {
                let timeout = *self
                    .random
                    .pick(&[Duration::ZERO, Duration::from_secs(1), Duration::MAX]);
                self.step(Event::Shutdown { timeout });
            }
            98 => self.restart(),
            _ => {}
        }
        let deadline = self.replica.next_deadline();
        if !self.ended && deadline.is_some_and(|deadline| deadline <= self.now.mono) {
            self.step(Event::Tick);
            let deadline = self.replica.next_deadline();
            assert!(
                deadline.is_none_or(|deadline| deadline > self.now.mono),
                "a tick does what is due"
            );
        }
    }
}

#[test]
fn nothing_that_is_said_to_a_replica_makes_it_panic() {
    let mut total = Seen::default();
    for seed in 0..400 {
        // Shown when the test fails.
        println!("seed {seed}");
        let mut victim = Victim::new(seed);
        for _ in 0..400 {
            victim.act();
            if victim.ended {
                victim.restart();
            }
            if victim.ended {
                break;
            }
        }
        for (role, steps) in victim.seen.roles {
            *total.roles.entry(role).or_default() += steps;
        }
        total.appended += victim.seen.appended;
        total.cut += victim.seen.cut;
        total.installed += victim.seen.installed;
        total.fatal += victim.seen.fatal;
    }
    // Without these nothing would have been shown.
    assert!(
        total.roles.len() == 6 && total.roles.values().all(|steps| *steps > 200),
        "{:?}",
        total.roles
    );
    assert!(total.appended > 1000, "{} appends", total.appended);
    assert!(total.cut > 50, "{} truncations", total.cut);
    assert!(total.installed > 20, "{} snapshots", total.installed);
    assert!(total.fatal > 20, "{} ends", total.fatal);
}
