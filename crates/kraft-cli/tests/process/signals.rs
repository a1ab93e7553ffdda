//! What signals do to a node.

use std::process::Stdio;

use kraft_fs::{FileSystem, RealFs};
use rustix::process::Signal;

use crate::node::Node;

#[test]
fn a_terminal_that_goes_away_stops_a_node_in_order_as_it_does_a_jvm() {
    let node = Node::formatted();
    let mut process = node.run("", Stdio::null());
    process.registers();
    process.send(Signal::HUP);
    process.stops();
    assert!(
        node.said().contains("stopping because of SIGHUP"),
        "{}",
        node.said()
    );
}

/// As `nohup` does, and a shell script to what it starts in the background.
#[cfg(target_os = "linux")]
#[test]
fn signals_that_a_node_is_started_to_ignore_do_nothing_to_it() {
    let node = Node::formatted();
    let mut process = node.run("trap '' HUP INT", Stdio::null());
    process.registers();
    process.send(Signal::HUP);
    process.send(Signal::INT);
    process.send(Signal::TERM);
    process.stops();
    assert!(
        node.said().contains("stopping because of SIGTERM"),
        "{}",
        node.said()
    );
}

/// Blocks for 4 MiB are made ready ahead of a log that needs none of them.
#[test]
fn a_limit_on_the_size_of_files_ends_no_node_that_keeps_below() {
    let node = Node::formatted();
    if RealFs
        .free_bytes(&node.data())
        .is_ok_and(|free| free < ENOUGH_ROOM)
    {
        println!("NOT RUN: where there is so little room no blocks are made ready, limit or not");
        return;
    }
    let mut process = node.run("ulimit -f 100", Stdio::null());
    process.says("no blocks are made ready ahead of the log any more");
    process.registers();
    process.send(Signal::TERM);
    process.stops();
}

/// More than is left to others by whoever makes blocks ready.
const ENOUGH_ROOM: u64 = 100 << 20;
