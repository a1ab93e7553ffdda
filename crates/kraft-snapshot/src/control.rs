//! Control records between the wire's form and the core's.

use kraft_core::{
    ControlRecord, Endpoint, Endpoints, NodeId, ReplicaKey, SupportedVersions, VoterNode, VoterSet,
};
use kraft_wire::{
    UnknownTags,
    control::{
        ControlError, ControlRecord as WireControlRecord, KRaftVersionRecord, LeaderChangeMessage,
        LeaderChangeVoter, VoterFault, VotersRecord, VotersRecordEndpoint, VotersRecordKRaftVersionFeature,
        VotersRecordVoter,
    },
};

/// What the core is told of a control record; `None` for the header and footer of a snapshot, which say nothing of
/// the quorum.
///
/// # Errors
/// [`ControlError::Voter`], as for [`voter_set`].
pub fn from_wire(record: &WireControlRecord) -> Result<Option<ControlRecord>, ControlError> {
    Ok(match record {
        WireControlRecord::LeaderChange(change) => Some(ControlRecord::LeaderChange {
            leader: NodeId(change.leader_id),
            voters: change.voters.iter().map(|voter| NodeId(voter.voter_id)).collect(),
            granting: change
                .granting_voters
                .iter()
                .map(|voter| NodeId(voter.voter_id))
                .collect(),
        }),
        WireControlRecord::KRaftVersion(record) => Some(ControlRecord::KRaftVersion(record.kraft_version)),
        WireControlRecord::KRaftVoters(record) => Some(ControlRecord::Voters(voter_set(record)?)),
        WireControlRecord::SnapshotHeader(_) | WireControlRecord::SnapshotFooter(_) => None,
    })
}

/// The record that is written for a control record of the core.
#[must_use]
pub fn to_wire(record: &ControlRecord) -> WireControlRecord {
    match record {
        ControlRecord::LeaderChange {
            leader,
            voters,
            granting,
        } => WireControlRecord::LeaderChange(LeaderChangeMessage {
            version: 0,
            leader_id: leader.0,
            voters: voters.iter().map(leader_change_voter).collect(),
            granting_voters: granting.iter().map(leader_change_voter).collect(),
            unknown_tags: UnknownTags::default(),
        }),
        ControlRecord::KRaftVersion(level) => WireControlRecord::KRaftVersion(KRaftVersionRecord {
            version: 0,
            kraft_version: *level,
            unknown_tags: UnknownTags::default(),
        }),
        ControlRecord::Voters(voters) => WireControlRecord::KRaftVoters(voters_record(voters)),
    }
}

/// The voter set that a record stands for. As in Kafka it may be empty, and of two voters with one id, or two listeners with
/// one name, the later one counts.
///
/// # Errors
/// [`ControlError::Voter`]: a voter at which every JVM that reads it ends.
pub fn voter_set(record: &VotersRecord) -> Result<VoterSet, ControlError> {
    record.voters.iter().map(voter_node).collect()
}

/// The record that stands for a voter set, voters by id and listeners by name.
#[must_use]
pub fn voters_record(voters: &VoterSet) -> VotersRecord {
    VotersRecord {
        version: 0,
        voters: voters.iter().map(record_voter).collect(),
        unknown_tags: UnknownTags::default(),
    }
}

fn leader_change_voter(id: &NodeId) -> LeaderChangeVoter {
    LeaderChangeVoter {
        voter_id: id.0,
        ..LeaderChangeVoter::default()
    }
}

fn voter_node(voter: &VotersRecordVoter) -> Result<VoterNode, ControlError> {
    let wrong = |fault| ControlError::Voter {
        voter_id: voter.voter_id,
        fault,
    };
    // What Java trims.
    let is_nameless =
        |endpoint: &VotersRecordEndpoint| endpoint.name.chars().all(|character| character <= ' ');
    if voter.endpoints.iter().any(is_nameless) {
        return Err(wrong(VoterFault::NamelessListener));
    }
    let levels = &voter.kraft_version_feature;
    let kraft_versions = SupportedVersions {
        min: levels.min_supported_version,
        max: levels.max_supported_version,
    };
    if !kraft_versions.is_range() {
        let SupportedVersions { min, max } = kraft_versions;
        return Err(wrong(VoterFault::NoRange { min, max }));
    }
    let endpoints: Endpoints = voter
        .endpoints
        .iter()
        .map(|endpoint| {
            let address = Endpoint {
                host: endpoint.host.as_str().into(),
                port: endpoint.port,
            };
            (endpoint.name.as_str().into(), address)
        })
        .collect();
    Ok(VoterNode {
        key: ReplicaKey::new(NodeId(voter.voter_id), voter.voter_directory_id),
        endpoints,
        kraft_versions,
    })
}

fn record_voter(voter: &VoterNode) -> VotersRecordVoter {
    let endpoint = |(name, address): (&str, &Endpoint)| VotersRecordEndpoint {
        name: name.to_owned(),
        host: address.host.to_string(),
        port: address.port,
        unknown_tags: UnknownTags::default(),
    };
    VotersRecordVoter {
        voter_id: voter.key.id.0,
        voter_directory_id: voter.key.directory_or_nil(),
        endpoints: voter.endpoints.iter().map(endpoint).collect(),
        kraft_version_feature: VotersRecordKRaftVersionFeature {
            min_supported_version: voter.kraft_versions.min,
            max_supported_version: voter.kraft_versions.max,
            unknown_tags: UnknownTags::default(),
        },
        unknown_tags: UnknownTags::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn voterset_009_a_voters_record_reads_back() {
        let node = |id: i32| VoterNode {
            key: ReplicaKey::new(NodeId(id), Uuid::from_u128(u128::from(id.unsigned_abs()))),
            endpoints: Endpoints::single(
                "CONTROLLER",
                Endpoint {
                    host: "localhost".into(),
                    port: 9990,
                },
            ),
            kraft_versions: SupportedVersions { min: 0, max: 1 },
        };
        let voters: VoterSet = [1, 2, 3].map(node).into_iter().collect();
        let record = voters_record(&voters);
        assert_eq!(record.version, 0);
        assert_eq!(voter_set(&record), Ok(voters));
    }
}
