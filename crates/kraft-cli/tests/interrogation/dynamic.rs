//! The quorum at kraft.version 1: voters 1 and 2, node 2 leads, node 3 observes.

use std::net::{TcpListener, TcpStream};

use kraft_wire::{ApiKey, Message, message as m};

use crate::ask;
use crate::compare::Context;
use crate::node::{LIMIT, Node, eventually, framed, read_answers};
use crate::ports::Ports;
use crate::quorum::{DYNAMIC, Quorum};
use crate::report::Report;
use crate::row::rows;

/// Nobody listens there.
const NOBODY: u16 = 57123;
/// Whoever listens there never answers.
const MUTE: u16 = 36383;

/// Files that change nothing.
const STILL_FILES: &[&str] = &[
    "api-versions",
    "vote",
    "begin-quorum-epoch",
    "end-quorum-epoch",
    "describe-quorum",
    "describe-cluster",
    "fetch-snapshot",
    "fetch",
    "framing",
    "remove-raft-voter",
    "add-raft-voter",
];

pub(crate) fn interrogate() -> Report {
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let [one, two, three] = DYNAMIC.ports;
    let ports = Ports::free(&[one, two, three, NOBODY]).with(MUTE, mute.local_addr().unwrap().port());
    let quorum = Quorum::start(DYNAMIC, &ports);
    let mut context = Context {
        apis: quorum
            .node(2)
            .versions(0)
            .api_keys
            .iter()
            .map(|api| api.api_key)
            .collect(),
        ports: &ports,
        quorum: Some(&quorum),
        moving: false,
        newest: quorum.recorded.cut,
    };
    let mut report = Report::default();
    for file in STILL_FILES {
        for row in rows(file) {
            let pending = (row.id() == "add-raft-voter-037").then(|| pending_addition(&quorum, 250));
            report.add(row.id(), ask(&context, quorum.node(row.node()), &row));
            drop(pending);
        }
    }
    // The changes of the voters, and what the controller decides, in the order in which they were asked.
    context.moving = true;
    let (mut before, after): (Vec<_>, Vec<_>) = rows("reconfiguration")
        .into_iter()
        .partition(|row| row.id() < "reconfiguration-014");
    let mut sequence = rows("update-raft-voter");
    sequence.append(&mut before);
    sequence.extend(rows("controller-apis"));
    sequence.extend(after);
    for row in sequence {
        settle(&quorum);
        if row.id() == "controller-apis-016" {
            register(&quorum, 202);
        }
        let pending = (row.id() == "update-raft-voter-001").then(|| pending_addition(&quorum, 251));
        report.add(row.id(), ask(&context, quorum.node(row.node()), &row));
        drop(pending);
    }
    report
}

/// An addition that waits for a voter which accepts and never answers. When it is dropped it is over.
struct Pending {
    asked: TcpStream,
    _mute: TcpStream,
}

impl Drop for Pending {
    fn drop(&mut self) {
        read_answers(&mut self.asked, 1);
    }
}

fn pending_addition(quorum: &Quorum, id: i32) -> Pending {
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    mute.set_nonblocking(true).unwrap();
    let request = m::AddRaftVoterRequest {
        cluster_id: None,
        timeout_ms: 30_000,
        voter_id: id,
        voter_directory_id: uuid::Uuid::from_u128(250),
        listeners: vec![m::AddRaftVoterRequestListener {
            name: "CONTROLLER".to_owned(),
            host: "127.0.0.1".to_owned(),
            port: mute.local_addr().unwrap().port(),
            ..Default::default()
        }],
        ..Default::default()
    };
    let mut frame = Vec::new();
    let header = m::RequestHeader {
        request_api_key: ApiKey::AddRaftVoter.key(),
        request_api_version: 1,
        ..Default::default()
    };
    header.encode(2, &mut frame).unwrap();
    frame.extend(request.to_bytes(1).unwrap());
    let asked = quorum.node(2).send(&framed(&frame), LIMIT);
    let mut accepted = None;
    eventually("the leader asks the new voter", || {
        accepted = mute.accept().ok();
        accepted.is_some()
    });
    let (mute, _) = accepted.unwrap();
    Pending { asked, _mute: mute }
}

/// Registers a controller whose registration was no question.
fn register(quorum: &Quorum, id: i32) {
    let request = m::ControllerRegistrationRequest {
        controller_id: id,
        incarnation_id: uuid::Uuid::from_u128(202),
        ..Default::default()
    };
    let api = ApiKey::ControllerRegistration;
    let answer: m::ControllerRegistrationResponse = quorum.node(2).call(api, 0, &request);
    assert_eq!(answer.error_code, 0);
}

/// Waits until what was asked before is committed, and everybody has it.
fn settle(quorum: &Quorum) {
    eventually("everything is committed", || {
        let answers = quorum.nodes.iter().map(Node::describe);
        let leading = answers.map(|answer| answer.topics[0].partitions[0].clone());
        leading.into_iter().any(|partition| {
            let replicas = partition.current_voters.iter().chain(&partition.observers);
            let end = partition.high_watermark;
            let level = replicas.filter(|replica| replica.log_end_offset == end).count();
            let leader = partition.leader_id;
            let mut all = partition.current_voters.iter().chain(&partition.observers);
            let own = all.find(|replica| replica.replica_id == leader);
            partition.error_code == 0 && level >= 3 && own.is_some_and(|own| own.log_end_offset == end)
        })
    });
}
