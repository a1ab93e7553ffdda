//! Fetches that wait on a leader.

use super::*;

#[test]
fn a_parked_fetch_is_completed_by_the_append_and_by_the_high_watermark() {
    let mut node = elected(&[1, 2, 3], 1);
    node.flush();
    let end = node.log.end.last_offset;
    assert_eq!(plans(&node.fetch(2, end, 1, 500)), [FetchPlan::Empty]);
    assert_eq!(plans(&node.fetch_knowing(2, end, 1, 500, end)), []);
    let out = node.propose(1, 1);
    assert_eq!(plans(&out), [read_from(end)]);
    assert_eq!(plans(&node.fetch_knowing(3, end + 1, 1, 500, end)), []);
    assert_eq!(plans(&node.flush()), [FetchPlan::Empty]);
}

/// A leader that has appended a record, and where it is. An observer waits for it.
fn leader_with_a_waiting_observer() -> (Node, i64) {
    let mut node = elected(&[1, 2, 3], 1);
    node.flush();
    let end = node.log.end.last_offset;
    node.fetch(2, end, 1, 0);
    assert_eq!(plans(&node.fetch_knowing(9, end, 1, 500, end)), []);
    assert_eq!(plans(&node.propose(1, 1)), []);
    (node, end)
}

fn read_from(from: i64) -> FetchPlan {
    FetchPlan::Read {
        from,
        max_bytes: 1024,
        up_to: None,
    }
}

fn plans(out: &[Action]) -> alloc::vec::Vec<FetchPlan> {
    out.iter()
        .filter_map(|action| match action {
            Action::Reply {
                answer: Answer::Fetch { plan, .. },
                ..
            } => Some(*plan),
            _ => None,
        })
        .collect()
}

#[test]
fn a_parked_fetch_expires_with_what_was_true_when_it_came() {
    let mut node = elected(&[1, 2, 3], 1);
    node.flush();
    let end = node.log.end.last_offset;
    node.fetch(3, end, 1, 0);
    assert_eq!(plans(&node.fetch_knowing(2, end, 1, 500, end)), []);
    assert_eq!(plans(&node.pass(Duration::from_millis(499))), []);
    assert_eq!(plans(&node.pass(Duration::from_millis(1))), [FetchPlan::Empty]);
}

#[test]
fn an_observer_is_told_of_records_and_of_their_commit_at_once() {
    let (mut node, end) = leader_with_a_waiting_observer();
    assert_eq!(plans(&node.flush()), [], "it is not committed yet");
    // The voter that makes the majority waits for nothing more, the observer gets the record.
    let out = node.fetch_knowing(2, end + 1, 1, 500, end);
    assert_eq!(plans(&out), [read_from(end), FetchPlan::Empty]);
}

#[test]
fn an_observer_does_not_wait_for_ever_for_a_commit() {
    let (mut node, end) = leader_with_a_waiting_observer();
    assert_eq!(plans(&node.pass(Duration::from_millis(15))), []);
    assert_eq!(plans(&node.propose(2, 1)), []);
    assert_eq!(plans(&node.pass(Duration::from_millis(9))), []);
    assert_eq!(plans(&node.pass(Duration::from_millis(1))), [read_from(end)]);
}
