//! What a leader writes, and what becomes of it when others lead and replicas lose what was not on disk.

use super::Model;
use crate::{
    node::Voters,
    world::{Budget, Rules, World},
};
use kraft_core::{DiskOp, Epoch};

/// Two replicas take the leadership from each other.
const RULES: Rules = Rules {
    voters: Voters::Static,
    clocks: &[0, 1],
    slow: &[1],
    crash: &[],
    quiet_crash: false,
    fetch: true,
    changes: &[],
    epochs: Epoch(3),
    entries: 3,
};

pub(super) fn model(large: bool) -> Model {
    let mut start = World::settled(&RULES);
    start.left = Budget {
        timeouts: 2,
        proposals: if large { 2 } else { 1 },
        duplicates: u8::from(large),
        ..Budget::default()
    };
    Model {
        name: "replication",
        start,
        witnesses: &[
            ("a committed proposal", |_, world| {
                let mut committed = world.history.committed.iter();
                committed.any(|batch| batch.base > 0 && batch.known_in == batch.epoch)
            }),
            ("leaders of three epochs", |_, world| world.history.leaders() > 2),
            ("a commit in a later epoch", |_, world| {
                let mut committed = world.history.committed.iter();
                committed.any(|batch| batch.known_in > batch.epoch)
            }),
            ("logs that differ in one place", |_, world| {
                let [one, two] = [0, 1].map(|at| &world.nodes[at].log);
                one.batches.iter().any(|batch| {
                    let other = two.batch_at(batch.base);
                    other.is_some_and(|other| other.epoch != batch.epoch)
                })
            }),
            ("a log that was cut", |_, world| {
                let [leader, cut] = [1, 0].map(|at| &world.nodes[at]);
                world.left.proposals == 0
                    && cut.replica.leader() == Some(crate::message::key(1).id)
                    && cut.log.end <= 1
                    && leader.log.end == 2
                    && world.history.end() == 1
            }),
            ("leadership that comes back", |_, world| {
                world.history.leaders() > 1 && world.nodes[0].replica.epoch() == Epoch(3) && {
                    let leader = world.nodes[0].replica.leader();
                    leader == Some(crate::message::key(0).id)
                }
            }),
        ],
    }
}

/// One replica has a slow disk, of which a crash leaves a part.
const CRASHES: Rules = Rules {
    clocks: &[1],
    crash: &[1],
    ..RULES
};

const CRASHES_LARGE: Rules = Rules {
    clocks: &[0, 1],
    slow: &[0, 1],
    crash: &[0, 1],
    ..RULES
};

pub(super) fn crashes(large: bool) -> Model {
    let mut start = World::settled(if large { &CRASHES_LARGE } else { &CRASHES });
    start.left = Budget {
        timeouts: 1,
        crashes: 1,
        proposals: 1,
        ..Budget::default()
    };
    Model {
        name: "crashes",
        start,
        witnesses: &[
            ("a committed proposal", |_, world| {
                let mut committed = world.history.committed.iter();
                committed.any(|batch| batch.base > 0 && batch.known_in == batch.epoch)
            }),
            ("a crash after which a committed batch is missing", |_, world| {
                world.left.crashes == 0 && world.nodes[1].durable.end < world.history.end()
            }),
            ("an appended batch on its way to the disk", |_, world| {
                let append = |op: &DiskOp| matches!(op, DiskOp::Append { .. });
                let mut queue = world.nodes[1].queue.iter();
                queue.any(|(_, op)| append(op))
            }),
            ("another leader after a crash", |_, world| {
                world.left.crashes == 0 && world.history.leaders() > 1
            }),
        ],
    }
}
