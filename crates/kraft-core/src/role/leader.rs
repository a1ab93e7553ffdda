//! Leads an epoch.

use crate::{
    check_quorum::CheckQuorum,
    handles::ReplyId,
    high_watermark::majority_end,
    ids::{NodeId, ReplicaKey},
    pending_change::PendingChange,
    read_barriers::ReadBarriers,
    replica_progress::Progress,
    time::{Instant, Time},
    timer::Timer,
    voter_set::VoterSet,
};
use alloc::{collections::BTreeMap, vec::Vec};
use core::{cmp::Reverse, time::Duration};

/// The leader of the current epoch.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Leader {
    /// Where its epoch begins. Nothing is committed before a majority has more than this.
    pub(crate) epoch_start: i64,
    /// The voters in force, as replicas that fetch, by id. The leader's own entry, if it is a voter, has no progress: its
    /// log is at hand.
    voters: Vec<(ReplicaKey, Progress)>,
    local: ReplicaKey,
    /// Where the leader's own entry is among them.
    own: Option<usize>,
    /// Everybody else who fetches.
    observers: BTreeMap<ReplicaKey, Progress>,
    /// Whether a majority still fetches.
    pub(crate) check_quorum: CheckQuorum,
    /// When voters that do not fetch are told again who leads.
    pub(crate) heartbeat: Instant,
    /// When the disk will have been silent for so long that this replica may not lead any more.
    pub(crate) disk_patience: Timer,
    /// Whether it was asked to resign.
    pub(crate) resign_requested: bool,
    /// When a leader that is shutting down stops to wait for a successor that has everything.
    pub(crate) handover: Timer,
    /// At kraft.version 0: the voters with what they have told of themselves by UpdateRaftVoter.
    pub(crate) reported_voters: Option<VoterSet>,
    /// Where a batch begins that takes the vote of others, until it is committed. Not everybody is served it before, nor what
    /// follows.
    pub(crate) open_removal: Option<i64>,
    /// The voter change that is under way.
    pub(crate) pending_change: Option<PendingChange>,
    /// Who waits for the commit of a kraft.version, and at which offset it is.
    pub(crate) upgrade_callers: Vec<(ReplyId, i64)>,
    /// Who wants to read.
    pub(crate) reads: ReadBarriers,
}

impl Leader {
    /// An observer that has not fetched for so long is forgotten.
    pub(crate) const OBSERVER_SESSION: Duration = Duration::from_secs(300);

    /// A replica that is to become a voter has fetched within this time.
    const CAUGHT_UP_WINDOW: Duration = Duration::from_secs(3600);

    /// Observers beyond this many push out those that have been silent longest, so that invented keys cannot fill the
    /// memory.
    const OBSERVERS_MAX: usize = 4096;

    pub(crate) fn new(
        local: ReplicaKey,
        epoch_start: i64,
        voters: &VoterSet,
        check_quorum: CheckQuorum,
        now: Instant,
    ) -> Self {
        let mut leader = Self {
            epoch_start,
            voters: Vec::new(),
            local,
            own: None,
            observers: BTreeMap::new(),
            check_quorum,
            heartbeat: now,
            disk_patience: Timer::NEVER,
            resign_requested: false,
            handover: Timer::NEVER,
            reported_voters: None,
            open_removal: None,
            pending_change: None,
            upgrade_callers: Vec::new(),
            reads: ReadBarriers::default(),
        };
        leader.adopt_voters(voters, now);
        leader
    }

    /// The voter set has changed: everybody keeps the progress that is known.
    pub(crate) fn adopt_voters(&mut self, voters: &VoterSet, now: Instant) {
        if self.voters.len() == 1 && voters.len() > 1 {
            // Nobody had to fetch from a lone voter, so its window may have been over for long.
            self.check_quorum.restart(now);
        }
        let mut old = core::mem::take(&mut self.voters);
        for voter in voters.iter() {
            let same = |(key, _): &(ReplicaKey, Progress)| {
                key.id == voter.key.id && (voter.is_voter(key) || key.directory_id.is_none())
            };
            let known = old.iter().position(same).map(|place| old.remove(place).1);
            let promoted = self.observers.remove(&voter.key);
            let progress = known.or(promoted).unwrap_or_default();
            self.voters.push((voter.key, progress));
        }
        for (key, progress) in old {
            self.observers.entry(key).or_insert(progress);
        }
        self.own = self.place(&self.local);
        self.check_quorum.retain(|id| voters.get(id).is_some());
    }

    /// Where the voter is that `key` counts as.
    #[inline(always)]
    fn place(&self, key: &ReplicaKey) -> Option<usize> {
        // A handful of voters is looked through sooner than halved.
        let place = self.voters.iter().position(|(voter, _)| voter.id == key.id)?;
        let (voter, _) = self.voters[place];
        (voter.directory_id.is_none() || voter.directory_id == key.directory_id).then_some(place)
    }

