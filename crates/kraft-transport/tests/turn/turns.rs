//! What one turn makes of what arrives.

use crate::{common::Words, harness::*};
use bytes::Bytes;
use kraft_core::{Event, NodeId, RoleName};
use kraft_fs::MemFs;
use kraft_transport::{Command, EngineConfig, Inbound, NodeError, PeerApi, RaftError};
use kraft_wire::{Message, message as m};
use std::time::Duration;
use tokio::sync::oneshot::{self, error::TryRecvError};

#[test]
fn a_single_voter_leads_and_answers_what_is_durable_and_applied() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    let (first, mut first_answer) = submit("one");
    let (second, mut second_answer) = submit("two");
    node.turn([first, second]);
    assert_eq!(
        first_answer.try_recv(),
        Err(TryRecvError::Empty),
        "not durable yet"
    );
    let queued = node.engine.storage_mut().ops.len();
    assert_eq!(queued, 1, "proposals of one turn become one batch");
    node.flush();
    let first = first_answer.try_recv().expect("answered").expect("committed");
    let second = second_answer.try_recv().expect("answered").expect("committed");
    assert_eq!(second.base_offset, first.last_offset + 1);
    let image = node.engine.watch_image().borrow().clone();
    assert_eq!(*image, ["epoch 1", "one", "two"]);
}

#[test]
fn what_was_committed_is_there_after_a_restart() {
    let fs = MemFs::new();
    let mut node = Node::open(&fs, &[(1, 9001)]);
    node.lead();
    let (command, mut answer) = submit("kept");
    node.turn([command]);
    node.flush();
    answer.try_recv().expect("answered").expect("committed");
    drop(node);

    let after = fs.crash_image(kraft_fs::Unsynced::Lost);
    let mut node = Node::open(&after, &[(1, 9001)]);
    node.lead();
    let image = node.engine.watch_image().borrow().clone();
    assert_eq!(*image, ["epoch 1", "kept", "epoch 2"]);
}

#[test]
fn nothing_gathers_on_a_disk_that_hangs() {
    let fs = MemFs::new();
    let mut node = Node::open(&fs, &[(1, 9001), (2, 9002), (3, 9003)]);
    for epoch in 1..100 {
        let (command, answer) = inbound(PeerApi::Vote, vote(&node, epoch));
        node.turn([command]);
        drop(answer);
        node.now_ms += 1;
    }
    node.now_ms += 1000;
    node.turn([]);
    // The callers have gone; each of the two peers is owed one request.
    let held = node.engine.held_back();
    assert!(held <= 2, "{held} are held back");
}

#[test]
fn an_expected_image_that_has_moved_on_is_a_conflict() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    let expected = kraft_core::StateMachine::provenance(node.engine.machine());
    let ask = |word: &str| {
        let (reply, answer) = oneshot::channel();
        let command = Command::SubmitChange {
            records: vec![word.to_owned()],
            expected_image: Some(expected),
            reply,
        };
        (command, answer)
    };
    let (first, mut first_answer) = ask("mine");
    let (second, mut second_answer) = ask("yours");
    node.turn([first, second]);
    node.flush();
    assert!(first_answer.try_recv().expect("answered").is_ok());
    assert!(matches!(
        second_answer.try_recv().expect("answered"),
        Err(RaftError::Conflict { .. })
    ));
}

#[test]
fn a_voter_without_the_others_takes_nothing() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001), (2, 9002), (3, 9003)]);
    node.run_until("asking for pre-votes", |node| {
        node.engine.replica().role() == RoleName::Prospective
    });
    node.flush();
    let (command, mut answer) = submit("lost");
    node.turn([command]);
    assert!(matches!(
        answer.try_recv().expect("answered"),
        Err(RaftError::NotLeader { leader: None, .. })
    ));
    let asked = &node.engine.network_mut().asked;
    assert!(
        asked
            .iter()
            .any(|request| PeerApi::of(&request.body) == PeerApi::Vote)
    );
}

#[test]
fn a_request_that_cannot_be_decoded_is_dropped() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    for api in PeerApi::ALL {
        let (reply, mut answer) = oneshot::channel();
        let body = bytes::Bytes::from_static(&[0xff; 7]);
        let version = *api.versions().end();
        let inbound = Inbound::new(api, body, version, "CONTROLLER".into(), reply);
        node.turn([Command::Inbound(inbound)]);
        assert_eq!(answer.try_recv(), Err(TryRecvError::Closed), "{api:?}");
    }
}

#[test]
fn a_proposal_whose_caller_has_gone_is_not_appended() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    let (command, answer) = submit("nobody waits");
    drop(answer);
    node.turn([command]);
    node.flush();
    let image = node.engine.watch_image().borrow().clone();
    assert_eq!(*image, ["epoch 1"]);
}

