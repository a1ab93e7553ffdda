//! Questions that end a Kafka process, exhaust its epochs or unseat its leader. Each is put to a node of its own, which
//! refuses what cannot be undone, lives on, leads or answers, and does so after a restart too.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use bytes::Bytes;
use kraft_wire::frame::{decode_request_header, decode_response_header};
use kraft_wire::{ApiKey, Message, message as m};
use serde_json::Value;
use tempfile::TempDir;

use crate::compare::Context;
use crate::lone::{format, format_lone};
use crate::node::{LIMIT, Node, Outcome, eventually, framed};
use crate::ports::Ports;
use crate::report::Report;
use crate::row::{Row, hex, read_slice, rows};

/// Of the single voters.
const DIRECTORIES: &[(&str, &str)] = &[
    ("6rD7eA-8Tk201tc_9ho_1w", "Vz6b2SmqSUWUKlRgRNi17g"),
    ("lKub6I2gSF-j7XjCQjKZxw", "lKub6I2gSF-j7XjCQjKZxw"),
    ("Bjhes9uoTreOwGcFsJ70fw", "XJ4itPSfSouRWgy5-XrlSQ"),
    ("1ld15yKURA-lrN7y3vmNxA", "RGB56QPhTeSZgEUV2Vf9FQ"),
];
/// Of the first of three voters; of the others only that they exist matters.
const LONE_DIRECTORIES: &[(&str, &str)] = &[
    ("Q5OjYqqvTh6d3C0yPt1nog", "x9d3pFIrQweVZ2iAjHvS2A"),
    ("lUGdKKe1T1uG_i_F-vdQHw", "X5qM9u7iTauQMNLaFL4hkA"),
    ("1xinCq3ITFifE5F8cRkb1A", "OvWQgk58R62g83Ee49IIsQ"),
    ("LVczXfOyTSyc54rINrYgUA", "M2DpFPqDR3eKnwB0rGdSvw"),
    ("2brhJlLGTdePmPyXkGegKQ", "yQ3U9KJSRDSxKAAZFXxdbA"),
    ("sJ3qoeBMQiGzclkfriXMtA", "NhPWiHuBTuWqnZCTc7uF-A"),
];
const OTHERS: [&str; 2] = ["L1UETsMER9eGlbimnZWY7g", "_IrgGBfFQEygnrLbOnoLWQ"];
/// Above it no epoch is believed.
const EPOCH_MAX: i64 = 2_000_000_000;
/// More bytes than the nine records of the bootstrap have, and less than those and the registration have together: a
/// snapshot is written when the node has registered, and at no other moment.
const BEFORE_REGISTRATION: u32 = 450;
/// How many nodes run at a time.
const THREADS: usize = 3;

/// What a node of ours says where Kafka's does something else.
const HERE: &[(&str, &str)] = &[
    ("fatal-006", "42, leader 1, epoch 1, refused"),
    ("fatal-007", "42, leader 1, epoch 1, refused"),
    ("fatal-008", "42, leader -1, epoch 5, refused"),
    ("fatal-009", "42, leader -1, epoch 5, refused"),
    ("fatal-011", "42, leader -1, epoch 0"),
    ("fatal-013", "42, leader 1, epoch 1"),
    ("fatal-014", "42, leader -1, epoch 0"),
    ("fatal-015", "42, leader -1, epoch 0"),
    ("fatal-016", "0, leader -1, epoch 5"),
    ("fatal-017", "0, leader -1, epoch 5"),
    ("fatal-019", "42, leader -1, epoch 0"),
    ("fatal-023", "42, leader -1, epoch 0"),
    ("fatal-024", "42, leader 2, epoch 5"),
    ("fatal-025", "0, leader -1, epoch 7"),
    ("fatal-030", "42"),
    ("fatal-031", "42"),
    ("fatal-032", "42"),
    ("fatal-033", "42"),
    ("fatal-034", "42"),
    ("fatal-035", "42"),
    ("fatal-036", "42"),
];

/// The files under `vectors` name them by these ids; the one that is a stream of its own kind is a test of its own.
pub(crate) fn interrogate() -> Report {
    let rows = rows("fatal");
    let next = AtomicUsize::new(0);
    let mut results = BTreeMap::new();
    thread::scope(|scope| {
        let asking = [(); THREADS].map(|()| {
            scope.spawn(|| {
                let mut results = Vec::new();
                while let Some(row) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
                    results.push((row.id().to_owned(), put(row)));
                }
                results
            })
        });
        for thread in asking {
            results.extend(thread.join().unwrap());
        }
    });
    let mut report = Report::default();
    for (id, result) in results {
        report.add(&id, result);
    }
    report
}