    /// Whether the leader is a voter itself.
    pub(crate) fn votes(&self) -> bool {
        self.own.is_some()
    }

    /// Whether `key` counts as one of the voters.
    pub(crate) fn is_voter(&self, key: &ReplicaKey) -> bool {
        self.place(key).is_some()
    }

    /// `key` has fetched from `offset` on. Returns whether it is a voter, which so has shown that it is there.
    #[inline(always)]
    pub(crate) fn fetched(&mut self, key: &ReplicaKey, offset: i64, leader_end: i64, now: Time) -> bool {
        if let Some(place) = self.place(key) {
            self.voters[place].1.fetched(offset, leader_end, now);
            let needed = self.followers_needed();
            self.check_quorum.credit(Some(key.id), needed, now.mono);
            return true;
        }
        self.observed(key, offset, leader_end, now);
        false
    }

    #[inline(never)]
    fn observed(&mut self, key: &ReplicaKey, offset: i64, leader_end: i64, now: Time) {
        if let Some(progress) = self.observers.get_mut(key) {
            progress.fetched(offset, leader_end, now);
            return;
        }
        if self.observers.len() >= Self::OBSERVERS_MAX {
            self.forget_most_silent_observers();
        }
        let mut progress = Progress::default();
        progress.fetched(offset, leader_end, now);
        self.observers.insert(*key, progress);
    }

    /// Makes room for many at once, because it looks at all. A leader that is no voter any more never fetches, and stays.
    fn forget_most_silent_observers(&mut self) {
        let mut by_silence: Vec<_> = self
            .observers
            .iter()
            .filter_map(|(key, progress)| Some((progress.fetched_at()?, *key)))
            .collect();
        by_silence.sort_unstable();
        for (_, key) in by_silence.into_iter().take(Self::OBSERVERS_MAX / 8) {
            self.observers.remove(&key);
        }
    }

    /// Forgets observers that have gone away; `local`, a leader that is no voter any more, stays.
    pub(crate) fn expire_observers(&mut self, local: NodeId, now: Instant) {
        self.observers
            .retain(|key, progress| key.id == local || !progress.silent_for(Self::OBSERVER_SESSION, now));
    }

    /// Whether the observer with exactly this key has had everything at some time in this epoch, and still fetches. It
    /// need not have everything now: then nobody could join a busy quorum.
    pub(crate) fn is_caught_up(&self, key: &ReplicaKey, now: Instant) -> bool {
        self.observers.get(key).is_some_and(|progress| {
            progress.was_caught_up() && !progress.silent_for(Self::CAUGHT_UP_WINDOW, now)
        })
    }

    /// What a majority has. The leader itself, if it is a voter, has `own_end`.
    pub(crate) fn majority_end(&self, own_end: i64) -> Option<i64> {
        if mutated!(RemovedLeaderCounts) && !self.votes() {
            let mut ends: Vec<_> = self.voters.iter().map(|(_, progress)| progress.end()).collect();
            ends.push(Some(own_end));
            return majority_end(ends.into_iter());
        }
        majority_end(self.voters.iter().enumerate().map(|(place, (_, progress))| {
            if Some(place) == self.own {
                Some(own_end)
            } else {
                progress.end()
            }
        }))
    }

    /// `key` has shown that it is there, without a Fetch. If it is a voter, that may start a new check-quorum window.
    pub(crate) fn credit(&mut self, key: &ReplicaKey, now: Instant) {
        let voter = self.place(key).map(|_| key.id);
        let needed = self.followers_needed();
        self.check_quorum.credit(voter, needed, now);
    }

    /// Whether nobody waits for anything, and no time-out is ahead but those of the voters, as is the case nearly always.
    pub(crate) fn waits_for_events(&self) -> bool {
        self.disk_patience == Timer::NEVER
            && self.handover == Timer::NEVER
            && self.pending_change.is_none()
            && !self.resign_requested
            && self.reads.is_idle()
    }

    /// How many voters have to fetch so that they are a majority, together with the leader if it votes.
    fn followers_needed(&self) -> usize {
        self.voters.len() / 2 + 1 - usize::from(self.votes())
    }

    /// Voters other than `local` that have not fetched for `period`.
    pub(crate) fn silent_voters(&self, local: NodeId, period: Duration, now: Instant) -> Vec<ReplicaKey> {
        self.voters
            .iter()
            .filter(|(key, progress)| key.id != local && progress.silent_for(period, now))
            .map(|(key, _)| *key)
            .collect()
    }

    /// The voters other than `local`, those with the longest log first.
    pub(crate) fn successors(&self, local: NodeId) -> Vec<ReplicaKey> {
        let mut successors: Vec<_> = self
            .voters
            .iter()
            .filter(|(key, _)| key.id != local)
            .map(|(key, progress)| (Reverse(progress.end()), *key))
            .collect();
        successors.sort();
        successors.into_iter().map(|(_, key)| key).collect()
    }

