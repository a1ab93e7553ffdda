//! Several replicas, a network that loses and reorders, disks that forget what was not flushed.

mod network;

use super::harness::{LISTENER, TestLog, config, endpoints, key};
use crate::{
    action::{Action, DiskOp, ProposalOutcome},
    answer::{Answer, FetchPlan},
    config::{Config, Recovered},
    control::{BatchInfo, ControlRecord},
    error_code::ErrorCode,
    event::{Event, RequestFault},
    handles::{PayloadId, ReplyId, RequestId, Ticket},
    ids::{Epoch, NodeId},
    offsets::SnapshotId,
    peer_request::PeerRequest,
    reconfig::VoterChange,
    replica::Replica,
    rng::Rng,
    role::RoleName,
    time::{Instant, Time},
    voter_set::{SupportedVersions, VoterNode, VoterSet},
};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec,
    vec::Vec,
};
use core::time::Duration;

/// A replica with what of its disk operations is durable and what only ordered.
struct Member {
    id: i32,
    replica: Replica,
    /// What the engine sees: everything ordered.
    log: TestLog,
    /// What a crash leaves.
    durable: TestLog,
    queue: Vec<(Ticket, DiskOp)>,
    durable_up_to: Ticket,
    /// What waits for a ticket.
    held: Vec<Action>,
    replies: BTreeMap<ReplyId, (usize, u64, RequestId)>,
    incarnation: u64,
    high_watermark: i64,
}

enum Message {
    Request {
        from: usize,
        incarnation: u64,
        request: RequestId,
        body: PeerRequest,
    },
    Answer {
        from: usize,
        incarnation: u64,
        request: RequestId,
        answer: Answer,
        batches: Vec<BatchInfo>,
    },
    Features {
        from: usize,
        incarnation: u64,
        request: RequestId,
    },
    Lost {
        incarnation: u64,
        request: RequestId,
    },
}

struct Cluster {
    voters: Voters,
    members: Vec<Member>,
    network: Vec<(usize, Message)>,
    rng: Rng,
    now: Time,
    next_reply: u64,
    cut: Option<usize>,
    leaders: BTreeMap<Epoch, i32>,
    committed: BTreeMap<i64, Epoch>,
    accepted: BTreeMap<ReplyId, (i64, Epoch)>,
    /// What proposers were told to be lost.
    lost: BTreeSet<(i64, Epoch)>,
    outcomes: [u32; 3],
    /// The ids of the voters that were committed last, and how often they have changed.
    committed_voters: Vec<NodeId>,
    newest_committed_voters: i64,
    changes: u32,
}

/// How the voters are known.
#[derive(Clone, Copy)]
enum Voters {
    /// By configuration, at kraft.version 0.
    Static,
    /// By the bootstrap checkpoint, at kraft.version 1. Every restart moves a replica to another port.
    Dynamic,
    /// As `Dynamic`, and voters are removed and added; whoever is removed asks to come back.
    Changing,
}

impl Voters {
    /// What a formatted directory starts with.
    fn checkpoint(self, ids: &[i32]) -> Option<(SnapshotId, Vec<ControlRecord>)> {
        match self {
            Self::Static => None,
            Self::Dynamic | Self::Changing => {
                let voters = ids.iter().map(|id| VoterNode {
                    key: key(*id),
                    endpoints: endpoints(*id),
                    kraft_versions: SupportedVersions { min: 0, max: 1 },
                });
                let records = vec![
                    ControlRecord::KRaftVersion(1),
                    ControlRecord::Voters(voters.collect()),
                ];
                Some((SnapshotId::BOOTSTRAP, records))
            }
        }
    }

    fn settings(self, ids: &[i32], id: i32, incarnation: u64) -> Config {
        let mut settings = config(ids);
        settings.local = key(id);
        settings.listeners = endpoints(id);
        settings.auto_join = matches!(self, Self::Changing);
        if let Self::Dynamic | Self::Changing = self {
            settings.static_voters = VoterSet::default();
            settings.bootstrap_servers = ids
                .iter()
                .filter_map(|id| endpoints(*id).of("CONTROLLER").cloned())
                .collect();
            let moved = id + 10 * i32::try_from(incarnation).expect("small");
            settings.listeners = endpoints(moved);
        }
        settings
    }