/// Puts one question to a node in its state and sees that it lives on.
fn put(row: &Row) -> Result<(), String> {
    let single = row.text("quorum") == "single voter";
    let (home, mut node) = if single {
        single_voter(row)
    } else {
        lone_voter(row)
    };
    for before in row.0["before"].as_array().into_iter().flatten() {
        let frame = framed(&hex(before["request"].as_str().unwrap()));
        assert!(matches!(node.ask(&frame, 1, LIMIT), Outcome::Answered(_)));
    }
    let (result, connections) = if row.is_raw() {
        (Err("the others are answered".to_owned()), announce(row, &node))
    } else {
        (compare(row, &node), Vec::new())
    };
    lives_on(row, &mut node, single);
    drop(connections);
    drop(node);
    lives_on(row, &mut Node::start(home.folder.path()), single);
    result
}

/// What a node finds again when it is started again.
struct Home {
    folder: TempDir,
    _ports: Ports,
}

fn single_voter(row: &Row) -> (Home, Node) {
    let (folder, ports) = (tempfile::tempdir().unwrap(), Ports::free(&[1]));
    format_single(folder.path(), &cluster_id(row), ports.of(1));
    let node = Node::start(folder.path());
    // As recorded: the node itself is registered, with the last of these records, and some ask for the snapshot of them.
    node.wait_until_committed(13);
    eventually("the snapshot is written", || has_snapshot(&node));
    let home = Home {
        folder,
        _ports: ports,
    };
    (home, node)
}

