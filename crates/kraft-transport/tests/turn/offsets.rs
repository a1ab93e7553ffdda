//! What others say of places in the log: in the middle of a batch, or where it has been cut since.

use crate::{common::Words, harness::*};
use bytes::Bytes;
use kraft_core::{Epoch, LogEnd, NodeId, PeerRequest, ReplicaKey};
use kraft_fs::MemFs;
use kraft_transport::{
    Command, PeerApi, RaftError, ReadOutcome, SubmitChangeResult,
    codec::{Topic, encode_request},
    storage::perform_read,
};
use kraft_wire::{
    Message,
    batch::{BatchBuilder, Batches},
    message as m,
};
use tokio::sync::oneshot::{self, error::TryRecvError};

/// Leads two voters, and everything is committed.
fn leader(fs: &MemFs) -> Node {
    let mut node = Node::open(fs, &[(1, 9001), (2, 9002)]);
    node.elected();
    let _answer = node.fetched_by(2);
    node.flush();
    let _answer = node.fetched_by(2);
    assert!(node.engine.watch().borrow().leading);
    node.flush();
    let _answer = node.fetched_by(2);
    assert_eq!(node.words(), ["epoch 1"], "what it says itself");
    node
}

type Answer = oneshot::Receiver<Result<SubmitChangeResult, RaftError>>;

/// Words that are appended together.
fn submit_all(words: &[&str]) -> (Command<Words>, Answer) {
    let (reply, answer) = oneshot::channel();
    let command = Command::SubmitChange {
        records: words.iter().map(|word| (*word).to_owned()).collect(),
        expected_image: None,
        reply,
    };
    (command, answer)
}

impl Node {
    /// A replica fetches from somewhere in this node's log.
    fn fetched_from(&mut self, id: i32, last_offset: i64, last_epoch: Epoch) -> oneshot::Receiver<Bytes> {
        let fetch = PeerRequest::Fetch {
            cluster_id: "AAAAAAAAAAAAAAAAAAAAAA".into(),
            replica: ReplicaKey::new(NodeId(id), uuid::Uuid::from_u128(id as u128)),
            epoch: self.engine.replica().epoch(),
            log_end: LogEnd {
                last_epoch,
                last_offset,
            },
            high_watermark: -1,
            max_wait_ms: 0,
            max_bytes: 1 << 20,
        };
        let body = encode_request(&Topic::default(), &fetch, 18).expect("version 18 carries it");
        let (command, answer) = inbound(PeerApi::Fetch, body);
        self.turn([command]);
        answer
    }

    fn words(&self) -> Vec<String> {
        self.engine.watch_image().borrow().to_vec()
    }

    /// Node 2, which leads `epoch`, answers the Fetch that this node has sent it.
    fn answered(&mut self, epoch: i32, partition: m::FetchResponsePartition) {
        self.answered_by_leader(epoch, partition);
        self.flush();
        self.flush();
    }

    /// Node 2 leads `epoch`, has nothing from `at` on of what this node wrote in `of`, and says `word` there.
    fn deposed(&mut self, epoch: i32, at: i64, of: Epoch, word: &str) {
        self.told_of_leader(epoch);
        let mut diverging = m::FetchResponsePartition::default();
        diverging.diverging_epoch.epoch = of.0;
        diverging.diverging_epoch.end_offset = at;
        self.answered(epoch, diverging);
        assert_eq!(self.end(), at, "the log is cut");
        let mut batch = BatchBuilder::data(1_700_000_000_000);
        batch.push(word.as_bytes()).expect("it fits");
        let records = m::FetchResponsePartition {
            high_watermark: at + 1,
            records: Some(batch.build(at, epoch)),
            ..Default::default()
        };
        self.answered(epoch, records);
        assert_eq!(self.end(), at + 1);
    }
}

/// The error of an answer to a Fetch, and the words that it brings.
fn brought(answer: &mut oneshot::Receiver<Bytes>) -> (i16, Vec<String>) {
    let body = answer.try_recv().expect("answered");
    let mut body = m::FetchResponse::from_bytes(&body, 18).expect("decoded");
    let partition = body.responses.remove(0).partitions.remove(0);
    let batches = Batches::new(partition.records.unwrap_or_default()).map(|batch| batch.expect("whole"));
    let words = batches.filter(|batch| !batch.is_control()).flat_map(|batch| {
        let values = batch
            .values()
            .map(|word| String::from_utf8_lossy(word).into_owned());
        values.collect::<Vec<_>>()
    });
    (partition.error_code, words.collect())
}

const NOT_LEADER_OR_FOLLOWER: i16 = 6;

