//! What a majority has.

/// The largest offset that more than half of the voters have reached, if that many are known to have one.
///
/// `ends` yields one entry per voter, `None` where nothing is known. Quadratic in the number of voters, which is small,
/// and free of allocation.
pub(crate) fn majority_end<I>(ends: I) -> Option<i64>
where
    I: Iterator<Item = Option<i64>> + Clone,
{
    let voters = ends.clone().count();
    ends.clone()
        .flatten()
        .filter(|candidate| {
            let reached = ends.clone().flatten().filter(|end| end >= candidate).count();
            reached > voters / 2
        })
        .max()
}

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
            (&[Some(5), Some(5), Some(4), Some(1)], Some(4)),
            (&[Some(9), Some(5), Some(4), Some(1), None], Some(4)),
        ] {
            assert_eq!(majority_end(ends.iter().copied()), expected, "{ends:?}");
        }
    }
}
