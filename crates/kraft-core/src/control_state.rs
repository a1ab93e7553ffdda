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
        self.voters.truncate_newer(end);
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
}
