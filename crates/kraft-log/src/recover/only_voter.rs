//! Whether a node decides alone, so that nobody else can count on what it loses.

use super::survey::{Directory, Survey};
use kraft_core::{ControlRecord, NodeId, VoterSet};
use kraft_fs::FileSystem;

/// The control records that are left, in the order of their offsets.
pub(super) fn control_records<F: FileSystem>(survey: &Survey<F>) -> impl Iterator<Item = &ControlRecord> {
    let covered = survey.covered();
    let in_snapshot = survey.snapshot.iter().flat_map(|(_, records)| records);
    let in_log = survey.segments.iter().flat_map(|segment| &segment.control);
    let later = in_log.filter(move |(offset, _)| *offset >= covered);
    in_snapshot.chain(later.map(|(_, record)| record))
}

/// The kraft.version in force; 0 while no record names one.
pub(super) fn kraft_version<F: FileSystem>(survey: &Survey<F>) -> i16 {
    let levels = control_records(survey).filter_map(|record| match record {
        ControlRecord::KRaftVersion(level) => Some(*level),
        ControlRecord::LeaderChange { .. } | ControlRecord::Voters(_) => None,
    });
    levels.last().unwrap_or(0)
}

/// The voters in force, if a record names them.
pub(super) fn voters<F: FileSystem>(survey: &Survey<F>) -> Option<&VoterSet> {
    let sets = control_records(survey).filter_map(|record| match record {
        ControlRecord::Voters(voters) => Some(voters),
        ControlRecord::LeaderChange { .. } | ControlRecord::KRaftVersion(_) => None,
    });
    sets.last()
}

/// Whether this node is known to be the only voter: by the last word on it that is left, and by all that lies behind
/// damage.
pub(super) fn is_only_voter<F: FileSystem>(directory: &Directory, survey: &Survey<F>) -> bool {
    let local = &directory.local;
    let behind = survey.behind.iter().flat_map(|behind| &behind.voters);
    let by_record = voters(survey).map(|voters| voters.is_only_voter(local));
    let last_word = by_record.unwrap_or_else(|| static_voters(directory, survey) == [local.id]);
    last_word && behind.into_iter().all(|voters| voters.is_only_voter(local))
}

/// The voters of a static quorum, as the election state or else the last leader named them.
fn static_voters<F: FileSystem>(directory: &Directory, survey: &Survey<F>) -> Vec<NodeId> {
    match &directory.election {
        Ok(election) => election.voters.clone(),
        Err(_) => {
            let named = control_records(survey).filter_map(|record| match record {
                ControlRecord::LeaderChange { voters, .. } => Some(voters.clone()),
                ControlRecord::KRaftVersion(_) | ControlRecord::Voters(_) => None,
            });
            named.last().unwrap_or_default()
        }
    }
}
