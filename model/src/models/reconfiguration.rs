//! Voters come and go, also the leader itself, and the leadership changes in between.

use super::Model;
use crate::{
    node::Voters,
    world::{Budget, Change, Rules, World},
};
use kraft_core::Epoch;

const RULES: Rules = Rules {
    voters: Voters::Recorded(3),
    clocks: &[1],
    slow: &[0],
    crash: &[],
    quiet_crash: false,
    fetch: true,
    changes: &[Change::Add(2), Change::Remove(0), Change::Remove(2)],
    epochs: Epoch(3),
    entries: 4,
};

const LARGE: Rules = Rules {
    clocks: &[0, 1],
    ..RULES
};

pub(super) fn model(large: bool) -> Model {
    let mut start = World::settled(if large { &LARGE } else { &RULES });
    start.left = Budget {
        timeouts: 1 + u8::from(large),
        changes: 2,
        duplicates: 1,
        ..Budget::default()
    };
    Model {
        name: "reconfiguration",
        start,
        witnesses: &[
            ("a committed removal", |_, world| committed_sets(world, 1)),
            ("two committed changes", |_, world| committed_sets(world, 2)),
            ("a voter that is added again", |_, world| {
                committed_sets(world, 2) && world.nodes[0].replica.voters().len() == 3
            }),
            ("a leader that is no voter", |_, world| {
                world.leaders().any(|leader| !leader.replica.is_voter())
            }),
            ("a removal that waits for the disk of its leader", |_, world| {
                let leader = &world.nodes[0];
                leader.replica.voters().len() < 3
                    && leader.replica.is_voter()
                    && leader.durable.end < leader.log.end
                    && world.nodes[2].log.end < leader.log.end
            }),
            ("a change that is cut off with the leadership", |_, world| {
                let old = &world.nodes[0].replica;
                world.left.changes < 2
                    && world.history.leaders() > 1
                    && old.epoch() == Epoch(2)
                    && old.voters().len() == 3
                    && world.nodes[0].log.batches.len() == 1
            }),
        ],
    }
}

/// Whether so many changes are committed behind the first voter set.
fn committed_sets(world: &World, changes: usize) -> bool {
    let committed = world.history.committed.iter();
    committed.filter(|batch| batch.voters.is_some()).count() > changes
}
