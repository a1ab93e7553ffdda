//! What a node tells of itself: each field with a value that no other has.

use crate::harness::*;
use kraft_core::{Endpoints, Epoch, Instant, LogView, NodeId, PeerRequest, ReplicaKey, SnapshotId};
use kraft_fs::MemFs;
use kraft_transport::{
    Command, MetadataFetchSlice, ObserverReplica, PeerApi, QueuedCommand, QuorumStateSnapshot,
    codec::{Topic, encode_request},
};
use kraft_wire::{Message, batch::Batches, message as m};
use std::{
    cell::Cell,
    collections::{BTreeMap, VecDeque},
    time::Duration,
};
use tokio::sync::oneshot;
use uuid::Uuid;

fn wall(ms: u64) -> i64 {
    time(ms).wall_ms
}

impl Node {
    fn quorum_state(&mut self) -> QuorumStateSnapshot {
        let (reply, mut answer) = oneshot::channel();
        self.turn([Command::QuorumStateSnapshot { reply }]);
        answer.try_recv().expect("answered")
    }

    fn slice(&mut self, fetch_offset: i64, max_size: u64) -> MetadataFetchSlice {
        let (reply, mut answer) = oneshot::channel();
        let replica = Some(ReplicaKey::new(NodeId(9), Uuid::from_u128(9)));
        self.turn([Command::MetadataFetch {
            fetch_offset,
            max_size,
            replica,
            reply,
        }]);
        answer.try_recv().expect("answered")
    }

    /// A replica fetches at an offset of this epoch.
    fn fetched_at(&mut self, id: i32, offset: i64) {
        let mut log_end = self.engine.log().end();
        log_end.last_offset = offset;
        let fetch = PeerRequest::Fetch {
            cluster_id: "AAAAAAAAAAAAAAAAAAAAAA".into(),
            replica: ReplicaKey::new(NodeId(id), Uuid::from_u128(id as u128)),
            epoch: self.engine.replica().epoch(),
            log_end,
            high_watermark: -1,
            max_wait_ms: 0,
            max_bytes: 1 << 20,
        };
        let body = encode_request(&Topic::default(), &fetch, 18).expect("version 18 carries it");
        let (command, _answer) = inbound(PeerApi::Fetch, body);
        self.turn([command]);
    }
}

thread_local! {
    static CLOCK: Cell<u64> = const { Cell::new(0) };
    static STEP: Cell<u64> = const { Cell::new(0) };
}

/// A clock that goes on by itself, by as much as the test says.
fn stopwatch() -> Instant {
    CLOCK.set(CLOCK.get() + STEP.get());
    Instant(CLOCK.get())
}

#[test]
fn a_leader_tells_the_state_of_the_quorum() {
    STEP.set(10);
    let mut node = Node::open_with(&MemFs::new(), &[(1, 9001), (2, 9002), (3, 9003)], |config| {
        config.stopwatch = stopwatch;
    });
    node.elected();
    node.fetched_at(2, 1);
    node.flush();
    let first = node.end();
    for word in ["one", "two", "three", "four"] {
        let (command, _answer) = submit(word);
        node.turn([command]);
        node.flush();
        node.now_ms += 1;
    }
    node.now_ms += 100;
    let caught_up = node.now_ms;
    STEP.set(30);
    node.fetched_at(2, node.end());
    node.fetched_at(3, first + 1);
    node.now_ms += 7;
    let observed = node.now_ms;
    node.fetched_at(9, node.end());
    node.now_ms += 7;
    let (command, _answer) = submit("five");
    node.turn([command]);
    node.flush();
    node.now_ms += 3;
    let lagging = node.now_ms;
    node.fetched_at(2, node.end() - 1);
    let (command, _answer) = submit("six");
    node.turn([command]);
    let state = node.quorum_state();
    let end = node.end();
    assert_eq!(state.leader_id, Some(NodeId(1)));
    assert_eq!(state.leader_epoch, Epoch(1));
    assert_eq!(state.high_watermark, end - 2);
    assert_eq!(state.quorum_high_watermark, end - 2);
    assert_eq!(state.log_end_offset, end);
    assert_eq!(state.log_start_offset, 0);
    assert_eq!(state.voters.len(), 3);
    assert_eq!(state.voted_directory_id, None, "a leader has no vote to tell of");
    assert_eq!(
        state.observers,
        [ObserverReplica {
            id: NodeId(9),
            directory_id: Uuid::from_u128(9),
            log_end_offset: end - 2,
            last_fetch_ms: wall(observed),
            last_caught_up_ms: wall(observed),
        }]
    );
    let of = |id: i32, value: i64| (NodeId(id), value);
    let now = wall(node.now_ms);
    assert_eq!(
        state.per_replica_fetch_offset,
        BTreeMap::from([of(1, end), of(2, end - 2), of(3, first + 1)])
    );
    assert_eq!(
        state.per_replica_last_fetch_ms,
        BTreeMap::from([of(1, now), of(2, wall(lagging)), of(3, wall(caught_up))])
    );
    let caught = &state.per_replica_last_caught_up_ms;
    assert_eq!(caught[&NodeId(1)], now);
    assert_eq!(caught[&NodeId(2)], wall(caught_up));
    assert!(state.is_leader);
    assert_eq!(state.current_state, "leader");
    assert_eq!(state.last_applied_record_timestamp_ms, wall(caught_up - 101));
    // One pass over the first batch took 10, one over all that followed 30.
    assert_eq!(state.pending_record_processing_time_us_avg, 20);
    assert_eq!(state.pending_record_processing_time_us_max, 30);
}

