//! How proposals become batches.

use crate::harness::*;
use bytes::Bytes;
use kraft_core::{BatchInfo, Epoch, Instant, LogView, NodeId, Ticket};
use kraft_fs::MemFs;
use kraft_log::{LogOptions, StorageOp};
use kraft_transport::{Command, PeerApi, RaftError, SubmitChangeResult};
use kraft_wire::batch::{BATCH_SIZE_MAX, BatchBuilder, BatchView, Batches};
use std::{path::Path, time::Duration};
use tokio::sync::oneshot::{self, error::TryRecvError};

#[test]
fn append_002_more_than_may_wait_is_refused_at_once() {
    let mut node = Node::open_with(&MemFs::new(), &[(1, 9001)], |config| {
        config.proposal_bytes_max = 200
    });
    node.lead();
    let (command, mut first) = submit(&"long enough to fill the bound".repeat(10));
    node.turn([command]);
    let (command, mut second) = submit("one too many");
    node.turn([command]);
    assert!(matches!(
        second.try_recv().expect("answered at once"),
        Err(RaftError::Busy { .. })
    ));
    node.flush();
    first.try_recv().expect("answered").expect("committed");
    let (command, mut third) = submit("there is room again");
    node.turn([command]);
    node.flush();
    third.try_recv().expect("answered").expect("committed");
}

#[test]
fn append_012_what_waits_for_one_turn_is_one_batch() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    let base = node.engine.log().end().last_offset;
    let (commands, answers): (Vec<_>, Vec<_>) = [1, 2, 3, 2, 1]
        .map(|records| {
            let (reply, answer) = oneshot::channel();
            let command = Command::SubmitChange {
                records: vec!["word".to_owned(); records],
                expected_image: None,
                reply,
            };
            (command, answer)
        })
        .into_iter()
        .unzip();
    node.turn(commands);
    assert_eq!(node.engine.storage_mut().ops.len(), 1);
    node.flush();
    let last = answers.into_iter().map(|mut answer| {
        let result = answer.try_recv().expect("answered").expect("committed");
        result.last_offset - base
    });
    assert_eq!(last.collect::<Vec<_>>(), [0, 2, 5, 7, 8]);
    let bytes = node.engine.log().recent(base, 1 << 20, base + 9);
    let batches =
        kraft_wire::batch::Batches::collect_all(bytes.expect("it is recent")).expect("whole batches");
    assert_eq!(batches.len(), 1);
    assert_eq!(
        (batches[0].base_offset(), batches[0].last_offset()),
        (base, base + 8)
    );
    assert_eq!(batches[0].header().max_timestamp, time(node.now_ms).wall_ms);
}

/// A leader of a quorum of one that lets proposals linger for 50 ms.
fn lingering() -> Node {
    lingering_among(&[(1, 9001)], |_| ())
}

fn lingering_among(voters: &[(i32, u16)], adjust: fn(&mut kraft_transport::EngineConfig)) -> Node {
    let mut node = Node::open_with(&MemFs::new(), voters, |config| {
        config.append_linger = Duration::from_millis(50);
        adjust(config);
    });
    node.lead();
    node
}

type Answer = oneshot::Receiver<Result<SubmitChangeResult, RaftError>>;

impl Node {
    fn append(&mut self, records: usize) -> Answer {
        let (reply, answer) = oneshot::channel();
        self.turn([Command::SubmitChange {
            records: vec!["word".to_owned(); records],
            expected_image: None,
            reply,
        }]);
        answer
    }

    /// The batches of the log from an offset on.
    fn batches_from(&self, base: i64) -> Vec<BatchView> {
        let bytes = self.engine.log().recent(base, 1 << 20, self.end());
        Batches::collect_all(bytes.unwrap_or_default()).expect("whole batches")
    }

    /// In how many milliseconds the next turn is due because a batch has waited long enough; `None` without one.
    fn linger_left(&mut self) -> Option<u64> {
        let without = self.engine.replica().next_deadline();
        let next = self.next_turn();
        (next < without).then(|| (next.expect("it is due").0 - Instant::from_millis(self.now_ms).0) / 1000)
    }
}

fn offsets(batches: &[BatchView]) -> Vec<(i64, i64)> {
    batches
        .iter()
        .map(|batch| (batch.base_offset(), batch.last_offset()))
        .collect()
}

