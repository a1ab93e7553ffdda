//! `kraft run` on directories that Kafka formatted, and on which Kafka ran and was stopped or killed: it leads, goes
//! on from the log that it finds, and changes no byte of it.

// A failing unwrap is how a test fails, in its helpers too.
#![allow(clippy::unwrap_used)]

mod common;
#[path = "common/recorded.rs"]
mod recorded;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kraft_cli::local::contents_of;

use common::Process;
use recorded::unpack;

const KRAFT: &str = env!("CARGO_BIN_EXE_kraft");
const LIMIT: Duration = Duration::from_secs(120);

#[derive(Clone, Copy)]
enum Voters {
    /// In the configuration, at kraft.version 0.
    Static,
    /// In the directory, at kraft.version 1.
    Dynamic,
}

/// All of one voter, so that the node can lead alone.
const CASES: [(&str, Voters); 11] = [
    ("formatted-standalone", Voters::Dynamic),
    ("formatted-standalone-scram", Voters::Dynamic),
    ("formatted-static-latest", Voters::Static),
    ("formatted-static-4.0-IV3", Voters::Static),
    ("formatted-static-3.9-IV0", Voters::Static),
    ("small-killed", Voters::Dynamic),
    ("small-stopped", Voters::Dynamic),
    ("segments-killed", Voters::Dynamic),
    ("segments-stopped", Voters::Dynamic),
    ("pruned-killed", Voters::Dynamic),
    ("snapshots-running", Voters::Dynamic),
];

#[test]
fn kraft_goes_on_where_kafka_left_off() {
    for (name, voters) in CASES {
        let folder = tempfile::tempdir().unwrap();
        unpack(name, folder.path());
        let before = contents_of(folder.path()).unwrap();
        let config = configure(folder.path(), voters);
        let (mut node, port) = start(&config, name);
        let described = describe(port, name);
        let leader_epoch = described["leaderEpoch"].as_i64().unwrap();
        let last_epoch = before
            .records
            .values()
            .map(|record| i64::from(record.epoch))
            .max()
            .unwrap_or(0);
        assert!(
            leader_epoch > last_epoch,
            "{name}: epoch {leader_epoch} after {last_epoch}"
        );
        stop(&mut node, name);

        let after = contents_of(folder.path()).unwrap();
        assert_eq!(
            before.first_difference(&after, i64::MAX),
            None,
            "{name}: the log was changed"
        );
        assert!(
            after.records.len() > before.records.len(),
            "{name}: nothing was added"
        );
        let end = before.records.keys().last();
        assert!(
            end.is_none_or(|end| after.records.contains_key(end)),
            "{name}: the log was cut"
        );
        let dump = Command::new(KRAFT)
            .arg("dump")
            .arg(folder.path())
            .output()
            .unwrap();
        assert!(
            dump.status.success(),
            "{name}: {}",
            String::from_utf8_lossy(&dump.stderr)
        );
    }
}

/// Kafka up to 4.3 formatted a file beside the partition's directory, and a directory may have no checkpoint at all.
#[test]
fn a_cluster_starts_from_an_old_format_too() {
    let checkpoint = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint";
    for (to, level) in [(Some("bootstrap.checkpoint"), 25), (None, 33)] {
        let folder = tempfile::tempdir().unwrap();
        unpack("formatted-static-4.0-IV3", folder.path());
        match to {
            Some(name) => fs::rename(folder.path().join(checkpoint), folder.path().join(name)).unwrap(),
            None => fs::remove_file(folder.path().join(checkpoint)).unwrap(),
        }
        let (mut node, port) = start(&configure(folder.path(), Voters::Static), "old format");
        describe(port, "old format");
        stop(&mut node, "old format");
        let mut dump = Command::new(KRAFT);
        dump.args(["dump", "--records"])
            .arg(folder.path().join("__cluster_metadata-0"));
        let printed = String::from_utf8(dump.output().unwrap().stdout).unwrap();
        let expected = format!("{{\"name\":\"metadata.version\",\"featureLevel\":{level}}}");
        assert!(printed.contains(&expected), "{expected} in {printed}");
    }
}

fn configure(data: &Path, voters: Voters) -> std::path::PathBuf {
    let quorum = match voters {
        Voters::Static => "controller.quorum.voters=1@127.0.0.1:9093",
        Voters::Dynamic => "controller.quorum.bootstrap.servers=127.0.0.1:9093",
    };
    let config = data.join("server.properties");
    let text = format!(
        "process.roles=controller\nnode.id=1\nlog.dirs={}\ncontroller.listener.names=CONTROLLER\n\
         listeners=CONTROLLER://127.0.0.1:0\n{quorum}\n",
        data.display()
    );
    fs::write(&config, text).unwrap();
    config
}

fn start(config: &Path, name: &str) -> (Process, u16) {
    let mut command = Command::new(KRAFT);
    command
        .arg("run")
        .arg("-c")
        .arg(config)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut node = Process(command.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(node.0.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let port = line.trim().rsplit(':').next().and_then(|port| port.parse().ok());
    (node, port.unwrap_or_else(|| panic!("{name}: it says {line:?}")))
}

/// Waits until the node leads and has committed something.
fn describe(port: u16, name: &str) -> serde_json::Value {
    let deadline = Instant::now() + LIMIT;
    loop {
        let address = format!("127.0.0.1:{port}");
        let arguments = ["quorum", "describe", "--status", "--json", "--timeout", "10"];
        let output = Command::new(KRAFT)
            .args(arguments)
            .args(["--bootstrap-controller", &address])
            .output()
            .unwrap();
        if output.status.success() {
            let described: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            if described["highWatermark"].as_i64().unwrap() > 0 {
                return described;
            }
        }
        assert!(Instant::now() < deadline, "{name}: it does not lead: {output:?}");
    }
}

fn stop(node: &mut Process, name: &str) {
    let status = Command::new("kill")
        .args(["-TERM", &node.0.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
    let ended = node.0.wait().unwrap();
    assert!(ended.success(), "{name}: {ended}");
}
