//! Voters and kraft.version in force: a function of snapshot and log, uncommitted records included.

use crate::{
    control::{BatchInfo, ControlRecord},
    log_history::{BOOTSTRAP_OFFSET, LogHistory},
    offsets::SnapshotId,
    voter_set::VoterSet,
};

/// What the control records say, by offset (Kafka's `KRaftControlRecordStateMachine`).
///
/// It always covers the whole log: an append moves it forward before anything is committed, a truncation rewinds it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ControlState {
    static_voters: VoterSet,
    voters: LogHistory<VoterSet>,
    kraft_versions: LogHistory<i16>,
}

impl ControlState {
    pub(crate) fn new(static_voters: VoterSet) -> Self {
        Self {
            static_voters,
            voters: LogHistory::default(),
            kraft_versions: LogHistory::default(),
        }
    }

    /// The voters in force; the static ones while no record names any.
    pub(crate) fn voters(&self) -> &VoterSet {
        self.voters
            .last()
            .map_or(&self.static_voters, |(_, voters)| voters)
    }

    /// Where the voters in force are recorded; `None` for static voters.
    pub(crate) fn voters_offset(&self) -> Option<i64> {
        self.voters.last().map(|(offset, _)| offset)
    }

    /// The kraft.version in force.
    pub(crate) fn kraft_version(&self) -> i16 {
        self.kraft_versions.last().map_or(0, |(_, level)| *level)
    }

    /// Where the kraft.version in force is recorded; `None` while no record names it.
    pub(crate) fn kraft_version_offset(&self) -> Option<i64> {
        self.kraft_versions.last().map(|(offset, _)| offset)
    }

    pub(crate) fn voters_at(&self, offset: i64) -> Option<&VoterSet> {
        self.voters.at_or_before(offset)
    }

    pub(crate) fn kraft_version_at(&self, offset: i64) -> i16 {
        self.kraft_versions.at_or_before(offset).copied().unwrap_or(0)
    }

    /// Whether a record of the voters in force may already have been written to the log itself.
    pub(crate) fn voters_only_in_bootstrap(&self) -> bool {
        self.voters_offset() == Some(BOOTSTRAP_OFFSET)
    }

    pub(crate) fn apply(&mut self, offset: i64, record: &ControlRecord) {
        match record {
            ControlRecord::LeaderChange { .. } => {}
            ControlRecord::KRaftVersion(level) => self.kraft_versions.add(offset, *level),
            ControlRecord::Voters(voters) => self.voters.add(offset, voters.clone()),
        }
    }

    /// Takes over what an appended batch says.
    pub(crate) fn append(&mut self, batch: &BatchInfo) {
        let records = batch.control.as_deref().unwrap_or_default();
        for (offset, record) in (batch.base..=batch.last).zip(records) {
            self.apply(offset, record);
        }
    }

    /// The log ends at `end` now.
    pub(crate) fn truncate_newer(&mut self, end: i64) {
        if !mutated!(CutLeavesVoters) {
            self.voters.truncate_newer(end);
        }
        self.kraft_versions.truncate_newer(end);
    }

    /// Nobody will ask about offsets before `start` any more.
    pub(crate) fn truncate_older(&mut self, start: i64) {
        self.voters.truncate_older(start);
        self.kraft_versions.truncate_older(start);
    }

