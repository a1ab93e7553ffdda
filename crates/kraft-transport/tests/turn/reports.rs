//! Failures that others have met with logs and snapshots: they do not happen here.

use crate::harness::*;
use kraft_core::{Epoch, Event, LogEnd, LogView, NodeId, PeerRequest, ReplicaKey, StateMachine};
use kraft_fs::{File, FileSystem, MemFs, Open};
use kraft_snapshot::frozen_name;
use kraft_transport::{
    Command, NodeError, PeerApi,
    codec::{Topic, encode_request},
};
use kraft_wire::{Message, batch::BatchBuilder, message as m};
use std::path::Path;
use tokio::sync::oneshot;

fn files(fs: &MemFs) -> Vec<(String, Vec<u8>)> {
    let dir = Path::new(LOG_DIR);
    let entries = fs.list(dir).expect("listed").into_iter();
    entries
        .map(|entry| {
            let bytes = fs.read_bounded(&dir.join(&entry.name), 1 << 24);
            (entry.name, bytes.expect("readable").expect("it is there"))
        })
        .collect()
}

fn flip(fs: &MemFs, name: &str, at: u64) {
    let path = Path::new(LOG_DIR).join(name);
    let file = fs.open(&path, Open::Read).expect("it is there");
    file.set_mode(0o644).expect("a mode");
    let file = fs.open(&path, Open::ReadWrite).expect("it is there");
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).expect("readable");
    file.write_all_at(&[byte[0] ^ 1], at).expect("written");
}

#[test]
fn field_h03_a_truncation_below_the_high_watermark_ends_the_node_and_keeps_the_files() {
    let fs = MemFs::new();
    let mut node = follower(&fs);
    node.replicated(&["one", "two", "three"], 3);
    let before = files(&fs);
    let request = node.asked(|body| matches!(body, PeerRequest::Fetch { .. }));
    let mut partition = m::FetchResponsePartition {
        high_watermark: 3,
        ..Default::default()
    };
    partition.current_leader.leader_id = 2;
    partition.current_leader.leader_epoch = 1;
    partition.diverging_epoch.end_offset = 1;
    partition.diverging_epoch.epoch = 1;
    let body = m::FetchResponse {
        responses: vec![m::FetchResponseTopic {
            topic_id: Topic::default().id,
            partitions: vec![partition],
            ..Default::default()
        }],
        ..Default::default()
    };
    let body = body.to_bytes(17).expect("encoded");
    let ended = node.turn_to_end([Command::FetchResponse(from_leader(request, 17, body))]);
    let Some(Err(NodeError::Contradiction { reason })) = ended else {
        panic!("{ended:?}");
    };
    assert!(
        reason.contains("at offset 1") && reason.contains("below 3 is committed"),
        "{reason}"
    );
    node.engine.storage_mut().ops.clear();
    assert_eq!(files(&fs), before);
}

#[test]
fn field_h09_bit_rot_in_the_log_is_not_replayed() {
    let fs = MemFs::new();
    let mut node = Node::open(&fs, &[(1, 9001)]);
    node.lead();
    let at = node.engine.log().end().last_offset;
    node.commit("a word");
    drop(node);
    let segment = "00000000000000000000.log";
    let path = Path::new(LOG_DIR).join(segment);
    let bytes = fs
        .read_bounded(&path, 1 << 24)
        .expect("readable")
        .expect("it is there");
    let word = bytes
        .windows(6)
        .position(|window| window == b"a word")
        .expect("it is there");

    // A start checks everything; the bit falls over after it.
    let mut node = Node::open(&fs, &[(1, 9001)]);
    flip(&fs, segment, word as u64);
    let mut ended = None;
    for _ in 0..1000 {
        let done = node.written();
        ended = node.turn_to_end(done);
        if ended.is_some() {
            break;
        }
        node.now_ms += 10;
    }
    let Some(Err(error)) = ended else {
        panic!("the damaged record is applied");
    };
    assert!(
        matches!(&error, NodeError::Apply(fault) if fault.offset == at),
        "{error:?}"
    );
    assert!(error.to_string().contains("checksum"), "{error}");
}

