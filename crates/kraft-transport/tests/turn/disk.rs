//! A disk that is silent: what goes on, and when a leader gives up.

use crate::{harness::*, turns::raise_kraft_version};
use kraft_core::{Event, NodeId, PeerRequest, ReplicaKey, RoleName};
use kraft_fs::MemFs;
use kraft_transport::{
    Command, NodeError, PeerApi, RaftError, ReadOutcome, VoterChange, storage::perform_snapshot,
};
use kraft_wire::{Message, message as m};
use tokio::sync::oneshot::{self, error::TryRecvError};

/// Leads three voters, of which node 2 fetches, and is about to wait for its disk.
fn leader() -> Node {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001), (2, 9002), (3, 9003)]);
    node.elected();
    let _answer = node.fetched_by(2);
    node.flush();
    let _answer = node.fetched_by(2);
    assert!(node.engine.watch().borrow().leading);
    node
}

#[test]
fn field_h38_a_leader_answers_and_announces_itself_while_its_disk_is_silent() {
    let mut node = leader();
    let (command, mut written) = submit("waits");
    node.turn([command]);
    let announced = |node: &mut Node| {
        let asked = std::mem::take(&mut node.engine.network_mut().asked);
        let begin = |body: &PeerRequest| matches!(body, PeerRequest::BeginQuorumEpoch { .. });
        asked.into_iter().filter(|request| begin(&request.body)).count()
    };
    let before = node.now_ms;
    let (mut answered, mut announcements) = (0, 0);
    // As long as the fetch timeout of the others, and longer.
    while node.now_ms < before + 800 {
        node.now_ms += 100;
        for replica in [2, 9] {
            let mut answer = node.fetched_by(replica);
            let body = answer.try_recv().expect("a fetch does not wait for the disk");
            let body = m::FetchResponse::from_bytes(&body, 18).expect("decoded");
            assert_eq!(body.responses[0].partitions[0].error_code, 0);
            answered += 1;
        }
        announcements += announced(&mut node);
    }
    assert_eq!(answered, 16);
    assert!(announcements > 0, "node 3 is told who leads");
    assert_eq!(node.engine.replica().role(), RoleName::Leader);
    assert_eq!(written.try_recv(), Err(TryRecvError::Empty));
}

#[test]
fn a_leader_whose_disk_is_silent_for_the_check_quorum_window_resigns_and_says_why() {
    let mut node = leader();
    let (command, mut written) = submit("in the log, and not on disk");
    node.turn([command]);
    let since = node.now_ms;
    let window = 900;
    let watch = node.engine.watch();
    assert!(!watch.borrow().disk_stalled);
    while node.now_ms < since + window - 10 {
        node.now_ms += 10;
        // The others fetch as ever: it is the disk alone.
        let _answer = node.fetched_by(2);
        let _answer = node.fetched_by(3);
        assert_eq!(node.engine.replica().role(), RoleName::Leader);
    }
    node.now_ms += 10;
    node.turn([]);
    assert_eq!(watch.borrow().role, RoleName::Resigned);
    assert_eq!(watch.borrow().reason, "the disk does not answer");
    assert!(!watch.borrow().leading);
    assert!(
        matches!(written.try_recv(), Ok(Ok(_))),
        "the two others have it, so it is committed"
    );
    let (command, mut refused) = submit("not taken");
    node.turn([command]);
    assert!(matches!(refused.try_recv(), Ok(Err(RaftError::NotLeader { .. }))));

    // It is told when the disk is silent for a second, and when it answers again.
    assert!(!watch.borrow().disk_stalled);
    node.now_ms = since + 1000;
    node.turn([]);
    assert!(watch.borrow().disk_stalled);
    node.flush();
    assert!(!watch.borrow().disk_stalled);
}

#[test]
fn a_lone_voter_waits_for_its_disk() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    let (command, mut written) = submit("nobody else can have it");
    node.turn([command]);
    node.now_ms += 60_000;
    node.turn([]);
    let watch = node.engine.watch();
    assert_eq!(watch.borrow().leader, Some(NodeId(1)));
    assert!(watch.borrow().leading);
    assert!(watch.borrow().disk_stalled);
    node.flush();
    written.try_recv().expect("answered").expect("committed");
}

#[test]
fn a_vote_waits_for_a_silent_disk_and_answers_of_the_stored_epoch_do_not() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001), (2, 9002), (3, 9003)]);
    node.told_of_leader(7);
    let (command, mut vote) = inbound(PeerApi::Vote, vote(&node, 8));
    node.turn([command]);
    assert_eq!(
        vote.try_recv(),
        Err(TryRecvError::Empty),
        "the vote is not stored"
    );
    let done = node.written();
    node.turn(done);
    let body = vote.try_recv().expect("it is stored");
    let body = m::VoteResponse::from_bytes(&body, 2).expect("decoded");
    assert!(body.topics[0].partitions[0].vote_granted);
    // From here on the disk has nothing to do with an answer.
    node.turn([Command::Event(Event::Tick)]);
    let mut fetch = node.fetched_by(9);
    let body = fetch.try_recv().expect("answered at once");
    let body = m::FetchResponse::from_bytes(&body, 18).expect("decoded");
    assert_eq!(
        body.responses[0].partitions[0].error_code, 6,
        "NOT_LEADER_OR_FOLLOWER"
    );
}

