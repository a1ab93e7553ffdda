//! However many connections are opened, the log gets the files that it needs.

// A failing unwrap is how a test fails, in its helpers too.
#![allow(clippy::unwrap_used)]

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use kraft_wire::{ApiKey, Message, message as m};

use common::Process;

const KRAFT: &str = env!("CARGO_BIN_EXE_kraft");
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

#[test]
fn idle_connections_leave_the_log_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("server.properties");
    let text = format!(
        "process.roles=controller\nnode.id=1\nlog.dirs={}\ncontroller.listener.names=CONTROLLER\n\
         listeners=CONTROLLER://127.0.0.1:0\ncontroller.quorum.bootstrap.servers=127.0.0.1:1\n",
        folder.path().join("data").display()
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
        .args(["-c", "ulimit -n 100 && exec \"$0\" run -c \"$1\"", KRAFT])
        .arg(&config);
    let running = running
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut process = Process(running.spawn().unwrap());
    let mut ready = String::new();
    BufReader::new(process.0.stdout.take().unwrap())
        .read_line(&mut ready)
        .unwrap();
    let address: SocketAddr = ready.trim().rsplit("://").next().unwrap().parse().unwrap();

    let patience = Some(Duration::from_secs(30));
    let mut first = TcpStream::connect(address).unwrap();
    first.set_read_timeout(patience).unwrap();
    let mut idle: Vec<_> = (0..200).map(|_| TcpStream::connect(address).unwrap()).collect();
    // The last one is closed at once; by then all others have been looked at.
    let last = idle.last_mut().unwrap();
    last.set_read_timeout(patience).unwrap();
    assert!(matches!(last.read(&mut [0]), Ok(0) | Err(_)), "it is closed");

    first.write_all(&vote()).unwrap();
    let mut length = [0; 4];
    first
        .read_exact(&mut length)
        .expect("the vote is stored and answered");
    assert!(process.0.try_wait().unwrap().is_none(), "the node goes on");
}
