//! The replica's own random numbers.

use crate::relative;
use core::hash::{Hash, Hasher};

/// SplitMix64: small, fast, and the same on every machine. Not for secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rng(u64);

impl Hash for Rng {
    fn hash<H: Hasher>(&self, state: &mut H) {
        relative::hash(relative::RANDOM, self.0, state);
    }
}

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number in `0..bound`, or 0 for an empty range. The bias is far below what an election could notice.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.next() % bound }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_numbers_within_the_bound() {
        let mut one = Rng::new(7);
        let mut two = Rng::new(7);
        for _ in 0..100 {
            let number = one.below(1000);
            assert!(number < 1000);
            assert_eq!(number, two.below(1000));
        }
        assert_eq!(one.below(0), 0);
    }
}
