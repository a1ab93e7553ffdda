//! How long a successor waits after EndQuorumEpoch.

use crate::event::SuccessorRank;
use core::time::Duration;

/// The first preferred successor campaigns at once, each later one waits twice as long as the one before it, the last
/// one at most half of `max`; a replica that is not named waits all of it. Whole milliseconds, as in Kafka.
pub(crate) fn successor_backoff(rank: SuccessorRank, max: Duration) -> Duration {
    let SuccessorRank { position, successors } = rank;
    if position == 0 {
        return Duration::ZERO;
    }
    if position >= successors {
        return max;
    }
    let max_ms = u64::try_from(max.as_millis()).unwrap_or(u64::MAX);
    let base = max_ms.checked_shr(successors - 1).unwrap_or(0);
    Duration::from_millis(
        base.saturating_mul(1_u64.checked_shl(position - 1).unwrap_or(0))
            .min(max_ms),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_off_by_place_and_number_of_successors() {
        for (successors, waits) in [
            (0, &[0][..]),
            (1, &[0, 1000]),
            (2, &[0, 500, 1000]),
            (3, &[0, 250, 500, 1000]),
            (4, &[0, 125, 250, 500, 1000]),
            (5, &[0, 62, 124, 248, 496, 1000]),
        ] {
            for (position, wait) in waits.iter().enumerate() {
                let rank = SuccessorRank {
                    position: u32::try_from(position).expect("small"),
                    successors,
                };
                assert_eq!(
                    successor_backoff(rank, Duration::from_millis(1000)),
                    Duration::from_millis(*wait),
                    "place {position} of {successors}"
                );
            }
        }
    }

    #[test]
    fn absurd_lists_do_not_overflow() {
        let rank = SuccessorRank {
            position: 4_000_000_000,
            successors: u32::MAX,
        };
        assert_eq!(
            successor_backoff(rank, Duration::from_millis(1000)),
            Duration::ZERO
        );
    }
}
