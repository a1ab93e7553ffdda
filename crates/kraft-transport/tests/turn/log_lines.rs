//! The log says what changes, once, and is not filled by faults that last.

use crate::harness::*;
use kraft_core::PeerRequest;
use kraft_fs::MemFs;
use std::{
    fmt::{Debug, Write},
    sync::{Arc, Mutex},
};
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

/// Keeps the lines of level info and above.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    /// The lines that are written while `run` runs.
    fn of(run: impl FnOnce()) -> Vec<String> {
        let lines = Self::default();
        tracing::subscriber::with_default(lines.clone(), run);
        std::mem::take(&mut lines.0.lock().expect("not poisoned"))
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::INFO
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        self.0.lock().expect("not poisoned").push(line.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{field}={value:?} ").expect("a string takes everything");
    }
}

fn containing<'a>(lines: &'a [String], words: &str) -> Vec<&'a String> {
    lines.iter().filter(|line| line.contains(words)).collect()
}

#[test]
fn a_node_that_is_cut_off_says_each_change_of_its_role_and_nothing_else() {
    let mut changes = 0;
    let lines = Lines::of(|| {
        let mut node = Node::open(&MemFs::new(), &[(1, 9001), (2, 9002), (3, 9003)]);
        node.told_of_leader(1);
        changes += 2;
        let mut before = (node.engine.replica().role(), node.watched());
        // Three minutes without anybody; for five seconds of them a turn comes every millisecond.
        while node.now_ms < 180_000 {
            node.now_ms += if node.now_ms < 5_000 { 1 } else { 50 };
            node.turn([]);
            node.flush();
            let now = (node.engine.replica().role(), node.watched());
            changes += usize::from(now != before);
            before = now;
        }
    });
    let roles = containing(&lines, "role=");
    assert!(!roles.is_empty());
    assert!(
        roles.len() <= changes,
        "{} lines for {changes} changes",
        roles.len()
    );
    assert_eq!(
        roles.len(),
        lines.len(),
        "nothing else is worth a line: {lines:#?}"
    );
    // The election timeout of these tests is 300 ms: the shortest that anybody configures would be as quiet.
    assert!(lines.len() < 180_000 / 300, "{}", lines.len());
}

#[test]
fn a_leader_that_serves_damage_is_told_of_now_and_then() {
    let lines = Lines::of(|| {
        let mut node = follower(&MemFs::new());
        let end = node.now_ms + 60_000;
        let mut answers = 1;
        while node.now_ms < end {
            node.told_of_leader(answers);
            node.answered_without_flush(vec![0x55; 100], 7);
            node.now_ms += 20;
            answers += 1;
        }
        assert!(answers > 1000, "{answers}");
    });
    let told = containing(&lines, "fetched records fail their checks");
    assert!((6..=8).contains(&told.len()), "{lines:#?}");
    assert!(told[1].contains("left_out="), "{}", told[1]);
    assert!(!told[1].contains("left_out=0 "), "{}", told[1]);
}

#[test]
fn a_leader_that_answers_nonsense_is_told_of_now_and_then() {
    let lines = Lines::of(|| {
        let mut node = follower(&MemFs::new());
        let end = node.now_ms + 60_000;
        for epoch in 1.. {
            if node.now_ms >= end {
                break;
            }
            node.told_of_leader(epoch);
            let request = node.asked(|body| matches!(body, PeerRequest::Fetch { .. }));
            let nonsense = from_leader(request, 17, vec![0xff; 3].into());
            node.turn([kraft_transport::Command::FetchResponse(nonsense)]);
            node.now_ms += 20;
        }
    });
    let told = containing(&lines, "an answer cannot be decoded");
    assert!((6..=8).contains(&told.len()), "{lines:#?}");
}

#[test]
fn a_disk_that_is_silent_is_told_of_when_that_begins_and_when_it_ends() {
    let lines = Lines::of(|| {
        let mut node = Node::open(&MemFs::new(), &[(1, 9001)]);
        node.lead();
        let (command, _answer) = submit("waits");
        node.turn([command]);
        for _ in 0..1000 {
            node.now_ms += 100;
            node.turn([]);
        }
        node.flush();
    });
    assert_eq!(containing(&lines, "disk").len(), 2, "{lines:#?}");
}
