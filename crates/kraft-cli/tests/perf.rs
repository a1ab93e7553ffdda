//! Real `kraft perf` processes: three of them commit their load, say how fast, and end when they are told.

// A failing unwrap is how a test fails, in its helpers too.
#![allow(clippy::unwrap_used)]

mod common;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use kraft_cli::local::HeldPort;
use rustix::process::{Pid, Signal, kill_process};

use common::Process;

const KRAFT: &str = env!("CARGO_BIN_EXE_kraft");
const LIMIT: Duration = Duration::from_secs(120);
/// Who leads once does so until the end, however slow the machine is.
const PATIENT: &str = "controller.quorum.fetch.timeout.ms=600000\n";

#[test]
fn three_nodes_commit_their_load_and_say_how_fast() {
    let folder = tempfile::tempdir().unwrap();
    let mut nodes = start_three(
        folder.path(),
        &["--throughput", "200", "--record-size", "100"],
        PATIENT,
    );

    let deadline = Instant::now() + LIMIT;
    let (leader, line) = loop {
        if let Some(found) = nodes.iter().find_map(|node| Some((node.id, node.busy_line()?))) {
            break found;
        }
        for node in &mut nodes {
            assert_eq!(node.process.0.try_wait().unwrap(), None, "{}", node.log());
        }
        assert!(Instant::now() < deadline, "{}", nodes[0].log());
        std::thread::sleep(Duration::from_millis(20));
    };
    let figure = |name: &str| -> f64 {
        let found = line.split(' ').find_map(|word| word.strip_prefix(name));
        found
            .unwrap_or_else(|| panic!("{name} in {line}"))
            .parse()
            .unwrap()
    };
    assert!(
        (figure("bytes/s=") - 100.0 * figure("records/s=")).abs() < 100.0,
        "{line}"
    );
    let parts: Vec<f64> = ["p50=", "p75=", "p99=", "p999="].map(figure).to_vec();
    assert!(parts.is_sorted() && parts[0] > 0.0, "{line}");

    stop(&mut nodes, leader);
    for node in &nodes {
        for line in node.lines() {
            assert!(line.contains("p99="), "{line}");
        }
        let partition = node.folder.join("data/__raft_performance_test-0");
        let metadata = fs::read_to_string(partition.join("partition.metadata")).unwrap();
        assert!(
            metadata.contains("topic_id: AAAAAAAAAAAAAAAAAAAAAg"),
            "{metadata}"
        );
        let state = fs::read_to_string(partition.join("quorum-state")).unwrap();
        assert!(state.contains("\"data_version\":0"), "{state}");
        assert!(!node.folder.join("data/meta.properties").exists());
    }
    let longest = nodes.iter().map(Node::log_bytes).max_by_key(Vec::len).unwrap();
    for node in &nodes {
        assert!(
            longest.starts_with(&node.log_bytes()),
            "node {} of leader {leader}",
            node.id
        );
    }
    let record: Vec<u8> = (0..100).collect();
    assert!(longest.windows(100).any(|bytes| bytes == record));
}

#[test]
fn with_snapshots_the_log_does_not_grow_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let keys = "metadata.log.max.record.bytes.between.snapshots=20000\nmetadata.max.retention.bytes=40000\n\
                internal.metadata.log.segment.bytes=20000\nmetadata.max.retention.ms=3600000\n\
                internal.metadata.delete.delay.millis=0\n";
    let arguments = ["--snapshots", "--throughput", "2000", "--record-size", "100"];
    let mut nodes = start_three(folder.path(), &arguments, keys);

    let deadline = Instant::now() + LIMIT;
    for node in &mut nodes {
        let first_segment = node
            .folder
            .join("data/__raft_performance_test-0/00000000000000000000.log");
        while !node.has_checkpoint() || first_segment.exists() {
            assert_eq!(node.process.0.try_wait().unwrap(), None, "{}", node.log());
            assert!(Instant::now() < deadline, "{}", node.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    for node in &nodes {
        node.terminate();
    }
    for node in &mut nodes {
        let status = node.wait_for_end();
        assert!(status.success(), "{status}: {}", node.log());
    }
}

#[test]
fn an_observer_gets_what_the_voters_commit() {
    let folder = tempfile::tempdir().unwrap();
    let mut nodes = start_three(
        folder.path(),
        &["--throughput", "200", "--record-size", "100"],
        PATIENT,
    );
    let bootstrap: Vec<_> = nodes.iter().map(|node| node.address.clone()).collect();
    let quorum = format!("controller.quorum.bootstrap.servers={}\n", bootstrap.join(","));
    let mut observer = start(folder.path(), 1000, "127.0.0.1:0", &["--observer"], &quorum);
    let record: Vec<u8> = (0..100).collect();

    let deadline = Instant::now() + LIMIT;
    let has_records = |node: &Node| node.log_bytes().windows(100).any(|bytes| bytes == record);
    while !has_records(&observer) {
        assert_eq!(observer.process.0.try_wait().unwrap(), None, "{}", observer.log());
        assert!(Instant::now() < deadline, "{}", observer.log());
        std::thread::sleep(Duration::from_millis(20));
    }
    observer.terminate();
    let status = observer.wait_for_end();
    assert!(status.success(), "{status}: {}", observer.log());
    let leader = nodes.iter().find(|node| node.leads()).unwrap().id;
    stop(&mut nodes, leader);
    let longest = nodes.iter().map(Node::log_bytes).max_by_key(Vec::len).unwrap();
    assert!(longest.starts_with(&observer.log_bytes()));
}

#[test]
fn a_file_without_voters_and_an_id_that_is_none_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("server.properties");
    let text = "process.roles=controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\n\
                listeners=CONTROLLER://127.0.0.1:0\ncontroller.quorum.bootstrap.servers=127.0.0.1:1\n";
    fs::write(&config, text).unwrap();
    let said = |id: &str| {
        let mut command = Command::new(KRAFT);
        command.arg("perf").arg("-c").arg(&config);
        let output = command.args(["--replica-directory-id", id]).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, stderr) = said("AAAAAAAAAAAAAAAAAAAAZA");
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("controller.quorum.voters is needed"), "{stderr}");
    fs::write(&config, format!("{text}controller.quorum.voters=1@127.0.0.1:1\n")).unwrap();
    let mut command = Command::new(KRAFT);
    command.arg("perf").arg("-c").arg(&config);
    command.args(["--observer", "--replica-directory-id", "AAAAAAAAAAAAAAAAAAAAZA"]);
    let output = command.output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("makes this node a voter"), "{stderr}");
    for wrong in ["AAAAAAAAAAAAAAAAAAAAAQ", "not-an-id"] {
        let (code, stderr) = said(wrong);
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains("--replica-directory-id"), "{stderr}");
    }
}

