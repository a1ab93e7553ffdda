//! A target over its corpus, and over changed inputs for as long as is wanted.

use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::time::{Duration, Instant};

use crate::corpus::corpus;
use crate::mutation::{Random, mend_checksums, mutated};
use crate::targets::Target;

/// An input under which a target panics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input(pub Vec<u8>);

impl fmt::Display for Input {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

/// Runs the corpus and at least `count` changed inputs, on until `time` has passed; says how many.
///
/// # Errors
/// The first input under which the target panics.
pub fn run(target: &Target, seed: u64, count: u64, time: Duration) -> Result<u64, Input> {
    let corpus = corpus(target.name);
    for input in &corpus {
        one(target, input)?;
    }
    let mut random = Random(seed);
    let started = Instant::now();
    let mut done = 0;
    while done < count || started.elapsed() < time {
        let mut input = mutated(&corpus, &mut random);
        if target.has_checksums && random.below(4) > 0 {
            mend_checksums(&mut input);
        }
        one(target, &input)?;
        done += 1;
    }
    Ok(done)
}

fn one(target: &Target, input: &[u8]) -> Result<(), Input> {
    panic::catch_unwind(AssertUnwindSafe(|| (target.check)(input))).map_err(|_| Input(input.to_vec()))
}