    fn recover(self, ids: &[i32], log: &TestLog) -> Recovered {
        Recovered {
            election: log.election.clone(),
            snapshot: self.checkpoint(ids),
            log: log.control_records(),
            abstains: false,
        }
    }
}

impl Cluster {
    fn new(size: i32, voters: Voters, seed: u64) -> Self {
        let now = Time {
            mono: Instant::from_millis(1000),
            wall_ms: 0,
        };
        let ids: Vec<i32> = (1..=size).collect();
        let mut cluster = Self {
            voters,
            members: Vec::new(),
            network: Vec::new(),
            rng: Rng::new(seed),
            now,
            next_reply: 1,
            cut: None,
            leaders: BTreeMap::new(),
            committed: BTreeMap::new(),
            accepted: BTreeMap::new(),
            lost: BTreeSet::new(),
            outcomes: [0; 3],
            committed_voters: ids.iter().copied().map(NodeId).collect(),
            newest_committed_voters: 0,
            changes: 0,
        };
        for id in &ids {
            let log = TestLog::new();
            let mut settings = voters.settings(&ids, *id, 0);
            settings.seed = seed * 31 + u64::from(id.unsigned_abs());
            let mut out = Vec::new();
            let replica =
                Replica::open(settings, voters.recover(&ids, &log), &log, now, &mut out).expect("opens");
            cluster.members.push(Member {
                id: *id,
                replica,
                durable: log.clone(),
                log,
                queue: Vec::new(),
                durable_up_to: Ticket::NONE,
                held: Vec::new(),
                replies: BTreeMap::new(),
                incarnation: 0,
                high_watermark: 0,
            });
            let index = cluster.members.len() - 1;
            cluster.perform(index, out);
        }
        cluster
    }

    fn step(&mut self, index: usize, event: Event) {
        let mut out = Vec::new();
        let member = &mut self.members[index];
        member.replica.step(event, &member.log, self.now, &mut out);
        self.perform(index, out);
    }

    fn perform(&mut self, index: usize, out: Vec<Action>) {
        for action in out {
            match action {
                Action::Disk { ticket, op } => {
                    let member = &mut self.members[index];
                    member.log.submit(ticket, &op, self.now.mono);
                    member.queue.push((ticket, op));
                }
                Action::Send { .. } | Action::Reply { .. } => self.members[index].held.push(action),
                Action::Commit { high_watermark } => self.commit(index, high_watermark),
                Action::Transition {
                    role: RoleName::Leader,
                    epoch,
                    ..
                } => {
                    let id = self.members[index].id;
                    let other = self.leaders.insert(epoch, id);
                    assert!(
                        other.is_none_or(|other| other == id),
                        "two leaders in epoch {epoch}"
                    );
                }
                Action::Fatal { reason } => panic!("{reason}"),
                Action::Accept { reply, base, epoch } => {
                    self.accepted.insert(reply, (base, epoch));
                }
                Action::Outcome { reply, outcome } => self.conclude(reply, outcome),
                Action::Refuse { .. }
                | Action::ReadBarrier { .. }
                | Action::Transition { .. }
                | Action::Lead { .. }
                | Action::Unlead
                | Action::Discard { .. }
                | Action::AbandonSnapshot { .. }
                | Action::ShutdownComplete { .. } => {}
            }
        }
        let member = &mut self.members[index];
        member.replica.check_invariants(&member.log);
        self.release(index);
    }

    /// Voters follow the log, back and forth.
    fn check_voters(&self, index: usize) {
        let member = &self.members[index];
        let named = member
            .log
            .control_records()
            .into_iter()
            .rev()
            .find_map(|(_, record)| match record {
                ControlRecord::Voters(voters) => Some(voters),
                ControlRecord::LeaderChange { .. } | ControlRecord::KRaftVersion(_) => None,
            });
        if let Some(named) = named {
            assert!(
                *member.replica.voters() == named,
                "the newest record in the log is in force"
            );
        }
    }

    /// What a proposer is told is true.
    fn conclude(&mut self, reply: ReplyId, outcome: ProposalOutcome) {
        let (base, epoch) = self.accepted.remove(&reply).expect("one outcome each");
        let there = self.committed.get(&base);
        match outcome {
            ProposalOutcome::Committed => {
                assert!(there == Some(&epoch), "committed, they say, at {base}");
                self.outcomes[0] += 1;
            }
            ProposalOutcome::KnownLost => {
                assert!(there != Some(&epoch), "lost, they say, at {base}");
                self.lost.insert((base, epoch));
                self.outcomes[1] += 1;
            }
            ProposalOutcome::Unknown => self.outcomes[2] += 1,
        }
    }

