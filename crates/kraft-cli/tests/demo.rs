//! `kraft demo` cleans up whatever happens.

// A failing unwrap is how a test fails, in its helpers too.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

const KRAFT: &str = env!("CARGO_BIN_EXE_kraft");

#[test]
fn an_interrupted_demo_leaves_nothing_behind() {
    let temporary = tempfile::tempdir().unwrap();
    let mut command = Command::new(KRAFT);
    command
        .arg("demo")
        .env("TMPDIR", temporary.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut demo = command.stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(demo.stdout.take().unwrap()).lines();
    let mut processes = Vec::new();
    while processes.len() < 3 {
        let line = lines.next().expect("the demo goes on").unwrap();
        if let Some((_, rest)) = line.split_once("is process ") {
            processes.push(rest.split(' ').next().unwrap().to_owned());
        }
    }
    let status = Command::new("kill")
        .args(["-TERM", &demo.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(demo.wait().unwrap().code(), Some(1));
    for process in processes {
        assert!(
            !Path::new("/proc").join(&process).exists(),
            "process {process} is still there"
        );
    }
    assert_eq!(
        std::fs::read_dir(temporary.path()).unwrap().count(),
        0,
        "a folder is left"
    );
}

#[test]
fn a_directory_that_holds_something_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("precious"), "").unwrap();
    let output = Command::new(KRAFT)
        .arg("demo")
        .arg("--dir")
        .arg(folder.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("is not empty"), "{stderr}");
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a-file");
    std::fs::write(&file, "").unwrap();
    let inside = file.join("quorum");
    let output = Command::new(KRAFT)
        .arg("demo")
        .arg("--dir")
        .arg(&inside)
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains(inside.to_str().unwrap()), "{stderr}");
}
