//! A step of the core in steady state allocates nothing.

use kraft_bench::core::{Observed, Quorum, Unwatched};

#[test]
fn a_round_of_three_voters_allocates_nothing() {
    for fetches_wait in [false, true] {
        let mut quorum = Quorum::new(fetches_wait);
        let cost = allocation_counter::measure(|| {
            for _ in 0..ROUNDS {
                quorum.round(&mut Unwatched);
            }
        });
        assert_eq!(cost.count_total, 0, "fetches wait: {fetches_wait}");
    }
}

#[test]
fn a_fetch_of_an_observer_allocates_nothing_however_many_there_are() {
    for observers in [1, 10, 1000] {
        let mut observed = Observed::new(observers);
        let cost = allocation_counter::measure(|| {
            for _ in 0..ROUNDS {
                observed.fetch();
            }
        });
        assert_eq!(cost.count_total, 0, "{observers} observers");
    }
}

const ROUNDS: usize = 10_000;
