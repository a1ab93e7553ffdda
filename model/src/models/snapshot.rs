//! A follower that is behind the beginning of its leader's log: it loads a snapshot in two pieces, which may be damaged on
//! their way, and may crash at any time until its log is the snapshot.

use super::Model;
use crate::{
    node::Voters,
    world::{Budget, Rules, World},
};
use kraft_core::Epoch;

const RULES: Rules = Rules {
    voters: Voters::Recorded(3),
    clocks: &[1],
    slow: &[2],
    crash: &[2],
    quiet_crash: false,
    fetch: true,
    changes: &[],
    epochs: Epoch(3),
    entries: 3,
};

pub(super) fn model(large: bool) -> Model {
    let mut start = World::settled(&RULES);
    start.left = Budget {
        timeouts: 1,
        crashes: 1,
        proposals: 1 + u8::from(large),
        snapshots: 1,
        damages: 1,
        duplicates: u8::from(large),
        ..Budget::default()
    };
    Model {
        name: "snapshot",
        start,
        witnesses: &[
            ("a log that begins with a snapshot", |_, world| {
                world.nodes[0].log.start > 0
            }),
            ("a follower whose log is the snapshot", |_, world| {
                world.nodes[2].durable.start > 0
            }),
            ("batches behind a snapshot", |_, world| {
                let log = &world.nodes[2].durable;
                log.start > 0 && log.end > log.start
            }),
            ("a snapshot that is stored and not installed", |_, world| {
                let node = &world.nodes[2];
                node.durable.start == 0 && node.durable.snapshots.len() > 1
            }),
            ("a crash before the snapshot is installed", |_, world| {
                let left = &world.left;
                left.crashes == 0 && left.snapshots == 0 && world.nodes[2].durable.start == 0
            }),
            ("a damaged piece and then a snapshot", |_, world| {
                world.left.damages == 0 && world.nodes[2].durable.start > 0
            }),
            ("a snapshot, and a second leader", |_, world| {
                world.history.leaders() > 1 && world.nodes[2].durable.start > 0
            }),
        ],
    }
}
