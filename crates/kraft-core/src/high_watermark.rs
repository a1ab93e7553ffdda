//! What a majority has.

use smallvec::SmallVec;

/// The largest offset that more than half of the voters have reached, if that many are known to have one.
///
/// `ends` yields one entry per voter, `None` where nothing is known.
pub(crate) fn majority_end(mut ends: impl ExactSizeIterator<Item = Option<i64>>) -> Option<i64> {
    if ends.len() == 3 {
        // The rule, and this is asked for nearly every Fetch: the middle one of three needs no sorting.
        let [one, two, three] = core::array::from_fn(|_| ends.next().flatten());
        return one.min(two).max(one.max(two).min(three));
    }
    let mut ends: SmallVec<[Option<i64>; VOTERS_USUAL]> = ends.collect();
    ends.sort_unstable_by(|one, other| other.cmp(one));
    ends.get(ends.len() / 2).copied().flatten()
}

/// So many voters need no allocation.
const VOTERS_USUAL: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_that_more_than_half_have_reached() {
        for (ends, expected) in [
            (&[][..], None),
            (&[Some(5)], Some(5)),
            (&[None], None),
            (&[Some(5), None], None),
            (&[Some(5), Some(3)], Some(3)),
            (&[Some(5), Some(3), None], Some(3)),
            (&[Some(5), Some(3), Some(4)], Some(4)),
            (&[Some(3), Some(4), Some(5)], Some(4)),
            (&[Some(4), Some(5), Some(3)], Some(4)),
            (&[Some(5), Some(5), Some(3)], Some(5)),
            (&[None, Some(5), Some(3)], Some(3)),
            (&[None, Some(5), None], None),
            (&[Some(5), Some(5), Some(4), Some(1)], Some(4)),
            (&[Some(9), Some(5), Some(4), Some(1), None], Some(4)),
        ] {
            assert_eq!(majority_end(ends.iter().copied()), expected, "{ends:?}");
        }
    }
}
