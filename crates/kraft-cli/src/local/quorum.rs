//! The processes of a local quorum.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use kraft_wire::uuid_text;
use rustix::process::{Pid, Signal, kill_process};
use thiserror::Error;

use crate::client::{Address, Admin, Described, EndpointKind};
use crate::random;

use super::HeldPort;

/// What a local quorum cannot do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LocalError {
    /// The operating system refused something.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// The reason.
        source: io::Error,
    },
    /// The format tool refused.
    #[error("node {id} is not formatted: {said}")]
    Format {
        /// The node.
        id: i32,
        /// What the tool printed.
        said: String,
    },
    /// A node ended, or did not come up in time.
    #[error("node {id} {what}; its log ends: {log}")]
    Node {
        /// The node.
        id: i32,
        /// What happened.
        what: String,
        /// The last lines of its log.
        log: String,
    },
    /// Somebody asked for the end through [`LocalQuorum::interrupt_on`].
    #[error("interrupted")]
    Interrupted,
    /// Something that should come true did not.
    #[error("not within {} s: {what}", .limit.as_secs())]
    Timeout {
        /// What was waited for.
        what: String,
        /// How long.
        limit: Duration,
    },
}

/// One node.
#[derive(Debug)]
pub struct LocalNode {
    /// `node.id`.
    pub id: i32,
    /// The port of its listener on 127.0.0.1.
    pub port: u16,
    /// So that the port is still the node's where it starts again.
    _held: HeldPort,
    folder: PathBuf,
    child: Option<Child>,
}

impl LocalNode {
    /// Its server.properties.
    pub fn config(&self) -> PathBuf {
        self.folder.join("server.properties")
    }

    /// Its `log.dirs`.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// What its processes wrote on stderr.
    pub fn log(&self) -> PathBuf {
        self.folder.join("node.log")
    }

    /// Its process, while it runs.
    pub fn process_id(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    fn failed(&self, what: impl Into<String>) -> LocalError {
        let text = fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<_> = text.lines().rev().take(5).collect();
        let lines: Vec<_> = lines.into_iter().rev().collect();
        LocalError::Node {
            id: self.id,
            what: what.into(),
            log: lines.join(" | "),
        }
    }
}

/// Who leads, and how far the quorum is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leadership {
    /// The leader.
    pub leader: i32,
    /// Its epoch.
    pub epoch: i32,
    /// Its high watermark, -1 while unknown.
    pub high_watermark: i64,
    /// The largest distance of a voter from the end of the leader's log; `i64::MAX` while one has not fetched.
    pub lag_max: i64,
}

/// A quorum of nodes with ids from 1 on.
#[derive(Debug)]
pub struct LocalQuorum {
    program: PathBuf,
    nodes: Vec<LocalNode>,
    interrupted: Arc<AtomicBool>,
}

impl LocalQuorum {
    /// Formats `count` nodes below `folder` as the voters of a new cluster. `program` is the `kraft` to run, `extra`
    /// are further lines of every configuration.
    ///
    /// # Errors
    /// A directory cannot be written.
    pub fn create(
        program: &Path,
        folder: &Path,
        count: usize,
        extra: &str,
    ) -> Result<LocalQuorum, LocalError> {
        let nodes = nodes(folder, count)?;
        let addresses: Vec<_> = nodes
            .iter()
            .map(|node| format!("127.0.0.1:{}", node.port))
            .collect();
        let mut voters = Vec::new();
        for node in &nodes {
            let directory_id = random::uuid().map_err(io_error("/dev/urandom"))?;
            voters.push(format!(
                "{}@127.0.0.1:{}:{}",
                node.id,
                node.port,
                uuid_text::format(&directory_id)
            ));
        }
        let cluster_id = uuid_text::format(&random::uuid().map_err(io_error("/dev/urandom"))?);
        for node in &nodes {
            let text = format!(
                "process.roles=controller\nnode.id={}\nlog.dirs={}\ncontroller.listener.names=CONTROLLER\n\
                 listeners=CONTROLLER://127.0.0.1:{port}\nadvertised.listeners=CONTROLLER://127.0.0.1:{port}\n\
                 controller.quorum.bootstrap.servers={}\n{extra}\n",
                node.id,
                node.data().display(),
                addresses.join(","),
                port = node.port,
            );
            fs::write(node.config(), text).map_err(io_error(&node.config().display().to_string()))?;
            format_node(program, node, &cluster_id, &voters.join(","))?;
        }
        Ok(LocalQuorum {
            program: program.to_owned(),
            nodes,
            interrupted: Arc::default(),
        })
    }

