//! Real processes whose voters are removed and added by `kraft quorum`.

// A failing unwrap is how a test fails, in its helpers too.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use kraft_cli::local::LocalQuorum;

const KRAFT: &str = env!("CARGO_BIN_EXE_kraft");
const LIMIT: Duration = Duration::from_secs(120);
/// Nobody but a leader that goes itself causes an election, however slow the machine is.
const PATIENT: &str = "controller.quorum.fetch.timeout.ms=600000\n";

#[test]
fn voters_go_and_come_back_and_the_leader_removes_itself() {
    let folder = tempfile::tempdir().unwrap();
    let mut quorum = LocalQuorum::create(Path::new(KRAFT), folder.path(), 3, PATIENT).unwrap();
    for id in 1..=3 {
        quorum.start(id).unwrap();
    }
    let now = quorum
        .wait_for("a leader", LIMIT, |now| now.high_watermark > 0)
        .unwrap();
    let addresses: Vec<_> = quorum
        .nodes()
        .iter()
        .map(|node| format!("127.0.0.1:{}", node.port))
        .collect();
    let ask = |arguments: &[&str]| kraft_quorum(&addresses.join(","), arguments);
    let directories: Vec<_> = quorum
        .nodes()
        .iter()
        .map(|node| (node.id, directory_id(&node.data())))
        .collect();
    let id_of = |id: i32| {
        directories
            .iter()
            .find(|(node, _)| *node == id)
            .unwrap()
            .1
            .clone()
    };

    // A follower goes. It fetches on, as an observer, and may come back.
    let follower = if now.leader == 1 { 2 } else { 1 };
    let (id, directory) = (follower.to_string(), id_of(follower));
    let removal = ["remove-controller", "-i", &id, "-d", &directory];
    let output = ask(&[&removal[..], &["--dry-run"]].concat());
    assert!(text(&output).starts_with("DRY RUN of removing"), "{output:?}");
    assert_eq!(voters(&ask).len(), 3);
    let output = ask(&removal);
    let expected = format!("Removed KRaft controller {id} with directory id {directory}\n");
    assert_eq!(text(&output), expected, "{output:?}");
    assert_eq!(voters(&ask).len(), 2);
    let again = ask(&removal);
    assert_eq!(again.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&again.stderr).contains("VOTER_NOT_FOUND"),
        "{again:?}"
    );
    let config = quorum.node(follower).config();
    let config = config.to_str().unwrap();
    let rehearsal = ["add-controller", "--command-config", config, "--dry-run"];
    let output = ask(&rehearsal);
    assert!(text(&output).starts_with("DRY RUN of adding"), "{output:?}");
    // Where Kafka's tool has it.
    let addition = ["--command-config", config, "add-controller"];
    let added = format!("Added controller {id} with directory id {directory} and endpoints: CONTROLLER://");
    let output = until(&|| ask(&addition), |output| output.status.success());
    assert!(text(&output).starts_with(&added), "{output:?}");
    assert_eq!(voters(&ask).len(), 3);

    // The leader goes; another one leads without it.
    let leader = quorum
        .wait_for("a leader", LIMIT, |now| now.high_watermark > 0)
        .unwrap()
        .leader;
    let output = ask(&[
        "remove-controller",
        "-i",
        &leader.to_string(),
        "-d",
        &id_of(leader),
    ]);
    assert!(output.status.success(), "{output:?}");
    let left = until(&|| voters(&ask), |voters| voters.len() == 2);
    assert!(!left.contains(&leader), "{left:?}");
    quorum.stop(&[1, 2, 3]).unwrap();
}

fn kraft_quorum(addresses: &str, arguments: &[&str]) -> Output {
    Command::new(KRAFT)
        .args(["quorum", "--timeout", "120", "--bootstrap-controller", addresses])
        .args(arguments)
        .output()
        .unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The ids of the voters, or none while nobody can say.
fn voters(ask: &impl Fn(&[&str]) -> Output) -> Vec<i32> {
    let output = ask(&["describe", "--status"]);
    let status = text(&output);
    let voters = status.lines().find(|line| line.starts_with("CurrentVoters:"));
    voters
        .unwrap_or_default()
        .split("\"id\": ")
        .skip(1)
        .map(|rest| {
            rest.split(|c: char| !c.is_ascii_digit())
                .next()
                .unwrap()
                .parse()
                .unwrap()
        })
        .collect()
}

fn directory_id(data: &Path) -> String {
    let properties = std::fs::read_to_string(data.join("meta.properties")).unwrap();
    let line = properties
        .lines()
        .find_map(|line| line.strip_prefix("directory.id="));
    line.unwrap().to_owned()
}

/// Asks until the answer is right.
fn until<T: std::fmt::Debug>(ask: &impl Fn() -> T, is_right: impl Fn(&T) -> bool) -> T {
    let limit = Instant::now() + LIMIT;
    loop {
        let answer = ask();
        if is_right(&answer) {
            return answer;
        }
        assert!(Instant::now() < limit, "{answer:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
