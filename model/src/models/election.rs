//! Who leads, without a word on what is in the logs: no Fetch arrives.

use super::Model;
use crate::{
    node::Voters,
    properties::any_in,
    world::{Budget, Rules, World},
};
use kraft_core::{Epoch, RoleName};

const RULES: Rules = Rules {
    voters: Voters::Static,
    // The replicas are alike, so two that campaign show what any two can do.
    clocks: &[0, 1],
    slow: &[0],
    crash: &[0],
    quiet_crash: true,
    fetch: false,
    changes: &[],
    epochs: Epoch(3),
    entries: 3,
};

const LARGE: Rules = Rules {
    clocks: &[0, 1, 2],
    ..RULES
};

pub(super) fn model(large: bool) -> Model {
    let mut start = World::new(if large { &LARGE } else { &RULES });
    start.left = Budget {
        timeouts: 2,
        crashes: 1,
        duplicates: u8::from(large),
        ..Budget::default()
    };
    Model {
        name: "election",
        start,
        witnesses: &[
            ("a leader", |_, world| world.history.leaders() > 0),
            ("two candidates in one epoch", |_, world| {
                let mut epochs = world
                    .nodes
                    .iter()
                    .filter(|node| node.replica.role() == RoleName::Candidate)
                    .map(|node| node.replica.epoch());
                let first = epochs.next();
                first.is_some() && epochs.next() == first
            }),
            ("leaders of two epochs", |_, world| world.history.leaders() > 1),
            ("a follower", |_, world| any_in(world, RoleName::Follower)),
        ],
    }
}