#[test]
fn a_follower_that_lags_tells_what_it_has_and_what_it_has_heard_of() {
    let mut node = follower(&MemFs::new());
    node.replicated(&["one", "two", "three"], 70);
    let state = node.quorum_state();
    assert_eq!(state.leader_id, Some(NodeId(2)));
    assert_eq!((state.high_watermark, state.quorum_high_watermark), (3, 70));
    assert_eq!(state.last_applied_record_timestamp_ms, 1_700_000_000_000);
    assert!(!state.is_leader);
    assert_eq!(state.current_state, "follower");
    assert_eq!(state.observers, []);
    assert_eq!(state.per_replica_fetch_offset, BTreeMap::new());

    let slice = node.slice(1, 1 << 20);
    assert_eq!((slice.high_watermark, slice.quorum_high_watermark), (3, 70));
    assert_eq!((slice.log_start_offset, slice.snapshot_id), (0, None));
    let batches = Batches::collect_all(slice.records).expect("whole batches");
    let offsets: Vec<_> = batches.iter().map(|batch| batch.base_offset()).collect();
    assert_eq!(offsets, [1, 2]);
}

#[test]
fn a_slice_is_as_long_as_was_asked_for_and_begins_with_a_snapshot_below_the_log() {
    let fs = MemFs::new();
    let mut node = follower(&fs);
    let good = snapshot_file();
    node.offered();
    node.served(good.len(), 0, good);
    node.flush();
    node.flush();
    let word = "x".repeat(1000);
    node.replicated(&[&word, &word, &word], FETCHED.end_offset + 2);
    let start = FETCHED.end_offset;
    let slice = node.slice(start - 1, 1 << 20);
    let from_snapshot = SnapshotId {
        end_offset: 40,
        epoch: Epoch(1),
    };
    assert_eq!(slice.snapshot_id, Some(from_snapshot));
    assert!(slice.records.is_empty());
    assert_eq!((slice.log_start_offset, slice.high_watermark), (40, 42));
    assert_eq!(node.quorum_state().log_start_offset, 40);

    let batches = |slice: MetadataFetchSlice| {
        let batches = Batches::collect_all(slice.records).expect("whole batches");
        batches
            .iter()
            .map(|batch| batch.base_offset())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        batches(node.slice(start, 1 << 20)),
        [40, 41],
        "not what is not committed"
    );
    assert_eq!(batches(node.slice(start, 1500)), [40]);
    assert_eq!(batches(node.slice(start, 0)), [40], "one at least");
    assert_eq!(batches(node.slice(start + 1, u64::MAX)), [41]);
    assert_eq!(batches(node.slice(start + 2, 1 << 20)), [0_i64; 0]);
    assert_eq!(batches(node.slice(i64::MAX, 1 << 20)), [0_i64; 0]);
}

#[test]
fn a_voter_tells_which_directory_has_its_vote() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001), (2, 9002)]);
    let vote = PeerRequest::Vote {
        cluster_id: "AAAAAAAAAAAAAAAAAAAAAA".into(),
        voter: ReplicaKey::without_directory(NodeId(1)),
        candidate: ReplicaKey::new(NodeId(2), Uuid::from_u128(77)),
        epoch: Epoch(5),
        log_end: node.engine.log().end(),
        pre_vote: false,
    };
    let body = encode_request(&Topic::default(), &vote, 2).expect("version 2 carries it");
    let (command, mut answer) = inbound(PeerApi::Vote, body);
    node.turn([command]);
    node.flush();
    let body = answer.try_recv().expect("answered");
    let body = m::VoteResponse::from_bytes(&body, 2).expect("decoded");
    assert!(body.topics[0].partitions[0].vote_granted);
    let state = node.quorum_state();
    assert_eq!(state.voted_directory_id, Some(Uuid::from_u128(77)));
    assert_eq!(state.leader_id, None);
    assert_eq!((state.high_watermark, state.quorum_high_watermark), (-1, -1));
    assert_eq!(state.current_state, "unattached-voted");
    let voter = state.voters.get(NodeId(2)).expect("a voter");
    assert_ne!(voter.endpoints, Endpoints::empty());
}

#[test]
fn commands_are_timed_in_the_queue_and_by_the_engine() {
    let mut node = Node::open_with(&MemFs::new(), &[(1, 9001)], |config| config.stopwatch = stopwatch);
    STEP.set(5);
    let times = node.engine.event_times();
    let before = (times.queue.count(), times.queue.total());
    node.now_ms += 100;
    let now = time(node.now_ms);
    let commands = [20, 70].map(|waited_ms: u64| QueuedCommand {
        command: Command::Event(kraft_core::Event::Tick),
        enqueued_at: Instant::from_millis(node.now_ms - waited_ms),
    });
    node.engine.turn(&mut VecDeque::from(commands), now);
    assert_eq!(times.queue.count() - before.0, 2);
    assert_eq!(times.queue.total() - before.1, Duration::from_millis(90));
    assert_eq!(times.queue.max(), Duration::from_millis(70));
    assert_eq!(times.processing.count(), times.queue.count());
    assert_eq!(times.processing.total(), Duration::from_micros(10));
    assert_eq!(times.processing.max(), Duration::from_micros(5));
}
