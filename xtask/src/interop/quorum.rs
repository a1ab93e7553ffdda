//! A quorum on loopback whose members are Kafka controllers or ours, each changeable from one start to the
//! next on the same configuration file and the same data directory.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use crate::eventually::eventually;
use crate::interop::Failure;
use crate::interop::describe::{Replication, Status};
use crate::interop::jars::{Finished, Jars, Tool};
use crate::interop::process::{self, Running};
use crate::port::HeldPort;
use crate::workspace;

/// Which program a member runs as.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Kind {
    Kafka,
    Kraft,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Kafka => "Kafka",
            Kind::Kraft => "kraft",
        })
    }
}

/// Where the voters come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// `controller.quorum.voters`, kraft.version 0.
    Static,
    /// `--initial-controllers`, kraft.version 1.
    Dynamic,
}

pub(crate) struct Member {
    pub(crate) id: i32,
    pub(crate) port: u16,
    /// So that the port is still its own where it starts again.
    _held: HeldPort,
    folder: PathBuf,
    directory_id: String,
    /// Lines of its configuration that the others do not have.
    settings: String,
    running: Option<(Kind, Running)>,
    /// By SIGSTOP: it cannot be asked anything.
    paused: bool,
}

impl Member {
    pub(crate) fn config(&self) -> PathBuf {
        self.folder.join("server.properties")
    }

    /// `log.dirs`.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// All that this member's processes printed, whichever program they were.
    pub(crate) fn output(&self, kind: Kind) -> PathBuf {
        self.folder.join(format!("{kind}.log"))
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(crate) fn kind(&self) -> Option<Kind> {
        self.running.as_ref().map(|(kind, _)| *kind)
    }

    /// The id of its directory, as the file in it says.
    pub(crate) fn directory_id(&self) -> Result<String, Failure> {
        let text = fs::read_to_string(self.data().join("meta.properties"))?;
        let id = text.lines().find_map(|line| line.strip_prefix("directory.id="));
        Ok(id.ok_or("no directory.id")?.to_owned())
    }

    /// The folder of its log and its checkpoints.
    pub(crate) fn partition(&self) -> PathBuf {
        self.data().join("__cluster_metadata-0")
    }

    /// The bytes of its log: all segments in order, without the zeros behind the last batch.
    pub(crate) fn log_bytes(&self) -> Result<Vec<u8>, Failure> {
        let mut segments: Vec<_> = fs::read_dir(self.partition())?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()?;
        segments.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
        segments.sort();
        let mut bytes = Vec::new();
        for segment in segments {
            let read = fs::read(segment)?;
            let used = batches_end(&read);
            bytes.extend_from_slice(&read[..used]);
        }
        Ok(bytes)
    }
}

pub(crate) struct Quorum<'a> {
    jars: &'a Jars,
    mode: Mode,
    cluster_id: String,
    members: BTreeMap<i32, Member>,
}

