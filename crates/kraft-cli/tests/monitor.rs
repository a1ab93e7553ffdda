//! What a running node tells over HTTP.

// A failing unwrap is how a test fails, in its helpers too.
#![allow(clippy::unwrap_used)]

mod common;

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::Process;

const KRAFT: &str = env!("CARGO_BIN_EXE_kraft");
const CLUSTER_ID: &str = "6PMpHYL9QkeyXRj9Nrp4KA";
const PATIENCE: Duration = Duration::from_secs(120);

fn formatted(folder: &Path, voters: &[&str]) -> PathBuf {
    let config = folder.join("server.properties");
    let text = format!(
        "process.roles=controller\nnode.id=1\nlog.dirs={}\ncontroller.listener.names=CONTROLLER\n\
         listeners=CONTROLLER://127.0.0.1:0\ncontroller.quorum.bootstrap.servers=127.0.0.1:1\n",
        folder.join("data").display()
    );
    fs::write(&config, text).unwrap();
    let mut formatting = Command::new(KRAFT);
    formatting.arg("format").arg("-c").arg(&config);
    let output = formatting.args(["-t", CLUSTER_ID]).args(voters).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    config
}

/// Starts a node, and gives the address that it names in its log.
fn start(config: &Path) -> (Process, SocketAddr) {
    let mut running = Command::new(KRAFT);
    running.arg("run").arg("-c").arg(config);
    running.args(["--metrics-listen", "127.0.0.1:0"]);
    let running = running
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut process = Process(running.spawn().unwrap());
    let mut log = BufReader::new(process.0.stderr.take().unwrap());
    let line = (&mut log)
        .lines()
        .map(Result::unwrap)
        .find(|line| line.contains("/metrics"));
    let line = line.expect("the log names the address");
    let address = line.rsplit("address=").next().unwrap().parse().unwrap();
    // What follows has to be read, or the node would wait for its own log.
    std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
    let mut out = BufReader::new(process.0.stdout.take().unwrap());
    let mut ready = String::new();
    out.read_line(&mut ready).unwrap();
    assert!(ready.starts_with("ready node.id=1"), "{ready}");
    (process, address)
}

/// Status line and body.
fn exchange(address: SocketAddr, request: &[u8]) -> (String, String) {
    let mut answer = String::new();
    // A node that is held up for seconds gives up what it has begun.
    let end = Instant::now() + PATIENCE;
    while answer.is_empty() {
        assert!(Instant::now() < end, "{address} says nothing");
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request).unwrap();
        stream.read_to_string(&mut answer).unwrap();
    }
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.lines().next().unwrap();
    assert!(
        head.contains(&format!("Content-Length: {}\r\n", body.len())),
        "{head}"
    );
    (status.to_owned(), body.to_owned())
}

fn get(address: SocketAddr, path: &str) -> (String, String) {
    exchange(
        address,
        format!("GET {path} HTTP/1.1\r\nHost: here\r\n\r\n").as_bytes(),
    )
}

