//! Which connections have said nothing for too long. A timer for each of them would have to be looked at with every
//! request; here they only note what they wait for, and whoever has all of them looks now and then.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

/// How often all connections have been looked at: the clock by which their waits are measured.
#[derive(Debug, Default)]
pub(super) struct Rounds(AtomicU32);

/// Since which round a connection has waited for its peer.
#[derive(Debug)]
pub(super) struct Activity(AtomicU32);

impl Rounds {
    /// The time from one round to the next, so that a connection is closed when it has waited for `limit`, and before an
    /// eighth of that has passed again.
    pub(super) fn interval(limit: Duration) -> Duration {
        (limit / ALLOWED).max(Duration::from_millis(1))
    }

    /// The next round has come.
    pub(super) fn begin(&self) {
        // It takes centuries until the number of no wait comes up, and then it costs a round.
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn now(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Default for Activity {
    /// Waits for nothing.
    fn default() -> Self {
        Self(AtomicU32::new(NO_WAIT))
    }
}

impl Activity {
    /// From now on the connection waits for its peer, to send or to take something.
    pub(super) fn waits(&self, rounds: &Rounds) {
        self.0.store(rounds.now(), Ordering::Relaxed);
    }

    /// From now on its peer waits for an answer, however long that takes.
    pub(super) fn works(&self) {
        self.0.store(NO_WAIT, Ordering::Relaxed);
    }

    /// Whether it has waited for too long.
    pub(super) fn is_idle(&self, rounds: &Rounds) -> bool {
        let since = self.0.load(Ordering::Relaxed);
        since != NO_WAIT && rounds.now().wrapping_sub(since) > ALLOWED
    }
}

/// Rounds that a connection may wait for. The one in which it began had partly passed.
const ALLOWED: u32 = 8;

const NO_WAIT: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_waits_for_its_peer_is_idle_after_the_limit_and_not_before() {
        let (rounds, activity) = (Rounds::default(), Activity::default());
        rounds.begin();
        activity.waits(&rounds);
        for _ in 0..ALLOWED {
            rounds.begin();
            assert!(!activity.is_idle(&rounds));
        }
        rounds.begin();
        assert!(activity.is_idle(&rounds));
        activity.waits(&rounds);
        assert!(!activity.is_idle(&rounds), "something has come");
    }

    #[test]
    fn whoever_is_waited_for_is_never_idle() {
        let (rounds, activity) = (Rounds::default(), Activity::default());
        for works in [false, true] {
            if works {
                activity.waits(&rounds);
                activity.works();
            }
            for _ in 0..3 * ALLOWED {
                rounds.begin();
            }
            assert!(!activity.is_idle(&rounds));
        }
    }

    #[test]
    fn rounds_share_the_limit_and_never_come_without_a_pause() {
        assert_eq!(
            Rounds::interval(Duration::from_secs(600)),
            Duration::from_secs(75)
        );
        assert_eq!(Rounds::interval(Duration::ZERO), Duration::from_millis(1));
    }
}