impl<'a> Quorum<'a> {
    /// Members 1 to `count` with configuration files, not yet formatted.
    pub(crate) fn new(jars: &'a Jars, base: &Path, mode: Mode, count: i32) -> Result<Quorum<'a>, Failure> {
        let mut members = BTreeMap::new();
        for id in 1..=count {
            let folder = base.join(format!("n{id}"));
            fs::create_dir_all(&folder)?;
            let held = HeldPort::find()?;
            members.insert(
                id,
                Member {
                    id,
                    port: held.number(),
                    _held: held,
                    folder,
                    directory_id: random_uuid()?,
                    settings: String::new(),
                    running: None,
                    paused: false,
                },
            );
        }
        let quorum = Quorum {
            jars,
            mode,
            cluster_id: random_uuid()?,
            members,
        };
        quorum.write_configs()?;
        Ok(quorum)
    }

    pub(crate) fn member(&self, id: i32) -> &Member {
        &self.members[&id]
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.values()
    }

    pub(crate) fn jars(&self) -> &Jars {
        self.jars
    }

    /// Those that can be asked.
    pub(crate) fn awake(&self) -> impl Iterator<Item = &Member> {
        let members = self.members.values();
        members.filter(|member| member.running.is_some() && !member.paused)
    }

    /// Adds lines to a member's configuration.
    pub(crate) fn set(&mut self, id: i32, settings: &str) -> Result<(), Failure> {
        let member = self.members.get_mut(&id).ok_or("no such member")?;
        member.settings.push_str(settings);
        self.write_configs()
    }

    /// From the next start on members find each other as those of a dynamic quorum do.
    pub(crate) fn use_bootstrap_servers(&mut self) -> Result<(), Failure> {
        self.mode = Mode::Dynamic;
        self.write_configs()
    }

    pub(crate) fn cluster_id(&self) -> &str {
        &self.cluster_id
    }

    pub(crate) fn kinds(&self) -> BTreeMap<i32, Kind> {
        self.members
            .values()
            .filter_map(|member| Some((member.id, member.kind()?)))
            .collect()
    }

    /// Formats a member's directory with the tool of that kind.
    pub(crate) fn format(&self, id: i32, kind: Kind) -> Result<(), Failure> {
        let list = self.initial_controllers();
        let flags: &[&str] = match self.mode {
            Mode::Static => &[],
            Mode::Dynamic => &["--initial-controllers", &list],
        };
        let finished = self.format_with(kind, &self.members[&id].config(), flags)?;
        finished.expect_success(&format!("{kind} formats node {id}"))?;
        Ok(())
    }

    /// Runs a format tool with further flags.
    pub(crate) fn format_with(&self, kind: Kind, config: &Path, flags: &[&str]) -> Result<Finished, Failure> {
        let config = config.to_string_lossy().into_owned();
        let mut arguments = vec!["format", "-t", &self.cluster_id, "-c", &config];
        arguments.extend(flags);
        match kind {
            Kind::Kafka => self.jars.tool(Tool::Storage, &arguments),
            Kind::Kraft => kraft(&arguments),
        }
    }

    /// Runs the tool that says what is in the directories.
    pub(crate) fn info_with(&self, kind: Kind, config: &Path) -> Result<Finished, Failure> {
        let config = config.to_string_lossy().into_owned();
        let arguments = ["info", "-c", &config];
        match kind {
            Kind::Kafka => self.jars.tool(Tool::Storage, &arguments),
            Kind::Kraft => kraft(&arguments),
        }
    }

    pub(crate) fn initial_controllers(&self) -> String {
        let voter = |member: &Member| format!("{}@{}:{}", member.id, member.address(), member.directory_id);
        self.members.values().map(voter).collect::<Vec<_>>().join(",")
    }

    pub(crate) fn start(&mut self, id: i32, kind: Kind) -> Result<(), Failure> {
        let alone = self.members.len() == 1;
        let member = self.members.get_mut(&id).ok_or("no such member")?;
        let command = match kind {
            Kind::Kafka => self.jars.controller(&member.config(), alone),
            Kind::Kraft => {
                let mut command = Command::new(workspace::kraft());
                command.arg("run").arg("-c").arg(member.config());
                command
            }
        };
        member.running = Some((kind, Running::start(command, &member.output(kind))?));
        Ok(())
    }

    /// SIGTERM; ours must end with 0, a JVM ends with 143 when it is done.
    pub(crate) fn stop(&mut self, id: i32) -> Result<Kind, Failure> {
        let (kind, running) = self.take(id)?;
        match kind {
            Kind::Kafka => {
                running.stop(END_LIMIT)?;
                if self.members.len() == 1 {
                    self.jars.controller_ended()?;
                }
            }
            Kind::Kraft => {
                let status = running.stop(END_LIMIT)?;
                if !status.success() {
                    return Err(format!("node {id}: kraft run ended with {status} after SIGTERM").into());
                }
            }
        }
        Ok(kind)
    }

    /// SIGSTOP.
    pub(crate) fn pause(&mut self, id: i32) -> Result<(), Failure> {
        self.signal(id, Signal::STOP, true)
    }

    /// SIGCONT.
    pub(crate) fn resume(&mut self, id: i32) -> Result<(), Failure> {
        self.signal(id, Signal::CONT, false)
    }

    fn signal(&mut self, id: i32, signal: Signal, paused: bool) -> Result<(), Failure> {
        let member = self.members.get_mut(&id).ok_or("no such member")?;
        let (_, running) = member.running.as_ref().ok_or("it does not run")?;
        running.signal(signal)?;
        member.paused = paused;
        Ok(())
    }

    /// SIGKILL.
    pub(crate) fn kill(&mut self, id: i32) -> Result<Kind, Failure> {
        let (kind, running) = self.take(id)?;
        running.kill()?;
        Ok(kind)
    }

    fn take(&mut self, id: i32) -> Result<(Kind, Running), Failure> {
        let member = self.members.get_mut(&id).ok_or("no such member")?;
        Ok(member
            .running
            .take()
            .ok_or_else(|| format!("node {id} does not run"))?)
    }

    /// Fails when a member that should run has ended.
    pub(crate) fn check_alive(&mut self) -> Result<(), Failure> {
        for member in self.members.values_mut() {
            if let Some((kind, running)) = &mut member.running
                && !running.is_alive()
            {
                let kind = *kind;
                let output = fs::read_to_string(member.output(kind)).unwrap_or_default();
                let tail: Vec<_> = output.lines().rev().take(15).collect();
                let tail: Vec<_> = tail.into_iter().rev().collect();
                return Err(format!(
                    "node {} ({kind}) has ended by itself:\n{}",
                    member.id,
                    tail.join("\n")
                )
                .into());
            }
        }
        Ok(())
    }

    /// What our own tool, asked at one node, says; nothing while there is no leader that it can find.
    pub(crate) fn glance(&mut self) -> Result<Option<Status>, Failure> {
        self.check_alive()?;
        for member in self.awake() {
            let address = member.address();
            let arguments = [
                "quorum",
                "describe",
                "--status",
                "--bootstrap-controller",
                &address,
            ];
            let finished = kraft(&arguments)?;
            if finished.code == 0 {
                return Status::parse(&finished.stdout).map(Some);
            }
        }
        Ok(None)
    }

    /// Waits for a leader that has committed something in its epoch, other than `not` where one is given.
    pub(crate) fn wait_leader(&mut self, not: Option<i32>) -> Result<Status, Failure> {
        let what = format!("a leader with a high watermark (other than {not:?})");
        eventually(&what, LIMIT, || {
            let status = self.glance()?;
            Ok(status.filter(|status| status.high_watermark > 0 && Some(status.leader) != not))
        })
    }

    /// Kafka's `kafka-metadata-quorum describe --status`, asked at one node.
    pub(crate) fn kafka_status(&self, id: i32) -> Result<Status, Failure> {
        let finished = self.kafka_describe(id, &["--status"])?;
        Status::parse(&finished.expect_success(&format!("Kafka's describe --status at node {id}"))?)
    }

    /// Kafka's `kafka-metadata-quorum describe --replication`, asked at one node.
    pub(crate) fn kafka_replication(&self, id: i32) -> Result<Replication, Failure> {
        let finished = self.kafka_describe(id, &["--replication"])?;
        Replication::parse(&finished.expect_success(&format!("Kafka's describe --replication at node {id}"))?)
    }

    /// What our own tool prints in place of [`Self::kafka_status`].
    pub(crate) fn kraft_status(&self, id: i32) -> Result<Status, Failure> {
        Status::parse(&self.kraft_describe(id, "--status")?)
    }

    /// What our own tool prints in place of [`Self::kafka_replication`].
    pub(crate) fn kraft_replication(&self, id: i32) -> Result<Replication, Failure> {
        Replication::parse(&self.kraft_describe(id, "--replication")?)
    }

    fn kraft_describe(&self, id: i32, form: &str) -> Result<String, Failure> {
        let address = self.members[&id].address();
        let arguments = ["quorum", "describe", form, "--bootstrap-controller", &address];
        kraft(&arguments)?.expect_success(&format!("kraft quorum describe {form} at node {id}"))
    }

    fn kafka_describe(&self, id: i32, flags: &[&str]) -> Result<Finished, Failure> {
        let address = self.members[&id].address();
        let mut arguments = vec!["--bootstrap-controller", &address, "describe"];
        arguments.extend(flags);
        self.jars.tool(Tool::Quorum, &arguments)
    }

    fn write_configs(&self) -> Result<(), Failure> {
        let addresses: Vec<_> = self.members.values().map(Member::address).collect();
        let voters: Vec<_> = self
            .members
            .values()
            .map(|member| format!("{}@{}", member.id, member.address()))
            .collect();
        let quorum = match self.mode {
            Mode::Static => format!("controller.quorum.voters={}", voters.join(",")),
            Mode::Dynamic => format!("controller.quorum.bootstrap.servers={}", addresses.join(",")),
        };
        for member in self.members.values() {
            let text = format!(
                "process.roles=controller\nnode.id={}\nlog.dirs={}\ncontroller.listener.names=CONTROLLER\n\
                 listener.security.protocol.map=CONTROLLER:PLAINTEXT\nlisteners=CONTROLLER://{address}\n\
                 advertised.listeners=CONTROLLER://{address}\n{quorum}\n{}",
                member.id,
                member.data().display(),
                member.settings,
                address = member.address(),
            );
            fs::write(member.config(), text)?;
        }
        Ok(())
    }
}

impl Finished {
    /// Its stdout, or what it complained about.
    pub(crate) fn expect_success(self, what: &str) -> Result<String, Failure> {
        if self.code == 0 {
            return Ok(self.stdout);
        }
        Err(format!("{what} ended with {}:\n{}{}", self.code, self.stdout, self.stderr).into())
    }
}

/// Runs our program to its end.
pub(crate) fn kraft(arguments: &[&str]) -> Result<Finished, Failure> {
    let mut command = Command::new(workspace::kraft());
    command.args(arguments);
    process::finish(command, END_LIMIT)
}

/// What has not come true by then never will. A machine may be as slow as it is.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// For a process that has to end.
const END_LIMIT: Duration = Duration::from_secs(120);

/// Where the last whole batch ends: what follows it in an active segment is preallocated zeros.
fn batches_end(bytes: &[u8]) -> usize {
    const BASE_OFFSET_AND_LENGTH: usize = 12;
    let mut at = 0;
    while let Some(length) = bytes.get(at + 8..at + BASE_OFFSET_AND_LENGTH) {
        let length = u32::from_be_bytes(length.try_into().expect("four bytes")) as usize;
        let next = at + BASE_OFFSET_AND_LENGTH + length;
        if length == 0 || next > bytes.len() {
            break;
        }
        at = next;
    }
    at
}

/// A random uuid in Kafka's text form.
fn random_uuid() -> Result<String, Failure> {
    let finished = kraft(&["random-uuid"])?;
    Ok(finished.expect_success("kraft random-uuid")?.trim().to_owned())
}
