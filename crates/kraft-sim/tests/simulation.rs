//! A handful of seeds, replay, and parts that do not keep their word: each checker has to notice.

use kraft_sim::{
    checker::{
        Checker, CommittedStays, DurableFirst, History, LogMatching, MajorityReached, MonotonicEpoch,
        OneLeader, OneVote,
    },
    sim::{Count, Counts, Failure, Lie, Plan, Settings, Sight, Simulation, shrink},
};
use std::time::Duration;

fn run(seed: u64, settings: Settings) -> Result<Counts, Failure> {
    Simulation::of_journals(seed, settings).run()
}

#[test]
fn sim_001_quorums_of_all_sizes_survive_every_kind_of_fault() {
    let mut counts = Counts::default();
    for seed in 0..24 {
        match run(seed, Settings::of_seed(seed)) {
            Ok(more) => counts += more,
            Err(failure) => panic!("{failure}"),
        }
    }
    let unseen: Vec<_> = Count::ALL
        .iter()
        .filter(|(what, _)| counts.of(*what) == 0)
        .collect();
    assert!(unseen.is_empty(), "never happened: {unseen:?}");
    assert!(counts.of(Count::Elections) > 48, "{counts}");
    assert!(counts.of(Count::Commits) > 2400, "{counts}");
}

#[test]
fn quorums_survive_with_snapshots_that_nodes_write_by_themselves() {
    let mut installs = 0;
    for seed in 0..10 {
        // Nobody asks for a snapshot, and no checkpoint is there from the beginning.
        let settings = Settings {
            dynamic_voters: Some(false),
            snapshot_every: None,
            snapshot_new_bytes: Some(1024),
            late_per_mille: 500,
            ..Settings::default()
        };
        let counts = run(seed, settings).unwrap_or_else(|failure| panic!("{failure}"));
        installs += counts.of(Count::SnapshotInstalls);
    }
    assert!(installs > 1, "snapshots were installed: {installs}");
}

#[test]
fn a_lone_voter_survives_crashes() {
    let settings = Settings {
        voters: 1,
        ..Settings::default()
    };
    let counts = run(1, settings).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(counts.of(Count::Crashes) > 0, "{counts}");
}

#[cfg(feature = "metadata")]
#[test]
fn controllers_survive_crashes_and_partitions() {
    let mut counts = Counts::default();
    for seed in 0..4 {
        let run = Simulation::of_metadata(seed, Settings::default()).run();
        counts += run.unwrap_or_else(|failure| panic!("{failure}"));
    }
    assert!(counts.of(Count::Commits) > 400, "{counts}");
}

#[test]
fn a_seed_replays() {
    let first = run(3, Settings::default());
    assert_eq!(first, run(3, Settings::default()));
    assert_ne!(first, run(4, Settings::default()));
    let plan = Plan::draw(3, &Settings::default()).to_string();
    let read = plan.parse().expect("a plan reads back");
    assert_eq!(first, Simulation::of_planned_journals(read).run());
}

#[test]
fn a_failing_plan_shrinks_to_a_text_that_still_fails() {
    let settings = with_lie(Lie::DurableTooSoon);
    let play = |plan: &Plan| Simulation::of_planned_journals(plan.clone()).run().err();
    let plan = (0..)
        .map(|seed| Plan::draw(seed, &settings))
        .find(|plan| play(plan).is_some())
        .expect("the lie is noticed");
    let shrunk = shrink(&plan, 400, play).expect("the plan fails");
    assert!(
        shrunk.plan.steps() <= plan.steps() / 10,
        "what is left:\n{}",
        shrunk.plan
    );
    let read: Plan = shrunk.plan.to_string().parse().expect("a plan reads back");
    assert_eq!(play(&read), Some(shrunk.failure));
}

#[test]
fn whoever_watches_sees_the_steps_of_the_plan() {
    let seen = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let watched = seen.clone();
    let plan: Plan = Plan::draw(5, &Settings::default());
    let text = plan.to_string();
    let run = Simulation::of_planned_journals(plan).with_witness(move |now, sight| {
        if let Sight::Step(step) = sight {
            watched.borrow_mut().push(format!("at {} {step}", now.0 / 1000));
        }
    });
    run.run().unwrap_or_else(|failure| panic!("{failure}"));
    let planned: Vec<&str> = text.lines().filter(|line| line.starts_with("at ")).collect();
    assert_eq!(*seen.borrow(), planned);
}

/// A world with many crashes, in which a part lies.
fn with_lie(lie: Lie) -> Settings {
    Settings {
        voters: 5,
        duration: Duration::from_secs(10),
        crash_every: Some(Duration::from_millis(300)),
        down_max: Duration::from_millis(300),
        lie: Some(lie),
        ..Settings::default()
    }
}

/// Whether the checker alone notices the lie under one of some seeds.
fn is_noticed_by<C: Checker + Default + 'static>(lie: Lie) -> bool {
    let invariant = C::default().invariant();
    (0..100).any(|seed| {
        let checkers: Vec<Box<dyn Checker>> = vec![Box::new(C::default())];
        let run = Simulation::of_journals(seed, with_lie(lie))
            .with_checkers(checkers)
            .run();
        run.is_err_and(|failure| failure.violation.invariant == invariant)
    })
}

#[test]
fn two_votes_in_an_epoch_give_it_two_leaders() {
    assert!(is_noticed_by::<OneLeader>(Lie::VotesForAll));
}

#[test]
fn a_forgotten_vote_is_given_again() {
    assert!(is_noticed_by::<OneVote>(Lie::ElectionForgotten));
}

#[test]
fn a_forgotten_epoch_goes_back() {
    assert!(is_noticed_by::<MonotonicEpoch>(Lie::ElectionForgotten));
}

#[test]
fn a_disk_that_reports_too_soon_loses_what_was_committed() {
    assert!(is_noticed_by::<CommittedStays>(Lie::DurableTooSoon));
}

#[test]
fn two_leaders_of_an_epoch_write_different_logs() {
    assert!(is_noticed_by::<LogMatching>(Lie::VotesForAll));
}

#[test]
fn a_disk_that_reports_too_soon_lets_be_told_what_is_not_stored() {
    assert!(is_noticed_by::<DurableFirst>(Lie::DurableTooSoon));
}

#[test]
fn a_disk_that_reports_too_soon_does_not_have_what_it_counts_for() {
    assert!(is_noticed_by::<MajorityReached>(Lie::DurableTooSoon));
}

#[test]
fn two_leaders_of_an_epoch_tell_clients_different_histories() {
    assert!(is_noticed_by::<History>(Lie::VotesForAll));
}
