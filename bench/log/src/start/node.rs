//! The program, from the moment at which it is started.

use std::{
    io::{self, BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use super::directory::Directory;
use crate::Error;

/// How a measured node ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By SIGTERM, in order.
    Stop,
    /// By SIGKILL.
    Kill,
}

/// How long things took from the start of the process.
pub struct Started {
    pub listening: Duration,
    pub request: Duration,
}

pub struct Node<'a> {
    child: Child,
    begun: Instant,
    requests: &'a mpsc::Receiver<Instant>,
}

impl Drop for Node<'_> {
    fn drop(&mut self) {
        // Both fail only where the process has ended.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl<'a> Node<'a> {
    pub fn start(kraft: &Path, directory: &'a Directory) -> io::Result<Self> {
        let mut command = Command::new(kraft);
        command.arg("run").arg("-c").arg(&directory.config);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // What the node before it has sent.
        while directory.requests.try_recv().is_ok() {}
        let begun = Instant::now();
        Ok(Self {
            child: command.spawn()?,
            begun,
            requests: &directory.requests,
        })
    }

    /// Until the first Vote or Fetch arrives at another voter.
    pub fn until_first_request(mut self, end: End) -> Result<Started, Error> {
        let listening = self.wait_for("ready ", true)?;
        let request = self.requests.recv_timeout(PATIENCE)? - self.begun;
        if end == End::Stop {
            let id = Pid::from_child(&self.child);
            kill_process(id, Signal::TERM)?;
            let status = self.child.wait()?;
            if !status.success() {
                return Err(format!("the node ended with {status}").into());
            }
        }
        drop(self);
        Ok(Started { listening, request })
    }

    /// Milliseconds until it leads.
    pub fn until_leader(mut self) -> Result<f64, Error> {
        let led = self.wait_for("role=Leader", false)?;
        let id = Pid::from_child(&self.child);
        kill_process(id, Signal::TERM)?;
        self.child.wait()?;
        Ok(led.as_secs_f64() * 1e3)
    }

    /// Waits for a line on stdout or stderr with this in it.
    fn wait_for(&mut self, part: &str, on_stdout: bool) -> Result<Duration, Error> {
        let mut text = String::new();
        let mut lines: Box<dyn BufRead + Send> = if on_stdout {
            Box::new(BufReader::new(self.child.stdout.take().ok_or("no stdout")?))
        } else {
            Box::new(BufReader::new(self.child.stderr.take().ok_or("no stderr")?))
        };
        loop {
            let before = text.len();
            if lines.read_line(&mut text)? == 0 {
                return Err(format!("the node ended without {part:?}: {text}").into());
            }
            if text[before..].contains(part) {
                let reached = self.begun.elapsed();
                // Nobody else reads what comes later, and a full pipe would stop the node.
                thread::spawn(move || io::copy(&mut lines, &mut io::sink()));
                return Ok(reached);
            }
        }
    }
}

const PATIENCE: Duration = Duration::from_secs(30);
