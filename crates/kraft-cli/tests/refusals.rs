//! What `kraft run` refuses: one line that names the file, exit code 1, and nothing written.

// A failing unwrap is how a test fails, in its helpers too.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::Process;

const KRAFT: &str = env!("CARGO_BIN_EXE_kraft");

/// A formatted node in a folder of its own.
struct Node {
    folder: tempfile::TempDir,
}

impl Node {
    fn formatted() -> Node {
        let node = Node {
            folder: tempfile::tempdir().unwrap(),
        };
        node.configure(1, &["data"]);
        let arguments = ["-t", "6PMpHYL9QkeyXRj9Nrp4KA", "--standalone"];
        let output = Command::new(KRAFT)
            .arg("format")
            .arg("-c")
            .arg(node.config())
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        node
    }

    fn configure(&self, node_id: i32, directories: &[&str]) {
        let directories: Vec<_> = directories
            .iter()
            .map(|name| self.path(name).display().to_string())
            .collect();
        let text = format!(
            "process.roles=controller\nnode.id={node_id}\nlog.dirs={}\ncontroller.listener.names=CONTROLLER\n\
             listeners=CONTROLLER://127.0.0.1:0\ncontroller.quorum.bootstrap.servers=127.0.0.1:1\n",
            directories.join(",")
        );
        fs::write(self.config(), text).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn config(&self) -> PathBuf {
        self.path("server.properties")
    }

    fn spawn(&self) -> Child {
        let mut command = Command::new(KRAFT);
        command.arg("run").arg("-c").arg(self.config());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Runs until it ends by itself, which has to be soon.
    fn run(&self) -> Output {
        let mut child = self.spawn();
        let deadline = Instant::now() + Duration::from_secs(120);
        while child.try_wait().unwrap().is_none() {
            if Instant::now() >= deadline {
                child.kill().unwrap();
                panic!("still running: {:?}", child.wait_with_output());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        child.wait_with_output().unwrap()
    }

    /// Refused with exit code 1 and one line that contains all of `parts`; the directories are as they were.
    fn assert_refused(&self, parts: &[&str]) {
        let before = files(self.folder.path());
        let output = self.run();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert_eq!(output.stdout, b"", "it must not say that it is ready");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        for part in parts {
            assert!(stderr.contains(part), "{part:?} in {stderr:?}");
        }
        assert_eq!(files(self.folder.path()), before, "something was written");
    }
}

/// Every file below a folder with its content and the time of its last change.
fn files(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, std::time::SystemTime)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let changed = fs::metadata(&path).unwrap().modified().unwrap();
        if path.is_dir() {
            found.extend(files(&path));
            found.insert(path, (Vec::new(), changed));
        } else {
            let content = fs::read(&path).unwrap();
            found.insert(path, (content, changed));
        }
    }
    found
}

#[test]
fn the_directory_of_another_node() {
    let node = Node::formatted();
    node.configure(2, &["data"]);
    node.assert_refused(&[
        "data/meta.properties",
        "node 1",
        "node.id is 2",
        "correct node.id or log.dirs",
    ]);
}

#[test]
fn the_directory_of_another_cluster() {
    let node = Node::formatted();
    fs::create_dir(node.path("other")).unwrap();
    let text = "version=1\ncluster.id=MkU3OEVBNTcwNTJENDM2Qg\nnode.id=1\n";
    fs::write(node.path("other/meta.properties"), text).unwrap();
    node.configure(1, &["data", "other"]);
    node.assert_refused(&[
        "other/meta.properties",
        "MkU3OEVBNTcwNTJENDM2Qg",
        "correct log.dirs",
    ]);
}

#[test]
fn a_directory_of_a_future_version() {
    let node = Node::formatted();
    let file = node.path("data/meta.properties");
    let text = fs::read_to_string(&file)
        .unwrap()
        .replace("version=1", "version=2");
    fs::write(&file, text).unwrap();
    node.assert_refused(&[
        "data/meta.properties",
        "version=2",
        "start the release that wrote",
    ]);
}

#[test]
fn a_directory_that_is_not_formatted() {
    let node = Node::formatted();
    fs::create_dir(node.path("fresh")).unwrap();
    node.configure(1, &["fresh"]);
    node.assert_refused(&["fresh/meta.properties", "format it first"]);
}

#[test]
fn a_directory_that_another_process_holds() {
    let node = Node::formatted();
    let mut holder = Process(node.spawn());
    let mut ready = String::new();
    BufReader::new(holder.0.stdout.take().unwrap())
        .read_line(&mut ready)
        .unwrap();
    assert!(
        ready.starts_with("ready node.id=1 listener=CONTROLLER://127.0.0.1:"),
        "{ready:?}"
    );
    let output = node.run();
    drop(holder);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        (output.status.code(), stderr.lines().count()),
        (Some(1), 1),
        "{stderr}"
    );
    assert!(
        stderr.contains("data/.lock is locked by another process: stop it, or"),
        "{stderr}"
    );
}

#[test]
fn a_configuration_that_must_not_be_ignored() {
    let node = Node::formatted();
    let text = fs::read_to_string(node.config()).unwrap();
    for (line, part) in [
        (
            "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "authorizer.class.name",
        ),
        (
            "listener.security.protocol.map=CONTROLLER:SSL",
            "listener.security.protocol.map",
        ),
        (
            "controller.quorum.election.timeout.ms=soon",
            "controller.quorum.election.timeout.ms",
        ),
    ] {
        fs::write(node.config(), format!("{text}{line}\n")).unwrap();
        node.assert_refused(&["server.properties", part]);
    }
}

/// What has the name of a file and is none, a link that leads nowhere among them; `verify` knows it beforehand.
#[test]
fn a_directory_or_a_link_in_the_place_of_a_file() {
    let cases = [
        ("data/.lock", "check the path and its permissions"),
        ("data/__cluster_metadata-0/kraft-synced", "move it out of the way"),
        (
            "data/__cluster_metadata-0/00000000000000000000.index",
            "move it out of the way",
        ),
    ];
    for (name, advice) in cases {
        let node = Node::formatted();
        let verified = || {
            let mut verify = Command::new(KRAFT);
            verify.arg("verify").arg(node.path("data")).output().unwrap()
        };
        // Every start makes this one.
        fs::write(node.path("data/.lock"), b"").unwrap();
        let _ = fs::remove_file(node.path(name));
        fs::create_dir(node.path(name)).unwrap();
        node.assert_refused(&[name, advice]);
        assert_eq!(verified().status.code(), Some(1), "{name}");
        fs::remove_dir(node.path(name)).unwrap();
        std::os::unix::fs::symlink("/nonexistent/file", node.path(name)).unwrap();
        assert_eq!(node.run().status.code(), Some(1), "{name}");
        assert_eq!(verified().status.code(), Some(1), "{name}");
    }
}

#[test]
fn an_override_without_a_value_is_wrong_usage() {
    let node = Node::formatted();
    for argument in ["node.id", "=1", " =1"] {
        let output = Command::new(KRAFT)
            .args(["run", "--override", argument, "-c"])
            .arg(node.config())
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("KEY=VALUE"), "{stderr}");
    }
}