#[test]
fn a_voter_change_that_cannot_be_is_refused_with_kafkas_code() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    let (reply, mut answer) = oneshot::channel();
    let voter = kraft_core::ReplicaKey::without_directory(kraft_core::NodeId(2));
    let change = kraft_transport::VoterChange::Remove { voter };
    node.turn([Command::Reconfigure { change, reply }]);
    assert!(matches!(
        answer.try_recv().expect("answered"),
        Err(RaftError::Invalid { code: 42, .. })
    ));
}

/// An UpdateFeatures that raises kraft.version to 1.
pub(super) fn raise_kraft_version() -> (Command<Words>, oneshot::Receiver<Bytes>) {
    update_features(1, 1)
}

fn update_features(level: i16, upgrade_type: i8) -> (Command<Words>, oneshot::Receiver<Bytes>) {
    let request = m::UpdateFeaturesRequest {
        feature_updates: vec![m::UpdateFeaturesRequestFeatureUpdate {
            feature: "kraft.version".to_owned(),
            max_version_level: level,
            upgrade_type,
            ..Default::default()
        }],
        ..Default::default()
    };
    let (reply, answer) = oneshot::channel();
    let command = Command::Request {
        api: 57,
        version: 2,
        body: request.to_bytes(2).expect("version 2 carries it"),
        listener: "CONTROLLER".into(),
        reply,
    };
    (command, answer)
}

/// What a lone voter at kraft.version 0 says to UpdateFeatures.
fn update_kraft_version(node: &mut Node, level: i16, upgrade_type: i8) -> m::UpdateFeaturesResponse {
    let (command, mut answer) = update_features(level, upgrade_type);
    node.turn([command]);
    node.flush();
    let body = answer.try_recv().expect("answered once it is committed");
    m::UpdateFeaturesResponse::from_bytes(&body, 2).expect("an answer")
}

#[test]
fn kraft_version_is_raised_by_consensus_and_not_by_the_state_machine() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    assert_eq!(node.engine.replica().kraft_version(), 0);
    let refused = update_kraft_version(&mut node, 2, 1);
    assert_eq!(refused.error_code, 95);
    assert_eq!(
        refused.error_message.as_deref(),
        Some(
            "The update failed for all features since the following feature had an error: Invalid update version 2 \
             for feature kraft.version. Local controller 1 only supports versions 0-1"
        )
    );
    let done = update_kraft_version(&mut node, 1, 1);
    assert_eq!((done.error_code, done.error_message), (0, None));
    assert_eq!(node.engine.replica().kraft_version(), 1);
    let voters = node.engine.replica().voters();
    assert!(voters.iter().all(|voter| voter.key.directory_id.is_some()));
    assert_eq!(update_kraft_version(&mut node, 1, 2).error_code, 0);
    assert_eq!(update_kraft_version(&mut node, 0, 2).error_code, 95);
}

#[test]
fn an_observer_reads_what_is_committed() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    let (command, _answer) = submit("seen");
    node.turn([command]);
    node.flush();
    let (reply, mut answer) = oneshot::channel();
    node.turn([Command::MetadataFetch {
        fetch_offset: 0,
        max_size: 1 << 20,
        replica: None,
        reply,
    }]);
    let slice = answer.try_recv().expect("answered");
    let batches = kraft_wire::batch::Batches::collect_all(slice.records).expect("whole batches");
    let last = batches.last().expect("there are batches").last_offset();
    assert_eq!(last + 1, slice.high_watermark);
    assert_eq!(slice.quorum_high_watermark, slice.high_watermark);
}

#[test]
fn a_parked_fetch_gets_what_is_appended_before_it_is_written() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    let (command, mut fetched) = inbound(PeerApi::Fetch, fetch_at_end(&node, 500));
    node.turn([command]);
    assert_eq!(
        fetched.try_recv(),
        Err(TryRecvError::Empty),
        "there is nothing yet"
    );
    let (command, mut answer) = submit("fresh");
    node.turn([command]);
    assert_eq!(
        fetched.try_recv(),
        Err(TryRecvError::Empty),
        "an observer waits a moment for the commit"
    );
    node.now_ms += 25;
    node.turn([]);
    let body = fetched.try_recv().expect("the append completes it");
    let body = m::FetchResponse::from_bytes(&body, 18).expect("decoded");
    let records = body.responses[0].partitions[0].records.clone();
    let batches = kraft_wire::batch::Batches::collect_all(records.expect("records")).expect("a batch");
    let value = batches[0]
        .records()
        .next()
        .expect("a record")
        .expect("whole")
        .value;
    assert_eq!(value.as_deref(), Some(&b"fresh"[..]));
    assert_eq!(
        answer.try_recv(),
        Err(TryRecvError::Empty),
        "nothing is durable yet"
    );
}

