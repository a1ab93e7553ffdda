//! Every target over its corpus and a number of changed inputs that is the same in every run.

use std::time::Duration;

use kraft_fuzz::{TARGETS, corpus, run};

const SEED: u64 = 1;
const COUNT: u64 = 50_000;

#[test]
fn every_target_over_its_corpus() {
    for target in TARGETS {
        assert!(!corpus(target.name).is_empty(), "{}", target.name);
        if let Err(input) = run(target, SEED, COUNT, Duration::ZERO) {
            panic!("{} breaks under {input}", target.name);
        }
    }
}
