//! Mutations are compared and made in one turn, expected images are compared by where they stand, and whoever leads has its own
//! records in the log: with a state machine that keeps tokens.

use crate::{common::config, harness::time};
use kraft_core::{
    Epoch, Event, Instant, LogView, NodeId, RequestFault, SnapshotId, StateMachine, Ticket, Time,
    state_machine::{ApplyFault, CommittedBatch, ProposeError, Provenance, RecordValues},
};
use kraft_fs::MemFs;
use kraft_log::{LogOptions, LogWriter, StorageOp};
use kraft_transport::{
    Command, Engine, EngineConfig, Network, OutboundRequest, QueuedCommand, RaftError, ReadId, ReadRequest,
    SnapshotJob, Storage, SubmitChangeResult,
};
use std::{
    collections::{BTreeMap, VecDeque},
    path::Path,
    sync::Arc,
};
use tokio::sync::oneshot;

/// A token gets a new expiry if it still has the one that the caller knows; 0 stands for no token.
struct Renew {
    token: u8,
    known: u8,
    expires: u8,
}

/// Expiries by token, as committed and as appended.
#[derive(Default)]
struct Tokens {
    committed: Arc<BTreeMap<u8, u8>>,
    at: Provenance,
    appended: Option<(BTreeMap<u8, u8>, Provenance)>,
    /// What it has to append first when it leads.
    first: Option<RecordValues>,
    /// What it appends later by itself.
    later: Option<RecordValues>,
}

impl StateMachine for Tokens {
    type Record = (u8, u8);
    type Image = Arc<BTreeMap<u8, u8>>;
    type Mutation = Renew;
    type Snapshot = std::vec::IntoIter<Vec<u8>>;

    fn apply(&mut self, batch: CommittedBatch<'_>) -> Result<(), ApplyFault> {
        for value in batch.values {
            Arc::make_mut(&mut self.committed).insert(value[0], value[1]);
        }
        self.at = batch.provenance();
        Ok(())
    }
    fn load(
        &mut self,
        _id: SnapshotId,
        _timestamp_ms: i64,
        _values: &mut dyn Iterator<Item = &[u8]>,
    ) -> Result<(), ApplyFault> {
        Ok(())
    }
    fn lead(&mut self, _epoch: Epoch, _now: Time) -> Result<Vec<RecordValues>, ApplyFault> {
        self.appended = Some((BTreeMap::clone(&self.committed), self.provenance()));
        Ok(self.first.take().into_iter().collect())
    }
    fn poll(&mut self, _now: Time) -> Option<RecordValues> {
        self.later.take()
    }
    fn next_poll(&self) -> Option<Instant> {
        self.later.is_some().then_some(Instant(0))
    }
    fn unlead(&mut self) {
        self.appended = None;
    }
    fn propose(
        &mut self,
        records: Vec<(u8, u8)>,
        expected: Option<Provenance>,
    ) -> Result<RecordValues, ProposeError> {
        let current = self.appended.as_ref().map_or(Provenance::NONE, |(_, at)| *at);
        if expected.is_some_and(|expected| expected != current) {
            return Err(ProposeError::Conflict { current });
        }
        Ok(records
            .into_iter()
            .map(|(token, expires)| vec![token, expires])
            .collect())
    }
    fn mutate(&mut self, mutations: Vec<Renew>, _now: Time) -> Result<RecordValues, ProposeError> {
        let appended = self
            .appended
            .as_ref()
            .map(|(tokens, _)| tokens)
            .unwrap_or(&self.committed);
        let mut tokens = appended.clone();
        let renewed = mutations.into_iter().map(
            |Renew {
                 token,
                 known,
                 expires,
             }| {
                let found = tokens.insert(token, expires).unwrap_or(0);
                if found != known {
                    let reason = format!("token {token} expires at {found}");
                    return Err(ProposeError::Invalid { code: 62, reason });
                }
                Ok(vec![token, expires])
            },
        );
        renewed.collect()
    }
    fn appended(&mut self, base: i64, epoch: Epoch, values: &[Vec<u8>]) {
        if let Some((tokens, at)) = &mut self.appended {
            tokens.extend(values.iter().map(|value| (value[0], value[1])));
            *at = Provenance {
                last_offset: base + values.len() as i64 - 1,
                last_epoch: epoch,
            };
        }
    }
    fn image(&self) -> Self::Image {
        Arc::clone(&self.committed)
    }
    fn provenance(&self) -> Provenance {
        self.at
    }
    fn snapshot(&self) -> Option<Self::Snapshot> {
        None
    }
}

/// A disk that does what it is told when it is asked to, and reads nothing.
struct Disk(LogWriter<MemFs>, VecDeque<(Ticket, StorageOp)>);

impl Storage for Disk {
    fn submit(&mut self, ticket: Ticket, op: StorageOp) {
        self.1.push_back((ticket, op));
    }
    fn read(&mut self, _read: ReadId, _request: ReadRequest) {
        unreachable!("everything is in memory");
    }
    fn write_snapshot(&mut self, _job: SnapshotJob) {
        unreachable!("there is no snapshot");
    }
}

struct Nobody;

impl Network for Nobody {
    fn send(&mut self, _request: OutboundRequest) -> Result<(), RequestFault> {
        Err(RequestFault::Disconnected)
    }
}

struct Leader {
    engine: Engine<Tokens, Disk, Nobody>,
}

type Answer = oneshot::Receiver<Result<SubmitChangeResult, RaftError>>;

