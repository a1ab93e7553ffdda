//! Everything that can be said to a replica, true or not, at any time, with any numbers.

mod events;
mod fields;

use crate::{
    disk::{Directory, Disk, Snapshot},
    settings::{LISTENER, config, dynamic_voters, endpoint, key},
    splitmix::SplitMix,
};
use kraft_core::{
    Action, Answer, AnswerContext, AppendPayload, BatchInfo, ClusterMatch, Config, ControlRecord, DiskOp,
    Endpoint, Endpoints, Epoch, ErrorCode, Event, FetchedRecords, Instant, Listener, LogEnd,
    LogOffsetMetadata, LogView, NodeId, PartitionMatch, PayloadId, PeerRequest, Replica, ReplicaKey, ReplyId,
    RequestContext, RequestFault, RequestId, RoleName, SnapshotId, SuccessorRank, SupportedVersions, Ticket,
    Time, VoterChange, VoterNode,
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