    /// Makes every wait end with [`LocalError::Interrupted`] once the flag is set.
    pub fn interrupt_on(&mut self, flag: Arc<AtomicBool>) {
        self.interrupted = flag;
    }

    /// All nodes.
    pub fn nodes(&self) -> &[LocalNode] {
        &self.nodes
    }

    /// The node of that id.
    ///
    /// # Panics
    /// There is none.
    pub fn node(&self, id: i32) -> &LocalNode {
        self.nodes
            .iter()
            .find(|node| node.id == id)
            .expect("the quorum has a node of this id")
    }

    /// Starts a node; returns when its listener accepts.
    ///
    /// # Errors
    /// It ends, or does not say that it is ready.
    pub fn start(&mut self, id: i32) -> Result<(), LocalError> {
        let program = self.program.clone();
        let node = self.node_mut(id);
        let log = File::options().create(true).append(true).open(node.log());
        let log = log.map_err(io_error(&node.log().display().to_string()))?;
        let mut command = Command::new(program);
        command.arg("run").arg("-c").arg(node.config());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().map_err(io_error("kraft run"))?;
        let stdout = child.stdout.take().expect("the child's stdout is a pipe");
        node.child = Some(child);
        match first_line(stdout).recv_timeout(READY_LIMIT) {
            Ok(line) if line.starts_with("ready ") => Ok(()),
            _ => Err(node.failed("did not say that it is ready")),
        }
    }

    /// Ends a node with SIGKILL.
    ///
    /// # Errors
    /// It does not run.
    pub fn kill(&mut self, id: i32) -> Result<(), LocalError> {
        let mut child = self.take(id)?;
        child.kill().map_err(io_error("SIGKILL"))?;
        child.wait().map_err(io_error("waiting for a killed node"))?;
        Ok(())
    }

    /// Ends nodes with SIGTERM, all at once, and gives their exit statuses.
    ///
    /// # Errors
    /// One of them does not run, or goes on running for a minute: it never ends. How soon a node ends is its disk's affair, too,
    /// and not judged.
    pub fn stop(&mut self, ids: &[i32]) -> Result<Vec<ExitStatus>, LocalError> {
        let deadline = Instant::now() + STOP_LIMIT;
        for id in ids {
            let node = self.node_mut(*id);
            let process = node.process_id().ok_or_else(|| node.failed("does not run"))?;
            let pid = i32::try_from(process)
                .ok()
                .and_then(Pid::from_raw)
                .expect("a child has a process id");
            kill_process(pid, Signal::TERM).map_err(|error| LocalError::Io {
                what: "SIGTERM".to_owned(),
                source: error.into(),
            })?;
        }
        ids.iter().map(|id| self.wait_for_end(*id, deadline)).collect()
    }

    fn wait_for_end(&mut self, id: i32, deadline: Instant) -> Result<ExitStatus, LocalError> {
        let mut child = self.take(id)?;
        loop {
            if let Some(status) = child.try_wait().map_err(io_error("waiting for a stopped node"))? {
                return Ok(status);
            }
            if Instant::now() >= deadline {
                child.kill().map_err(io_error("SIGKILL"))?;
                child.wait().map_err(io_error("waiting for a killed node"))?;
                return Err(self.node(id).failed("did not end after SIGTERM"));
            }
            thread::sleep(POLL);
        }
    }

    /// Who leads, asked at the nodes that run; nothing while none answers as a leader.
    ///
    /// # Errors
    /// A node that should run has ended.
    pub fn leadership(&mut self) -> Result<Option<Leadership>, LocalError> {
        self.check_alive()?;
        for node in self.nodes.iter().filter(|node| node.child.is_some()) {
            let address = Address {
                host: "127.0.0.1".to_owned(),
                port: node.port,
            };
            let admin = Admin::new(vec![address], EndpointKind::Controllers, ASK_LIMIT);
            if let Ok(described) = admin.describe_quorum_once() {
                return Ok(Some(Leadership::of(&described)));
            }
        }
        Ok(None)
    }

