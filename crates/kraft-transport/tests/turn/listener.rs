//! What the state machine and those who watch are told, and when.

use crate::harness::*;
use kraft_core::{Epoch, LogView, NodeId, RoleName, StateMachine};
use kraft_fs::MemFs;
use kraft_log::batch_info;
use kraft_transport::{Command, PeerApi};
use kraft_wire::{
    batch::{BatchBuilder, Batches},
    control::{ControlRecord, control_batch},
};
use tokio::sync::oneshot;

#[test]
fn listener_010_a_snapshot_is_loaded_before_the_records_behind_it() {
    let fs = MemFs::new();
    let mut node = Node::open(&fs, &[(1, 9001)]);
    node.lead();
    let (command, _answer) = submit("in the snapshot");
    node.turn([command]);
    node.flush();
    let (reply, mut written) = oneshot::channel();
    node.turn([Command::TriggerSnapshot { reply }]);
    assert_eq!(written.try_recv(), Ok(Ok(())));
    drop(node);

    let mut node = Node::open(&fs.crash_image(kraft_fs::Unsynced::Lost), &[(1, 9001)]);
    node.turn([]);
    let image = node.engine.watch_image().borrow().clone();
    assert_eq!(*image, ["epoch 1", "in the snapshot"], "before anybody leads");
    node.lead();
    let image = node.engine.watch_image().borrow().clone();
    assert_eq!(*image, ["epoch 1", "in the snapshot", "epoch 2"]);
}

#[test]
fn listener_007_who_watches_an_unattached_node_sees_the_epoch_and_then_the_leader() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001), (2, 9002)]);
    let (command, _answer) = inbound(PeerApi::Vote, vote(&node, 7));
    node.turn([command]);
    node.flush();
    assert_eq!(node.watched(), (None, Epoch(7)));
    node.told_of_leader(7);
    assert_eq!(node.watched(), (Some(NodeId(2)), Epoch(7)));
}

#[test]
fn listener_008_who_begins_to_watch_a_follower_sees_leader_and_epoch() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001), (2, 9002)]);
    node.told_of_leader(7);
    assert_eq!(node.watched(), (Some(NodeId(2)), Epoch(7)));
    assert!(!node.engine.watch().borrow().leading);
}

#[test]
fn listener_009_a_resigned_node_does_not_lead() {
    let fs = MemFs::new();
    let mut node = Node::open(&fs, &[(1, 9001)]);
    node.lead();
    drop(node);

    let mut node = Node::open(&fs, &[(1, 9001), (2, 9002)]);
    node.turn([]);
    node.flush();
    let state = node.engine.watch();
    assert_eq!(state.borrow().role, RoleName::Resigned);
    assert!(!state.borrow().leading, "the state machine is not told to lead");
    assert_eq!(state.borrow().high_watermark, None);
}

impl Node {
    fn image(&self) -> Vec<String> {
        self.engine.watch_image().borrow().to_vec()
    }
}

#[test]
fn listener_004_who_stops_to_watch_keeps_what_it_has_and_is_told_nothing_more() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    node.commit("nine");
    let mut first = node.engine.watch_image();
    let second = node.engine.watch_image();
    let kept = second.borrow().clone();
    first.mark_unchanged();
    drop(second);
    node.commit("ten");
    assert!(first.has_changed().expect("the engine is there"));
    assert_eq!(first.borrow().last().map(String::as_str), Some("ten"));
    assert_eq!(
        kept.last().map(String::as_str),
        Some("nine"),
        "an image never changes"
    );
}

#[test]
fn listener_011_who_begins_to_watch_later_has_the_snapshot_too() {
    let fs = MemFs::new();
    let mut node = follower(&fs);
    let first = node.engine.watch_image();
    let good = snapshot_file();
    node.offered();
    node.served(good.len(), 0, good);
    node.flush();
    node.flush();
    assert_eq!(**first.borrow(), ["from the snapshot"]);
    let second = node.engine.watch_image();
    assert_eq!(**second.borrow(), ["from the snapshot"]);
    assert_eq!(
        node.engine.log().start(),
        FETCHED.end_offset,
        "the log is cut there"
    );
}

