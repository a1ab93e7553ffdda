//! Quorums over a network that loses, repeats and reorders, disks that finish only a part before a crash, and
//! replicas that take snapshots and cut their logs.

mod network;

use crate::{
    disk::{Directory, Disk, Snapshot},
    settings::{LISTENER, config, endpoint, key},
    splitmix::SplitMix,
};
use kraft_core::{
    Action, Answer, BatchInfo, Config, ControlRecord, DiskOp, Epoch, Event, FetchPlan, Instant, LogView,
    NodeId, PayloadId, PeerRequest, Replica, ReplyId, RequestFault, RequestId, RoleName, SnapshotId, Ticket,
    Time,
    exchange::{answer_event, request_event},
};
use std::{collections::BTreeMap, time::Duration};

/// Where the answer to a request goes, and whose vote it asks for, if it asks for one.
#[derive(Debug, Clone)]
struct Asker {
    member: usize,
    incarnation: u64,
    request: RequestId,
    vote: Option<(Epoch, NodeId)>,
}

#[derive(Debug, Clone)]
enum Message {
    Request {
        asker: Asker,
        body: PeerRequest,
    },
    Answer {
        from: usize,
        asker: Asker,
        answer: Answer,
        batches: Vec<BatchInfo>,
    },
    Lost {
        asker: Asker,
    },
}

/// What waits for a disk operation, with the records that an answer carries.
type Held = (Action, Vec<BatchInfo>);

struct Member {
    config: Config,
    replica: Replica,
    disk: Disk,
    durable: Ticket,
    held: Vec<Held>,
    askers: BTreeMap<ReplyId, Asker>,
    incarnation: u64,
    high_watermark: i64,
    installing: Option<(Ticket, SnapshotId)>,
    /// Shut down, and not started again yet.
    ended: bool,
}

/// What may never change once it is so.
#[derive(Default)]
struct Facts {
    leaders: BTreeMap<Epoch, usize>,
    votes: BTreeMap<(usize, Epoch), NodeId>,
    /// Every batch that was ever durable or sent, by epoch and base offset. One that was neither may be written anew after
    /// a crash: the election that it belongs to was not revealed to anybody.
    batches: BTreeMap<(Epoch, i64), BatchInfo>,
    committed: BTreeMap<i64, (Epoch, u32)>,
    snapshots: BTreeMap<SnapshotId, Snapshot>,
}

struct Quorum {
    members: Vec<Member>,
    voters: usize,
    network: Vec<(usize, Message)>,
    random: SplitMix,
    now: Time,
    next_reply: u64,
    next_tag: u32,
    cut_off: Option<usize>,
    facts: Facts,
}

fn fetched(snapshots: &BTreeMap<SnapshotId, Snapshot>) -> impl FnMut(SnapshotId) -> Snapshot + '_ {
    |id| snapshots.get(&id).expect("somebody has taken it").clone()
}

impl Quorum {
    /// `voters` voters and one observer; with a bootstrap checkpoint or with static voters.
    fn new(voters: i32, dynamic: bool, seed: u64) -> Self {
        let ids: Vec<i32> = (0..voters).collect();
        let mut quorum = Self {
            members: Vec::new(),
            voters: ids.len(),
            network: Vec::new(),
            random: SplitMix::new(seed),
            now: Time {
                mono: Instant::from_millis(1000),
                wall_ms: 0,
            },
            next_reply: 1,
            next_tag: 1,
            cut_off: None,
            facts: Facts::default(),
        };
        for id in 0..=voters {
            let mut settings = if dynamic {
                let mut settings = config(id, &[]);
                settings.bootstrap_servers = ids.iter().map(|id| endpoint(*id)).collect();
                settings
            } else {
                config(id, &ids)
            };
            settings.seed = quorum.random.next();
            settings.can_become_voter = id < voters;
            let mut directory = Directory::default();
            if dynamic {
                directory.bootstrap(&ids);
            }
            let recovered = directory.recovered();
            let disk = Disk::open(directory);
            let mut out = Vec::new();
            let opened = Replica::open(settings.clone(), recovered, &disk, quorum.now, &mut out);
            quorum.members.push(Member {
                config: settings,
                replica: opened.expect("opens"),
                disk,
                durable: Ticket::NONE,
                held: Vec::new(),
                askers: BTreeMap::new(),
                incarnation: 0,
                high_watermark: 0,
                installing: None,
                ended: false,
            });
            quorum.perform(quorum.members.len() - 1, out);
        }
        quorum
    }

