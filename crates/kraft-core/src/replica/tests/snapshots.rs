//! A follower that fetches a snapshot.

use super::*;

#[test]
fn a_snapshot_takes_the_place_of_the_log() {
    let mut node = follower_of(2, 5);
    let request = node.sent().pop().expect("a fetch").0;
    let id = SnapshotId {
        end_offset: 100,
        epoch: Epoch(4),
    };
    node.snapshot_offered(request, 5, id);
    let (request, _, body) = node.sent().pop().expect("a fetch");
    assert!(matches!(body, PeerRequest::FetchSnapshot { snapshot, position: 0, .. } if snapshot == id));
    node.snapshot_chunk(request, 5, id, 0, 60, 100);
    let (request, _, body) = node.sent().pop().expect("a fetch");
    assert!(matches!(body, PeerRequest::FetchSnapshot { position: 60, .. }));
    let out = node.snapshot_chunk(request, 5, id, 60, 40, 100);
    let [
        Action::Disk {
            op: DiskOp::SnapshotChunk { last: true, .. },
            ..
        },
    ] = &out[..]
    else {
        panic!("{out:?}")
    };
    let out = node.flush();
    let [
        Action::Disk {
            op: DiskOp::TruncateFully { .. },
            ..
        },
    ] = &out[..]
    else {
        panic!("{out:?}")
    };
    node.sent();
    node.pass(Duration::from_secs(60));
    let fetches = |body: &PeerRequest| {
        matches!(
            body,
            PeerRequest::Fetch { .. } | PeerRequest::FetchSnapshot { .. }
        )
    };
    assert!(!node.sent().iter().any(|(_, _, body)| fetches(body)));
    assert_eq!(node.replica.role(), RoleName::Follower);
    node.log.install(id);
    let out = node.step(Event::SnapshotInstalled {
        snapshot: id,
        control: vec![],
    });
    assert_eq!(out[0], Action::Commit { high_watermark: 100 });
    assert_eq!(node.replica.high_watermark(), Some(100));
}

/// A node that has ordered the last piece of the snapshot, and the request that the leader then expects next.
fn fetched(id: SnapshotId) -> Node {
    let mut node = follower_of(2, 5);
    let request = node.sent().pop().expect("a fetch").0;
    node.snapshot_offered(request, 5, id);
    let (request, _, _) = node.sent().pop().expect("a fetch");
    node.snapshot_chunk(request, 5, id, 0, 100, 100);
    node
}

#[test]
fn a_snapshot_that_fails_its_checks_leaves_the_log_and_is_fetched_again_after_a_rest() {
    let id = SnapshotId {
        end_offset: 100,
        epoch: Epoch(4),
    };
    let mut node = fetched(id);
    let before = node.log.end;
    node.step(Event::SnapshotRejected { snapshot: id });
    let out = node.flush();
    assert!(out.is_empty(), "{out:?}");
    assert_eq!(node.log.end, before);
    let (request, to, _) = node.sent().pop().expect("another voter is asked meanwhile");
    assert_eq!(to.id, NodeId(3), "the leader gets a rest");
    node.step(Event::RequestFailed {
        request,
        fault: RequestFault::Disconnected,
    });
    node.pass(Duration::from_millis(20));
    let (request, _, body) = node.sent().pop().expect("a fetch");
    assert!(matches!(body, PeerRequest::Fetch { .. }), "{body:?}");
    node.snapshot_offered(request, 5, id);
    let (_, _, body) = node.sent().pop().expect("a fetch");
    assert!(
        matches!(body, PeerRequest::FetchSnapshot { position: 0, .. }),
        "{body:?}"
    );
}

#[test]
fn a_rejection_that_comes_too_late_does_not_undo_the_installation() {
    let id = SnapshotId {
        end_offset: 100,
        epoch: Epoch(4),
    };
    let mut node = fetched(id);
    node.flush();
    node.step(Event::SnapshotRejected { snapshot: id });
    node.pass(Duration::from_secs(60));
    assert!(
        node.sent()
            .iter()
            .all(|(_, _, body)| !matches!(body, PeerRequest::Fetch { .. }))
    );
}

#[test]
fn an_epoch_without_records_behind_a_snapshot_is_forgotten() {
    let id = SnapshotId {
        end_offset: 100,
        epoch: Epoch(4),
    };
    let mut node = follower_of(2, 5);
    node.log.install(id);
    node.log.submit(
        Ticket(0),
        &DiskOp::StartEpoch {
            epoch: Epoch(5),
            start: 100,
        },
        node.now.mono,
    );
    let request = node.sent().pop().expect("a fetch").0;
    let out = node.snapshot_offered(request, 5, id);
    assert!(
        matches!(
            out[..],
            [Action::Disk {
                op: DiskOp::Truncate { to: 100 },
                ..
            }]
        ),
        "{out:?}"
    );
}

#[test]
fn a_snapshot_that_brings_nothing_is_not_fetched() {
    let mut node = follower_of(2, 5);
    let request = node.sent().pop().expect("a fetch").0;
    node.fetch_response(request, 5, 3, batches(&[(0, 9, 5)], 1));
    let request = node.sent().pop().expect("a fetch").0;
    for (end_offset, epoch) in [(5, 5), (2, 6), (10, 5)] {
        let id = SnapshotId {
            end_offset,
            epoch: Epoch(epoch),
        };
        let mut node = node.clone();
        let out = node.snapshot_offered(request, 5, id);
        assert!(
            !out.iter().any(|action| matches!(action, Action::Disk { .. })),
            "{out:?}"
        );
        node.pass(Duration::from_millis(20));
        let (_, _, body) = node.sent().pop().expect("a fetch");
        assert!(matches!(body, PeerRequest::Fetch { .. }), "{body:?}");
    }
}