    /// Whether some voter other than `local` has everything before `end`.
    pub(crate) fn has_successor_at(&self, local: NodeId, end: i64) -> bool {
        let mut others = self.voters.iter().filter(|(key, _)| key.id != local);
        others.any(|(_, progress)| progress.end().is_some_and(|has| has >= end))
    }

    pub(crate) fn voters(&self) -> impl Iterator<Item = (ReplicaKey, &Progress)> {
        self.voters.iter().map(|(key, progress)| (*key, progress))
    }

    pub(crate) fn observers(&self) -> impl Iterator<Item = (ReplicaKey, &Progress)> {
        self.observers.iter().map(|(key, progress)| (*key, progress))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        endpoints::Endpoints,
        voter_set::{SupportedVersions, VoterNode},
    };
    use uuid::Uuid;

    fn voters(keys: &[ReplicaKey]) -> VoterSet {
        keys.iter()
            .map(|key| VoterNode {
                key: *key,
                endpoints: Endpoints::empty(),
                kraft_versions: SupportedVersions { min: 0, max: 1 },
            })
            .collect()
    }

    fn at(ms: u64) -> Time {
        Time {
            mono: Instant::from_millis(ms),
            wall_ms: i64::try_from(ms).expect("small"),
        }
    }

    fn leader(voters: &VoterSet) -> Leader {
        let window = Duration::from_millis(3000);
        let local = ReplicaKey::new(NodeId(0), Uuid::from_u128(100));
        Leader::new(local, 0, voters, CheckQuorum::new(window, at(0).mono), at(0).mono)
    }

    #[test]
    fn a_leader_that_is_no_voter_needs_a_whole_majority() {
        let ids = [1, 2, 3].map(NodeId);
        let mut leader = leader(&voters(&ids.map(ReplicaKey::without_directory)));
        leader.fetched(&ReplicaKey::without_directory(NodeId(1)), 10, 10, at(1));
        assert_eq!(leader.check_quorum.deadline(), at(3000).mono);
        leader.fetched(&ReplicaKey::without_directory(NodeId(2)), 9, 10, at(1));
        assert_eq!(leader.check_quorum.deadline(), at(3001).mono);
        assert_eq!(leader.majority_end(10), Some(9));
    }

    #[test]
    fn reconfig_031_progress_survives_the_move_to_directory_ids() {
        let ids = [0, 1, 2].map(NodeId);
        let mut leader = leader(&voters(&ids.map(ReplicaKey::without_directory)));
        let key = |id: i32| ReplicaKey::new(NodeId(id), Uuid::from_u128(100 + u128::from(id.unsigned_abs())));
        assert!(leader.fetched(&key(1), 10, 10, at(1)));
        assert_eq!(leader.majority_end(10), Some(10));
        leader.adopt_voters(&voters(&[key(0), key(1), key(2)]), at(1).mono);
        assert_eq!(leader.majority_end(15), Some(10));
        assert!(leader.fetched(&key(2), 13, 15, at(2)));
        assert_eq!(leader.majority_end(15), Some(13));
    }

    #[test]
    fn a_removed_leader_is_not_pushed_out_by_observers_that_it_does_not_know() {
        let (local, other) = ([0, 1].map(NodeId)).map(ReplicaKey::without_directory).into();
        let mut leader = leader(&voters(&[local, other]));
        leader.adopt_voters(&voters(&[other]), at(1).mono);
        for id in 2..10_000 {
            leader.fetched(&ReplicaKey::without_directory(NodeId(id)), 0, 1, at(2));
        }
        assert!(leader.observers().count() <= Leader::OBSERVERS_MAX);
        assert!(leader.observers().any(|(key, _)| key == local));
    }

    #[test]
    fn caught_up_is_who_once_had_everything_and_fetches_still() {
        let observer = ReplicaKey::new(NodeId(3), Uuid::from_u128(33));
        let hour = 3_600_000;
        let mut leader = leader(&voters(&[ReplicaKey::without_directory(NodeId(0))]));
        assert!(!leader.is_caught_up(&observer, at(1).mono), "nobody knows it");
        leader.fetched(&observer, 5, 10, at(1));
        assert!(!leader.is_caught_up(&observer, at(1).mono), "it is behind");
        leader.fetched(&observer, 10, 10, at(2));
        leader.fetched(&observer, 10, 20, at(3));
        assert!(leader.is_caught_up(&observer, at(hour + 2).mono));
        assert!(
            !leader.is_caught_up(&observer, at(hour + 3).mono),
            "it has gone away"
        );
        let other = ReplicaKey::new(NodeId(3), Uuid::from_u128(34));
        assert!(
            !leader.is_caught_up(&other, at(3).mono),
            "another directory is another replica"
        );
    }
}
