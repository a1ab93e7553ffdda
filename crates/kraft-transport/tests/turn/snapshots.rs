//! Snapshots that are written, fetched, loaded and removed.

use crate::{
    common::{BEGIN, END},
    harness::*,
};
use kraft_core::{LogView, RoleName, SnapshotId, StateMachine};
use kraft_fs::{FileSystem, MemFs};
use kraft_snapshot::frozen_name;
use kraft_transport::{
    Command, NodeError, QueuedCommand, RaftError, SnapshotOutcome, storage::perform_snapshot,
};
use std::{collections::VecDeque, path::Path, time::Duration};
use tokio::sync::oneshot;

#[test]
fn a_snapshot_that_is_gone_ends_the_node() {
    let fs = MemFs::new();
    let mut node = Node::open(&fs, &[(1, 9001)]);
    node.lead();
    let (reply, mut written) = oneshot::channel();
    node.turn([Command::TriggerSnapshot { reply }]);
    assert_eq!(written.try_recv(), Ok(Ok(())));
    let snapshot = node.engine.log().latest_snapshot().expect("it is written");
    drop(node);

    let mut node = Node::open(&fs, &[(1, 9001)]);
    let file = Path::new("/data/__cluster_metadata-0").join(frozen_name(snapshot));
    fs.remove(&file).expect("it is there");
    let ended = node.turn_to_end([]);
    assert!(
        matches!(&ended, Some(Err(NodeError::Storage { reason })) if reason.contains(".checkpoint is gone")),
        "{ended:?}"
    );
}

#[test]
fn a_fetched_snapshot_that_fails_its_checks_is_deleted_and_fetched_again() {
    let fs = MemFs::new();
    let mut node = follower(&fs);
    let good = snapshot_file();
    let mut bad = good.to_vec();
    bad[100] ^= 1;
    node.offered();
    node.served(bad.len(), 0, bad.into());
    node.flush();
    node.flush();
    assert_eq!(node.engine.log().start(), 0, "the log is as it was");
    assert_eq!(node.engine.log().latest_snapshot(), None);
    assert_eq!(snapshot_files(&fs), [""; 0]);

    node.offered();
    node.served(good.len(), 0, good.slice(..50));
    node.flush();
    node.served(good.len(), 50, good.slice(50..));
    node.flush();
    node.flush();
    assert_eq!(node.engine.log().start(), 40);
    assert_eq!(node.engine.log().latest_snapshot(), Some(FETCHED));
    assert_eq!(snapshot_files(&fs), [frozen_name(FETCHED)]);
    assert_eq!(**node.engine.machine().image(), ["from the snapshot"]);
}

#[test]
fn a_download_that_is_given_up_leaves_no_file() {
    let fs = MemFs::new();
    let mut node = follower(&fs);
    let good = snapshot_file();
    node.offered();
    node.served(good.len(), 0, good.slice(..50));
    node.flush();
    assert_eq!(snapshot_files(&fs).len(), 1);
    // The leader stays silent until the follower looks for another one.
    node.run_until("a campaign", |node| {
        node.engine.replica().role() == RoleName::Prospective
    });
    node.flush();
    assert_eq!(snapshot_files(&fs), [""; 0]);
}

#[test]
fn field_h06_old_snapshots_and_the_log_before_them_go_when_a_newer_one_is_written() {
    let fs = MemFs::new();
    let mut node = Node::open(&fs, &[(1, 9001)]);
    node.lead();
    for word in ["one", "two", "three"] {
        node.commit(word);
        let (reply, mut written) = oneshot::channel();
        node.turn([Command::TriggerSnapshot { reply }]);
        node.flush();
        assert_eq!(written.try_recv().expect("answered"), Ok(()));
        node.turn([]);
        node.flush();
        // The newest one stays, however little may be kept.
        let newest = node.engine.log().latest_snapshot().expect("it is written");
        assert_eq!(newest.end_offset, node.end());
        assert_eq!(snapshot_files(&fs), [frozen_name(newest)]);
    }
    let newest = node.engine.log().latest_snapshot().expect("it is written");
    assert_eq!(node.engine.log().start(), newest.end_offset);
}

