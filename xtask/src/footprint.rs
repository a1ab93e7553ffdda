//! What a single node costs: how long it takes from its start to leading, and how much memory it holds when idle.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::interop::{Failure, kraft};
use crate::port::HeldPort;
use crate::workspace;

/// Measures a release build; returns the summary, or that it holds too much memory. The time is told and not judged: it
/// is the machine's as much as ours.
pub(crate) fn check() -> Result<String, String> {
    measure().map_err(|failure| failure.to_string())
}

fn measure() -> Result<String, Failure> {
    let folder = workspace::target().join("footprint");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let config = folder.join("server.properties");
    let held = HeldPort::find()?;
    let port = held.number();
    let text = format!(
        "process.roles=controller\nnode.id=1\nlog.dirs={}\ncontroller.listener.names=CONTROLLER\n\
         listeners=CONTROLLER://127.0.0.1:{port}\ncontroller.quorum.bootstrap.servers=127.0.0.1:{port}\n",
        folder.join("data").display()
    );
    fs::write(&config, text)?;
    let config = config.to_string_lossy().into_owned();
    let format = [
        "format",
        "-c",
        &config,
        "-t",
        "6PMpHYL9QkeyXRj9Nrp4KA",
        "--standalone",
    ];
    kraft(&format)?.expect_success("kraft format")?;
    let state = folder
        .join("data")
        .join("__cluster_metadata-0")
        .join("quorum-state");
    // The median, so that one busy moment of the machine does not count.
    let mut times = Vec::new();
    let mut resident_kib = 0;
    for round in 0..ROUNDS {
        let before = led_epoch(&state);
        let node = Node::start(&config)?;
        times.push(node.time_to_leader(&state, before)?);
        if round == ROUNDS - 1 {
            thread::sleep(IDLE);
            resident_kib = node.resident_kib()?;
        }
    }
    times.sort();
    let time = times[ROUNDS / 2];
    let summary = format!(
        "summary: {} ms from start to leader (goal: 100), {resident_kib} KiB resident when idle",
        time.as_millis()
    );
    if resident_kib > RESIDENT_KIB_MAX {
        return Err(format!("{summary}; allowed are {RESIDENT_KIB_MAX} KiB").into());
    }
    fs::remove_dir_all(&folder)?;
    Ok(summary)
}

/// A node that is killed when it is dropped.
struct Node {
    child: Child,
    started: Instant,
}

impl Node {
    fn start(config: &str) -> Result<Node, Failure> {
        let mut command = Command::new(workspace::kraft());
        command
            .args(["run", "-c", config])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let started = Instant::now();
        let mut node = Node {
            child: command.spawn()?,
            started,
        };
        let stdout = node.child.stdout.take().ok_or("no stdout")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        if !line.starts_with("ready ") {
            return Err(format!("the node says {line:?}").into());
        }
        Ok(node)
    }

    /// Leadership is on disk before anybody can be told of it, so the file says when it began.
    fn time_to_leader(&self, state: &Path, before: i64) -> Result<Duration, Failure> {
        let deadline = self.started + LIMIT;
        while led_epoch(state) <= before {
            if Instant::now() >= deadline {
                return Err(format!("the node does not lead within {} s", LIMIT.as_secs()).into());
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(self.started.elapsed())
    }

    fn resident_kib(&self) -> Result<u64, Failure> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .ok_or("no VmRSS")?;
        Ok(line.trim().trim_end_matches("kB").trim().parse()?)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Both fail only where the process has ended.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The newest epoch in which the node has led, by its quorum-state; -1 where there is none.
fn led_epoch(state: &Path) -> i64 {
    let text = fs::read_to_string(state).unwrap_or_default();
    let state: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    if state["leaderId"] == 1 {
        state["leaderEpoch"].as_i64().unwrap_or(-1)
    } else {
        -1
    }
}

const ROUNDS: usize = 5;
const LIMIT: Duration = Duration::from_secs(60);
const IDLE: Duration = Duration::from_secs(3);
const RESIDENT_KIB_MAX: u64 = 16 * 1024;
