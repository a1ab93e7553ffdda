//! What the first batch of a snapshot says.

use kraft_core::{ControlRecord, VoterSet};

/// The control records at the front of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotHeader {
    /// Time of the last record that the snapshot covers, in milliseconds since 1970.
    pub last_contained_log_timestamp: i64,
    /// The kraft.version at the snapshot's end; a record of its own from level 1 on.
    pub kraft_version: i16,
    /// The voters at the snapshot's end, where the log knows them. Needs kraft.version 1.
    pub voters: Option<VoterSet>,
}

impl SnapshotHeader {
    /// What the core has to know of the snapshot. It counts as standing right before the snapshot's end offset.
    #[must_use]
    pub fn control_records(&self) -> Vec<ControlRecord> {
        let mut records = Vec::new();
        if self.kraft_version > 0 {
            records.push(ControlRecord::KRaftVersion(self.kraft_version));
        }
        records.extend(self.voters.clone().map(ControlRecord::Voters));
        records
    }
}
