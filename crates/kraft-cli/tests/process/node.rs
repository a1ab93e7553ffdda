//! A node with one process.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

pub(crate) const KRAFT: &str = env!("CARGO_BIN_EXE_kraft");

/// A formatted node in a folder of its own.
pub(crate) struct Node(tempfile::TempDir);

/// A process of it, which does not outlive the test, however the test ends.
pub(crate) struct Process<'a> {
    node: &'a Node,
    child: Child,
}

impl Node {
    pub(crate) fn formatted() -> Node {
        let node = Node(tempfile::tempdir().unwrap());
        let text = format!(
            "process.roles=controller\nnode.id=1\nlog.dirs={}\ncontroller.listener.names=CONTROLLER\n\
             listeners=CONTROLLER://127.0.0.1:0\ncontroller.quorum.bootstrap.servers=127.0.0.1:1\n",
            node.data().display()
        );
        fs::write(node.config(), text).unwrap();
        let mut format = Command::new(KRAFT);
        format.args(["format", "--standalone", "-t", "6PMpHYL9QkeyXRj9Nrp4KA", "-c"]);
        let output = format.arg(node.config()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        node
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.0.path().join("server.properties")
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.0.path().join("data")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.data().join("__cluster_metadata-0")
    }

    /// What its process wrote on stderr.
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(self.stderr()).unwrap()
    }

    /// `kraft run`, by a shell that has done `before` in its own process. What the tests themselves were started to ignore, as
    /// under `nohup`, it does not.
    pub(crate) fn run(&self, before: &str, stdout: impl Into<Stdio>) -> Process<'_> {
        let mut shell = Command::new("env");
        // Elsewhere a node does not see what it was started to ignore.
        if cfg!(target_os = "linux") {
            shell.arg("--default-signal");
        }
        shell.arg("sh");
        let line = format!("{before}\nexec \"$0\" run -c \"$1\"");
        shell.arg("-c").arg(line).arg(KRAFT).arg(self.config());
        let stderr = File::create(self.stderr()).unwrap();
        shell.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
        let child = shell.spawn().unwrap();
        Process { node: self, child }
    }

    fn stderr(&self) -> PathBuf {
        self.0.path().join("node.log")
    }
}

impl Process<'_> {
    /// A node that has registered has committed something.
    pub(crate) fn registers(&mut self) {
        self.says("registered with the active controller");
    }

    /// While it runs.
    pub(crate) fn says(&mut self, what: &str) {
        let deadline = Instant::now() + LIMIT;
        while !self.node.said().contains(what) {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "{ended:?}: {}", self.node.said());
            assert!(Instant::now() < deadline, "{}", self.node.said());
            sleep(POLL);
        }
    }

    pub(crate) fn send(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    /// Ends in order, after it has been told to.
    pub(crate) fn stops(mut self) {
        let deadline = Instant::now() + LIMIT;
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None => assert!(Instant::now() < deadline, "{}", self.node.said()),
            }
            sleep(POLL);
        };
        assert!(status.success(), "{status}: {}", self.node.said());
        assert!(self.node.said().contains("graceful shutdown complete"));
    }
}

impl Drop for Process<'_> {
    fn drop(&mut self) {
        // Both fail only where the process has ended.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

const LIMIT: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(10);