    fn step(&mut self, at: usize, event: Event) {
        let member = &mut self.members[at];
        if member.ended {
            return;
        }
        let mut out = Vec::new();
        member.replica.step(event, &member.disk, self.now, &mut out);
        self.perform(at, out);
    }

    fn perform(&mut self, at: usize, out: Vec<Action>) {
        let requests = |action: &&Action| matches!(action, Action::Send { .. });
        let sent = out.iter().filter(requests).count();
        assert!(sent <= 2 * self.members.len(), "one step sends {sent} requests");
        for action in out {
            match action {
                Action::Disk { ticket, op } => self.submit(at, ticket, op),
                Action::Reply { ref answer, .. } => {
                    let batches = self.read(at, answer);
                    self.members[at].held.push((action, batches));
                }
                Action::Send { .. } => self.members[at].held.push((action, Vec::new())),
                Action::Commit { high_watermark } => self.commit(at, high_watermark),
                Action::Transition {
                    role: RoleName::Leader,
                    epoch,
                    ..
                } => self.leads(at, epoch),
                Action::ShutdownComplete { .. } => self.members[at].ended = true,
                Action::Fatal { reason } => panic!("member {at}: {reason}"),
                Action::Accept { .. }
                | Action::Refuse { .. }
                | Action::Outcome { .. }
                | Action::ReadBarrier { .. }
                | Action::Transition { .. }
                | Action::Lead { .. }
                | Action::Unlead
                | Action::Discard { .. }
                | Action::AbandonSnapshot { .. } => {}
            }
        }
        let member = &self.members[at];
        member.replica.check_invariants(&member.disk);
        self.release(at);
    }

    fn submit(&mut self, at: usize, ticket: Ticket, op: DiskOp) {
        let Self { members, facts, .. } = self;
        let member = &mut members[at];
        if let DiskOp::TruncateFully { snapshot } = &op {
            member.installing = Some((ticket, *snapshot));
        }
        member
            .disk
            .submit(ticket, op, self.now.mono, &mut fetched(&facts.snapshots));
    }

    fn commit(&mut self, at: usize, high_watermark: i64) {
        let member = &self.members[at];
        assert!(high_watermark > member.high_watermark, "high watermarks rise");
        let from = member.high_watermark;
        let leads = member.replica.role() == RoleName::Leader;
        let batches = member.disk.seen.batches.clone();
        for batch in batches.iter().filter(|batch| batch.last >= from) {
            for offset in batch.base.max(from)..=batch.last.min(high_watermark - 1) {
                let fact = (batch.epoch, batch.bytes);
                let known = *self.facts.committed.entry(offset).or_insert(fact);
                assert_eq!(known, fact, "offset {offset} is committed twice");
            }
        }
        let last = high_watermark - 1;
        if leads && let Some((epoch, _)) = self.facts.committed.get(&last) {
            let has = |member: &&Member| {
                let kept = &member.disk.durable;
                let in_log =
                    |batch: &BatchInfo| batch.epoch == *epoch && (batch.base..=batch.last).contains(&last);
                kept.start > last || kept.batches.iter().any(in_log)
            };
            let durable = self.members[..self.voters].iter().filter(has).count();
            assert!(durable > self.voters / 2, "a majority has offset {last} on disk");
        }
        self.members[at].high_watermark = high_watermark;
    }

    fn leads(&mut self, at: usize, epoch: Epoch) {
        let other = self.facts.leaders.insert(epoch, at);
        assert!(
            other.is_none_or(|other| other == at),
            "two leaders in epoch {epoch}"
        );
        let log = &self.members[at].disk.seen;
        let mut batches = log.batches.iter().peekable();
        for (offset, (epoch, tag)) in self.facts.committed.range(log.start..) {
            while batches.peek().is_some_and(|batch| batch.last < *offset) {
                batches.next();
            }
            let batch = batches.peek().expect("a leader has what is committed");
            assert_eq!((batch.epoch, batch.bytes), (*epoch, *tag), "at offset {offset}");
        }
    }