#[test]
fn a_fetch_in_the_middle_of_a_batch_commits_nothing_of_it_and_ends_nobody() {
    let mut node = leader(&MemFs::new());
    let epoch = node.engine.replica().epoch();
    let base = node.end();
    let (command, mut written) = submit_all(&["one", "two", "three"]);
    node.turn([command]);
    node.flush();
    assert_eq!(node.end(), base + 3);
    for offset in [base + 1, base + 2] {
        let _answer = node.fetched_from(2, offset, epoch);
        assert_eq!(written.try_recv(), Err(TryRecvError::Empty));
        assert_eq!(node.words(), ["epoch 1"]);
        assert_eq!(node.engine.watch().borrow().applied, base);
        let now = time(node.now_ms).mono;
        let next = node.next_turn().expect("there are timers");
        assert!(next > now, "there is nothing to be done over and over again");
    }
    let _answer = node.fetched_by(2);
    assert!(matches!(written.try_recv(), Ok(Ok(_))));
    assert_eq!(node.words(), ["epoch 1", "one", "two", "three"]);
}

#[test]
fn a_high_watermark_in_the_middle_of_a_batch_applies_nothing_of_it_and_ends_nobody() {
    let mut node = follower(&MemFs::new());
    let mut batch = BatchBuilder::data(1_700_000_000_000);
    for word in ["one", "two", "three"] {
        batch.push(word.as_bytes()).expect("it fits");
    }
    node.fetched(batch.build(0, 1).to_vec(), 2);
    assert_eq!(node.words(), [""; 0]);
    node.fetched(Vec::new(), 3);
    assert_eq!(node.words(), ["one", "two", "three"]);
}

/// A leader whose log has a record that nobody else has, at the offset that is returned, on the disk and not in memory.
fn leader_with_a_tail_on_disk() -> (Node, i64, Epoch) {
    let fs = MemFs::new();
    let mut node = leader(&fs);
    let (at, epoch) = (node.end(), node.engine.replica().epoch());
    let (command, _answer) = submit("lost");
    node.turn([command]);
    node.flush();
    drop(node);
    let mut node = Node::open(&fs, &[(1, 9001), (2, 9002)]);
    node.elected();
    node.engine.storage_mut().slow_reads = true;
    (node, at, epoch)
}

#[test]
fn a_read_that_begins_before_a_cut_and_is_done_after_it_is_no_answer() {
    let (mut node, at, epoch) = leader_with_a_tail_on_disk();
    let mut answer = node.fetched_from(9, at, epoch);
    assert_eq!(node.engine.storage_mut().to_read.len(), 1);
    node.deposed(9, at, epoch, "new");
    assert_eq!(answer.try_recv(), Err(TryRecvError::Empty));
    // What stands at the offset now is the record of another leader, in a log that goes on from another place.
    node.read();
    assert_eq!(brought(&mut answer), (NOT_LEADER_OR_FOLLOWER, Vec::new()));
}

#[test]
fn a_read_that_is_done_before_a_cut_and_told_after_it_is_no_answer() {
    let (mut node, at, epoch) = leader_with_a_tail_on_disk();
    let mut answer = node.fetched_from(9, at, epoch);
    let disk = node.engine.storage_mut();
    let (read, request) = disk.to_read.pop_front().expect("it is asked for");
    let outcome = perform_read(&disk.reader, request);
    assert!(matches!(&outcome, ReadOutcome::Batches(bytes) if !bytes.is_empty()));
    node.deposed(9, at, epoch, "new");
    node.turn([Command::ReadDone { read, outcome }]);
    assert_eq!(brought(&mut answer), (NOT_LEADER_OR_FOLLOWER, Vec::new()));
}

#[test]
fn what_was_cut_is_served_and_applied_by_nobody_who_had_it_in_memory() {
    let mut node = leader(&MemFs::new());
    let (at, epoch) = (node.end(), node.engine.replica().epoch());
    for word in ["lost", "lost, too"] {
        let (command, _answer) = submit(word);
        node.turn([command]);
    }
    let mut answer = node.fetched_from(9, at, epoch);
    assert_eq!(brought(&mut answer).1, ["lost", "lost, too"], "from memory");

    node.deposed(9, at, epoch, "new");
    assert_eq!(node.words(), ["epoch 1", "new"]);
    node.elected();
    for of in [epoch, Epoch(9)] {
        let from = at + i64::from(of == Epoch(9));
        let mut answer = node.fetched_from(9, from, of);
        let (error, words) = brought(&mut answer);
        assert_eq!(error, 0);
        let expected: &[&str] = if from == at { &["new"] } else { &[] };
        assert_eq!(words, expected, "from {from}");
    }
}