    /// Starts anew from the control records of a snapshot.
    pub(crate) fn load(&mut self, snapshot: SnapshotId, records: &[ControlRecord]) {
        self.voters = LogHistory::default();
        self.kraft_versions = LogHistory::default();
        for record in records {
            self.apply(
                snapshot.end_offset.saturating_sub(1).max(BOOTSTRAP_OFFSET),
                record,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        endpoints::Endpoints,
        ids::{Epoch, NodeId, ReplicaKey},
        voter_set::{SupportedVersions, VoterNode},
    };
    use alloc::vec;

    fn voters(ids: &[i32]) -> VoterSet {
        ids.iter()
            .map(|id| VoterNode {
                key: ReplicaKey::without_directory(NodeId(*id)),
                endpoints: Endpoints::empty(),
                kraft_versions: SupportedVersions { min: 0, max: 1 },
            })
            .collect()
    }

    #[test]
    fn the_static_voters_count_until_a_record_names_voters_and_again_when_it_is_cut() {
        let mut state = ControlState::new(voters(&[1]));
        assert_eq!(state.voters().len(), 1);
        assert_eq!(state.voters_offset(), None);
        state.append(&BatchInfo {
            base: 5,
            last: 6,
            epoch: Epoch(1),
            bytes: 0,
            control: Some(vec![
                ControlRecord::KRaftVersion(1),
                ControlRecord::Voters(voters(&[1, 2])),
            ]),
        });
        assert_eq!(state.voters().len(), 2);
        assert_eq!(state.voters_offset(), Some(6));
        assert_eq!(state.kraft_version_at(4), 0);
        assert_eq!(state.kraft_version(), 1);
        state.truncate_newer(6);
        assert_eq!(state.voters().len(), 1);
        assert_eq!(state.kraft_version(), 1);
    }

    #[test]
    fn a_snapshot_replaces_everything() {
        let mut state = ControlState::new(voters(&[1]));
        state.apply(3, &ControlRecord::Voters(voters(&[1, 2])));
        state.load(
            SnapshotId::BOOTSTRAP,
            &[ControlRecord::Voters(voters(&[1, 2, 3]))],
        );
        assert!(state.voters_only_in_bootstrap());
        assert_eq!(state.voters().len(), 3);
    }

    fn file(state: &mut ControlState, offset: i64, ids: &[i32]) {
        state.apply(offset, &ControlRecord::Voters(voters(ids)));
    }

    fn snapshot() -> SnapshotId {
        SnapshotId {
            end_offset: 10,
            epoch: Epoch(1),
        }
    }

    #[test]
    fn voterset_012_static_voters_have_no_place_in_the_log() {
        for fixed in [voters(&[1, 2, 3]), voters(&[])] {
            let mut state = ControlState::new(fixed.clone());
            for _ in 0..2 {
                assert_eq!(state.voters_at(0), None);
                assert_eq!(state.voters_at(100), None);
                assert_eq!(*state.voters(), fixed);
                state.truncate_newer(100);
                state.truncate_older(100);
            }
        }
    }

    #[test]
    fn voterset_013_the_bootstrap_set_lives_at_offset_minus_1() {
        let mut state = ControlState::new(voters(&[]));
        state.load(
            SnapshotId::BOOTSTRAP,
            &[ControlRecord::Voters(voters(&[1, 2, 3]))],
        );
        file(&mut state, 100, &[1, 2, 3, 4]);
        file(&mut state, 200, &[1, 2, 3, 4, 5]);
        for (offset, count) in [
            (-2, None),
            (-1, Some(3)),
            (99, Some(3)),
            (100, Some(4)),
            (199, Some(4)),
            (200, Some(5)),
        ] {
            assert_eq!(state.voters_at(offset).map(VoterSet::len), count, "at {offset}");
        }
    }

    #[test]
    fn voterset_014_a_follower_takes_what_the_log_says_however_much_it_changes() {
        let mut state = ControlState::new(voters(&[1, 2, 3]));
        file(&mut state, 100, &[4, 5, 6]);
        assert_eq!(*state.voters(), voters(&[4, 5, 6]));
        file(&mut state, 200, &[4]);
        file(&mut state, 300, &[4, 7, 8]);
        assert_eq!(*state.voters(), voters(&[4, 7, 8]));
    }

    #[test]
    fn voterset_015_new_entries_are_cut_from_an_offset_on() {
        for (end, count) in [(201, 5), (200, 4), (101, 4), (100, 3)] {
            let mut state = ControlState::new(voters(&[1, 2, 3]));
            file(&mut state, 100, &[1, 2, 3, 4]);
            file(&mut state, 200, &[1, 2, 3, 4, 5]);
            state.truncate_newer(end);
            assert_eq!(state.voters().len(), count, "cut at {end}");
        }
    }

    #[test]
    fn voterset_016_a_snapshot_without_voters_leaves_the_static_ones() {
        let mut state = ControlState::new(voters(&[1, 2, 3]));
        file(&mut state, 100, &[1, 2, 3, 4]);
        file(&mut state, 200, &[1, 2, 3, 4, 5]);
        state.load(snapshot(), &[]);
        assert_eq!(*state.voters(), voters(&[1, 2, 3]));
    }

    #[test]
    fn voterset_018_in_an_empty_log_the_static_voters_rule() {
        let fixed = ControlState::new(voters(&[1, 2, 3]));
        assert_eq!(fixed.voters().len(), 3);
        assert_eq!(fixed.voters_offset(), None, "no record overrules them");
        assert!(ControlState::new(voters(&[])).voters().is_empty());
    }

    #[test]
    fn voterset_019_log_records_behind_a_snapshot_that_names_nobody() {
        let mut state = ControlState::new(voters(&[1, 2, 3]));
        state.load(snapshot(), &[]);
        state.apply(10, &ControlRecord::KRaftVersion(1));
        file(&mut state, 11, &[4, 5, 6]);
        assert_eq!(*state.voters(), voters(&[4, 5, 6]));
        assert_eq!(state.voters_at(11), Some(&voters(&[4, 5, 6])));
        assert_eq!(state.kraft_version_at(11), 1);
        assert_eq!(state.voters_offset(), Some(11), "the static voters are overruled");
    }

    #[test]
    fn voterset_020_a_snapshot_names_voters_and_level_at_its_last_offset() {
        let mut state = ControlState::new(voters(&[1, 2, 3]));
        let records = [
            ControlRecord::KRaftVersion(1),
            ControlRecord::Voters(voters(&[4, 5, 6])),
        ];
        state.load(snapshot(), &records);
        assert_eq!(*state.voters(), voters(&[4, 5, 6]));
        assert_eq!(state.voters_at(9), Some(&voters(&[4, 5, 6])));
        assert_eq!(state.kraft_version_at(9), 1);
        assert_eq!(state.voters_at(8), None);
    }

    #[test]
    fn voterset_021_log_records_behind_a_snapshot_win() {
        let mut state = ControlState::new(voters(&[1, 2, 3]));
        let records = [
            ControlRecord::KRaftVersion(1),
            ControlRecord::Voters(voters(&[4, 5, 6])),
        ];
        state.load(snapshot(), &records);
        file(&mut state, 10, &[4, 5, 6, 7]);
        assert_eq!(state.voters().len(), 4);
        assert_eq!(state.voters_at(9), Some(&voters(&[4, 5, 6])));
        assert_eq!(state.kraft_version(), 1);
    }

    #[test]
    fn voterset_022_trimming_old_entries_keeps_the_newest_needed_ones() {
        let mut state = ControlState::new(voters(&[]));
        state.apply(0, &ControlRecord::KRaftVersion(1));
        file(&mut state, 1, &[4, 5, 6]);
        file(&mut state, 2, &[4, 5, 6, 7]);
        for (start, at_1) in [(0, Some(3)), (1, Some(3)), (2, None)] {
            state.truncate_older(start);
            assert_eq!(state.kraft_version_at(0), 1, "trimmed to {start}");
            assert_eq!(state.voters_at(1).map(VoterSet::len), at_1, "trimmed to {start}");
            assert_eq!(
                state.voters_at(2).map(VoterSet::len),
                Some(4),
                "trimmed to {start}"
            );
        }
    }
}