/// Whether it serves the snapshot of its first 13 records.
fn has_snapshot(node: &Node) -> bool {
    let request = m::FetchSnapshotRequest {
        replica_id: 99,
        topics: vec![m::FetchSnapshotRequestTopic {
            name: "__cluster_metadata".to_owned(),
            partitions: vec![m::FetchSnapshotRequestPartition {
                current_leader_epoch: 1,
                snapshot_id: m::FetchSnapshotRequestSnapshotId {
                    end_offset: 13,
                    epoch: 1,
                    ..Default::default()
                },
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    };
    let answer: m::FetchSnapshotResponse = node.call(ApiKey::FetchSnapshot, 1, &request);
    answer.topics[0].partitions[0].error_code == 0
}

fn lone_voter(row: &Row) -> (Home, Node) {
    let cluster_id = cluster_id(row);
    let own = LONE_DIRECTORIES
        .iter()
        .find(|(cluster, _)| *cluster == cluster_id);
    let (_, own) = own.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let voters = [(10_001, *own), (10_002, OTHERS[0]), (10_003, OTHERS[1])];
    format_lone(folder.path(), &cluster_id, &voters);
    let node = Node::start(folder.path());
    let home = Home {
        folder,
        _ports: Ports::free(&[]),
    };
    (home, node)
}

/// The largest epoch that is believed of a stranger is followed by as many elections as it takes.
#[test]
fn the_last_epoch_that_is_believed_does_not_end_a_quorum() {
    let row = &rows("fatal")[5];
    assert_eq!(row.id(), "fatal-006");
    let (home, mut node) = single_voter(row);
    let mut vote = row.sent();
    let largest = i32::MAX.to_be_bytes();
    let at = vote.windows(4).position(|window| window == largest).unwrap();
    vote[at..at + 4].copy_from_slice(&2_000_000_000_i32.to_be_bytes());
    assert!(matches!(node.ask(&vote, 1, LIMIT), Outcome::Answered(_)));
    for elections in 1..=2 {
        eventually("it leads a later epoch", || {
            let answer = node.describe();
            let partition = &answer.topics[0].partitions[0];
            let is_led = partition.error_code == 0 && partition.high_watermark > 0;
            is_led && partition.leader_epoch >= 2_000_000_000 + elections
        });
        assert!(node.is_running());
        drop(node);
        node = Node::start(home.folder.path());
    }
}

/// The connections that announce what they never send.
fn announce(row: &Row, node: &Node) -> Vec<TcpStream> {
    let before = resident_bytes(node.process_id());
    let connections: Vec<_> = (0..12).map(|_| node.send(&row.sent(), LIMIT)).collect();
    node.versions(3);
    // All that has been announced would be 1.2 GB.
    let grown = resident_bytes(node.process_id()).saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes for twelve announcements");
    connections
}

fn resident_bytes(process_id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process_id}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    kilobytes << 10
}

fn compare(row: &Row, node: &Node) -> Result<(), String> {
    // Some answers name the port of the single voter.
    let ports = Ports::free(&[]).with(41617, node.address.port());
    let context = Context::of(node, &ports);
    let found = node.ask(&row.sent(), 1, LIMIT);
    let result = context.compare(row, &found);
    let here = match &found {
        Outcome::Answered(answers) => errors(row, &answers[0]),
        Outcome::Closed => "closed".to_owned(),
        Outcome::Silent => "silent".to_owned(),
    };
    let expected = HERE.iter().find(|(id, _)| *id == row.id()).map(|(_, here)| *here);
    match (result, expected) {
        (Ok(()), None) => Ok(()),
        (Err(difference), Some(expected)) if expected == here => Err(difference),
        (result, expected) => panic!("{}: {here}, expected {expected:?}: {result:?}", row.id()),
    }
}

/// What an answer says, in short: its error, or that of its partition with what it says of leader and vote.
fn errors(row: &Row, answer: &Bytes) -> String {
    let request = row.sent();
    let (api, header, _) = decode_request_header(read_slice(&mut &request[..])).unwrap();
    let version = header.request_api_version;
    let (_, reader) = decode_response_header(answer.clone(), api, version).unwrap();
    let body = reader.rest();
    match api {
        ApiKey::Vote => {
            let answer = m::VoteResponse::from_bytes(&body, version).unwrap();
            let partition = &answer.topics[0].partitions[0];
            let verdict = if partition.vote_granted {
                "granted"
            } else {
                "refused"
            };
            format!(
                "{}, leader {}, epoch {}, {verdict}",
                partition.error_code, partition.leader_id, partition.leader_epoch
            )
        }
        ApiKey::BeginQuorumEpoch => {
            let answer = m::BeginQuorumEpochResponse::from_bytes(&body, version).unwrap();
            let partition = &answer.topics[0].partitions[0];
            let (error, leader) = (partition.error_code, partition.leader_id);
            format!("{error}, leader {leader}, epoch {}", partition.leader_epoch)
        }
        ApiKey::EndQuorumEpoch => {
            let answer = m::EndQuorumEpochResponse::from_bytes(&body, version).unwrap();
            let partition = &answer.topics[0].partitions[0];
            let (error, leader) = (partition.error_code, partition.leader_id);
            format!("{error}, leader {leader}, epoch {}", partition.leader_epoch)
        }
        ApiKey::FetchSnapshot => {
            let answer = m::FetchSnapshotResponse::from_bytes(&body, version).unwrap();
            format!("{}", answer.topics[0].partitions[0].error_code)
        }
        ApiKey::Fetch => {
            let answer = m::FetchResponse::from_bytes(&body, version).unwrap();
            format!("{}", answer.responses[0].partitions[0].error_code)
        }
        ApiKey::AddRaftVoter => {
            let answer = m::AddRaftVoterResponse::from_bytes(&body, version).unwrap();
            format!("{}", answer.error_code)
        }
        ApiKey::UpdateRaftVoter => {
            let answer = m::UpdateRaftVoterResponse::from_bytes(&body, version).unwrap();
            format!("{}", answer.error_code)
        }
        ApiKey::ControllerRegistration => {
            let answer = m::ControllerRegistrationResponse::from_bytes(&body, version).unwrap();
            format!("{}", answer.error_code)
        }
        other => unreachable!("{other:?} is not asked here"),
    }
}

/// It runs and answers, a single voter leads and commits, and no epoch is stored that none could follow.
fn lives_on(row: &Row, node: &mut Node, single: bool) {
    if single {
        eventually(row.id(), || node.high_watermark().is_some_and(|end| end > 0));
    }
    node.versions(3);
    assert!(node.is_running(), "{} has ended the process", row.id());
    let file = node.folder.join("data/__cluster_metadata-0/quorum-state");
    let state: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let epoch = state["leaderEpoch"].as_i64().unwrap();
    assert!((0..=EPOCH_MAX).contains(&epoch), "{}: {state}", row.id());
}

fn format_single(folder: &Path, cluster_id: &str, port: u16) {
    let known = DIRECTORIES.iter().find(|(cluster, _)| *cluster == cluster_id);
    let (_, directory_id) = known.unwrap();
    let settings = format!(
        "listeners=CONTROLLER://127.0.0.1:{port}\ncontroller.quorum.bootstrap.servers=127.0.0.1:{port}\n\
         metadata.max.idle.interval.ms=0\nmetadata.log.max.snapshot.interval.ms=0\n\
         metadata.log.max.record.bytes.between.snapshots={BEFORE_REGISTRATION}\n"
    );
    let voter = format!("1@127.0.0.1:{port}:{directory_id}");
    format(
        folder,
        &settings,
        &["-t", cluster_id, "--initial-controllers", &voter],
    );
}

/// The cluster of the question; some name none.
fn cluster_id(row: &Row) -> String {
    let known = DIRECTORIES
        .iter()
        .chain(LONE_DIRECTORIES)
        .map(|(cluster, _)| *cluster);
    let request = row.sent();
    let named = |cluster: &&str| {
        request
            .windows(cluster.len())
            .any(|window| window == cluster.as_bytes())
    };
    known.clone().find(named).unwrap_or(DIRECTORIES[2].0).to_owned()
}
