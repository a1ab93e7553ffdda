//! What is said about arguments and input that are wrong, whichever command they are given to.

// A failing unwrap is how a test fails, in its helpers too.
#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::process::{Command, Stdio};

fn kraft(arguments: &[&str], stdin: Stdio) -> (Option<i32>, String) {
    let mut kraft = Command::new(env!("CARGO_BIN_EXE_kraft"));
    let output = kraft.args(arguments).stdin(stdin).output().unwrap();
    assert_eq!(output.stdout, b"", "{arguments:?}");
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn no_argument_steers_the_terminal_when_it_is_repeated() {
    const HOSTILE: &str = "x\u{1b}[2J\r\u{9b}1m\u{202e}";
    let shown = "x\\u001b[2J\\r\\u009b1m\\u202e";
    let feature = format!("{HOSTILE}=1");
    let off = format!("{HOSTILE}=0");
    let option = format!("--{HOSTILE}");
    let rows: [&[&str]; 7] = [
        &[HOSTILE],
        &["shell", &option],
        &["shell", ".", HOSTILE],
        &["features", "upgrade", "--feature", HOSTILE],
        &["features", "upgrade", "--feature", &off],
        &[
            "features",
            "upgrade",
            "--feature",
            &feature,
            "--feature",
            &feature,
        ],
        &[
            "quorum",
            "--bootstrap-controller",
            HOSTILE,
            "describe",
            "--status",
        ],
    ];
    for arguments in rows {
        let (code, said) = kraft(arguments, Stdio::null());
        assert_eq!(code, Some(2), "{arguments:?}: {said}");
        assert!(said.contains(shown), "{arguments:?}: {said}");
        let obeyed =
            |character: char| character != '\n' && (character.is_control() || character == '\u{202e}');
        assert!(!said.contains(obeyed), "{arguments:?}: {said:?}");
    }
    // What is harmless is repeated as it is, with what clap suggests.
    let (_, said) = kraft(&["shell", "--jsom", "."], Stdio::null());
    assert!(
        said.contains("'--jsom'") && said.contains("'-- --jsom'"),
        "{said}"
    );
}

#[test]
fn input_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let segment = folder.path().join("00000000000000000000.log");
    File::create(&segment).unwrap();
    for arguments in [&["shell", segment.to_str().unwrap()][..], &["decode", "-"]] {
        let directory = File::open(folder.path()).unwrap();
        let (code, said) = kraft(arguments, directory.into());
        assert_eq!(code, Some(1), "{arguments:?}: {said}");
        assert!(
            said.starts_with("kraft: standard input: "),
            "{arguments:?}: {said}"
        );
        assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
    }
}

#[test]
fn a_bootstrap_address_that_cannot_be_one_is_wrong_usage() {
    for address in ["[::1:9093", "PLAINTEXT://localhost:9093", "local host:9093"] {
        let arguments = ["features", "describe", "--bootstrap-controller", address];
        let (code, said) = kraft(&arguments, Stdio::null());
        assert_eq!(code, Some(2), "{address}: {said}");
        assert!(said.contains("expected HOST:PORT"), "{address}: {said}");
    }
}