    /// These batches are on a disk or on their way to another member.
    fn written(&mut self, batches: &[BatchInfo]) {
        for batch in batches {
            let written = &mut self.facts.batches;
            let first = written
                .entry((batch.epoch, batch.base))
                .or_insert_with(|| batch.clone());
            assert_eq!(first, batch, "an epoch has one record at an offset");
        }
    }

    fn voted(&mut self, at: usize, epoch: Epoch, candidate: NodeId) {
        let before = *self.facts.votes.entry((at, epoch)).or_insert(candidate);
        assert_eq!(before, candidate, "member {at} votes twice in epoch {epoch}");
    }

    fn flush(&mut self, at: usize, count: usize) {
        let Self { members, facts, .. } = self;
        let member = &mut members[at];
        if member.ended {
            return;
        }
        let Some(up_to) = member.disk.complete(count, &mut fetched(&facts.snapshots)) else {
            return;
        };
        member.durable = up_to;
        let written = member.disk.durable.batches.clone();
        self.written(&written);
        self.step(at, Event::Durable { up_to });
        let installed = self.members[at].installing.filter(|(ticket, _)| *ticket <= up_to);
        if let Some((_, snapshot)) = installed {
            self.members[at].installing = None;
            let control = self.facts.snapshots[&snapshot].control.clone();
            let committed = self.facts.committed.get(&(snapshot.end_offset - 1));
            assert_eq!(committed.map(|(epoch, _)| *epoch), Some(snapshot.epoch));
            self.step(at, Event::SnapshotInstalled { snapshot, control });
        }
    }

    /// A snapshot of everything that is committed and, perhaps, the log cut up to it.
    fn take_snapshot(&mut self, at: usize) {
        let cuts = !self.random.one_in(3);
        let member = &mut self.members[at];
        let end_offset = member
            .disk
            .batch_end_at_or_before(member.high_watermark.min(member.disk.durable.end_offset()));
        let newest = member.disk.latest_snapshot().map_or(0, |id| id.end_offset);
        if member.ended || member.disk.pending() > 0 || end_offset <= newest {
            return;
        }
        let last = end_offset - 1;
        let Some((epoch, _)) = self.facts.committed.get(&last) else {
            return;
        };
        let id = SnapshotId {
            end_offset,
            epoch: *epoch,
        };
        let mut control = Vec::new();
        if member.replica.kraft_version_at(last) > 0 {
            control.push(ControlRecord::KRaftVersion(member.replica.kraft_version_at(last)));
            control.extend(member.replica.voters_at(last).cloned().map(ControlRecord::Voters));
        }
        let snapshot = Snapshot::new(150, control);
        let known = self.facts.snapshots.entry(id).or_insert_with(|| snapshot.clone());
        assert_eq!(*known, snapshot, "snapshots of one id agree");
        let start = if cuts { end_offset } else { 0 };
        member.disk.store_snapshot(id, snapshot, start);
    }

    /// Starts a member from what is durable.
    fn restart(&mut self, at: usize) {
        let seed = self.random.next();
        let member = &mut self.members[at];
        member.config.seed = seed;
        member.disk = Disk::open(member.disk.durable.clone());
        member.durable = Ticket::NONE;
        member.held.clear();
        member.askers.clear();
        member.incarnation += 1;
        member.high_watermark = 0;
        member.installing = None;
        member.ended = false;
        let mut out = Vec::new();
        let recovered = member.disk.seen.recovered();
        let opened = Replica::open(member.config.clone(), recovered, &member.disk, self.now, &mut out);
        member.replica = opened.expect("opens again");
        self.perform(at, out);
    }

    fn pass(&mut self, ms: u64) {
        self.now.mono = self.now.mono.after(Duration::from_millis(ms));
        self.now.wall_ms += i64::try_from(ms).expect("small");
        for at in 0..self.members.len() {
            let due = |quorum: &Self| {
                let deadline = quorum.members[at].replica.next_deadline();
                !quorum.members[at].ended && deadline.is_some_and(|deadline| deadline <= quorum.now.mono)
            };
            if due(self) {
                self.step(at, Event::Tick);
                assert!(!due(self), "a tick does what is due");
            }
        }
    }