#[test]
fn who_asks_for_a_change_of_the_voters_is_answered_although_others_have_gone_while_the_disk_was_silent() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001), (2, 9002), (3, 9003)]);
    node.told_of_leader(7);
    // The vote and its epoch are not stored, and no answer that names them leaves before.
    let (command, voter_gone) = inbound(PeerApi::Vote, vote(&node, 8));
    let (reply, mut change) = oneshot::channel();
    let (upgrade, mut upgraded) = raise_kraft_version();
    let voter = ReplicaKey::without_directory(NodeId(2));
    let remove = Command::Reconfigure {
        change: VoterChange::Remove { voter },
        reply,
    };
    node.turn([command, remove, upgrade]);
    let held = node.engine.held_back();
    assert!(held >= 3, "the answers to all three");
    drop(voter_gone);
    node.now_ms += 100;
    node.turn([]);
    assert_eq!(node.engine.held_back(), held - 1, "one has gone");
    node.flush();
    assert!(matches!(
        change.try_recv(),
        Ok(Err(RaftError::NotLeader { leader: None, .. }))
    ));
    let body = upgraded.try_recv().expect("answered");
    let body = m::UpdateFeaturesResponse::from_bytes(&body, 2).expect("decoded");
    assert_eq!(body.error_code, 41, "NOT_CONTROLLER");
}

/// Leads alone a log with one word, of which nothing is in memory, and whose disk does what it is told to.
fn alone_with_a_log() -> Node {
    let fs = MemFs::new();
    let mut node = Node::open(&fs, &[(1, 9001)]);
    node.lead();
    node.commit("on disk");
    drop(node);
    Node::open_remembering(&fs, &[(1, 9001)], 0, |_| ())
}

/// Has the readers' thread do its work until the state machine leads, and no more from then on.
fn led_and_silent(mut node: Node) -> Node {
    node.lead();
    node.engine.storage_mut().slow_reads = true;
    node
}

/// So long after callers have gone the engine looks after them.
fn looked_after(node: &mut Node) {
    node.now_ms += 100;
    node.turn([]);
}

#[test]
fn who_waits_for_a_snapshot_is_forgotten_when_it_goes_while_the_disk_is_silent() {
    let mut node = led_and_silent(alone_with_a_log());
    node.engine.storage_mut().slow = true;
    let trigger = || {
        let (reply, answer) = oneshot::channel();
        (Command::TriggerSnapshot { reply }, answer)
    };
    let (command, mut stays) = trigger();
    node.turn([command]);
    for _ in 0..100 {
        let (command, _goes) = trigger();
        node.turn([command]);
    }
    looked_after(&mut node);
    assert_eq!(node.engine.callers_of_the_disk(), 1);
    let disk = node.engine.storage_mut();
    let job = disk.waiting.pop().expect("one is written for all of them");
    let snapshot = job.snapshot;
    let outcome = perform_snapshot(&disk.reader, job);
    node.turn([Command::SnapshotWritten { snapshot, outcome }]);
    assert_eq!(stays.try_recv(), Ok(Ok(())));
}

#[test]
fn reads_for_callers_that_have_gone_are_not_done_when_the_disk_comes_back() {
    let mut node = led_and_silent(alone_with_a_log());
    let fetch = || {
        let (reply, slice) = oneshot::channel();
        let command = Command::MetadataFetch {
            fetch_offset: 0,
            max_size: 1 << 20,
            replica: None,
            reply,
        };
        (command, slice)
    };
    for _ in 0..1000 {
        let (command, _goes) = fetch();
        node.turn([command]);
    }
    let (command, mut stays) = fetch();
    node.turn([command]);
    looked_after(&mut node);
    assert_eq!(node.engine.callers_of_the_disk(), 1);
    let given = node.engine.storage_mut().to_read.len();
    assert!(given < 20, "the disk has been given {given} reads");
    node.read();
    assert_eq!(node.engine.storage_mut().to_read.len(), 1);
    node.read();
    let slice = stays.try_recv().expect("answered");
    assert!(!slice.records.is_empty());

    // What a read finds damaged is damaged, whoever has asked for it.
    let (command, goes) = fetch();
    node.turn([command]);
    drop(goes);
    looked_after(&mut node);
    let (read, _) = node
        .engine
        .storage_mut()
        .to_read
        .pop_front()
        .expect("it was given");
    let outcome = ReadOutcome::Failed {
        reason: "unreadable".to_owned(),
    };
    let ended = node.turn_to_end([Command::ReadDone { read, outcome }]);
    assert!(matches!(ended, Some(Err(NodeError::Storage { .. }))), "{ended:?}");
}

#[test]
fn who_waits_until_something_is_applied_is_forgotten_when_it_goes_while_the_disk_is_silent() {
    let mut node = led_and_silent(alone_with_a_log());
    // What is committed has to be read again to be applied.
    for word in ["one", "two"] {
        let (command, _goes) = submit(word);
        node.turn([command]);
    }
    let (command, mut written) = submit("three");
    node.turn([command]);
    node.flush();
    let read = || {
        let (reply, answer) = oneshot::channel();
        (Command::ReadBarrier { reply }, answer)
    };
    for _ in 0..10_000 {
        let (command, _goes) = read();
        node.turn([command]);
    }
    looked_after(&mut node);
    let (command, mut answer) = read();
    node.turn([command]);
    assert_eq!(node.engine.callers_of_the_disk(), 2);
    assert_eq!(written.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(answer.try_recv(), Err(TryRecvError::Empty));
    while !node.engine.storage_mut().to_read.is_empty() {
        node.read();
    }
    assert!(matches!(written.try_recv(), Ok(Ok(_))));
    assert_eq!(answer.try_recv(), Ok(Ok(())));
    let image = node.engine.watch_image().borrow().clone();
    assert!(
        image.ends_with(&["one".to_owned(), "two".to_owned(), "three".to_owned()]),
        "{image:?}"
    );
}