struct Node {
    id: i32,
    address: String,
    folder: PathBuf,
    process: Process,
    /// `None` where it has any port.
    _port: Option<HeldPort>,
}

fn start_three(folder: &Path, arguments: &[&str], keys: &str) -> Vec<Node> {
    let ports = [(); 3].map(|()| HeldPort::find().unwrap());
    let voters: Vec<_> = (1..)
        .zip(&ports)
        .map(|(id, port)| format!("{id}@127.0.0.1:{}", port.number()))
        .collect();
    let quorum = format!("controller.quorum.voters={}\n{keys}", voters.join(","));
    (1..)
        .zip(ports)
        .map(|(id, port)| {
            let address = format!("127.0.0.1:{}", port.number());
            let mut node = start(folder, id, &address, arguments, &quorum);
            node._port = Some(port);
            node
        })
        .collect()
}

/// Stops three nodes, the leader last: nobody else leads then, and no two have different things at the same offset.
fn stop(nodes: &mut [Node], leader: i32) {
    let (last, first): (Vec<_>, Vec<_>) = nodes.iter_mut().partition(|node| node.id == leader);
    for mut group in [first, last] {
        for node in &group {
            node.terminate();
        }
        for node in &mut group {
            let status = node.wait_for_end();
            assert!(status.success(), "{status}: {}", node.log());
        }
    }
}

fn start(folder: &Path, id: i32, address: &str, arguments: &[&str], keys: &str) -> Node {
    let folder = folder.join(id.to_string());
    fs::create_dir(&folder).unwrap();
    let config = folder.join("server.properties");
    let text = format!(
        "process.roles=controller\nnode.id={id}\nlog.dirs={}\ncontroller.listener.names=CONTROLLER\n\
         listeners=CONTROLLER://{address}\n{keys}",
        folder.join("data").display(),
    );
    fs::write(&config, text).unwrap();
    let mut command = Command::new(KRAFT);
    command.arg("perf").arg("-c").arg(&config);
    let directory_id = format!("AAAAAAAAAAAAAAAAAAAAZ{}", ["w", "A", "Q", "g"][id as usize % 4]);
    command.args(["--replica-directory-id", &directory_id]);
    command.args(arguments).stdin(Stdio::null());
    command.stdout(File::create(folder.join("stdout")).unwrap());
    command.stderr(File::create(folder.join("stderr")).unwrap());
    let process = Process(command.spawn().unwrap());
    Node {
        id,
        address: address.to_owned(),
        folder,
        process,
        _port: None,
    }
}

impl Node {
    /// What it has printed, whole lines alone.
    fn lines(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.join("stdout")).unwrap();
        text.split_inclusive('\n')
            .filter_map(|line| line.strip_suffix('\n'))
            .map(str::to_owned)
            .collect()
    }

    /// The newest line of a window in which something was committed. In the one in which it begins to lead there may be
    /// no time for it.
    fn busy_line(&self) -> Option<String> {
        let mut lines = self.lines().into_iter().rev();
        lines.find(|line| !line.contains(" records=0 "))
    }

    /// Whether it has been elected.
    fn leads(&self) -> bool {
        self.log().contains("leads and makes the load")
    }

    /// The first segment; nothing before it exists.
    fn log_bytes(&self) -> Vec<u8> {
        let partition = self.folder.join("data/__raft_performance_test-0");
        fs::read(partition.join("00000000000000000000.log")).unwrap_or_default()
    }

    fn has_checkpoint(&self) -> bool {
        let partition = fs::read_dir(self.folder.join("data/__raft_performance_test-0"));
        let mut files = partition.into_iter().flatten();
        files.any(|file| file.unwrap().path().extension() == Some("checkpoint".as_ref()))
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("stderr")).unwrap()
    }

    fn terminate(&self) {
        let pid = Pid::from_raw(self.process.0.id() as i32).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
    }

    fn wait_for_end(&mut self) -> ExitStatus {
        let deadline = Instant::now() + LIMIT;
        loop {
            if let Some(status) = self.process.0.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "{}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
