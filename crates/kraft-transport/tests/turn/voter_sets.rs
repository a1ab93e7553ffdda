//! Voter sets that no leader writes, in the bootstrap checkpoint and in the log. What becomes of a lone voter that starts on each
//! of them was seen at Apache Kafka 4.4.0.

use crate::harness::*;
use kraft_core::{NodeId, RoleName, VoterSet};
use kraft_fs::{File, FileSystem, MemFs, Open};
use kraft_log::{LogOptions, OpenError};
use kraft_snapshot::{SnapshotDamage, SnapshotReadError};
use kraft_wire::control::{
    ControlError, ControlRecord, KRaftVersionRecord, SnapshotFooterRecord, SnapshotHeaderRecord, VoterFault,
    VotersRecord, VotersRecordEndpoint, VotersRecordKRaftVersionFeature, VotersRecordVoter, control_batch,
};
use std::path::Path;
use uuid::Uuid;

/// A voter in its own directory, or in that of somebody else.
fn voter(id: i32, directory: u128, listeners: &[(&str, u16)], levels: (i16, i16)) -> VotersRecordVoter {
    let endpoint = |(name, port): &(&str, u16)| VotersRecordEndpoint {
        name: (*name).to_owned(),
        host: "127.0.0.1".to_owned(),
        port: *port,
        ..Default::default()
    };
    VotersRecordVoter {
        voter_id: id,
        voter_directory_id: Uuid::from_u128(directory),
        endpoints: listeners.iter().map(endpoint).collect(),
        kraft_version_feature: VotersRecordKRaftVersionFeature {
            min_supported_version: levels.0,
            max_supported_version: levels.1,
            ..Default::default()
        },
        ..Default::default()
    }
}

fn level_and_voters(voters: Vec<VotersRecordVoter>) -> [ControlRecord; 2] {
    let level = KRaftVersionRecord {
        kraft_version: 1,
        ..Default::default()
    };
    let voters = VotersRecord {
        voters,
        ..Default::default()
    };
    [
        ControlRecord::KRaftVersion(level),
        ControlRecord::KRaftVoters(voters),
    ]
}

/// A directory that was formatted with these voters.
fn formatted(voters: Vec<VotersRecordVoter>) -> MemFs {
    let [level, voters] = level_and_voters(voters);
    let header = ControlRecord::SnapshotHeader(SnapshotHeaderRecord::default());
    let footer = ControlRecord::SnapshotFooter(SnapshotFooterRecord::default());
    let header = control_batch(&[header, level, voters], 0, 0, 0).expect("encoded");
    let footer = control_batch(&[footer], 3, 0, 0).expect("encoded");
    let fs = MemFs::new();
    fs.create_dir_all(Path::new(LOG_DIR)).expect("created");
    let name = Path::new(LOG_DIR).join("00000000000000000000-0000000000.checkpoint");
    let file = fs.open(&name, Open::CreateNew).expect("created");
    file.write_all_at(&[header, footer].concat(), 0).expect("written");
    fs
}

const HERE: &[(&str, u16)] = &[("CONTROLLER", 9001)];
const BOTH: (i16, i16) = (0, 1);

/// What becomes of a node that starts alone.
#[derive(Debug, PartialEq)]
enum Alone {
    Leads,
    /// It is no voter.
    Observes,
    /// It is not alone: it asks for votes, in epoch after epoch.
    Campaigns,
}

#[test]
fn a_node_starts_on_the_voter_sets_on_which_kafka_starts() {
    let me = || voter(1, 1001, HERE, BOTH);
    let elsewhere = || voter(1, 99, HERE, BOTH);
    let cases = [
        (vec![me()], Alone::Leads),
        (vec![], Alone::Observes),
        // The later one counts.
        (vec![elsewhere(), me()], Alone::Leads),
        (vec![me(), elsewhere()], Alone::Observes),
        (vec![voter(1, 1001, &[], BOTH)], Alone::Leads),
        (
            vec![voter(1, 1001, &[("CONTROLLER", 1), ("controller", 9001)], BOTH)],
            Alone::Leads,
        ),
        // It does not support the level in force.
        (vec![voter(1, 1001, HERE, (0, 0))], Alone::Leads),
        (vec![me(), voter(-7, 99, HERE, BOTH)], Alone::Campaigns),
        (vec![me(), voter(-1, 99, HERE, BOTH)], Alone::Campaigns),
    ];
    for (voters, expected) in cases {
        let shown = format!("{voters:?}");
        let mut node = Node::open_with(&formatted(voters), &[(1, 9001)], |config| {
            let listed = config.core.listeners.of("CONTROLLER").cloned();
            config.core.bootstrap_servers.extend(listed);
            config.core.static_voters = VoterSet::default();
        });
        for _ in 0..500 {
            node.flush();
            node.now_ms += 10;
            node.turn([]);
        }
        let replica = node.engine.replica();
        let found = match replica.role() {
            RoleName::Leader => Alone::Leads,
            RoleName::Unattached => Alone::Observes,
            _ => Alone::Campaigns,
        };
        assert_eq!(found, expected, "{shown}");
        if expected == Alone::Leads {
            assert_eq!(
                replica
                    .voters()
                    .endpoints(NodeId(1))
                    .of("CONTROLLER")
                    .map(|at| at.port),
                Some(9001)
            );
            node.commit("by whoever leads");
        }
    }
}

#[test]
fn a_voter_at_which_kafka_ends_is_refused_in_a_checkpoint_and_in_the_log() {
    let cases = [
        (
            voter(2, 2, &[(" \u{1f}", 9002)], BOTH),
            VoterFault::NamelessListener,
        ),
        (voter(2, 2, HERE, (1, 0)), VoterFault::NoRange { min: 1, max: 0 }),
        (
            voter(2, 2, HERE, (-1, 1)),
            VoterFault::NoRange { min: -1, max: 1 },
        ),
    ];
    for (wrong, fault) in cases {
        let voters = vec![voter(1, 1001, HERE, BOTH), wrong];
        let refused = kraft_log::open(
            formatted(voters.clone()),
            Path::new(LOG_DIR),
            LogOptions::default(),
        );
        let refused = refused.expect_err("Kafka does not start");
        let expected = ControlError::Voter { voter_id: 2, fault };
        assert!(
            matches!(&*refused.cause, OpenError::Snapshot(SnapshotReadError::Damaged {
                damage: SnapshotDamage::Control(found), ..
            }) if *found == expected),
            "{refused}"
        );

        // A follower of Kafka would append it and end.
        let mut node = follower(&MemFs::new());
        let end = node.end();
        let records = control_batch(&level_and_voters(voters), end, 1, 0).expect("encoded");
        node.fetched(records.to_vec(), 0);
        assert_eq!(node.end(), end, "{fault}");
        // Somebody else may still lead it.
        let records = control_batch(&level_and_voters(vec![voter(2, 2, HERE, BOTH)]), end, 1, 0);
        node.fetched(records.expect("encoded").to_vec(), 0);
        assert_eq!(node.end(), end + 2);
    }
}
