//! The models and how they are searched.

mod election;
mod reconfiguration;
mod replication;
mod snapshot;

use crate::{
    history::Broken,
    properties,
    world::{Step, World},
};
#[cfg(kraft_mutations)]
use stateright::HasDiscoveries;
use stateright::{Checker, Property};
use std::{
    panic::{self, AssertUnwindSafe},
    thread,
    time::{Duration, Instant},
};

/// Fewer states than this would show that a bound has become too narrow.
const STATES_MIN: usize = 100_000;

/// A long search says from time to time how far it is.
const BETWEEN_REPORTS: Duration = Duration::from_secs(10);

/// What may happen, and where the search begins and ends.
#[derive(Clone)]
pub(crate) struct Model {
    name: &'static str,
    start: World,
    witnesses: &'static [Witness],
}

/// A state that must be reachable, or else the model says little.
type Witness = (&'static str, fn(&Model, &World) -> bool);

/// The models that are searched.
pub(crate) fn all(large: bool) -> Vec<Model> {
    vec![
        election::model(large),
        replication::model(large),
        replication::crashes(large),
        reconfiguration::model(large),
        snapshot::model(large),
    ]
}

impl Model {
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }
}

impl stateright::Model for Model {
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
        let rules = state.rules;
        state
            .nodes
            .iter()
            .all(|node| node.replica.epoch() <= rules.epochs && node.log.batches.len() <= rules.entries)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let sometimes = self
            .witnesses
            .iter()
            .map(|(name, seen)| Property::sometimes(name, *seen));
        properties::always().into_iter().chain(sometimes).collect()
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

/// Searches a model to its end and says what was found.
pub(crate) fn search(model: Model) -> bool {
    use stateright::Model as _;
    let started = Instant::now();
    let name = model.name;
    let witnesses = model.witnesses;
    // Nothing limits the search but the model, so its end is the end of the model.
    let checker = model.checker().threads(threads()).spawn_bfs();
    let mut told = Instant::now();
    while !checker.is_done() {
        thread::sleep(Duration::from_millis(100));
        if told.elapsed() >= BETWEEN_REPORTS {
            told = Instant::now();
            println!("{name}: {} states so far", checker.unique_state_count());
        }
    }
    let checker = checker.join();
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
pub(crate) fn find(mut model: Model, states_max: usize) -> Option<Finding> {
    use stateright::Model as _;
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