#[test]
fn append_005_the_next_turn_is_due_when_the_linger_is_over() {
    let mut node = lingering();
    let end = node.end();
    let mut answer = node.append(1);
    assert_eq!(node.linger_left(), Some(50));
    node.now_ms += 20;
    assert_eq!(node.linger_left(), Some(30));
    assert_eq!(node.end(), end, "nothing is written yet");
    node.now_ms += 30;
    node.turn([]);
    assert_eq!(node.end(), end + 1);
    assert_eq!(node.linger_left(), None);
    node.flush();
    answer.try_recv().expect("answered").expect("committed");
}

#[test]
fn field_h05_a_lingering_batch_is_written_when_its_time_is_over_whatever_else_happens() {
    let mut node = lingering();
    let end = node.end();
    let _answer = node.append(1);
    // A turn after the other, none of which has anything to do with it.
    for _ in 0..49 {
        node.now_ms += 1;
        node.turn([]);
        assert_eq!(node.end(), end);
    }
    node.now_ms += 1;
    node.turn([]);
    assert_eq!(node.end(), end + 1);
}

#[test]
fn append_006_what_comes_when_the_linger_is_over_goes_with_it() {
    let mut node = lingering();
    let end = node.end();
    let _first = node.append(1);
    node.now_ms += 50;
    let _second = node.append(1);
    assert_eq!(offsets(&node.batches_from(end)), [(end, end + 1)]);
}

#[test]
fn append_008_a_full_batch_does_not_wait() {
    let mut node = lingering_among(&[(1, 9001)], |config| config.append_batch_bytes = 61 + 9 * 36);
    let base = node.end();
    let opened_ms = time(node.now_ms).wall_ms;
    let answers = [1, 2, 3, 2].map(|records| {
        let answer = node.append(records);
        node.now_ms += 1;
        answer
    });
    assert_eq!(node.end(), base);
    assert_eq!(node.linger_left(), Some(46));
    let last = node.append(1);
    let batches = node.batches_from(base);
    assert_eq!(offsets(&batches), [(base, base + 8)]);
    assert_eq!(batches[0].header().max_timestamp, opened_ms);
    assert_eq!(node.linger_left(), None, "nothing is due any more");
    node.flush();
    let ends = answers.into_iter().chain([last]).map(|mut answer| {
        let result = answer.try_recv().expect("answered").expect("committed");
        result.last_offset - base
    });
    assert_eq!(ends.collect::<Vec<_>>(), [0, 2, 5, 7, 8]);
}

#[test]
fn append_009_a_control_batch_closes_the_open_batch_and_comes_behind_it() {
    let mut node = lingering();
    let base = node.end();
    let answers = [1, 2, 3, 2, 1].map(|records| node.append(records));
    assert_eq!(node.end(), base);
    // Raising kraft.version writes a batch of control records at once.
    node.turn([crate::turns::raise_kraft_version().0]);
    let batches = node.batches_from(base);
    assert_eq!(offsets(&batches[..1]), [(base, base + 8)]);
    assert!(!batches[0].is_control());
    assert_eq!(batches.len(), 2);
    assert_eq!(batches[1].base_offset(), base + 9);
    assert!(batches[1].is_control());
    node.flush();
    for mut answer in answers {
        answer.try_recv().expect("answered").expect("committed");
    }
}

#[test]
fn append_010_the_linger_begins_with_the_first_record() {
    let mut node = lingering();
    node.now_ms += 15;
    assert_eq!(node.linger_left(), None);
    let _answer = node.append(1);
    assert_eq!(node.linger_left(), Some(50));
    node.now_ms += 25;
    let _answer = node.append(1);
    assert_eq!(
        node.linger_left(),
        Some(25),
        "a second record does not prolong it"
    );
    assert!(node.engine.proposal_bytes() > 0, "not empty since the append");
    let end = node.end();
    node.now_ms += 25;
    node.turn([]);
    assert_eq!(node.end(), end + 2, "due");
}

