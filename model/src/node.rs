//! A real replica with its clock, its disk and what waits for the disk.

use crate::{
    fold::fold,
    log::{Done, Log, Snapshot},
    message::{endpoints, key},
};
use kraft_core::{
    Action, Config, ControlRecord, DiskOp, Endpoint, Epoch, Event, Instant, LogView, Recovered, Replica,
    ReplicaKey, ReplyId, RequestId, SnapshotId, SupportedVersions, Ticket, Time, VoterNode, VoterSet,
};
use std::{collections::BTreeMap, time::Duration};

/// How many replicas there are.
pub(crate) const REPLICAS: usize = 3;

/// Whose request is to be answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub(crate) from: usize,
    pub(crate) request: RequestId,
    /// The epoch of a request for a vote that binds.
    pub(crate) votes_in: Option<Epoch>,
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) replica: Replica,
    /// What the core sees: everything ordered.
    pub(crate) log: Log,
    /// What is certainly on disk.
    pub(crate) durable: Log,
    /// Ordered and not known to be durable.
    pub(crate) queue: Vec<(Ticket, DiskOp)>,
    pub(crate) durable_up_to: Ticket,
    /// What waits for the disk.
    pub(crate) held: Vec<Action>,
    pub(crate) callers: BTreeMap<ReplyId, Caller>,
    pub(crate) now: Time,
    /// The fold of everything but `callers`, which speak of numbers of requests of others.
    pub(crate) folded: u64,
}

/// Who votes at the start, and how that is known.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Voters {
    /// All of them, by configuration, without directories: kraft.version 0.
    Static,
    /// The first so many, by the bootstrap checkpoint: kraft.version 1.
    Recorded(usize),
}

impl Voters {
    /// What a snapshot says of the voters at the start.
    pub(crate) fn control(self) -> Vec<ControlRecord> {
        match self {
            Self::Static => Vec::new(),
            Self::Recorded(count) => {
                let voters = (0..count).map(voter).collect();
                vec![ControlRecord::KRaftVersion(1), ControlRecord::Voters(voters)]
            }
        }
    }
}

impl Node {
    /// A replica that starts with nothing but the knowledge of who votes.
    pub(crate) fn start(place: usize, voters: Voters) -> (Self, Vec<Action>) {
        let now = Time {
            mono: Instant::from_millis(1000),
            wall_ms: 0,
        };
        let snapshots = match voters {
            Voters::Static => Vec::new(),
            Voters::Recorded(_) => vec![Snapshot {
                id: SnapshotId::BOOTSTRAP,
                control: voters.control(),
            }],
        };
        Self::open(place, voters, Log::new(snapshots), now)
    }

    fn open(place: usize, voters: Voters, log: Log, now: Time) -> (Self, Vec<Action>) {
        let mut out = Vec::new();
        let snapshot = log.snapshots.last();
        let recovered = Recovered {
            election: log.election.clone(),
            snapshot: snapshot.map(|snapshot| (snapshot.id, snapshot.control.clone())),
            log: log
                .control()
                .map(|(offset, record)| (offset, record.clone()))
                .collect(),
            abstains: false,
        };
        let replica = Replica::open(config(place, voters), recovered, &log, now, &mut out)
            .expect("the settings are sound");
        let node = Self {
            replica,
            durable: log.clone(),
            log,
            queue: Vec::new(),
            durable_up_to: Ticket::NONE,
            held: Vec::new(),
            callers: BTreeMap::new(),
            now,
            folded: 0,
        };
        (node, out)
    }

    /// The same replica after a crash that came when the first `done` operations of the queue were on disk.
    pub(crate) fn crash(
        &self,
        place: usize,
        voters: Voters,
        control: &[ControlRecord],
        done: usize,
    ) -> (Self, Vec<Action>) {
        let mut durable = self.durable.clone();
        for (_, op) in &self.queue[..done] {
            durable.apply(op, control);
        }
        durable.recover();
        Self::open(place, voters, durable, self.now)
    }

    pub(crate) fn step(&mut self, event: Event) -> Vec<Action> {
        let mut out = Vec::new();
        self.replica.step(event, &self.log, self.now, &mut out);
        out
    }

    /// Lets the time pass until the next thing is due.
    pub(crate) fn time_out(&mut self) -> Vec<Action> {
        let due = self.replica.next_deadline().unwrap_or(self.now.mono);
        self.now.mono = due.max(self.now.mono);
        self.step(Event::Tick)
    }