#[test]
fn listener_012_a_state_machine_that_is_slow_gets_a_newer_snapshot_instead_of_what_is_deleted() {
    let fs = MemFs::new();
    let mut node = follower(&fs);
    node.replicated(&["one", "two", "three"], 3);
    assert_eq!(node.image(), ["one", "two", "three"]);
    drop(node);

    // After a restart it has to read all of them again, which takes its time.
    let mut node = follower(&fs);
    node.engine.storage_mut().slow_reads = true;
    node.replicated(&[], 3);
    assert_eq!(node.engine.watch().borrow().applied, 0);
    assert!(!node.engine.storage_mut().to_read.is_empty());
    // Meanwhile the leader has nothing older than a snapshot to give.
    let good = snapshot_file();
    node.offered();
    node.served(good.len(), 0, good);
    node.flush();
    node.flush();
    assert_eq!(node.engine.log().start(), FETCHED.end_offset);
    for _ in 0..3 {
        node.read();
    }
    assert_eq!(node.image(), ["from the snapshot"]);
    assert_eq!(node.engine.watch().borrow().applied, FETCHED.end_offset);
}

#[test]
fn listener_013_each_reader_has_the_records_of_its_kind_and_all_offsets() {
    let control = control_batch(
        &[ControlRecord::KRaftVersion(Default::default())],
        0,
        1,
        1_700_000_000_000,
    );
    let control = control.expect("encoded");
    let mut data = BatchBuilder::data(1_700_000_000_000);
    for word in ["one", "two", "three"] {
        data.push(word.as_bytes()).expect("it fits");
    }
    let data = data.build(1, 1);

    // Consensus reads control records and leaves the others alone.
    let batches = Batches::collect_all([&control[..], &data].concat().into()).expect("whole batches");
    let infos = batches.iter().map(|batch| batch_info(batch).expect("valid"));
    let infos: Vec<_> = infos
        .map(|info| (info.base, info.last, info.control.map(|records| records.len())))
        .collect();
    assert_eq!(infos, [(0, 0, Some(1)), (1, 3, None)]);

    // The state machine has it the other way round.
    let mut node = follower(&MemFs::new());
    node.fetched(control.to_vec(), 1);
    let provenance = |node: &Node| StateMachine::provenance(node.engine.machine()).last_offset;
    assert_eq!((provenance(&node), node.image()), (0, vec![]));
    node.fetched(data.to_vec(), 4);
    assert_eq!(provenance(&node), 3);
    assert_eq!(node.image(), ["one", "two", "three"]);
}

#[test]
fn listener_014_batches_from_memory_come_in_order() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    let base = node.end();
    for records in [3, 2, 4] {
        let (reply, _answer) = oneshot::channel();
        node.turn([Command::SubmitChange {
            records: vec!["word".to_owned(); records],
            expected_image: None,
            reply,
        }]);
    }
    // Nothing of it has been written yet.
    let bytes = node.engine.log().recent(base, 1 << 20, node.end());
    let batches = Batches::collect_all(bytes.expect("in memory")).expect("whole batches");
    let offsets = batches
        .iter()
        .map(|batch| (batch.base_offset() - base, batch.last_offset() - base));
    assert_eq!(offsets.collect::<Vec<_>>(), [(0, 2), (3, 4), (5, 8)]);
}

#[test]
fn field_h18_who_watches_late_learns_the_leader_and_then_every_change() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001), (2, 9002)]);
    node.told_of_leader(7);
    // The election is over and nothing happens any more.
    let mut late = node.engine.watch();
    assert_eq!(node.watched(), (Some(NodeId(2)), Epoch(7)));
    assert_eq!(
        late.borrow()
            .leader_endpoint
            .as_ref()
            .map(|endpoint| endpoint.port),
        Some(9002)
    );
    late.mark_unchanged();
    node.told_of_leader(8);
    assert!(late.has_changed().expect("the engine is there"));
    assert_eq!(late.borrow().epoch, Epoch(8));
}

#[test]
fn field_h17_a_state_machine_leads_when_it_has_applied_everything_before() {
    let fs = MemFs::new();
    let mut node = Node::open(&fs, &[(1, 9001)]);
    node.lead();
    for word in ["one", "two"] {
        node.commit(word);
    }
    drop(node);
    let mut node = Node::open(&fs, &[(1, 9001)]);
    node.run_until("the core leads", |node| {
        node.engine.replica().role() == RoleName::Leader
    });
    assert!(
        !node.engine.watch().borrow().leading,
        "not before it has its records"
    );
    node.lead();
    // What it writes first stands behind all of them.
    assert_eq!(node.image(), ["epoch 1", "one", "two", "epoch 2"]);
}