#[test]
fn field_h09_bit_rot_in_a_snapshot_is_not_loaded() {
    let fs = MemFs::new();
    let mut node = Node::open(&fs, &[(1, 9001)]);
    node.lead();
    node.commit("a word");
    let (reply, mut written) = oneshot::channel();
    node.turn([Command::TriggerSnapshot { reply }]);
    assert_eq!(written.try_recv(), Ok(Ok(())));
    let snapshot = node.engine.log().latest_snapshot().expect("it is written");
    drop(node);
    let mut node = Node::open(&fs, &[(1, 9001)]);
    flip(&fs, &frozen_name(snapshot), 150);
    let ended = node.turn_to_end([]);
    let Some(Err(NodeError::Storage { reason })) = ended else {
        panic!("{ended:?}");
    };
    assert!(
        reason.contains(&frozen_name(snapshot)) && reason.contains("byte "),
        "{reason}"
    );
}

const EMPTY: LogEnd = LogEnd {
    last_epoch: Epoch(0),
    last_offset: 0,
};

/// What somebody is told who fetches from `log_end`.
fn fetched(node: &mut Node, log_end: LogEnd) -> m::FetchResponsePartition {
    let fetch = PeerRequest::Fetch {
        cluster_id: "AAAAAAAAAAAAAAAAAAAAAA".into(),
        replica: ReplicaKey::new(NodeId(9), uuid::Uuid::from_u128(9)),
        epoch: node.engine.replica().epoch(),
        log_end,
        high_watermark: -1,
        max_wait_ms: 0,
        max_bytes: 1 << 20,
    };
    let body = encode_request(&Topic::default(), &fetch, 17).expect("version 17 carries it");
    let (command, mut answer) = inbound_at(PeerApi::Fetch, body, 17);
    node.turn([command]);
    let body = answer.try_recv().expect("answered at once");
    let mut response = m::FetchResponse::from_bytes(&body, 17).expect("decoded");
    response.responses.remove(0).partitions.remove(0)
}

#[test]
fn field_h15_who_begins_at_offset_0_is_given_the_snapshot() {
    let fs = MemFs::new();
    let mut node = Node::open(&fs, &[(1, 9001)]);
    node.lead();
    node.commit("a word");
    assert_eq!(fetched(&mut node, EMPTY).snapshot_id.epoch, -1, "there is none");
    let (reply, mut written) = oneshot::channel();
    node.turn([Command::TriggerSnapshot { reply }]);
    assert_eq!(written.try_recv(), Ok(Ok(())));
    let snapshot = node.engine.log().latest_snapshot().expect("it is written");
    let answer = fetched(&mut node, EMPTY).snapshot_id;
    assert_eq!(
        (answer.end_offset, answer.epoch),
        (snapshot.end_offset, snapshot.epoch.0)
    );
    // A state machine that starts has the snapshot before any record.
    drop(node);
    let mut node = Node::open(&fs, &[(1, 9001)]);
    node.turn([]);
    assert_eq!(**node.engine.machine().image(), ["epoch 1", "a word"]);
}

/// A node that may not become a voter asks for more before what it has is durable; one that may does not.
#[test]
fn field_h14_an_observer_does_not_wait_for_its_disk() {
    for (can_become_voter, asks) in [(false, true), (true, false)] {
        let mut node = Node::open_with(&MemFs::new(), &[(2, 9002)], |config| {
            config.core.can_become_voter = can_become_voter;
        });
        node.engine.network_mut().takes = true;
        node.told_of_leader(1);
        let mut batch = BatchBuilder::data(0);
        batch.push(b"a word").expect("it fits");
        node.answered_without_flush(batch.build(0, 1).to_vec(), 0);
        assert_eq!(node.end(), 1);
        assert_eq!(node.engine.log().flushed_end(), 0);
        let asked = std::mem::take(&mut node.engine.network_mut().asked);
        let again = asked
            .iter()
            .any(|request| matches!(&request.body, PeerRequest::Fetch { .. }));
        assert_eq!(again, asks, "can become voter: {can_become_voter}");
    }
}

#[test]
fn field_h20_a_change_of_leaders_does_not_put_off_a_snapshot() {
    let mut node = Node::open_with(&MemFs::new(), &[(1, 9001)], |config| {
        config.snapshot_max_new_bytes = 1000;
        config.snapshot_max_interval = None;
    });
    node.lead();
    let long = "x".repeat(600);
    node.commit(&long);
    assert_eq!(node.snapshot_end(), None);
    let epoch = node.engine.replica().epoch();
    node.turn([Command::Event(Event::Resign { epoch })]);
    node.run_until("another epoch", |node| node.engine.replica().epoch() > epoch);
    node.lead();
    node.commit(&long);
    assert_eq!(node.snapshot_end(), Some(node.end()), "the bytes before count");
}
