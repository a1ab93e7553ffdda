//! The process that fetches as many replicas: the example `observers` of kraft-transport.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

use super::printed;
use crate::interop::{Failure, Running};
use crate::workspace;

pub(super) struct Fetchers {
    running: Running,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

/// What it has measured.
pub(super) struct Total(String);

impl Fetchers {
    /// What cargo has to build for it.
    pub(super) const BUILD: [&str; 4] = ["-p", "kraft-transport", "--example", "observers"];

    /// Starts it and waits until all of them fetch.
    pub(super) fn start(leader: SocketAddr, count: usize, folder: &Path) -> Result<Fetchers, Failure> {
        let mut child = Command::new(workspace::target().join("release/examples/observers"))
            .arg(leader.to_string())
            .args([CLUSTER_ID, TOPIC_ID, &count.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(folder.join("observers"))?)
            .spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let mut fetchers = Fetchers {
            running: Running::of(child),
            stdin: stdin.ok_or("no stdin")?,
            stdout: BufReader::new(stdout.ok_or("no stdout")?),
        };
        let mut line = String::new();
        fetchers.stdout.read_line(&mut line)?;
        if line.trim_end() != "ready" {
            let said = std::fs::read_to_string(folder.join("observers"))?;
            return Err(format!("the observers do not fetch: {said}").into());
        }
        Ok(fetchers)
    }

    pub(super) fn process(&self) -> u32 {
        self.running.id()
    }

    /// What came before is not measured.
    pub(super) fn begin(&mut self) -> Result<(), Failure> {
        Ok(self.stdin.write_all(b"begin\n")?)
    }

    /// Ends it.
    pub(super) fn end(self) -> Result<Total, Failure> {
        let Fetchers {
            running: _running,
            stdin,
            mut stdout,
        } = self;
        drop(stdin);
        let mut total = String::new();
        stdout.read_to_string(&mut total)?;
        Ok(Total(total))
    }
}

impl Total {
    pub(super) fn number(&self, name: &str) -> Result<f64, Failure> {
        printed::total(&self.0, name)
            .ok_or_else(|| format!("the observers do not say {name}: {}", self.0).into())
    }
}

// Those of Kafka's `TestRaftServer`.
const CLUSTER_ID: &str = "AAAAAAAAAAAAAAAAAAAAAA";
const TOPIC_ID: &str = "00000000-0000-0000-0000-000000000002";