#[test]
fn those_who_ask_for_the_same_share_an_answer_until_the_log_has_grown() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    let body = fetch_at_end(&node, 0);
    let fetch = |node: &mut Node| {
        let (command, mut answer) = inbound(PeerApi::Fetch, body.clone());
        node.turn([command]);
        answer.try_recv().expect("answered")
    };
    let grown = |node: &mut Node, word| {
        // Nothing is flushed: the high watermark, and with it all that the answer says beside the records, stays.
        let (command, _answer) = submit(word);
        node.turn([command]);
    };
    let offsets = |body: &bytes::Bytes| -> Vec<i64> {
        let body = m::FetchResponse::from_bytes(body, 18).expect("decoded");
        let records = body.responses[0].partitions[0].records.clone().expect("records");
        let batches = kraft_wire::batch::Batches::collect_all(records).expect("whole batches");
        batches.iter().map(|batch| batch.last_offset()).collect()
    };
    let end = node.end();
    grown(&mut node, "one");
    let first = fetch(&mut node);
    assert_eq!(fetch(&mut node).as_ptr(), first.as_ptr(), "encoded once");
    assert_eq!(offsets(&first), [end]);
    grown(&mut node, "two");
    assert_eq!(offsets(&fetch(&mut node)), [end, end + 1]);
}

#[test]
fn a_parked_fetch_whose_time_is_over_is_answered_with_nothing() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    let (command, mut fetched) = inbound(PeerApi::Fetch, fetch_at_end(&node, 500));
    node.turn([command]);
    node.now_ms += 499;
    node.turn([]);
    assert_eq!(fetched.try_recv(), Err(TryRecvError::Empty));
    node.now_ms += 1;
    node.turn([]);
    let body = fetched.try_recv().expect("its time is over");
    let body = m::FetchResponse::from_bytes(&body, 18).expect("decoded");
    assert_eq!(body.responses[0].partitions[0].error_code, 0);
    let records = body.responses[0].partitions[0].records.clone();
    assert_eq!(records.as_deref(), Some(&b""[..]));
}

#[test]
fn a_record_that_cannot_be_applied_ends_the_node() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    let (command, _answer) = submit("poison");
    node.turn([command]);
    let written = node.written();
    let ended = node.turn_to_end(written);
    assert!(matches!(ended, Some(Err(NodeError::Apply(_)))), "{ended:?}");
}

fn set_all_times(config: &mut EngineConfig, to: Duration) {
    let core = &mut config.core;
    for time in [
        &mut core.election_timeout,
        &mut core.fetch_timeout,
        &mut core.election_backoff_max,
        &mut core.request_timeout,
        &mut core.retry_backoff,
        &mut core.fetch_max_wait,
        &mut core.shutdown_timeout,
        &mut config.clean_interval,
        &mut config.append_linger,
    ] {
        *time = to;
    }
    config.snapshot_max_interval = Some(to);
}

/// Kafka's settings end at the largest number; an embedder's do not.
#[test]
fn settings_that_nobody_means_seriously_do_no_harm() {
    let forever = |config: &mut EngineConfig| set_all_times(config, Duration::MAX);
    let mut node = Node::open_with(&MemFs::new(), &[(1, 9001)], forever);
    node.lead();
    let (command, mut answer) = submit("lingers");
    node.turn([command]);
    assert_eq!(answer.try_recv(), Err(TryRecvError::Empty));
    node.turn([Command::Event(Event::Resign {
        epoch: node.engine.replica().epoch(),
    })]);
    assert_eq!(answer.try_recv().expect("answered"), Err(RaftError::Lost));
    let mut node = Node::open_with(&MemFs::new(), &[(1, 9001), (2, 9002)], forever);
    node.told_of_leader(3);
    assert_eq!(node.watched().0, Some(NodeId(2)));

    let never = |config: &mut EngineConfig| set_all_times(config, Duration::ZERO);
    let mut node = Node::open_with(&MemFs::new(), &[(1, 9001)], never);
    node.lead();
    node.commit("at once");
    node.now_ms += 5;
    node.flush();
    let next = node.next_turn().expect("something is always due");
    assert!(
        next > time(node.now_ms).mono,
        "the next turn is not due at once, for ever"
    );
    // Nobody can be reached, and no time is to pass before the next attempt.
    let mut node = Node::open_with(&MemFs::new(), &[(1, 9001), (2, 9002)], never);
    for _ in 0..100 {
        node.flush();
        node.now_ms += 1;
    }
    let asked = node.engine.network_mut().asked.len();
    assert!((10..=200).contains(&asked), "{asked} requests in 100 ms");
}
