//! The models and their bounds.

use crate::{
    node::Node,
    world::{Broken, Step, World},
};
use kraft_core::{Epoch, RoleName};
#[cfg(kraft_mutations)]
use stateright::HasDiscoveries;
use stateright::{Checker, Model, Property};
use std::{
    panic::{self, AssertUnwindSafe},
    sync::Arc,
    time::Instant,
};

/// Fewer states than this would show that a bound has become too narrow.
const STATES_MIN: usize = 100_000;

/// What may happen, and where the search ends.
#[derive(Clone)]
pub(crate) struct Bounds {
    name: &'static str,
    start: World,
    epochs: Epoch,
    entries: i64,
    witnesses: &'static [Witness],
}

/// A state that must be reachable, or else the model says little.
type Witness = (&'static str, fn(&Bounds, &World) -> bool);

/// The models that are searched.
pub(crate) fn all(large: bool) -> Vec<Bounds> {
    vec![election(large)]
}

/// Who leads, without a word on what is in the logs: no Fetch arrives.
fn election(large: bool) -> Bounds {
    let mut start = World::new();
    // The replicas are alike, so two that campaign show what any two can do.
    start.clocks = if large { &[0, 1, 2] } else { &[0, 1] };
    start.timeouts = 2;
    Bounds {
        name: "election",
        start,
        epochs: Epoch(3),
        entries: 3,
        witnesses: &[
            ("a leader", |_, world| !world.history.leaders.is_empty()),
            ("two candidates in one epoch", |_, world| {
                let candidates = |node: &&Arc<Node>| node.replica.role() == RoleName::Candidate;
                let mut epochs = world
                    .nodes
                    .iter()
                    .filter(candidates)
                    .map(|node| node.replica.epoch());
                let first = epochs.next();
                first.is_some() && epochs.next() == first
            }),
            ("leaders of two epochs", |_, world| {
                world.history.leaders.len() > 1
            }),
        ],
    }
}

impl Model for Bounds {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![self.start.clone()]
    }

    fn actions(&self, state: &World, actions: &mut Vec<Step>) {
        state.steps(actions);
    }

    fn next_state(&self, last: &World, step: Step) -> Option<World> {
        let mut next = last.clone();
        // What the core asserts of itself is a property like the others, with the steps that lead to it.
        let taken = panic::catch_unwind(AssertUnwindSafe(|| next.take(step)));
        if taken.is_err() {
            next = last.clone();
            next.broken = Some(Broken::Assertion);
        }
        Some(next)
    }

    fn within_boundary(&self, state: &World) -> bool {
        state
            .nodes
            .iter()
            .all(|node| node.replica.epoch() <= self.epochs && node.log.end.last_offset <= self.entries)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let always = [
            Property::always("assertions", |_: &Self, world: &World| {
                world.broken != Some(Broken::Assertion)
            }),
            Property::always("election safety", |_: &Self, world: &World| {
                world.broken != Some(Broken::ElectionSafety)
            }),
            Property::always("one vote per epoch", |_: &Self, world: &World| {
                world.broken != Some(Broken::OneVote)
            }),
        ];
        let always = always.into_iter().chain([Property::always(
            "durable before visible",
            |_: &Self, world: &World| world.broken != Some(Broken::DurableFirst),
        )]);
        let sometimes = self
            .witnesses
            .iter()
            .map(|(name, seen)| Property::sometimes(name, *seen));
        always.into_iter().chain(sometimes).collect()
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

/// Searches a model to its end and says what was found.
pub(crate) fn search(model: Bounds) -> bool {
    let started = Instant::now();
    let name = model.name;
    let witnesses = model.witnesses;
    // Nothing limits the search but the model, so its end is the end of the model.
    let checker = model.checker().threads(threads()).spawn_bfs().join();
    let states = checker.unique_state_count();
    println!(
        "summary: {name}: {states} states, {} generated, depth {}, {:.1} s",
        checker.state_count(),
        checker.max_depth(),
        started.elapsed().as_secs_f64()
    );
    let discoveries = checker.discoveries();
    let mut passed = true;
    for (property, path) in &discoveries {
        if !witnesses.iter().any(|(witness, _)| witness == property) {
            passed = false;
            println!("error: {name}: {property} does not hold:");
            for step in path.clone().into_actions() {
                println!("  {step:?}");
            }
        }
    }
    for (witness, _) in witnesses {
        if !discoveries.contains_key(witness) {
            passed = false;
            println!("error: {name}: never seen: {witness}");
        }
    }
    if states < STATES_MIN {
        passed = false;
        println!("error: {name}: {states} states are fewer than {STATES_MIN}");
    }
    passed
}

/// What a search stopped at.
#[cfg(kraft_mutations)]
pub(crate) struct Finding {
    pub(crate) model: &'static str,
    pub(crate) property: &'static str,
    pub(crate) states: usize,
}

/// Searches a model until a property does not hold, or until so many states have been generated.
#[cfg(kraft_mutations)]
pub(crate) fn find(mut model: Bounds, states_max: usize) -> Option<Finding> {
    let name = model.name;
    model.witnesses = &[];
    let checker = model
        .checker()
        .threads(threads())
        .finish_when(HasDiscoveries::AnyFailures)
        .target_state_count(states_max)
        .spawn_bfs()
        .join();
    let property = *checker.discoveries().keys().next()?;
    Some(Finding {
        model: name,
        property,
        states: checker.unique_state_count(),
    })
}