    /// Waits until the leadership fulfils a condition.
    ///
    /// # Errors
    /// It does not in time, or a node that should run has ended.
    pub fn wait_for(
        &mut self,
        what: &str,
        limit: Duration,
        condition: impl Fn(&Leadership) -> bool,
    ) -> Result<Leadership, LocalError> {
        let deadline = Instant::now() + limit;
        loop {
            if self.interrupted.load(Ordering::Relaxed) {
                return Err(LocalError::Interrupted);
            }
            if let Some(leadership) = self.leadership()?.filter(&condition) {
                return Ok(leadership);
            }
            if Instant::now() >= deadline {
                return Err(LocalError::Timeout {
                    what: what.to_owned(),
                    limit,
                });
            }
            thread::sleep(POLL);
        }
    }

    fn check_alive(&mut self) -> Result<(), LocalError> {
        for node in &mut self.nodes {
            if let Some(child) = &mut node.child
                && let Some(status) = child.try_wait().map_err(io_error("looking at a node"))?
            {
                node.child = None;
                return Err(node.failed(format!("ended by itself with {status}")));
            }
        }
        Ok(())
    }

    fn take(&mut self, id: i32) -> Result<Child, LocalError> {
        let node = self.node_mut(id);
        node.child.take().ok_or_else(|| node.failed("does not run"))
    }

    fn node_mut(&mut self, id: i32) -> &mut LocalNode {
        self.nodes
            .iter_mut()
            .find(|node| node.id == id)
            .expect("the quorum has a node of this id")
    }
}

impl Drop for LocalQuorum {
    fn drop(&mut self) {
        for child in self.nodes.iter_mut().filter_map(|node| node.child.as_mut()) {
            // Both fail only where the process has ended already.
            child.kill().ok();
            child.wait().ok();
        }
    }
}

impl Leadership {
    fn of(described: &Described) -> Leadership {
        let partition = &described.partition;
        let end = |id: i32| {
            let voter = partition
                .current_voters
                .iter()
                .find(|voter| voter.replica_id == id);
            voter.map_or(-1, |voter| voter.log_end_offset)
        };
        let leader_end = end(partition.leader_id);
        let lag = |voter: &kraft_wire::message::DescribeQuorumResponseReplicaState| match voter.log_end_offset
        {
            unknown if unknown < 0 => i64::MAX,
            known => leader_end.saturating_sub(known),
        };
        Leadership {
            leader: partition.leader_id,
            epoch: partition.leader_epoch,
            high_watermark: partition.high_watermark,
            lag_max: partition.current_voters.iter().map(lag).max().unwrap_or(i64::MAX),
        }
    }
}

fn nodes(folder: &Path, count: usize) -> Result<Vec<LocalNode>, LocalError> {
    let mut nodes = Vec::new();
    for id in (1..).take(count) {
        let held = HeldPort::find().map_err(io_error("a free port"))?;
        let folder = folder.join(format!("node-{id}"));
        fs::create_dir_all(&folder).map_err(io_error(&folder.display().to_string()))?;
        nodes.push(LocalNode {
            id,
            port: held.number(),
            _held: held,
            folder,
            child: None,
        });
    }
    Ok(nodes)
}

fn format_node(program: &Path, node: &LocalNode, cluster_id: &str, voters: &str) -> Result<(), LocalError> {
    let mut command = Command::new(program);
    command
        .arg("format")
        .arg("-c")
        .arg(node.config())
        .args(["-t", cluster_id]);
    command.args(["--initial-controllers", voters]);
    let output = command.output().map_err(io_error("kraft format"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(LocalError::Format { id: node.id, said })
}

/// Reads the stream to its end, so that the process never finds it full or closed; hands out its first line.
fn first_line(stream: ChildStdout) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            // Whoever waits for the first line does not wait for the others.
            sender.send(line).ok();
        }
    });
    receiver
}

fn io_error(what: &str) -> impl FnOnce(io::Error) -> LocalError {
    let what = what.to_owned();
    move |source| LocalError::Io { what, source }
}

/// What takes longer will never come: these are for what hangs, and a machine may be as slow as it is.
const STOP_LIMIT: Duration = Duration::from_secs(60);
const READY_LIMIT: Duration = Duration::from_secs(60);
const ASK_LIMIT: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(10);