#[test]
fn field_h06_what_is_too_old_goes_once_a_minute_and_at_a_start() {
    let fs = MemFs::new();
    let mut node = Node::open(&fs, &[(1, 9001)]);
    node.lead();
    let mut ids = Vec::new();
    for word in ["one", "two"] {
        node.commit(word);
        ids.push(SnapshotId {
            end_offset: node.end(),
            epoch: node.engine.replica().epoch(),
        });
    }
    let newest = ids[1];
    // Nobody tells the node of these.
    let place = |fs: &MemFs| ids.iter().for_each(|id| store_snapshot(fs, *id));
    place(&fs);
    node.now_ms = 59_000;
    node.turn([]);
    node.flush();
    assert_eq!(snapshot_files(&fs).len(), 2);
    node.now_ms = 61_000;
    node.turn([]);
    node.flush();
    assert_eq!(snapshot_files(&fs), [frozen_name(newest)]);
    drop(node);

    place(&fs);
    let mut node = Node::open(&fs, &[(1, 9001)]);
    assert_eq!(
        snapshot_files(&fs).len(),
        2,
        "the log begins before the older one's end"
    );
    node.lead();
    node.turn([]);
    node.flush();
    assert!(node.now_ms < 59_000);
    assert_eq!(snapshot_files(&fs), [frozen_name(newest)]);
    assert_eq!(node.engine.log().start(), newest.end_offset);
}

#[test]
fn snapshot_001_the_latest_snapshot_is_known_if_there_is_one() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    assert_eq!(node.engine.log().latest_snapshot(), None);
    let end = node.engine.log().end();
    let (reply, mut written) = oneshot::channel();
    node.turn([Command::TriggerSnapshot { reply }]);
    assert_eq!(written.try_recv(), Ok(Ok(())));
    let latest = SnapshotId {
        end_offset: end.last_offset,
        epoch: end.last_epoch,
    };
    assert_eq!(node.engine.log().latest_snapshot(), Some(latest));
}

#[test]
fn snapshot_030_only_a_snapshot_that_is_whole_becomes_the_latest() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    let end = node.engine.log().end();
    let snapshot = SnapshotId {
        end_offset: end.last_offset,
        epoch: end.last_epoch,
    };
    let (reply, mut written) = oneshot::channel();
    let outcome = SnapshotOutcome::Failed {
        reason: "the disk is full".to_owned(),
    };
    let now = time(node.now_ms);
    let mut queue: VecDeque<_> = [
        Command::TriggerSnapshot { reply },
        Command::SnapshotWritten { snapshot, outcome },
    ]
    .map(|command| QueuedCommand {
        command,
        enqueued_at: now.mono,
    })
    .into();
    node.engine.turn(&mut queue, now);
    assert!(matches!(
        written.try_recv().expect("answered"),
        Err(RaftError::NoSnapshot { .. })
    ));
    assert_eq!(node.engine.log().latest_snapshot(), None);
    // The disk of the test has written it all the same, and says so now.
    let done: Vec<_> = node.engine.storage_mut().done.drain(..).collect();
    node.turn(done);
    assert_eq!(node.engine.log().latest_snapshot(), Some(snapshot));
}

/// A node that leads alone and writes snapshots by itself after so many bytes, and after so much time.
fn snapshotter(fs: &MemFs, new_bytes: u64, interval_ms: Option<u64>) -> Node {
    let mut node = Node::open_with(fs, &[(1, 9001)], |config| {
        config.snapshot_max_new_bytes = new_bytes;
        config.snapshot_max_interval = interval_ms.map(Duration::from_millis);
    });
    node.lead();
    assert_eq!(node.engine.log().latest_snapshot(), None);
    node
}

#[test]
fn enough_bytes_make_a_snapshot_and_are_counted_anew() {
    let mut node = snapshotter(&MemFs::new(), 1000, None);
    let word = "x".repeat(600);
    node.commit(&word);
    assert_eq!(node.snapshot_end(), None);
    node.commit(&word);
    assert_eq!(
        node.snapshot_end(),
        Some(node.end()),
        "behind the batch that was too much"
    );
    let first = node.snapshot_end();
    node.commit(&word);
    assert_eq!(node.snapshot_end(), first);
    node.commit(&word);
    assert_eq!(node.snapshot_end(), Some(node.end()));
}

#[test]
fn with_age_the_next_batch_makes_a_snapshot() {
    let mut node = snapshotter(&MemFs::new(), u64::MAX, Some(5000));
    let from = node.now_ms;
    node.now_ms = from + 4000;
    node.commit("young");
    assert_eq!(node.snapshot_end(), None);
    node.now_ms = from + 5000;
    node.turn([]);
    assert_eq!(node.snapshot_end(), None, "there is no timer");
    node.commit("old");
    let first = node.snapshot_end();
    assert_eq!(first, Some(node.end()));
    node.now_ms += 4999;
    node.commit("young again");
    assert_eq!(node.snapshot_end(), first);
    node.now_ms += 1;
    node.commit("old again");
    assert_eq!(node.snapshot_end(), Some(node.end()));
}

#[test]
fn without_an_interval_age_makes_no_snapshot() {
    let mut node = snapshotter(&MemFs::new(), u64::MAX, None);
    node.now_ms += 10 * 365 * 24 * 60 * 60 * 1000;
    node.commit("late");
    assert_eq!(node.snapshot_end(), None);
}

