//! `kraft shell` on what Kafka wrote, beside what Kafka's own tool shows of it.

// A failing unwrap is how a test fails, in its helpers too.
#![allow(clippy::unwrap_used)]

mod common;
#[path = "common/recorded.rs"]
mod recorded;

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::Process;

const LIMIT: Duration = Duration::from_secs(240);

/// Recorded from Apache Kafka 4.4.0; their README says how.
const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/shell");

fn file(name: &str) -> PathBuf {
    Path::new(FILES).join(name)
}

fn shell(path: &Path, command: &[&str]) -> Output {
    let mut kraft = Command::new(env!("CARGO_BIN_EXE_kraft"));
    kraft.arg("shell").arg(path).args(command).stdin(Stdio::null());
    kraft.output().unwrap()
}

/// What a command prints that has nothing to complain about.
fn shown(path: &Path, command: &[&str]) -> String {
    let output = shell(path, command);
    assert_eq!(output.status.code(), Some(0), "{command:?}: {output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{command:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A dialogue on a pipe: what stdout, stderr and the exit code are.
fn dialogue(path: &Path, lines: &str) -> (String, String, Option<i32>) {
    let mut kraft = Command::new(env!("CARGO_BIN_EXE_kraft"));
    kraft.arg("shell").arg(path);
    let pipes = kraft
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut running = pipes.spawn().unwrap();
    running.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = running.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code())
}

fn unpacked(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    recorded::unpack(name, folder.path());
    folder
}

/// The tree without what the two tools do not share: their own version, and the quotas of defaults, of which Kafka's tool
/// shows neither name nor value.
fn comparable(tree: &str) -> Vec<&str> {
    let mut kept = Vec::new();
    let mut inside = None;
    for line in tree.lines() {
        let depth = line.len() - line.trim_start().len();
        if inside.is_some_and(|outer| depth > outer) {
            continue;
        }
        inside = None;
        let name = line.trim_start();
        if name == "local:" || name == ":" || name.contains("(<default>)") {
            inside = Some(depth);
        } else {
            kept.push(line);
        }
    }
    kept
}

#[test]
fn snapshots_and_segments_have_the_tree_that_kafkas_tool_shows() {
    let names = [
        "main-444-2.checkpoint",
        "upgrade-62-1.checkpoint",
        "upgrade-228-1.checkpoint",
        "main.log",
        "upgrade.log",
    ];
    for name in names {
        let theirs = fs::read_to_string(file(&format!("{name}.tree"))).unwrap();
        let ours = shown(&file(name), &["tree", "/"]);
        assert_eq!(comparable(&ours), comparable(&theirs), "{name}");
        assert!(comparable(&ours).len() > 60, "{name}");
    }
}

#[test]
fn commands_print_what_those_of_kafkas_tool_print() {
    let path = file("upgrade-228-1.checkpoint");
    let lines = fs::read_to_string(file("one-shot.jsonl")).unwrap();
    for line in lines.lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let command: Vec<_> = case["command"]
            .as_array()
            .unwrap()
            .iter()
            .map(|word| word.as_str().unwrap())
            .collect();
        let (ours, theirs) = (shown(&path, &command), case["stdout"].as_str().unwrap());
        let differs = ours
            .lines()
            .zip(theirs.lines())
            .find(|(ours, theirs)| ours != theirs);
        assert_eq!(differs, None, "{command:?}");
        assert_eq!(ours.len(), theirs.len(), "{command:?}");
    }
}

#[test]
fn quotas_of_defaults_have_a_name_and_a_value() {
    let tree = shown(&file("main-444-2.checkpoint"), &["tree", "image/clientQuotas"]);
    assert!(
        tree.starts_with("clientId(<default>):\n  controller_mutation_rate:\n    3.5\n"),
        "{tree}"
    );
    assert!(
        tree.contains("ip(<default>):\n  connection_creation_rate:\n    1000.0\n"),
        "{tree}"
    );
}