#[test]
fn append_011_what_is_done_or_dropped_takes_no_room_any_more() {
    // Written and committed.
    let mut node = lingering();
    assert_eq!(node.engine.proposal_bytes(), 0);
    let _answer = node.append(1);
    assert!(node.engine.proposal_bytes() > 0);
    node.now_ms += 50;
    node.turn([]);
    assert!(node.engine.proposal_bytes() > 0, "written and not committed");
    node.flush();
    assert_eq!(node.engine.proposal_bytes(), 0);

    // Dropped before it was written.
    let mut answer = node.append(1);
    assert!(node.engine.proposal_bytes() > 0);
    node.resign();
    assert_eq!(node.engine.proposal_bytes(), 0);
    assert_eq!(answer.try_recv().expect("answered"), Err(RaftError::Lost));

    // Nothing to drop.
    let mut node = lingering();
    node.resign();
    assert_eq!(node.engine.proposal_bytes(), 0);
}

impl Node {
    /// Gives up the leadership.
    fn resign(&mut self) {
        let epoch = self.engine.replica().epoch();
        self.turn([Command::Event(kraft_core::Event::Resign { epoch })]);
        assert!(!self.engine.watch().borrow().leading);
    }
}

#[test]
fn append_004_a_batch_that_lingers_when_the_leadership_is_lost_is_known_to_be_lost() {
    let mut node = lingering_among(&[(1, 9001)], |_| ());
    let end = node.end();
    let mut first = node.append(1);
    let mut second = node.append(2);
    assert_eq!(first.try_recv(), Err(TryRecvError::Empty));
    // A Vote of a newer epoch, from a candidate with as much as this node.
    let (command, _answer) = inbound(PeerApi::Vote, vote(&node, 9));
    node.turn([command]);
    assert_eq!(node.engine.replica().epoch(), Epoch(9));
    for answer in [&mut first, &mut second] {
        assert_eq!(answer.try_recv().expect("answered"), Err(RaftError::Lost));
    }
    assert_eq!(node.end(), end, "it never was in the log");
    assert_eq!(node.engine.proposal_bytes(), 0);
    assert_eq!(node.linger_left(), None);
}

#[test]
fn append_016_a_batch_that_was_handed_to_a_disk_that_hangs_is_given_up_when_its_time_is_over() {
    let mut node = lingering();
    let mut answer = node.append(1);
    node.now_ms += 50;
    node.turn([]);
    let (command, _voted) = inbound(PeerApi::Vote, vote(&node, 9));
    node.turn([command]);
    assert_eq!(
        answer.try_recv(),
        Err(TryRecvError::Empty),
        "it is in the log, and may still be committed"
    );
    assert!(node.engine.proposal_bytes() > 0);
    node.now_ms += 60_000;
    node.turn([]);
    assert_eq!(answer.try_recv().expect("answered"), Err(RaftError::Unknown));
    assert_eq!(node.engine.proposal_bytes(), 0);
}

#[test]
fn append_017_batches_that_wait_for_the_disk_are_bounded_by_their_bytes() {
    let mut node = lingering_among(&[(1, 9001)], |config| {
        config.append_batch_bytes = 200;
        config.proposal_bytes_max = 2 * 200;
    });
    let end = node.end();
    let large = "x".repeat(200);
    let (first, mut first_answer) = submit(&large);
    let (second, mut second_answer) = submit(&large);
    node.turn([first, second]);
    assert_eq!(node.batches_from(end).len(), 2, "each is a batch of its own");
    let (third, mut third_answer) = submit(&large);
    node.turn([third]);
    let refused = third_answer.try_recv().expect("answered at once");
    assert!(
        matches!(refused, Err(RaftError::Busy { max: 400, .. })),
        "{refused:?}"
    );
    node.flush();
    for answer in [&mut first_answer, &mut second_answer] {
        answer.try_recv().expect("answered").expect("committed");
    }
    node.commit_lingering(&large);
}

impl Node {
    fn commit_lingering(&mut self, word: &str) {
        let (command, mut answer) = submit(word);
        self.turn([command]);
        self.now_ms += 50;
        self.turn([]);
        self.flush();
        answer.try_recv().expect("answered").expect("committed");
    }
}

#[test]
fn field_h21_one_huge_proposal_is_refused_and_nothing_else_happens() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    let epoch = node.engine.replica().epoch();
    let (before, mut before_answer) = submit("before");
    let (huge, mut huge_answer) = submit(&"x".repeat(8 * 1024 * 1024));
    let (after, mut after_answer) = submit("after");
    node.turn([before, huge, after]);
    let refused = huge_answer.try_recv().expect("answered at once");
    assert_eq!(refused, Err(RaftError::TooLarge { max: 8 * 1024 * 1024 }));
    assert_eq!(
        refused.expect_err("refused").to_string(),
        "the change does not fit into one batch of 8388608 bytes"
    );
    node.flush();
    for answer in [&mut before_answer, &mut after_answer] {
        answer.try_recv().expect("answered").expect("committed");
    }
    assert_eq!(node.engine.replica().epoch(), epoch, "it still leads");
    assert_eq!(node.engine.replica().leader(), Some(NodeId(1)));
    // Just small enough is a batch of its own.
    node.commit(&"x".repeat(8 * 1024 * 1024 - 200));
}

