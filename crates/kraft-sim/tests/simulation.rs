//! A handful of seeds, replay, and parts that do not keep their word: each checker has to notice.

use kraft_sim::{
    checker::{Checker, CommittedStays, LogMatching, Monotonic, OneLeader, OneVote},
    sim::{Counts, Failure, Lie, Settings, Simulation},
};
use std::time::Duration;

fn run(seed: u64, settings: Settings) -> Result<Counts, Failure> {
    Simulation::of_journals(seed, settings).run()
}

#[test]
fn quorums_survive_crashes_and_partitions() {
    let mut counts = Counts::default();
    for seed in 0..6 {
        let settings = Settings {
            voters: if seed % 3 == 2 { 5 } else { 3 },
            observers: u32::from(seed % 3 == 1),
            ..Settings::default()
        };
        match run(seed, settings) {
            Ok(more) => counts += more,
            Err(failure) => panic!("{failure}"),
        }
    }
    assert!(counts.elections > 6, "leaders changed: {counts}");
    assert!(counts.crashes > 6, "nodes crashed: {counts}");
    assert!(counts.stops > 0, "nodes were stopped: {counts}");
    assert!(counts.disk_failures > 0, "disks failed: {counts}");
    assert!(counts.loads > 6, "snapshots were loaded: {counts}");
    assert!(counts.partitions > 6, "the network was cut: {counts}");
    assert!(counts.commits > 600, "clients were served: {counts}");
}

#[test]
fn quorums_survive_with_snapshots_that_nodes_write_by_themselves() {
    let mut loads = 0;
    for seed in 0..4 {
        // Nobody asks for a snapshot, and no checkpoint is there from the beginning.
        let settings = Settings {
            dynamic_voters: Some(false),
            snapshot_every: None,
            snapshot_new_bytes: Some(1024),
            ..Settings::default()
        };
        let counts = run(seed, settings).unwrap_or_else(|failure| panic!("{failure}"));
        loads += counts.loads;
    }
    assert!(loads > 6, "snapshots were loaded: {loads}");
}

#[test]
fn a_lone_voter_survives_crashes() {
    let settings = Settings {
        voters: 1,
        ..Settings::default()
    };
    let counts = run(1, settings).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(counts.crashes > 0, "{counts}");
}

#[cfg(feature = "metadata")]
#[test]
fn controllers_survive_crashes_and_partitions() {
    for seed in 0..4 {
        let run = Simulation::of_metadata(seed, Settings::default()).run();
        let counts = run.unwrap_or_else(|failure| panic!("{failure}"));
        assert!(counts.commits > 100, "{counts}");
    }
}

#[test]
fn a_seed_replays() {
    let first = run(3, Settings::default());
    assert_eq!(first, run(3, Settings::default()));
    assert_ne!(first, run(4, Settings::default()));
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
    assert!(is_noticed_by::<Monotonic>(Lie::ElectionForgotten));
}

#[test]
fn a_disk_that_reports_too_soon_loses_what_was_committed() {
    assert!(is_noticed_by::<CommittedStays>(Lie::DurableTooSoon));
}

#[test]
fn two_leaders_of_an_epoch_write_different_logs() {
    assert!(is_noticed_by::<LogMatching>(Lie::VotesForAll));
}
