//! `kraft verify` on directories that Kafka wrote, whole and damaged.

// A failing unwrap is how a test fails, in its helpers too.
#![allow(clippy::unwrap_used)]

#[path = "common/recorded.rs"]
mod recorded;

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Output};

const SEGMENT: &str = "__cluster_metadata-0/00000000000000000000.log";

fn unpacked(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    recorded::unpack(name, folder.path());
    folder
}

fn verify(dir: &Path, arguments: &[&str]) -> Output {
    let mut kraft = Command::new(env!("CARGO_BIN_EXE_kraft"));
    kraft.arg("verify").args(arguments).arg(dir).output().unwrap()
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_directory_that_a_killed_kafka_left_passes() {
    let folder = unpacked("small-killed");
    let output = verify(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.ends_with("a node would start: log 0 to 33, epoch 3, latest snapshot 0-0\n"),
        "{text}"
    );
}

#[test]
fn a_torn_tail_passes_and_is_shown() {
    let folder = unpacked("small-killed");
    let path = folder.path().join(SEGMENT);
    let segment = OpenOptions::new().write(true).open(&path).unwrap();
    segment.set_len(8874 - 5).unwrap();
    let output = verify(folder.path(), &["--json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let found = json(&output);
    assert_eq!(found["starts"], true);
    assert_eq!(found["repairs"][0]["action"], "cut");
    assert_eq!(found["repairs"][0]["zeros"], false);
    assert_eq!(found["repairs"][0]["file"], path.display().to_string());
    assert_eq!(fs::metadata(&path).unwrap().len(), 8874 - 5, "nothing is changed");
}

#[test]
fn space_behind_the_last_batch_is_no_torn_write() {
    let folder = unpacked("small-killed");
    let path = folder.path().join(SEGMENT);
    let segment = OpenOptions::new().write(true).open(&path).unwrap();
    segment.set_len(8874 + 100_000).unwrap();
    let found = json(&verify(folder.path(), &["--json"]));
    assert_eq!(found["repairs"][0]["action"], "cut");
    assert_eq!(found["repairs"][0]["position"], 8874);
    assert_eq!(found["repairs"][0]["zeros"], true);
    let text = String::from_utf8(verify(folder.path(), &[]).stdout).unwrap();
    assert!(text.contains("100000 bytes would be cut: zeros"), "{text}");
}

#[test]
fn damage_fails_with_file_and_byte() {
    let folder = unpacked("small-killed");
    let path = folder.path().join(SEGMENT);
    let segment = OpenOptions::new().write(true).open(&path).unwrap();
    segment.write_all_at(&[0xff], 100).unwrap();
    let output = verify(folder.path(), &["--json"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let found = json(&output);
    assert_eq!(found["starts"], false);
    assert_eq!(found["file"], path.display().to_string());
    assert_eq!(found["position"], 0, "the batch that begins there");
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("00000000000000000000.log: byte 0: "), "{text}");

    let nothing = tempfile::tempdir().unwrap();
    let output = verify(nothing.path(), &[]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

#[test]
fn field_h11_a_directory_on_which_a_node_runs_is_refused() {
    let folder = unpacked("small-killed");
    // A file that a node left behind is no sign of one.
    fs::write(folder.path().join(".lock"), b"").unwrap();
    assert_eq!(verify(folder.path(), &[]).status.code(), Some(0));
    let lock = kraft_fs::FileSystem::lock_dir(&kraft_fs::RealFs, folder.path()).unwrap();
    let output = verify(folder.path(), &["--json"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let reason = json(&output)["reason"].as_str().unwrap().to_owned();
    let path = folder.path().join(".lock").display().to_string();
    assert!(
        reason.contains(&path) && reason.contains("another process"),
        "{reason}"
    );
    drop(lock);
    assert_eq!(verify(folder.path(), &[]).status.code(), Some(0));
}
