//! Real processes that are stopped one after the other: each hands over what it has, and the last one to nobody.

// A failing unwrap is how a test fails, in its helpers too.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::time::Duration;

use kraft_cli::local::LocalQuorum;

const KRAFT: &str = env!("CARGO_BIN_EXE_kraft");
const LIMIT: Duration = Duration::from_secs(40);

#[test]
fn nodes_that_are_stopped_end_because_they_are_done_and_not_because_their_time_is_over() {
    let folder = tempfile::tempdir().unwrap();
    let mut quorum = LocalQuorum::create(Path::new(KRAFT), folder.path(), 3, "").unwrap();
    for id in 1..=3 {
        quorum.start(id).unwrap();
    }
    let first = quorum
        .wait_for("a leader", LIMIT, |now| now.high_watermark > 0)
        .unwrap();
    quorum.stop(&[first.leader]).unwrap();
    let second = quorum
        .wait_for("a successor", LIMIT, |now| now.high_watermark > 0)
        .unwrap();
    assert!(second.epoch > first.epoch);
    quorum.stop(&[second.leader]).unwrap();
    let last = (1..=3)
        .find(|id| ![first.leader, second.leader].contains(id))
        .unwrap();
    quorum.stop(&[last]).unwrap();

    for id in [first.leader, second.leader, last] {
        let log = fs::read_to_string(quorum.node(id).log()).unwrap();
        let end = log
            .lines()
            .find(|line| line.contains("graceful shutdown complete"));
        let end = end.unwrap_or_else(|| panic!("{log}"));
        assert!(end.contains("timed_out=false"), "{log}");
    }
}
