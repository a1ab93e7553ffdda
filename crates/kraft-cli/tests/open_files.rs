//! However many connections are opened, the log gets the files that it needs, and other addresses their connections.

// A failing unwrap is how a test fails, in its helpers too.
#![allow(clippy::unwrap_used)]

mod common;

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kraft_wire::{ApiKey, Message, message as m};

use common::Process;

const KRAFT: &str = env!("CARGO_BIN_EXE_kraft");
const PATIENCE: Duration = Duration::from_secs(120);
const CLUSTER_ID: &str = "6PMpHYL9QkeyXRj9Nrp4KA";

/// A Vote of a stranger in a newer epoch, which has to be stored before it is answered.
fn vote() -> Vec<u8> {
    let mut frame = vec![0; 4];
    m::RequestHeader {
        request_api_key: ApiKey::Vote.key(),
        request_api_version: 2,
        correlation_id: 7,
        ..Default::default()
    }
    .encode(ApiKey::Vote.request_header_version(2), &mut frame)
    .unwrap();
    let request = m::VoteRequest {
        cluster_id: Some(CLUSTER_ID.to_owned()),
        voter_id: 1,
        topics: vec![m::VoteRequestTopic {
            topic_name: "__cluster_metadata".to_owned(),
            partitions: vec![m::VoteRequestPartition {
                replica_epoch: 1000,
                replica_id: 2,
                last_offset_epoch: 999,
                last_offset: 1000,
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    };
    frame.extend_from_slice(&request.to_bytes(2).unwrap());
    let length = i32::try_from(frame.len() - 4).unwrap();
    frame[..4].copy_from_slice(&length.to_be_bytes());
    frame
}

/// A lone controller with one more line in its configuration. Gives its process and where it listens.
fn start(folder: &Path, open_files: &str, settings: &str) -> (Process, SocketAddr) {
    let config = folder.join("server.properties");
    let text = format!(
        "process.roles=controller\nnode.id=1\nlog.dirs={}\ncontroller.listener.names=CONTROLLER\n\
         listeners=CONTROLLER://127.0.0.1:0\ncontroller.quorum.bootstrap.servers=127.0.0.1:1\n{settings}\n",
        folder.join("data").display()
    );
    fs::write(&config, text).unwrap();
    let mut formatting = Command::new(KRAFT);
    formatting.arg("format").arg("-c").arg(&config);
    let output = formatting
        .args(["-t", CLUSTER_ID, "--standalone"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");

    let mut running = Command::new("sh");
    running
        .args(["-c", "ulimit -n $2 && exec \"$0\" run -c \"$1\"", KRAFT])
        .arg(&config)
        .arg(open_files);
    let running = running
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut process = Process(running.spawn().unwrap());
    let mut ready = String::new();
    BufReader::new(process.0.stdout.take().unwrap())
        .read_line(&mut ready)
        .unwrap();
    let address = ready.trim().rsplit("://").next().unwrap().parse().unwrap();
    (process, address)
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Whether the other side has closed the connection. It is waited for.
fn is_closed(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0]) {
        Ok(length) => length == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

/// Whether a vote on this connection is answered; otherwise the connection was closed.
fn is_served(stream: &mut TcpStream) -> bool {
    stream.write_all(&vote()).is_ok() && stream.read_exact(&mut [0; 4]).is_ok()
}

#[test]
fn idle_connections_leave_the_log_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let (mut process, address) = start(folder.path(), "100", "");
    let mut first = connect(address);
    let mut idle: Vec<_> = (0..200).map(|_| connect(address)).collect();
    // The last one is closed at once; by then all others have been looked at.
    assert!(is_closed(idle.last_mut().unwrap()));

    assert!(is_served(&mut first), "the vote is stored and answered");
    assert!(process.0.try_wait().unwrap().is_none(), "the node goes on");
}

#[test]
fn an_address_has_no_more_connections_than_it_may() {
    let folder = tempfile::tempdir().unwrap();
    let (_process, address) = start(folder.path(), "1000", "max.connections.per.ip=2");
    let (mut first, second) = (connect(address), connect(address));
    assert!(is_served(&mut first));
    assert!(is_closed(&mut connect(address)), "a third one is closed");
    assert!(is_served(&mut first), "the others stay");
    drop(second);
    let deadline = Instant::now() + PATIENCE;
    while !is_served(&mut connect(address)) {
        assert!(
            Instant::now() < deadline,
            "the place of one that has gone is free"
        );
    }
}

#[test]
fn an_address_can_have_a_limit_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let settings = "max.connections.per.ip=0\nmax.connections.per.ip.overrides=127.0.0.1:1";
    let (_process, address) = start(folder.path(), "1000", settings);
    let mut first = connect(address);
    assert!(is_served(&mut first));
    assert!(is_closed(&mut connect(address)), "a second one is closed");
}