    pub(crate) fn order(&mut self, ticket: Ticket, op: DiskOp, control: &[ControlRecord]) {
        // A snapshot counts as stored once it is verified, which `flush` sees to.
        if !matches!(op, DiskOp::SnapshotChunk { .. }) {
            self.log.apply(&op, control);
        }
        self.log.unfinished.get_or_insert(self.now.mono);
        self.queue.push((ticket, op));
    }

    /// Everything ordered becomes durable. Returns what the core has to be told, in order.
    pub(crate) fn flush(&mut self, control: &[ControlRecord]) -> Vec<Event> {
        let mut before = Vec::new();
        let mut behind = Vec::new();
        for (ticket, op) in self.queue.drain(..) {
            match self.durable.apply(&op, control) {
                Some(Done::Rejected(snapshot)) => before.push(Event::SnapshotRejected { snapshot }),
                Some(Done::Stored(id)) => self.log.add_snapshot(Snapshot {
                    id,
                    control: control.to_vec(),
                }),
                Some(Done::Installed(snapshot)) => behind.push(Event::SnapshotInstalled {
                    snapshot,
                    control: control.to_vec(),
                }),
                None => {}
            }
            self.durable_up_to = ticket;
        }
        self.durable.flushed = self.durable.end;
        self.log.flushed = self.log.end;
        self.log.unfinished = None;
        before.push(Event::Durable {
            up_to: self.durable_up_to,
        });
        before.append(&mut behind);
        before
    }

    /// Takes a fold of what has been reached.
    pub(crate) fn settle(&mut self) {
        let awaited: Vec<_> = self
            .held
            .iter()
            .map(|action| match action {
                Action::Send { request, .. } => self.replica.awaits(*request),
                _ => false,
            })
            .collect();
        let all = (
            &self.replica,
            &self.log,
            &self.durable,
            &self.queue,
            &self.held,
            awaited,
        );
        self.folded = fold(&all, self.now.mono.0, self.durable_up_to.0);
    }

    /// The voters that log or snapshot name, uncommitted ones included.
    pub(crate) fn recorded_voters(&self) -> Option<&VoterSet> {
        let snapshot = self.log.snapshots.last().into_iter();
        let records = snapshot
            .flat_map(|snapshot| &snapshot.control)
            .chain(self.log.control().map(|(_, record)| record));
        let voters = records.filter_map(|record| match record {
            ControlRecord::Voters(voters) => Some(voters),
            ControlRecord::LeaderChange { .. } | ControlRecord::KRaftVersion(_) => None,
        });
        voters.last()
    }

    /// The end of what is durable.
    pub(crate) fn durable_end(&self) -> (Epoch, i64) {
        let end = self.durable.end();
        (end.last_epoch, end.last_offset)
    }
}

/// The replica at `place` as a recorded voter.
pub(crate) fn voter(place: usize) -> VoterNode {
    VoterNode {
        key: key(place),
        endpoints: endpoints(place),
        kraft_versions: SupportedVersions { min: 0, max: 1 },
    }
}

fn static_voters(voters: Voters) -> VoterSet {
    match voters {
        Voters::Static => (0..REPLICAS)
            .map(|place| VoterNode {
                key: ReplicaKey::without_directory(key(place).id),
                endpoints: endpoints(place),
                kraft_versions: SupportedVersions { min: 0, max: 0 },
            })
            .collect(),
        Voters::Recorded(_) => VoterSet::default(),
    }
}

/// Settings by which no two time-outs fall together by chance. An election timeout of a millisecond has no jitter, and
/// there is one bootstrap server, which never answers, so random numbers decide nothing.
fn config(place: usize, voters: Voters) -> Config {
    Config {
        listeners: endpoints(place),
        static_voters: static_voters(voters),
        bootstrap_servers: vec![Endpoint {
            host: "b".into(),
            port: 9000,
        }],
        election_timeout: Duration::from_millis(1),
        fetch_timeout: Duration::from_millis(4),
        election_backoff_max: Duration::from_micros(800),
        request_timeout: Duration::from_millis(50),
        retry_backoff: Duration::from_micros(1500),
        fetch_max_wait: Duration::from_millis(20),
        fetch_max_bytes: 1024,
        fetch_snapshot_max_bytes: 1,
        ..Config::new(key(place), "c", 1)
    }
}
