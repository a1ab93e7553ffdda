//! Real processes that are stopped one after the other: each hands over what it has, and the last one to nobody. That
//! they end before their time is over is shown where that can be an hour, in the tests of `kraft-transport`.

// A failing unwrap is how a test fails, in its helpers too.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::time::Duration;

use kraft_cli::local::LocalQuorum;

const KRAFT: &str = env!("CARGO_BIN_EXE_kraft");
const LIMIT: Duration = Duration::from_secs(120);

#[test]
fn nodes_that_are_stopped_one_after_the_other_end_well() {
    let folder = tempfile::tempdir().unwrap();
    let mut quorum = LocalQuorum::create(Path::new(KRAFT), folder.path(), 3, "").unwrap();
    for id in 1..=3 {
        quorum.start(id).unwrap();
    }
    let first = quorum
        .wait_for("a leader", LIMIT, |now| now.high_watermark > 0)
        .unwrap();
    stop(&mut quorum, first.leader);
    let second = quorum
        .wait_for("a successor", LIMIT, |now| now.high_watermark > 0)
        .unwrap();
    assert!(second.epoch > first.epoch);
    stop(&mut quorum, second.leader);
    let last = (1..=3)
        .find(|id| ![first.leader, second.leader].contains(id))
        .unwrap();
    stop(&mut quorum, last);
}

fn stop(quorum: &mut LocalQuorum, id: i32) {
    let status = quorum.stop(&[id]).unwrap()[0];
    let log = fs::read_to_string(quorum.node(id).log()).unwrap();
    assert!(status.success(), "{status}: {log}");
    assert!(log.contains("graceful shutdown complete"), "{log}");
}