#[test]
fn what_joins_never_makes_a_batch_that_is_too_large_whatever_the_settings_say() {
    let mut node = Node::open_with(&MemFs::new(), &[(1, 9001)], |config| {
        config.append_batch_bytes = u64::MAX;
    });
    node.lead();
    let base = node.end();
    let (commands, answers): (Vec<_>, Vec<_>) = (0..5).map(|_| submit(&"x".repeat(3 * 1024 * 1024))).unzip();
    node.turn(commands);
    assert_eq!(node.end(), base + 5, "in batches of two, and one alone");
    node.flush();
    for mut answer in answers {
        answer.try_recv().expect("answered").expect("committed");
    }
    assert!(node.engine.watch().borrow().leading);
}

#[test]
fn log_021_a_batch_has_at_most_eight_mebibytes() {
    let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
    node.lead();
    // The largest value with which a batch has that size: sizes of lengths depend on the value's.
    let size_with = |bytes| BatchBuilder::data(0).size_with(bytes);
    let overhead = size_with(BATCH_SIZE_MAX - 200) - (BATCH_SIZE_MAX - 200);
    let largest = BATCH_SIZE_MAX - overhead;
    assert_eq!(size_with(largest), BATCH_SIZE_MAX);
    // Records are counted with the longest prefixes that they may have, a few bytes more than they take.
    node.commit(&"x".repeat(largest - 64));
    let (larger, mut answer) = submit(&"x".repeat(largest + 1));
    node.turn([larger]);
    let refused = Err(RaftError::TooLarge {
        max: BATCH_SIZE_MAX as u32,
    });
    assert_eq!(answer.try_recv().expect("answered at once"), refused);
}

/// The epoch of a batch is not among what a caller could get wrong: it is the core's own, of the step that appends.
#[test]
fn append_015_a_batch_is_checked_where_it_is_appended() {
    let append = |base: i64, last: i64| {
        let fresh = kraft_log::open(MemFs::new(), Path::new("/log"), LogOptions::default());
        let mut index = fresh.expect("a new log").index;
        let info = BatchInfo {
            base,
            last,
            epoch: Epoch(17),
            bytes: 0,
            control: Some(Vec::new()),
        };
        let op = StorageOp::Append {
            batches: Bytes::new(),
            infos: vec![info],
        };
        index.submit(Ticket(1), &op, time(0).mono);
        index.end().last_offset
    };
    assert_eq!(append(0, 0), 1);
    for (base, last, what) in [(1, 1, "another base offset"), (0, -1, "no record")] {
        let refused = std::panic::catch_unwind(|| append(base, last));
        assert!(refused.is_err(), "{what}");
    }
}

#[test]
fn who_waits_when_the_node_ends_learns_as_much_as_there_is_to_know() {
    for end in [
        Command::StorageFailed {
            reason: "the disk is gone".to_owned(),
        },
        Command::Halt,
    ] {
        let mut node = lingering();
        let mut appended = node.append(1);
        node.now_ms += 50;
        node.turn([]);
        let mut lingers = node.append(1);
        let (command, mut arrives) = submit("together with the end");
        let halts = matches!(end, Command::Halt);
        let ended = node.turn_to_end([command, end]);
        assert_eq!(ended.expect("it ends").is_ok(), halts);
        for answer in [&mut lingers, &mut arrives] {
            assert_eq!(
                answer.try_recv(),
                Ok(Err(RaftError::Lost)),
                "it never was in the log"
            );
        }
        if halts {
            // A killed process says nothing; that it is gone is all there is to hear.
            assert_eq!(appended.try_recv(), Err(TryRecvError::Empty));
            drop(node);
            assert_eq!(appended.try_recv(), Err(TryRecvError::Closed));
        } else {
            assert_eq!(appended.try_recv(), Ok(Err(RaftError::Unknown)));
        }
    }
}
