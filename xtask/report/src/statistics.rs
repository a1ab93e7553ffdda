//! One value for many.

/// The middle of some values, or the mean of their middle two.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[odd / 2],
        even => (sorted[even / 2 - 1] + sorted[even / 2]) / 2.0,
    }
}

/// The value that this part of the values is not above.
#[must_use]
pub fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        len => sorted[((len as f64 * part).ceil() as usize).clamp(1, len) - 1],
    }
}

/// The median of the quotients of what was measured in turns.
pub(crate) fn median_ratio(ours: &[f64], theirs: &[f64]) -> f64 {
    let ratios: Vec<f64> = ours
        .iter()
        .zip(theirs)
        .map(|(ours, theirs)| ours / theirs)
        .collect();
    median(&ratios)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_the_median_of_those_of_the_turns() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
        assert_eq!(median_ratio(&[1.0, 10.0, 100.0], &[1.0, 5.0, 100.0]), 1.0);
    }

    #[test]
    fn a_part_of_the_values_is_not_above_its_quantile() {
        let values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(quantile(&values, 0.5), 50.0);
        assert_eq!(quantile(&values, 0.99), 99.0);
        assert_eq!(quantile(&values, 1.0), 100.0);
        assert_eq!(quantile(&[7.0], 0.0), 7.0);
        assert!(quantile(&[], 0.5).is_nan());
    }
}
