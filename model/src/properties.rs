//! What must hold in every state.

use crate::{
    history::{Broken, Committed},
    message::key,
    models::Model,
    node::Voters,
    world::World,
};
use kraft_core::{ControlRecord, NodeId, RoleName, VoterSet};
use stateright::Property;
use std::collections::BTreeSet;

/// The properties of every model.
pub(crate) fn always() -> Vec<Property<Model>> {
    macro_rules! unbroken {
        ($name:literal, $broken:ident) => {
            Property::always($name, |_: &Model, world: &World| {
                world.broken != Some(Broken::$broken)
            })
        };
    }
    vec![
        unbroken!("assertions", Assertion),
        unbroken!("election safety", ElectionSafety),
        unbroken!("one vote per epoch", OneVote),
        unbroken!("durable before visible", DurableFirst),
        unbroken!("state machine safety", StateMachineSafety),
        unbroken!("committed by a majority", CommittedByFew),
        unbroken!("high watermarks rise", HighWatermark),
        unbroken!("snapshots are verified", UnverifiedSnapshot),
        Property::always("log matching", |_, world| log_matching(world)),
        Property::always("leader completeness", |_, world| leader_completeness(world)),
        Property::always("committed for ever", |_, world| committed_for_ever(world)),
        Property::always("one uncommitted voter change", |_, world| one_voter_change(world)),
        Property::always("committed voter sets overlap", |_, world| {
            voter_sets_overlap(world)
        }),
        Property::always("voters are those of the log", |_, world| voters_of_log(world)),
        Property::always("removals are kept", |_, world| removals_are_kept(world)),
    ]
}

/// Two logs with a batch of one epoch in one place are equal up to there, as far as both still have it.
fn log_matching(world: &World) -> bool {
    let pairs = [(0, 1), (0, 2), (1, 2)];
    pairs.iter().all(|(one, two)| {
        let (one, two) = (&world.nodes[*one].log, &world.nodes[*two].log);
        let last_common = one.batches.iter().rposition(|batch| {
            let other = two.batch_at(batch.base);
            other.is_some_and(|other| other.epoch == batch.epoch)
        });
        last_common.is_none_or(|last| {
            one.batches[..=last]
                .iter()
                .filter(|batch| batch.base >= two.start)
                .all(|batch| two.batch_at(batch.base) == Some(&**batch))
        })
    })
}

fn has(log: &crate::log::Log, committed: &Committed) -> bool {
    log.start > committed.base
        || log
            .batch_at(committed.base)
            .is_some_and(|own| own.epoch == committed.epoch)
}

/// A leader has everything that was committed in earlier epochs.
fn leader_completeness(world: &World) -> bool {
    world.leaders().all(|leader| {
        let mut earlier = world
            .history
            .committed
            .iter()
            .filter(|batch| batch.known_in < leader.replica.epoch());
        earlier.all(|batch| has(&leader.log, batch))
    })
}

/// Whoever lacks on disk what is committed could not win an election among those who vote by what they have on disk.
/// That is so in each state, also where the election itself would lead out of the bounds of the search.
fn committed_for_ever(world: &World) -> bool {
    if matches!(world.rules.voters, Voters::Recorded(_)) && !world.rules.changes.is_empty() {
        // Who votes is not the same for everybody.
        return true;
    }
    let ends: Vec<_> = world.nodes.iter().map(|node| node.durable_end()).collect();
    world.history.committed.iter().all(|batch| {
        let lacking = world.nodes.iter().zip(&ends);
        lacking
            .filter(|(node, _)| !has(&node.durable, batch))
            .all(|(_, own)| ends.iter().filter(|end| *end <= own).count() <= ends.len() / 2)
    })
}

/// Behind what is committed a log has one voter set at most.
fn one_voter_change(world: &World) -> bool {
    let end = world.history.end();
    world.nodes.iter().all(|node| {
        let open = node
            .log
            .control()
            .filter(|(offset, record)| *offset >= end && matches!(record, ControlRecord::Voters(_)));
        open.count() <= 1
    })
}

/// A majority of one committed voter set has a voter in common with every majority of the next: they differ by one.
fn voter_sets_overlap(world: &World) -> bool {
    let sets: Vec<BTreeSet<NodeId>> = world
        .history
        .committed
        .iter()
        .filter_map(|batch| batch.voters.as_ref())
        .map(|voters| voters.iter().copied().collect())
        .collect();
    sets.windows(2)
        .all(|pair| pair[0].symmetric_difference(&pair[1]).count() <= 1)
}

/// The voters in force follow from the log and the snapshot.
fn voters_of_log(world: &World) -> bool {
    world.nodes.iter().all(|node| {
        let installing = node.log.start > node.durable.start;
        let recorded = node.recorded_voters();
        installing || recorded.is_none_or(|recorded| recorded == node.replica.voters())
    })
}

/// Whoever another one takes the vote has the record of it only if the disks of a majority of those have it who still vote:
/// else a crash, or the loss of the leader, could leave it with a log that is longer than theirs, and they may need its vote.
/// That is so until another leader comes, who may be one that did without, and not where the leader has removed itself.
fn removals_are_kept(world: &World) -> bool {
    world.nodes.iter().enumerate().all(|(place, node)| {
        let mut newest_first = node.log.batches.iter().rev();
        let Some((batch, voters)) =
            newest_first.find_map(|batch| Some((batch, batch.control.iter().flatten().find_map(voters_in)?)))
        else {
            return true;
        };
        let Some(leader) = world.history.last_led(batch.epoch) else {
            return true;
        };
        let still_votes = voters.is_voter(&key(place));
        let leader_is_gone = !voters.is_voter(&key(leader));
        let others = world.nodes.iter().enumerate();
        let keepers = others.filter(|(other, node)| {
            let kept = node.durable.batch_at(batch.base);
            voters.is_voter(&key(*other)) && kept.is_some_and(|kept| kept.epoch == batch.epoch)
        });
        still_votes || leader_is_gone || keepers.count() > voters.len() / 2
    })
}

fn voters_in(record: &ControlRecord) -> Option<&VoterSet> {
    match record {
        ControlRecord::Voters(voters) => Some(voters),
        ControlRecord::LeaderChange { .. } | ControlRecord::KRaftVersion(_) => None,
    }
}

/// A replica in this role.
pub(crate) fn any_in(world: &World, role: RoleName) -> bool {
    world.nodes.iter().any(|node| node.replica.role() == role)
}