impl Leader {
    fn new() -> Self {
        let leader = Self::with(Tokens::default());
        let state = leader.engine.watch();
        assert_eq!(
            (state.borrow().leading, state.borrow().leader),
            (true, Some(NodeId(1)))
        );
        leader
    }

    /// Has been elected, and leads if its state machine can.
    fn with(tokens: Tokens) -> Self {
        let opened = kraft_log::open(MemFs::new(), Path::new("/log"), LogOptions::default());
        let opened = opened.expect("a new log");
        let mut settings = EngineConfig::new(config(1, &[(1, 9001)]));
        settings.stopwatch = || Instant(0);
        let disk = Disk(opened.writer, VecDeque::new());
        let (index, recovered) = (opened.index, opened.recovered);
        let engine = Engine::open(settings, index, recovered, tokens, disk, Nobody, time(0));
        let mut leader = Self {
            engine: engine.expect("it opens"),
        };
        leader.flush();
        leader.flush();
        leader
    }

    fn turn(&mut self, commands: Vec<Command<Tokens>>) {
        let now = time(0);
        let queued = |command| QueuedCommand {
            command,
            enqueued_at: now.mono,
        };
        let turn = self
            .engine
            .turn(&mut commands.into_iter().map(queued).collect(), now);
        assert_eq!(turn.ended, None);
    }

    fn flush(&mut self) {
        let Disk(writer, ops) = self.engine.storage_mut();
        let mut done = Vec::new();
        while !ops.is_empty() {
            let up_to = writer.run_round(ops).expect("memory does not fail").up_to;
            done.push(Command::Event(Event::Durable { up_to }));
        }
        self.turn(done);
    }
}

fn renew(mutations: Vec<Renew>) -> (Command<Tokens>, Answer) {
    let (reply, answer) = oneshot::channel();
    (
        Command::SubmitDelegationTokenMutations { mutations, reply },
        answer,
    )
}

fn change(records: Vec<(u8, u8)>, expected_image: Option<Provenance>) -> (Command<Tokens>, Answer) {
    let (reply, answer) = oneshot::channel();
    (
        Command::SubmitChange {
            records,
            expected_image,
            reply,
        },
        answer,
    )
}

#[test]
fn mutations_are_compared_with_what_is_appended_and_made_all_or_none() {
    let mut leader = Leader::new();
    let token = |token, known, expires| Renew {
        token,
        known,
        expires,
    };
    let (first, mut first_answer) = renew(vec![token(1, 0, 10), token(2, 0, 20)]);
    // Not committed yet, and compared with all the same.
    let (second, mut second_answer) = renew(vec![token(1, 10, 11), token(2, 21, 22)]);
    let (third, mut third_answer) = renew(vec![token(1, 10, 12)]);
    leader.turn(vec![first, second, third]);
    let refused = RaftError::Invalid {
        code: 62,
        reason: "token 2 expires at 20".to_owned(),
    };
    assert_eq!(second_answer.try_recv(), Ok(Err(refused)));
    leader.flush();
    let first = first_answer.try_recv().expect("answered").expect("committed");
    let third = third_answer.try_recv().expect("answered").expect("committed");
    assert_eq!(first.last_offset, first.base_offset + 1);
    assert_eq!(
        (third.base_offset, third.epoch),
        (first.last_offset + 1, Epoch(1))
    );
    let image = leader.engine.watch_image().borrow().clone();
    assert_eq!(*image, BTreeMap::from([(1, 12), (2, 20)]));
}

#[test]
fn a_change_on_an_old_image_is_told_what_is_current() {
    let mut leader = Leader::new();
    let start = leader.engine.machine().provenance();
    let (first, mut first_answer) = change(vec![(1, 10), (2, 20)], Some(start));
    let (late, mut late_answer) = change(vec![(1, 99)], Some(start));
    leader.turn(vec![first, late]);
    let current = Provenance {
        last_offset: start.last_offset + 2,
        last_epoch: Epoch(1),
    };
    assert_eq!(late_answer.try_recv(), Ok(Err(RaftError::Conflict { current })));
    // What is current is what it says, so trying again with that succeeds.
    let (again, mut again_answer) = change(vec![(1, 99)], Some(current));
    leader.turn(vec![again]);
    leader.flush();
    first_answer.try_recv().expect("answered").expect("committed");
    again_answer.try_recv().expect("answered").expect("committed");
    assert_eq!(
        leader.engine.machine().provenance().last_offset,
        current.last_offset + 1
    );
    assert_eq!(leader.engine.log().end().last_offset, current.last_offset + 2);
}

/// Records of which none can be appended, with why.
fn impossible() -> [(&'static str, RecordValues); 2] {
    [
        ("too large", vec![vec![1, 1], vec![0; 9 * 1024 * 1024]]),
        ("empty", vec![vec![1, 1], Vec::new()]),
    ]
}

/// A state machine that led on without them would build on what no log has.
#[test]
fn a_leader_whose_own_records_cannot_be_appended_leads_no_more() {
    for (why, records) in impossible() {
        let first = Tokens {
            first: Some(records.clone()),
            ..Tokens::default()
        };
        let later = Tokens {
            later: Some(records),
            ..Tokens::default()
        };
        for tokens in [first, later] {
            let leader = Leader::with(tokens);
            let machine = leader.engine.machine();
            assert!(machine.first.is_none() && machine.later.is_none(), "it was asked");
            assert!(!leader.engine.watch().borrow().leading, "{why}");
            assert!(
                machine.appended.is_none(),
                "{why}: it is told that it leads no more"
            );
        }
    }
}