    fn commit(&mut self, index: usize, high_watermark: i64) {
        let member = &mut self.members[index];
        assert!(high_watermark > member.high_watermark, "high watermarks rise");
        for batch in &member.log.batches {
            for offset in batch.base..=batch.last {
                if offset < high_watermark && offset >= member.high_watermark {
                    assert!(
                        !self.lost.contains(&(offset, batch.epoch)),
                        "{offset} is committed, and was said to be lost"
                    );
                    let known = *self.committed.entry(offset).or_insert(batch.epoch);
                    assert!(
                        known == batch.epoch,
                        "offset {offset} is committed in {known} and {}",
                        batch.epoch
                    );
                }
            }
        }
        let news = member.log.control_records().into_iter();
        for (offset, record) in news.filter(|(offset, _)| *offset < high_watermark) {
            if let ControlRecord::Voters(voters) = record
                && offset >= self.newest_committed_voters
            {
                let ids: Vec<NodeId> = voters.ids().collect();
                self.changes += u32::from(ids != self.committed_voters);
                self.committed_voters = ids;
                self.newest_committed_voters = offset + 1;
            }
        }
        member.high_watermark = high_watermark;
    }

    fn flush(&mut self, index: usize) {
        let rounds = self.rng.below(4) + 1;
        let member = &mut self.members[index];
        let count = member.queue.len().min(usize::try_from(rounds).expect("small"));
        let Some((up_to, _)) = count.checked_sub(1).map(|last| member.queue[last].clone()) else {
            return;
        };
        for (ticket, op) in member.queue.drain(..count) {
            member.durable.submit(ticket, &op, self.now.mono);
        }
        member.durable.flushed = member.durable.end.last_offset;
        member.log.flushed = member.durable.end.last_offset.min(member.log.end.last_offset);
        member.log.unfinished = member.queue.first().map(|(ticket, _)| (*ticket, self.now.mono));
        member.durable_up_to = up_to;
        self.step(index, Event::Durable { up_to });
    }

    fn crash(&mut self, index: usize, seed: u64) {
        let ids: Vec<i32> = self.members.iter().map(|member| member.id).collect();
        let member = &mut self.members[index];
        let mut log = member.durable.clone();
        log.unfinished = None;
        let mut settings = self.voters.settings(&ids, member.id, member.incarnation + 1);
        settings.seed = seed;
        let recovered = self.voters.recover(&ids, &log);
        let mut out = Vec::new();
        let before = member.replica.epoch();
        member.replica = Replica::open(settings, recovered, &log, self.now, &mut out).expect("reopens");
        // A voter that is left alone campaigns as soon as it is opened.
        let latest = if member.replica.is_only_voter() {
            before.next()
        } else {
            before
        };
        assert!(member.replica.epoch() <= latest);
        member.log = log.clone();
        member.durable = log;
        member.queue.clear();
        member.durable_up_to = Ticket::NONE;
        member.held.clear();
        member.replies.clear();
        member.incarnation += 1;
        member.high_watermark = 0;
        self.perform(index, out);
    }

    fn pass(&mut self, ms: u64) {
        self.now.mono = self.now.mono.after(Duration::from_millis(ms));
        self.now.wall_ms += i64::try_from(ms).expect("small");
        for index in 0..self.members.len() {
            if self.members[index]
                .replica
                .next_deadline()
                .is_some_and(|deadline| deadline <= self.now.mono)
            {
                self.step(index, Event::Tick);
                let deadline = self.members[index].replica.next_deadline();
                assert!(
                    deadline.is_none_or(|deadline| deadline > self.now.mono),
                    "nothing due is left undone"
                );
            }
        }
    }

    fn pick(&mut self, bound: usize) -> usize {
        usize::try_from(self.rng.below(bound as u64)).expect("small")
    }

