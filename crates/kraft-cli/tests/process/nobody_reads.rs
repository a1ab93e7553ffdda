//! Commands whose standard output nobody reads: what they do and how they end does not depend on it.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use rustix::process::Signal;

use crate::node::{KRAFT, Node, Process};

fn runs_and_stops(mut process: Process<'_>) {
    process.registers();
    process.send(Signal::TERM);
    process.stops();
}

fn unread(arguments: &[&str], last: &Path) -> Output {
    let mut kraft = Command::new(KRAFT);
    kraft.args(arguments).arg(last).stdout(nobody()).output().unwrap()
}

/// A pipe at whose other end nobody is.
fn nobody() -> Stdio {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    writer.into()
}

#[test]
fn a_node_whose_first_line_nobody_reads_runs_and_stops_as_any() {
    let node = Node::formatted();
    runs_and_stops(node.run("", nobody()));
}

#[cfg(target_os = "linux")]
#[test]
fn a_node_whose_first_line_finds_no_room_says_so_and_runs() {
    let node = Node::formatted();
    let full = File::options().write(true).open(Path::new("/dev/full")).unwrap();
    runs_and_stops(node.run("", full));
    assert!(node.said().contains("standard output: No space left on device"));
}

#[test]
fn a_refusal_that_nobody_reads_ends_with_1() {
    let node = Node::formatted();
    let checkpoint = node.log().join("00000000000000000000-0000000000.checkpoint");
    // It may be written by nobody as it is.
    fs::remove_file(&checkpoint).unwrap();
    fs::write(&checkpoint, "no snapshot").unwrap();
    let output = unread(&["verify", "--json"], &node.data());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    fs::remove_dir_all(node.data()).unwrap();
    let output = unread(&["info", "-c"], &node.config());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

#[test]
fn a_recovery_that_nobody_watches_is_carried_out() {
    let node = Node::formatted();
    runs_and_stops(node.run("", Stdio::null()));
    fs::remove_file(node.log().join("quorum-state")).unwrap();
    let output = unread(&["recover", "--new-identity"], &node.data());
    assert!(output.status.success(), "{output:?}");
    assert!(node.log().join("quorum-state").exists());
}

#[test]
fn a_listing_that_nobody_reads_is_no_failure() {
    let node = Node::formatted();
    let output = unread(&["dump", "--records"], &node.data());
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stderr, b"");
}
