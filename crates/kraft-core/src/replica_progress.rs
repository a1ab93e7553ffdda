//! How far the replicas are that fetch from a leader (Kafka's `LeaderState.ReplicaState`).

use crate::{
    answer::ReplicaProgress,
    ids::ReplicaKey,
    time::{Instant, Time},
};
use core::time::Duration;

/// What a leader knows of one replica.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Progress {
    end: Option<i64>,
    fetched_at: Option<Instant>,
    /// `NEVER` before the first.
    last_fetch_ms: i64,
    /// `NEVER` before the first.
    last_caught_up_ms: i64,
    leader_end_at_last_fetch: i64,
}

/// Earlier than any clock says, so that later times are larger.
const NEVER: i64 = i64::MIN;

impl Default for Progress {
    fn default() -> Self {
        Self {
            end: None,
            fetched_at: None,
            last_fetch_ms: NEVER,
            last_caught_up_ms: NEVER,
            leader_end_at_last_fetch: 0,
        }
    }
}

impl Progress {
    /// The replica has fetched from `offset` on while the leader's log ended at `leader_end`.
    ///
    /// A smaller offset than the last time is believed: the replica may have lost its disk.
    #[inline(always)]
    pub(crate) fn fetched(&mut self, offset: i64, leader_end: i64, now: Time) {
        if offset >= leader_end {
            self.last_caught_up_ms = self.last_caught_up_ms.max(now.wall_ms);
        } else if self.leader_end_at_last_fetch > 0 && offset >= self.leader_end_at_last_fetch {
            self.last_caught_up_ms = self.last_caught_up_ms.max(self.last_fetch_ms);
        }
        self.leader_end_at_last_fetch = leader_end;
        self.last_fetch_ms = self.last_fetch_ms.max(now.wall_ms);
        self.fetched_at = Some(now.mono);
        self.end = Some(offset);
    }

    pub(crate) fn end(&self) -> Option<i64> {
        self.end
    }

    /// Whether the replica has not fetched for `period`.
    pub(crate) fn silent_for(&self, period: Duration, now: Instant) -> bool {
        self.fetched_at.is_none_or(|at| now.since(at) >= period)
    }

    pub(crate) fn fetched_at(&self) -> Option<Instant> {
        self.fetched_at
    }

    /// Whether it has had everything at some time.
    pub(crate) fn was_caught_up(&self) -> bool {
        self.last_caught_up_ms != NEVER
    }

    pub(crate) fn describe(&self, key: ReplicaKey) -> ReplicaProgress {
        let known = |ms: i64| if ms == NEVER { -1 } else { ms };
        ReplicaProgress {
            key,
            log_end_offset: self.end.unwrap_or(-1),
            last_fetch_ms: known(self.last_fetch_ms),
            last_caught_up_ms: known(self.last_caught_up_ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::NodeId;

    fn at(ms: u64) -> Time {
        Time {
            mono: Instant::from_millis(ms),
            wall_ms: i64::try_from(ms).expect("small"),
        }
    }

    #[test]
    fn caught_up_means_having_what_the_leader_had_at_the_fetch_before() {
        let key = ReplicaKey::without_directory(NodeId(1));
        let mut progress = Progress::default();
        progress.fetched(0, 10, at(100));
        assert_eq!(progress.describe(key).last_caught_up_ms, -1);
        progress.fetched(10, 20, at(200));
        assert_eq!(progress.describe(key).last_caught_up_ms, 100);
        progress.fetched(20, 20, at(300));
        assert_eq!(progress.describe(key).last_caught_up_ms, 300);
        progress.fetched(15, 30, at(400));
        let row = progress.describe(key);
        assert_eq!(
            (row.log_end_offset, row.last_fetch_ms, row.last_caught_up_ms),
            (15, 400, 300)
        );
    }
}