#[test]
fn a_snapshot_that_is_due_waits_for_the_end_of_the_transaction() {
    let mut node = snapshotter(&MemFs::new(), 1000, None);
    node.commit(BEGIN);
    for _ in 0..5 {
        node.commit(&"x".repeat(600));
        assert_eq!(node.snapshot_end(), None);
    }
    node.commit(END);
    assert_eq!(
        node.snapshot_end(),
        Some(node.end()),
        "the bytes were not forgotten"
    );
}

#[test]
fn one_snapshot_is_written_at_a_time_and_none_after_one_that_fails_before_it_is_due_again() {
    let mut node = snapshotter(&MemFs::new(), 1000, None);
    node.engine.storage_mut().slow = true;
    let word = "x".repeat(1000);
    node.commit(&word);
    let job = node.engine.storage_mut().waiting.pop().expect("it is due");
    assert_eq!(job.snapshot.end_offset, node.end());
    node.commit(&word);
    assert!(node.engine.storage_mut().waiting.is_empty(), "one at a time");
    let outcome = SnapshotOutcome::Failed {
        reason: "the disk is full".to_owned(),
    };
    let snapshot = job.snapshot;
    node.turn([Command::SnapshotWritten { snapshot, outcome }]);
    assert!(node.engine.storage_mut().waiting.is_empty(), "not before a batch");
    node.commit("small");
    let job = node
        .engine
        .storage_mut()
        .waiting
        .pop()
        .expect("bytes were counted meanwhile");
    assert_eq!(job.snapshot.end_offset, node.end());
    let outcome = SnapshotOutcome::Failed {
        reason: "the disk is full".to_owned(),
    };
    let snapshot = job.snapshot;
    node.turn([Command::SnapshotWritten { snapshot, outcome }]);
    node.commit("small");
    assert!(node.engine.storage_mut().waiting.is_empty(), "not due again yet");
    node.commit(&word);
    assert_eq!(node.engine.storage_mut().waiting.len(), 1);
}

#[test]
fn what_is_applied_again_after_a_start_makes_no_snapshot() {
    let fs = MemFs::new();
    let mut node = snapshotter(&fs, u64::MAX, None);
    for _ in 0..5 {
        node.commit(&"x".repeat(600));
    }
    drop(node);
    let mut node = snapshotter(&fs.crash_image(kraft_fs::Unsynced::Lost), 1000, None);
    assert_eq!(node.snapshot_end(), None, "it has only caught up");
    node.commit(&"x".repeat(1000));
    assert_eq!(node.snapshot_end(), Some(node.end()));
}

#[test]
fn a_follower_writes_snapshots_as_a_leader_does() {
    let fs = MemFs::new();
    let mut node = Node::open_with(&fs, &[(1, 9001), (2, 9002)], |config| {
        config.snapshot_max_new_bytes = 1000;
    });
    node.engine.network_mut().takes = true;
    node.told_of_leader(1);
    node.replicated(&["small"], 1);
    assert_eq!(node.snapshot_end(), None, "it has caught up");
    let long = "x".repeat(600);
    node.replicated(&[&long], 2);
    assert_eq!(node.snapshot_end(), None);
    // Of two batches that come at once the high watermark covers one.
    node.replicated(&[&long, &long], 3);
    assert_eq!(node.snapshot_end(), Some(3), "only what is committed");
    assert_eq!(node.end(), 4);
    assert_eq!(node.engine.replica().role(), RoleName::Follower);
}

#[test]
fn a_snapshot_that_the_log_has_left_behind_while_it_was_written_is_removed() {
    let fs = MemFs::new();
    let mut node = follower(&fs);
    node.engine.storage_mut().slow = true;
    node.replicated(&["one", "two", "three"], 3);
    let (reply, mut written) = oneshot::channel();
    node.turn([Command::TriggerSnapshot { reply }]);
    let job = node.engine.storage_mut().waiting.pop().expect("it is begun");
    let good = snapshot_file();
    node.offered();
    node.served(good.len(), 0, good);
    node.flush();
    node.flush();
    assert_eq!(node.engine.log().start(), FETCHED.end_offset);

    let snapshot = job.snapshot;
    let outcome = perform_snapshot(&node.engine.storage_mut().reader, job);
    assert_eq!(snapshot_files(&fs).len(), 2);
    node.turn([Command::SnapshotWritten { snapshot, outcome }]);
    assert_eq!(written.try_recv(), Ok(Ok(())), "there is a newer one");
    assert_eq!(
        node.engine.log().earliest_snapshot(),
        Some(FETCHED),
        "the log begins with it"
    );
    node.flush();
    assert_eq!(snapshot_files(&fs), [frozen_name(FETCHED)]);
}