    fn act(&mut self, faults: bool) {
        if self.rng.below(50) == 0 {
            (0..self.members.len()).for_each(|index| self.check_voters(index));
        }
        match self.rng.below(100) {
            0..50 if !self.network.is_empty() => {
                let which = self.pick(self.network.len());
                let (to, message) = self.network.swap_remove(which);
                let from = match &message {
                    Message::Request { from, .. }
                    | Message::Answer { from, .. }
                    | Message::Features { from, .. } => *from,
                    Message::Lost { .. } => to,
                };
                let cut = faults && (self.cut == Some(to) || self.cut == Some(from));
                if cut || faults && self.rng.below(20) == 0 {
                    if let Message::Request {
                        from,
                        incarnation,
                        request,
                        ..
                    } = message
                    {
                        self.network.push((from, Message::Lost { incarnation, request }));
                    }
                } else {
                    self.deliver(to, message);
                }
            }
            50..75 => {
                let index = self.pick(self.members.len());
                self.flush(index);
            }
            75..85 => {
                let ms = self.rng.below(60);
                self.pass(ms);
            }
            85..96 => {
                let index = self.pick(self.members.len());
                let reply = ReplyId(self.next_reply);
                self.next_reply += 1;
                let records = u32::try_from(1 + self.rng.below(3)).expect("small");
                let payload = PayloadId(reply.0);
                self.step(
                    index,
                    Event::Propose {
                        reply,
                        epoch: None,
                        records,
                        bytes: 10,
                        payload,
                    },
                );
            }
            96 if faults && matches!(self.voters, Voters::Changing) => {
                let index = self.pick(self.members.len());
                let other = self.pick(self.members.len());
                // One of two voters that removes itself and loses the leadership at once is needed for the next election
                // and cannot win it, because by its own log it is no voter. That is so in Kafka as well.
                if index != other || self.members[index].replica.voters().len() > 2 {
                    let voter = key(self.members[other].id);
                    let reply = ReplyId(self.next_reply);
                    self.next_reply += 1;
                    let change = VoterChange::Remove { voter };
                    self.step(index, Event::Reconfigure { reply, change });
                }
            }
            97 if faults && self.rng.below(4) == 0 => {
                let index = self.pick(self.members.len());
                let seed = self.rng.below(u64::MAX);
                self.crash(index, seed);
            }
            98 if faults => {
                let index = self.pick(self.members.len() * 2);
                self.cut = (index < self.members.len()).then_some(index);
            }
            99 => {
                let index = self.pick(self.members.len());
                let epoch = self.members[index].replica.epoch();
                if faults && self.rng.below(10) == 0 {
                    self.step(index, Event::Resign { epoch });
                }
            }
            _ => {}
        }
    }
}

/// Runs a cluster with faults and then without. It has counted the outcomes: committed, lost, unknown.
fn run(size: i32, voters: Voters, seed: u64) -> Cluster {
    let mut cluster = Cluster::new(size, voters, seed);
    for _ in 0..4000 {
        cluster.act(true);
    }
    let before = cluster
        .members
        .iter()
        .map(|member| member.high_watermark)
        .max()
        .unwrap_or(0);
    cluster.cut = None;
    for _ in 0..6000 {
        cluster.act(false);
    }
    let leaders: Vec<_> = cluster
        .members
        .iter()
        .filter(|member| member.replica.role() == RoleName::Leader)
        .map(|member| member.id)
        .collect();
    let after = cluster
        .members
        .iter()
        .map(|member| member.high_watermark)
        .max()
        .unwrap_or(0);
    assert_eq!(
        leaders.len(),
        1,
        "seed {seed}: one leader once the faults are over"
    );
    assert!(after > before, "seed {seed}: progress once the faults are over");
    cluster
}

#[test]
fn one_leader_per_epoch_and_nothing_committed_is_lost() {
    let mut outcomes = [0; 3];
    let mut changes = 0;
    for seed in 0..15 {
        for counted in [
            run(3, Voters::Static, seed),
            run(5, Voters::Static, seed + 1000),
            run(3, Voters::Dynamic, seed + 2000),
            run(4, Voters::Changing, seed + 3000),
        ] {
            outcomes = [0, 1, 2].map(|kind| outcomes[kind] + counted.outcomes[kind]);
            changes += counted.changes;
        }
    }
    assert!(
        outcomes.iter().all(|count| *count > 0),
        "every outcome occurs: {outcomes:?}"
    );
    assert!(changes > 20, "voters come and go: {changes} times");
}

#[test]
fn a_cluster_replays_from_its_seed() {
    assert_eq!(
        run(3, Voters::Static, 7).outcomes,
        run(3, Voters::Static, 7).outcomes
    );
}