#[test]
fn a_directory_is_shown_up_to_the_end_of_its_log() {
    let rows = [
        ("formatted-standalone-scram", "offset -1, epoch 0, "),
        ("small-killed", "offset 32, epoch 3, "),
        ("segments-killed", "offset 26, epoch 2, "),
        ("pruned-killed", "offset 36, epoch 2, "),
        ("voter-changes-n1", "offset "),
    ];
    for (name, provenance) in rows {
        let folder = unpacked(name);
        let at = shown(folder.path(), &["cat", "image/provenance"]);
        assert!(at.starts_with(provenance), "{name}: {at}");
        let partition = folder.path().join("__cluster_metadata-0");
        let tree = shown(folder.path(), &["tree", "image"]);
        assert_eq!(shown(&partition, &["tree", "image"]), tree, "{name}");
        assert!(tree.contains("  metadataVersion:\n    Optional["), "{tree}");
    }
}

#[test]
fn json_has_an_object_for_each_place() {
    let path = file("upgrade-228-1.checkpoint");
    let output = shell(&path, &["--json", "cat", "image/features/*", "image/nope"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(output.stderr, b"kraft: cat: image/nope: no such place\n");
    let text = String::from_utf8(output.stdout).unwrap();
    let objects: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let version = serde_json::json!({"path": "/image/features/metadataVersion", "text": "Optional[4.4-IV2]"});
    assert_eq!((objects.len(), &objects[5]), (6, &version));
    let tree: serde_json::Value = serde_json::from_str(&shown(&path, &["--json", "tree", "image"])).unwrap();
    assert_eq!(tree["tree"]["topics"]["byName"]["t-8"]["name"], "t-8");
    assert_eq!(
        tree["tree"]["clientQuotas"]["user(u7)"]["producer_byte_rate"],
        "75.0"
    );
    let none = shell(&path, &["--json"]);
    assert_eq!(none.status.code(), Some(2), "{none:?}");
}

#[test]
fn a_dialogue_on_a_pipe_has_no_prompts() {
    let path = file("upgrade-228-1.checkpoint");
    let lines = "cd image/topics\npwd\n\nls\nls byName/t-8\ncat byName/t-8/name nope\nhistory 2\nexit\npwd\n";
    let expected = "/image/topics\nbyId\nbyName\n0\n1\nid\nname\nt-8\ncat: nope: no such place\n    \
                    4  cat byName/t-8/name nope\n    5  history 2\n";
    assert_eq!(
        dialogue(&path, lines),
        (expected.to_owned(), String::new(), Some(0))
    );
    // The end of the input ends it too, also in the middle of a line.
    assert_eq!(dialogue(&path, "pwd"), ("/\n".to_owned(), String::new(), Some(0)));
    assert_eq!(dialogue(&path, ""), (String::new(), String::new(), Some(0)));
}

#[test]
fn a_line_without_an_end_is_not_kept() {
    let path = file("upgrade-228-1.checkpoint");
    let long = format!("ls {}\npwd\n", "a".repeat(1_000_000));
    assert_eq!(dialogue(&path, &long).0, "a line is too long\n/\n");
    assert_eq!(dialogue(&path, "cat 'image\n").0, "a ' has no end\n");
}

#[test]
fn what_is_not_there_fails_and_what_is_no_command_is_wrong_usage() {
    let path = file("upgrade-228-1.checkpoint");
    let missing = shell(&path, &["ls", "image/nope", "local", "x*"]);
    assert_eq!(missing.status.code(), Some(1));
    assert_eq!(missing.stdout, b"commitId\nversion\n");
    let complaints = "kraft: ls: image/nope: no such place\nkraft: ls: x*: no such place\n";
    assert_eq!(String::from_utf8(missing.stderr).unwrap(), complaints);
    let directory = shell(&path, &["cat", "image"]);
    assert_eq!(directory.status.code(), Some(1));
    for (command, why) in [
        (
            &["cd", "image"][..],
            "cd: only in the dialogue; without it there are cat, find, ls, tree",
        ),
        (
            &["dance"],
            "dance: no such command; there are cat, find, ls, tree",
        ),
        (&["cat"], "cat: an argument is missing; usage: cat PATH…"),
    ] {
        let output = shell(&path, command);
        assert_eq!(output.status.code(), Some(2), "{command:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn a_node_may_run_on_the_directory() {
    let folder = unpacked("small-killed");
    let config = folder.path().join("server.properties");
    let text = format!(
        "process.roles=controller\nnode.id=1\nlog.dirs={}\ncontroller.listener.names=CONTROLLER\n\
         listeners=CONTROLLER://127.0.0.1:0\ncontroller.quorum.bootstrap.servers=127.0.0.1:9093\n\
         metadata.max.idle.interval.ms=5\n",
        folder.path().display()
    );
    fs::write(&config, text).unwrap();
    let mut run = Command::new(env!("CARGO_BIN_EXE_kraft"));
    run.arg("run").arg("-c").arg(&config).stdin(Stdio::null());
    let _node = Process(run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let offset = || {
        let output = shell(folder.path(), &["cat", "image/provenance"]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        // Whoever is stopped in the middle of a write is not waited for.
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.is_empty() || said.contains("it is being written"), "{said}");
        let at = String::from_utf8(output.stdout).unwrap();
        let offset = at.strip_prefix("offset ").and_then(|rest| rest.split(',').next());
        offset.unwrap().parse::<i64>().unwrap()
    };
    // It leads, and goes on writing while it is looked at: at the same time there are blocks that are not yet used, and
    // batches that are half there.
    let deadline = Instant::now() + LIMIT;
    let mut last = offset();
    assert!(last >= 32, "{last}");
    let end = last + 200;
    while last < end {
        let now = offset();
        assert!(now >= last, "{now} after {last}");
        last = now;
        assert!(Instant::now() < deadline, "it stays at {last}");
    }
    let controllers = shown(folder.path(), &["ls", "image/cluster/controllers"]);
    assert_eq!(controllers, "1\n");
}

#[test]
fn what_cannot_be_read_is_one_line_that_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let output = shell(folder.path(), &["ls"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.ends_with("its .log and .checkpoint files\n") && said.lines().count() == 1,
        "{said}"
    );
    let gone = shell(&folder.path().join("gone"), &["ls"]);
    assert_eq!(gone.status.code(), Some(1));
    assert_eq!(String::from_utf8(gone.stderr).unwrap().lines().count(), 1);
}

#[test]
fn a_pipe_in_the_directory_is_not_waited_for() {
    let folder = unpacked("small-stopped");
    let mut mkfifo = Command::new("mkfifo");
    mkfifo.arg(
        folder
            .path()
            .join("__cluster_metadata-0/00000000000000099999.log"),
    );
    assert!(mkfifo.status().unwrap().success());
    assert_eq!(shown(folder.path(), &["ls"]), "image\nlocal\n");
}

#[test]
fn damage_is_one_line_with_file_and_byte() {
    let folder = unpacked("small-killed");
    let path = folder
        .path()
        .join("__cluster_metadata-0/00000000000000000000.log");
    let mut content = fs::read(&path).unwrap();
    content[4_000] ^= 4;
    fs::write(&path, content).unwrap();
    let output = shell(folder.path(), &["tree", "/"]);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(1), &b""[..]));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.starts_with(&format!("kraft: {}: byte ", path.display())),
        "{said}"
    );
    assert!(
        said.contains("; read up to offset ") && said.lines().count() == 1,
        "{said}"
    );
}

/// What a start would cut is no damage, whatever its form; a single file has no directory that says more.
#[test]
fn the_end_of_the_log_is_judged_as_a_start_judges_it() {
    let folder = unpacked("small-killed");
    let path = folder
        .path()
        .join("__cluster_metadata-0/00000000000000000000.log");
    let whole = fs::read(&path).unwrap();
    // The first sectors of a write have not come, later ones have.
    fs::write(&path, [&whole[..], &[0; 4_096], &whole[8_684..]].concat()).unwrap();
    let output = shell(folder.path(), &["cat", "image/provenance"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stdout.starts_with(b"offset 32, epoch 3, "), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains(&format!(": byte {}: ", whole.len())) && said.contains("is left out"),
        "{said}"
    );
    let single = shell(&path, &["cat", "image/provenance"]);
    assert_eq!(single.status.code(), Some(1), "{single:?}");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let mut kraft = Command::new(env!("CARGO_BIN_EXE_kraft"));
    kraft
        .arg("shell")
        .arg(file("main.log"))
        .args(["tree"; 1])
        .args(["/"; 100]);
    let mut running = kraft
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut some = [0; 64];
    running.stdout.take().unwrap().read_exact(&mut some).unwrap();
    let output = running.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
