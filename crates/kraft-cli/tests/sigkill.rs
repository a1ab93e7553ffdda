//! Real processes, killed again and again under load: nothing acknowledged is lost, no offset holds two things.

// A failing unwrap is how a test fails, in its helpers too.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use kraft_cli::local::{Load, LocalError, LocalQuorum, contents_of};

const KRAFT: &str = env!("CARGO_BIN_EXE_kraft");
const KILLS: usize = 20;
const LIMIT: Duration = Duration::from_secs(120);

/// Three nodes with a leader. Their timeouts are short, so that twenty changes of leadership fit into a test; where the disk is
/// so slow that nobody ever gets its votes in time, they are long.
fn started(folder: &Path) -> LocalQuorum {
    for (timeout, limit) in [(300, Duration::from_secs(20)), (5000, LIMIT)] {
        let config = format!(
            "controller.quorum.election.timeout.ms={timeout}\ncontroller.quorum.fetch.timeout.ms={}\n",
            2 * timeout
        );
        let folder = folder.join(timeout.to_string());
        let mut quorum = LocalQuorum::create(Path::new(KRAFT), &folder, 3, &config).unwrap();
        for id in 1..=3 {
            quorum.start(id).unwrap();
        }
        match quorum.wait_for("a leader", limit, |now| now.high_watermark > 0) {
            Ok(_) => return quorum,
            Err(LocalError::Timeout { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    panic!("nobody is ever elected");
}

#[test]
fn twenty_kills_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut quorum = started(folder.path());
    let load = Load::start(quorum.nodes().iter().map(|node| node.port).collect(), 300);

    let mut kills = 0;
    while kills < KILLS {
        wait_for_more(&load, 50);
        let now = quorum
            .wait_for("a leader", LIMIT, |now| now.high_watermark > 0)
            .unwrap();
        // Mostly the leader; now and then a follower, and now and then the whole quorum at once.
        let others = (1..=3).filter(|id| *id != now.leader);
        let victims: Vec<_> = match kills % 5 {
            3 => others.take(1).collect(),
            4 if kills + 3 <= KILLS => others.chain([now.leader]).collect(),
            _ => vec![now.leader],
        };
        for victim in &victims {
            quorum.kill(*victim).unwrap();
            kills += 1;
        }
        if victims == [now.leader] {
            let moved =
                |next: &kraft_cli::local::Leadership| next.leader != now.leader && next.high_watermark > 0;
            quorum.wait_for("the next leader", LIMIT, moved).unwrap();
        }
        for victim in victims {
            quorum.start(victim).unwrap();
        }
    }

    wait_for_more(&load, 50);
    let loaded = load.stop();
    let committed = quorum
        .wait_for("all nodes caught up", LIMIT, |now| {
            now.high_watermark > 0 && now.lag_max <= 2
        })
        .unwrap()
        .high_watermark;
    for (id, status) in (1..).zip(quorum.stop(&[1, 2, 3]).unwrap()) {
        assert!(status.success(), "node {id} ends with {status}");
    }

    let logs: Vec<_> = quorum
        .nodes()
        .iter()
        .map(|node| contents_of(&node.data()).unwrap())
        .collect();
    for (log, node) in logs.iter().zip(quorum.nodes()) {
        assert_eq!(
            logs[0].first_difference(log, committed),
            None,
            "the logs of node 1 and node {} differ",
            node.id
        );
        let dump = Command::new(KRAFT)
            .arg("dump")
            .arg("--records")
            .arg(node.data())
            .output()
            .unwrap();
        assert!(
            dump.status.success(),
            "node {}: {}",
            node.id,
            String::from_utf8_lossy(&dump.stderr)
        );
    }
    let newest = logs.iter().max_by_key(|log| log.last()).unwrap();
    let lost: Vec<_> = loaded.acknowledged.difference(&newest.loaded).collect();
    assert!(
        lost.is_empty(),
        "{} of {} acknowledged records are lost: {lost:?}",
        lost.len(),
        loaded.acknowledged.len()
    );
    assert!(
        loaded.acknowledged.len() > KILLS * 20,
        "the load was too small to show anything"
    );
}

/// So that no kill hits an idle quorum.
fn wait_for_more(load: &Load, more: usize) {
    let enough = load.acknowledged() + more;
    let deadline = Instant::now() + LIMIT;
    while load.acknowledged() < enough {
        assert!(Instant::now() < deadline, "the quorum takes no records any more");
        std::thread::sleep(Duration::from_millis(5));
    }
}
