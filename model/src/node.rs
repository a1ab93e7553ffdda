//! A real replica with its clock, its disk and what waits for the disk.

use crate::{
    fold::fold,
    log::Log,
    message::{endpoints, key},
};
use kraft_core::{
    Action, Config, DiskOp, Epoch, Event, Instant, Recovered, Replica, ReplicaKey, ReplyId, RequestId,
    SupportedVersions, Ticket, Time, VoterNode,
};
use std::{collections::BTreeMap, time::Duration};

/// How many voters there are.
pub(crate) const VOTERS: usize = 3;

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
    /// The newest request to each peer, the only one whose answer can matter.
    pub(crate) latest: [Option<RequestId>; VOTERS],
    now: Time,
    /// The fold of everything but `callers` and `latest`, which speak of numbers of requests.
    pub(crate) folded: u64,
}

impl Node {
    /// A replica that starts with nothing.
    pub(crate) fn start(place: usize) -> (Self, Vec<Action>) {
        let now = Time {
            mono: Instant::from_millis(1000),
            wall_ms: 0,
        };
        let log = Log::new();
        let mut out = Vec::new();
        let replica = Replica::open(config(place), Recovered::default(), &log, now, &mut out)
            .expect("the settings are sound");
        let node = Self {
            replica,
            durable: log.clone(),
            log,
            queue: Vec::new(),
            durable_up_to: Ticket::NONE,
            held: Vec::new(),
            callers: BTreeMap::new(),
            latest: [None; VOTERS],
            now,
            folded: 0,
        };
        (node, out)
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

    pub(crate) fn order(&mut self, ticket: Ticket, op: DiskOp) {
        self.log.apply(&op);
        self.log.unfinished.get_or_insert(self.now.mono);
        self.queue.push((ticket, op));
    }

    /// Everything ordered becomes durable.
    pub(crate) fn flush(&mut self) -> Vec<Action> {
        for (ticket, op) in self.queue.drain(..) {
            self.durable.apply(&op);
            self.durable_up_to = ticket;
        }
        self.durable.flushed = self.durable.end.last_offset;
        self.log.flushed = self.log.end.last_offset;
        self.log.unfinished = None;
        self.step(Event::Durable {
            up_to: self.durable_up_to,
        })
    }

    /// Takes a fold of what has been reached.
    pub(crate) fn settle(&mut self) {
        let awaited: Vec<_> = self
            .held
            .iter()
            .map(|action| match action {
                Action::Send { request, .. } => self.latest.contains(&Some(*request)),
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
}

/// Settings by which no two time-outs fall together by chance. An election timeout below a millisecond has no jitter.
fn config(place: usize) -> Config {
    let voter = |place| VoterNode {
        key: ReplicaKey::without_directory(key(place).id),
        endpoints: endpoints(place),
        kraft_versions: SupportedVersions { min: 0, max: 0 },
    };
    Config {
        local: key(place),
        cluster_id: "c".into(),
        listeners: endpoints(place),
        default_listener: "CONTROLLER".into(),
        static_voters: (0..VOTERS).map(voter).collect(),
        bootstrap_servers: Vec::new(),
        can_become_voter: true,
        kraft_versions: SupportedVersions { min: 0, max: 1 },
        election_timeout: Duration::from_micros(900),
        fetch_timeout: Duration::from_millis(4),
        election_backoff_max: Duration::from_micros(800),
        request_timeout: Duration::from_millis(5),
        retry_backoff: Duration::from_micros(100),
        fetch_max_wait: Duration::from_millis(1),
        fetch_max_bytes: 1024,
        fetch_snapshot_max_bytes: 1024,
        auto_join: false,
        shutdown_timeout: Duration::from_secs(5),
        seed: 1,
    }
}