    fn act(&mut self, faults: bool) {
        let at = self.random.below(self.members.len());
        match self.random.below(200) {
            0..100 => self.carry(faults),
            100..150 => {
                let count = 1 + self.random.below(4);
                self.flush(at, count);
            }
            150..170 => {
                let bound = if self.random.one_in(10) { 600 } else { 40 };
                let ms = self.random.below(bound);
                self.pass(ms as u64);
            }
            170..185 => {
                let records = 1 + u32::try_from(self.random.below(3)).expect("small");
                let bytes = self.next_tag;
                self.next_tag += 1;
                self.step(
                    at,
                    Event::Propose {
                        reply: ReplyId(0),
                        epoch: None,
                        records,
                        bytes,
                        payload: PayloadId(0),
                    },
                );
            }
            185..190 => self.take_snapshot(at),
            190..192 => {
                let replies: Vec<_> = self.members[at].askers.keys().copied().collect();
                if faults && !replies.is_empty() {
                    let reply = *self.random.pick(&replies);
                    self.step(at, Event::CallerGone { reply });
                }
            }
            192..194 if faults => self.restart(at),
            194 if faults => {
                let timeout = Duration::from_millis(1000);
                self.step(at, Event::Shutdown { timeout });
            }
            195 if faults => {
                let epoch = self.members[at].replica.epoch();
                self.step(at, Event::Resign { epoch });
            }
            196 if faults => self.cut_off = self.random.one_in(2).then_some(at),
            _ if self.members[at].ended => self.restart(at),
            _ => {}
        }
    }

    fn committed(&self) -> i64 {
        self.members
            .iter()
            .map(|member| member.high_watermark)
            .max()
            .unwrap_or(0)
    }

    /// Whether one leader leads and everybody has what is committed.
    fn is_calm(&self) -> bool {
        let leads = |member: &&Member| !member.ended && member.replica.role() == RoleName::Leader;
        let leaders = self.members.iter().filter(leads).count();
        let committed = self.committed();
        leaders == 1
            && self
                .members
                .iter()
                .all(|member| member.high_watermark + 40 > committed)
    }
}

struct Seen {
    epochs: usize,
    committed: i64,
    installed: bool,
}

fn run(voters: i32, dynamic: bool, seed: u64) -> Seen {
    // Shown when the test fails.
    println!("{voters} voters, dynamic {dynamic}, seed {seed}");
    let mut quorum = Quorum::new(voters, dynamic, seed);
    for _ in 0..3000 {
        quorum.act(true);
    }
    let before = quorum.committed();
    quorum.cut_off = None;
    let mut steps = 0;
    while !(quorum.is_calm() && quorum.committed() > before + 20) {
        quorum.act(false);
        steps += 1;
        assert!(
            steps < 40_000,
            "seed {seed}: no progress once the faults are over: {:?}",
            quorum
                .members
                .iter()
                .map(|member| (
                    member.replica.role(),
                    member.replica.epoch(),
                    member.high_watermark,
                    member.replica.next_deadline(),
                    member.disk.end(),
                    member.held.len(),
                ))
                .collect::<Vec<_>>()
        );
    }
    let observer = &quorum.members[quorum.voters];
    Seen {
        epochs: quorum.facts.leaders.len(),
        committed: quorum.committed(),
        installed: observer.disk.start() > 0,
    }
}

#[test]
fn quorums_survive_what_networks_and_disks_do() {
    let mut epochs = 0;
    let mut committed = 0;
    let mut installed = 0;
    for seed in 0..60 {
        for (voters, dynamic) in [(3, false), (3, true), (5, seed % 2 == 0)] {
            let seen = run(voters, dynamic, seed);
            epochs += seen.epochs;
            committed += seen.committed;
            installed += usize::from(seen.installed);
        }
    }
    // Without these nothing would have been shown.
    assert!(epochs > 500, "{epochs} leaders");
    assert!(committed > 5000, "{committed} records");
    assert!(installed > 50, "{installed} snapshots");
}