/// Asks until the answer is this one; until then the node says that it cannot be served now.
fn wait_until(address: SocketAddr, path: &str, is_right: impl Fn(&str, &str) -> bool) -> String {
    let end = Instant::now() + PATIENCE;
    loop {
        let (status, body) = get(address, path);
        if is_right(&status, &body) {
            return body;
        }
        assert_eq!(status, "HTTP/1.1 503 Service Unavailable", "{path}: {body}");
        assert!(Instant::now() < end, "{path}: {body}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether the other side has closed the connection. It is waited for.
fn is_closed(stream: &mut TcpStream) -> bool {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    match stream.read(&mut [0]) {
        Ok(length) => length == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

#[test]
fn a_leader_tells_what_it_measures_and_how_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let (_process, address) = start(&formatted(folder.path(), &["--standalone"]));
    let is_ok = |status: &str, _: &str| status == "HTTP/1.1 200 OK";
    assert_eq!(
        wait_until(address, "/ready", is_ok),
        "ready: leader of epoch 1: elected by a majority\n"
    );
    assert_eq!(wait_until(address, "/live", is_ok), "live\n");
    let text = wait_until(address, "/metrics", is_ok);
    for line in [
        "kafka_server_raftmetrics_current_state{current_state=\"leader\"} 1",
        "kafka_server_raftmetrics_current_leader 1",
        "kafka_server_raftmetrics_current_epoch 1",
        "# TYPE kafka_server_raftmetrics_number_of_observers gauge",
        "kafka_server_raftmetrics_number_of_observers 0",
        "kafka_controller_kafkacontroller_activecontrollercount 1",
        "kafka_server_metadataloader_finalizedlevel{featureName=\"kraftVersion\"} 1",
        "kafka_server_nodemetrics_maximum_supported_level{feature_name=\"metadata-version\"} 33",
        "kafka_server_raftchannelmetrics_connection_count 0",
        "kafka_server_controllerserver_clusterid{clusterid=\"6PMpHYL9QkeyXRj9Nrp4KA\"} 1",
        "# TYPE kraft_transitions_total counter",
    ] {
        assert!(
            text.lines().any(|found| found == line),
            "{line} is not in\n{text}"
        );
    }

    let post = exchange(address, b"POST /metrics HTTP/1.1\r\nContent-Length: 1\r\n\r\n");
    assert_eq!(post.0, "HTTP/1.1 405 Method Not Allowed");
    assert_eq!(get(address, "/").0, "HTTP/1.1 404 Not Found");
    assert_eq!(exchange(address, b"hello\r\n\r\n").0, "HTTP/1.1 400 Bad Request");
    let large = [b'x'; 8 * 1024];
    assert_eq!(
        exchange(address, &large).0,
        "HTTP/1.1 431 Request Header Fields Too Large"
    );

    // Whoever asks nothing takes a place for a while, and no more than there are.
    let mut idle: Vec<_> = (0..40).map(|_| TcpStream::connect(address).unwrap()).collect();
    assert!(is_closed(idle.last_mut().unwrap()), "there is no place for it");
    drop(idle);
    wait_until_free(address);
}

fn wait_until_free(address: SocketAddr) {
    let end = Instant::now() + PATIENCE;
    loop {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut answer = String::new();
        let asked = stream.write_all(b"GET /live HTTP/1.1\r\n\r\n");
        if asked.and_then(|()| stream.read_to_string(&mut answer)).is_ok() && !answer.is_empty() {
            return;
        }
        assert!(Instant::now() < end, "no place becomes free");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_voter_without_a_majority_says_that_it_has_no_leader() {
    let folder = tempfile::tempdir().unwrap();
    let voters = "1@127.0.0.1:1:JEXY6aqzQY-32P5TStzaFg,2@127.0.0.1:2:MvDxzVmcRsaTz33bUuRU6A";
    let config = formatted(folder.path(), &["--initial-controllers", voters]);
    let (_process, address) = start(&config);
    wait_until(address, "/ready", |status, body| {
        status == "HTTP/1.1 503 Service Unavailable" && body.starts_with("not ready: no leader: ")
    });
    let is_ok = |status: &str, _: &str| status == "HTTP/1.1 200 OK";
    // To start it again would not help.
    wait_until(address, "/live", is_ok);
    let text = wait_until(address, "/metrics", is_ok);
    assert!(
        text.contains("\nkafka_server_raftmetrics_current_leader -1\n"),
        "{text}"
    );
    assert!(
        text.contains("\nkafka_server_raftmetrics_high_watermark -1\n"),
        "{text}"
    );
    assert!(!text.contains("number_of_observers"), "{text}");
    assert!(
        text.contains("\nkafka_server_raftmetrics_commit_latency_avg NaN\n"),
        "{text}"
    );
}

#[test]
fn an_address_that_is_taken_is_refused_before_anything_else() {
    let folder = tempfile::tempdir().unwrap();
    let config = formatted(folder.path(), &["--standalone"]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut running = Command::new(KRAFT);
    running
        .arg("run")
        .arg("-c")
        .arg(config)
        .args(["--metrics-listen", &address]);
    let output = running.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.contains(&format!("--metrics-listen {address}: ")),
        "{error}"
    );
    assert!(output.stdout.is_empty());
}
