//! `kraft recover` with real processes: what a refusal names gets the node to start again.

// A failing unwrap is how a test fails, in its helpers too.
#![allow(clippy::unwrap_used)]

mod common;
#[path = "common/recorded.rs"]
mod recorded;

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use kraft_cli::local::{LocalQuorum, contents_of};

use common::Process;

const KRAFT: &str = env!("CARGO_BIN_EXE_kraft");
const LIMIT: Duration = Duration::from_secs(120);
const LOG: &str = "__cluster_metadata-0/00000000000000000000.log";

/// A directory that Kafka wrote, and a configuration for it beside it.
struct Node {
    folder: tempfile::TempDir,
}

impl Node {
    fn unpacked(name: &str) -> Node {
        let node = Node {
            folder: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(node.data()).unwrap();
        recorded::unpack(name, &node.data());
        let text = format!(
            "process.roles=controller\nnode.id=1\nlog.dirs={}\ncontroller.listener.names=CONTROLLER\n\
             listeners=CONTROLLER://127.0.0.1:0\ncontroller.quorum.bootstrap.servers=127.0.0.1:1\n",
            node.data().display()
        );
        fs::write(node.config(), text).unwrap();
        node
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn config(&self) -> PathBuf {
        self.folder.path().join("server.properties")
    }

    fn run(&self) -> Command {
        let mut command = Command::new(KRAFT);
        command.arg("run").arg("-c").arg(self.config());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        command
    }

    fn refusal(&self) -> String {
        let output = self.run().stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(output.stdout.is_empty(), "it never was ready");
        let text = String::from_utf8(output.stderr).unwrap();
        text.lines().last().unwrap().to_owned()
    }

    /// Starts the node and waits until it leads.
    fn leads(&self) {
        let mut node = Process(self.run().spawn().unwrap());
        let mut line = String::new();
        let mut out = BufReader::new(node.0.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let address = line.trim().rsplit("//").next().unwrap().to_owned();
        let deadline = Instant::now() + LIMIT;
        loop {
            let mut describe = Command::new(KRAFT);
            describe.args(["quorum", "describe", "--status", "--json", "--timeout", "10"]);
            let output = describe
                .args(["--bootstrap-controller", &address])
                .output()
                .unwrap();
            if output.status.success() {
                let described: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
                if described["highWatermark"].as_i64().unwrap() > 0 {
                    return;
                }
            }
            assert!(Instant::now() < deadline, "it does not lead: {line:?} {output:?}");
        }
    }

    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        for dir in [self.data(), self.data().join("__cluster_metadata-0")] {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                if path.is_file() && !path.ends_with(".lock") {
                    files.insert(path.clone(), fs::read(path).unwrap());
                }
            }
        }
        files
    }
}

fn recover(dir: &Path, arguments: &[&str]) -> Output {
    let mut kraft = Command::new(KRAFT);
    kraft.arg("recover").arg(dir).args(arguments).output().unwrap()
}

/// Follows the first way out that a refusal names.
fn follow(node: &Node, form: &str) -> String {
    let refusal = node.refusal();
    let command = format!("kraft recover {} {form}", node.data().display());
    assert!(refusal.contains(&command), "{refusal}");

    let before = node.files();
    let output = recover(&node.data(), &[form, "--dry-run"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(node.files(), before, "a dry run changes nothing");
    let plan = String::from_utf8(output.stdout).unwrap();
    assert!(plan.ends_with("nothing was changed\n"), "{plan}");

    let output = recover(&node.data(), &[form]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let done = String::from_utf8(output.stdout).unwrap();
    assert!(
        done.contains("done\n") && done.contains("a node would start: log "),
        "{done}"
    );
    let again = recover(&node.data(), &[form]);
    assert_eq!(
        again.status.code(),
        Some(1),
        "there is nothing left to do: {again:?}"
    );
    refusal
}

#[test]
fn a_flipped_bit_costs_the_only_voter_what_is_behind_it_and_it_leads_again() {
    let node = Node::unpacked("small-killed");
    let segment = OpenOptions::new()
        .write(true)
        .open(node.data().join(LOG))
        .unwrap();
    segment.write_all_at(&[0xff], 4000).unwrap();
    let refusal = follow(&node, "--cut");
    assert!(
        refusal.contains("00000000000000000000.log: byte 3780: "),
        "{refusal}"
    );
    assert!(
        refusal.contains("Lost at most: the records from offset 24 to 33"),
        "{refusal}"
    );
    node.leads();
}

#[test]
fn the_only_voter_that_has_lost_its_vote_leads_again() {
    let node = Node::unpacked("pruned-killed");
    fs::write(node.data().join("__cluster_metadata-0/quorum-state"), "").unwrap();
    follow(&node, "--new-identity");
    node.leads();
}

#[test]
fn field_h40_a_voter_whose_peer_is_gone_for_good_leads_alone() {
    let node = Node::unpacked("voter-changes-n1");
    let output = recover(&node.data(), &["--sole-voter", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let done: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(done["done"], true);
    assert_eq!(done["lostFrom"], 27);
    assert!(
        done["notes"].to_string().contains("must never start again"),
        "{done}"
    );
    node.leads();
}

#[test]
fn a_directory_in_use_and_wrong_usage_are_refused() {
    let node = Node::unpacked("small-killed");
    let mut running = Process(node.run().spawn().unwrap());
    let mut line = String::new();
    let mut out = BufReader::new(running.0.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    assert!(line.starts_with("ready"), "{line}");
    let output = recover(&node.data(), &["--refetch"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("locked by another process")
    );

    for wrong in [&[][..], &["--cut", "--refetch"]] {
        assert_eq!(recover(&node.data(), wrong).status.code(), Some(2), "{wrong:?}");
    }
    let nothing = tempfile::tempdir().unwrap();
    assert_eq!(recover(nothing.path(), &["--cut"]).status.code(), Some(1));
    assert_eq!(
        fs::read_dir(nothing.path()).unwrap().count(),
        0,
        "not even a lock file"
    );
}

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Dynamic,
    Static,
}

/// The nodes of a local quorum become voters that only the configuration names.
fn make_static(quorum: &LocalQuorum) {
    let voters: Vec<String> = quorum
        .nodes()
        .iter()
        .map(|node| format!("{}@127.0.0.1:{}", node.id, node.port))
        .collect();
    for node in quorum.nodes() {
        let text = fs::read_to_string(node.config()).unwrap();
        let lines = text.lines().filter(|line| !line.contains("bootstrap.servers"));
        let text = lines.collect::<Vec<_>>().join("\n");
        fs::write(
            node.config(),
            format!("{text}\ncontroller.quorum.voters={}\n", voters.join(",")),
        )
        .unwrap();
        fs::remove_dir_all(node.data()).unwrap();
        let mut format = Command::new(KRAFT);
        format.args(["format", "-t", "6PMpHYL9QkeyXRj9Nrp4KA", "-c"]);
        let output = format.arg(node.config()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

#[test]
fn a_voter_fetches_its_log_again_from_the_others() {
    for mode in [Mode::Dynamic, Mode::Static] {
        let folder = tempfile::tempdir().unwrap();
        let mut quorum = LocalQuorum::create(Path::new(KRAFT), folder.path(), 3, "").unwrap();
        if mode == Mode::Static {
            make_static(&quorum);
        }
        for id in 1..=3 {
            quorum.start(id).unwrap();
        }
        let caught_up = |now: &kraft_cli::local::Leadership| now.high_watermark > 4 && now.lag_max == 0;
        let now = quorum
            .wait_for("a leader that all follow", LIMIT, caught_up)
            .unwrap();
        // All that the victim has until then, and what comes behind it need not be what the others have in the end.
        let committed = now.high_watermark;
        let victim = 1 + now.leader % 3;
        quorum.stop(&[victim]).unwrap();
        let data = quorum.node(victim).data();
        let before = contents_of(&data).unwrap();
        let segment = OpenOptions::new().write(true).open(data.join(LOG)).unwrap();
        segment.write_all_at(&[0xff; 8], 200).unwrap();
        assert!(quorum.start(victim).is_err(), "it is damaged");
        let refusal = fs::read_to_string(quorum.node(victim).log()).unwrap();
        assert!(refusal.contains("--refetch"), "{refusal}");
        let output = recover(&data, &["--refetch"]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let note = data.join("__cluster_metadata-0/kraft-no-vote");
        assert_eq!(note.exists(), mode == Mode::Static);

        quorum.start(victim).unwrap();
        let deadline = Instant::now() + LIMIT;
        loop {
            let now = contents_of(&data).unwrap();
            let mut offsets = before.records.range(..committed).map(|(offset, _)| offset);
            let all = offsets.all(|offset| now.records.contains_key(offset));
            if all && !note.exists() {
                assert_eq!(before.first_difference(&now, committed), None);
                break;
            }
            assert!(Instant::now() < deadline, "it does not catch up");
            std::thread::sleep(Duration::from_millis(50));
        }
        if mode == Mode::Static {
            // It is a voter like the others again: without one of them the quorum goes on.
            let other = (1..=3).find(|id| *id != victim && *id != now.leader).unwrap();
            quorum.kill(other).unwrap();
            quorum.kill(now.leader).unwrap();
            quorum.start(other).unwrap();
            let moved =
                |next: &kraft_cli::local::Leadership| next.epoch > now.epoch && next.high_watermark > 0;
            quorum.wait_for("the next leader", LIMIT, moved).unwrap();
        }
    }
}
