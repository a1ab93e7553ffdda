//! Three voters as processes.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::delay;
use super::log_end::LogEnd;
use super::printed::{self, Event, What};
use super::usage::Usage;
use crate::interop::{Failure, Running};
use crate::torture::Network;
use crate::workspace;

/// What runs.
#[derive(Clone)]
pub(super) enum Program {
    Kraft,
    Kafka { class_path: String, linger_ms: u32 },
}

/// The load of the voter that leads.
#[derive(Clone, Copy)]
pub(super) struct Load {
    /// Records a second; 0, ours alone, for as many as there is room for.
    pub(super) throughput: u64,
    pub(super) record_bytes: u64,
    /// How many may wait for their commit, ours alone.
    pub(super) in_flight: Option<u64>,
    /// Whether the log is kept short by snapshots, ours alone.
    pub(super) snapshots: bool,
    /// How long records are collected, ours alone; what a batch of Kafka's waits for is part of its name.
    pub(super) linger_ms: u32,
}

pub(super) struct Voter {
    pub(super) id: usize,
    program: Program,
    /// One of ours that follows as a broker does.
    observer: bool,
    address: String,
    folder: PathBuf,
    running: Option<Running>,
}

pub(super) struct Voters {
    load: Load,
    network: Network,
    places: Vec<Place>,
    pub(super) voters: Vec<Voter>,
}

/// Where a node listens, and by which address it is reached.
struct Place {
    listens: String,
    is_reached: String,
}

impl Place {
    fn known_as_it_is(address: String) -> Self {
        Self {
            is_reached: address.clone(),
            listens: address,
        }
    }

    fn advertised(&self) -> String {
        if self.listens == self.is_reached {
            return String::new();
        }
        format!("advertised.listeners=CONTROLLER://{}\n", self.is_reached)
    }
}

impl Program {
    pub(super) fn name(&self) -> String {
        match self {
            Program::Kraft => "kraft".to_owned(),
            Program::Kafka { linger_ms, .. } => format!("Kafka, linger {linger_ms}"),
        }
    }

    /// How long it takes to be as fast as it gets.
    pub(super) fn warm_up(&self, duration: Duration) -> Duration {
        match self {
            Program::Kraft => Duration::from_secs(5),
            Program::Kafka { .. } => Duration::from_secs(60).min(duration),
        }
    }

    fn linger_ms(&self, load: Load) -> u32 {
        match self {
            Program::Kraft => load.linger_ms,
            Program::Kafka { linger_ms, .. } => *linger_ms,
        }
    }
}

impl Voters {
    /// Starts all of them on loopback and waits until one of them commits its load.
    pub(super) fn start(program: &Program, folder: &Path, load: Load) -> Result<Voters, Failure> {
        Self::start_in(Network::loopback()?, program, folder, load, "")
    }

    /// The same in a network, with these settings beside what all have.
    pub(super) fn start_in(
        network: Network,
        program: &Program,
        folder: &Path,
        load: Load,
        settings: &str,
    ) -> Result<Voters, Failure> {
        let places: Vec<_> = network
            .addresses()
            .into_iter()
            .map(Place::known_as_it_is)
            .collect();
        let mut voters = Self::prepare_at(network, places, program, folder, load, settings)?;
        for id in 1..=voters.voters.len() {
            voters.start_one(id)?;
        }
        voters.first_commit(|_, _| true)?;
        Ok(voters)
    }

    /// Starts none of them. What they send each other on loopback takes `delay`.
    pub(super) fn prepare(
        program: &Program,
        folder: &Path,
        load: Load,
        delay: Duration,
    ) -> Result<Voters, Failure> {
        let network = Network::loopback()?;
        let mut places = Vec::new();
        for address in network.addresses() {
            let mut place = Place::known_as_it_is(address);
            if !delay.is_zero() {
                let port = delay::forward(place.listens.parse()?, delay)?;
                place.is_reached = format!("127.0.0.1:{port}");
            }
            places.push(place);
        }
        Self::prepare_at(network, places, program, folder, load, "")
    }

    fn prepare_at(
        network: Network,
        places: Vec<Place>,
        program: &Program,
        folder: &Path,
        load: Load,
        settings: &str,
    ) -> Result<Voters, Failure> {
        let names: Vec<_> = (1..)
            .zip(&places)
            .map(|(id, place)| format!("{id}@{}", place.is_reached))
            .collect();
        let settings = format!("controller.quorum.voters={}\n{settings}", names.join(","));
        let mut nodes = Vec::new();
        for (id, place) in (1..).zip(&places) {
            let folder = folder.join(id.to_string());
            fs::create_dir_all(folder.join("data"))?;
            write_properties(&folder, id, place, program.linger_ms(load), load, &settings)?;
            nodes.push(Voter {
                id,
                program: program.clone(),
                observer: false,
                address: place.listens.clone(),
                folder,
                running: None,
            });
        }
        Ok(Voters {
            load,
            network,
            places,
            voters: nodes,
        })
    }

    /// Puts another program in the place of the last voter, which has not been started: as that voter, or as an observer,
    /// to whom the voters are shown by the addresses of the others.
    pub(super) fn replace_last(&mut self, program: &Program, observer: bool) -> Result<(), Failure> {
        let load = self.load;
        let last = self.voters.last_mut().ok_or("there are no voters")?;
        last.program = program.clone();
        if observer {
            let (own, others) = self.places.split_last().ok_or("there are no places")?;
            let others: Vec<_> = others.iter().map(|place| place.is_reached.as_str()).collect();
            let settings = format!("controller.quorum.bootstrap.servers={}\n", others.join(","));
            let linger_ms = program.linger_ms(load);
            write_properties(&last.folder, OBSERVER_ID, own, linger_ms, load, &settings)?;
            last.observer = matches!(program, Program::Kraft);
        }
        Ok(())
    }

    pub(super) fn start_one(&mut self, id: usize) -> Result<(), Failure> {
        let load = self.load;
        let voter = &self.voters[id - 1];
        let mut command = match &voter.program {
            Program::Kraft => {
                let mut command = self.network.command(id, &workspace::kraft());
                command.args(["perf", "-c"]);
                command.arg(voter.folder.join("server.properties"));
                if load.snapshots {
                    command.arg("--snapshots");
                }
                if voter.observer {
                    command.arg("--observer");
                }
                if let Some(in_flight) = load.in_flight {
                    command.args(["--in-flight", &in_flight.to_string()]);
                }
                command
            }
            Program::Kafka { class_path, .. } => {
                let mut command = self.network.command(id, Path::new("java"));
                // As shipped.
                command.args(["-Xmx1g", "-Xms1g", "-Duser.timezone=UTC", "-cp", class_path]);
                command.args([
                    "-Dorg.slf4j.simpleLogger.showDateTime=true",
                    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
                    "kafka.tools.TestRaftServer",
                    "--config",
                ]);
                command.arg(voter.folder.join("server.properties"));
                command
            }
        };
        command.args(["--replica-directory-id", DIRECTORY_IDS[id - 1]]);
        command.args(["--throughput", &load.throughput.to_string()]);
        command.args(["--record-size", &load.record_bytes.to_string()]);
        let append = |name: &str| {
            let path = voter.folder.join(name);
            File::options().create(true).append(true).open(path)
        };
        command
            .stdin(Stdio::null())
            .stdout(append("stdout")?)
            .stderr(append("stderr")?);
        self.voters[id - 1].running = Some(Running::of(command.spawn()?));
        Ok(())
    }

    /// Waits until a voter has committed in an epoch of which `wanted` is true.
    pub(super) fn first_commit(&mut self, wanted: impl Fn(&Voter, &Event) -> bool) -> Result<Led, Failure> {
        let deadline = Instant::now() + LEADER_LIMIT;
        loop {
            for voter in &self.voters {
                let events = printed::events(&voter.stderr()?);
                let found = events
                    .iter()
                    .find(|event| event.what == What::Committed && wanted(voter, event));
                if let Some(committed) = found {
                    let leads = |event: &&Event| event.what == What::Leads && event.epoch <= committed.epoch;
                    let leads = events.iter().rev().find(leads).unwrap_or(committed);
                    return Ok(Led {
                        leader: voter.id,
                        epoch: committed.epoch,
                        leads_at: leads.at,
                        committed_at: committed.at,
                    });
                }
            }
            self.check_alive()?;
            if Instant::now() >= deadline {
                let limit = LEADER_LIMIT.as_secs();
                return Err(format!("no leader has committed within {limit} s").into());
            }
            thread::sleep(POLL);
        }
    }

    /// Who leads, once it has committed.
    pub(super) fn leader(&mut self) -> Result<Led, Failure> {
        let newest = self.newest()?.ok_or("nobody has led")?;
        self.first_commit(|_, event| event.epoch == newest.epoch)
    }

    /// The highest epoch that any of them has led in.
    pub(super) fn newest(&self) -> Result<Option<Event>, Failure> {
        let mut newest: Option<Event> = None;
        for voter in &self.voters {
            for event in printed::events(&voter.stderr()?) {
                if newest.as_ref().is_none_or(|newest| newest.epoch < event.epoch) {
                    newest = Some(event);
                }
            }
        }
        Ok(newest)
    }

    fn check_alive(&mut self) -> Result<(), Failure> {
        for voter in &mut self.voters {
            if let Some(running) = &mut voter.running
                && !running.is_alive()
            {
                let last: Vec<_> = voter.stderr()?.lines().rev().take(3).map(str::to_owned).collect();
                return Err(format!("voter {} has ended: {last:?}", voter.id).into());
            }
        }
        Ok(())
    }

    /// Processor time and memory of all of them.
    pub(super) fn usage(&mut self) -> Result<Vec<Usage>, Failure> {
        self.check_alive()?;
        let running = self.voters.iter().filter_map(|voter| voter.running.as_ref());
        running.map(|running| Usage::of(running.id())).collect()
    }

    /// Where a voter listens.
    pub(super) fn address(&self, id: usize) -> Result<SocketAddr, Failure> {
        Ok(self.voters[id - 1].address.parse()?)
    }

    /// Loses what goes from and to a voter.
    pub(super) fn cut_off(&self, id: usize) -> Result<(), Failure> {
        self.network.cut_off(id)
    }

    /// The end of [`cut_off`](Self::cut_off).
    pub(super) fn reconnect(&self, id: usize) -> Result<(), Failure> {
        self.network.reconnect(id)
    }

    /// The id of a voter's process.
    pub(super) fn process(&self, id: usize) -> Result<u32, Failure> {
        let running = self.voters[id - 1].running.as_ref().ok_or("it does not run")?;
        Ok(running.id())
    }

    /// Where the log of a voter ends, as its files say.
    pub(super) fn log_end(&self, id: usize) -> LogEnd {
        LogEnd::new(self.partition(id))
    }

    /// Where a voter has its log.
    pub(super) fn partition(&self, id: usize) -> PathBuf {
        self.voters[id - 1].folder.join("data/__raft_performance_test-0")
    }

    /// What the voter has printed on stdout.
    pub(super) fn stdout(&self, id: usize) -> Result<String, Failure> {
        Ok(fs::read_to_string(self.voters[id - 1].folder.join("stdout"))?)
    }

    /// Ends a voter and waits for its end.
    pub(super) fn end(&mut self, id: usize, signal: Signal) -> Result<(), Failure> {
        let running = self.voters[id - 1].running.take().ok_or("it does not run")?;
        match signal {
            Signal::KILL => running.kill(),
            _ => running.stop(STOP_LIMIT).map(|_| ()),
        }
    }

    /// Sends a signal and waits for nothing.
    pub(super) fn signal(&self, id: usize, signal: Signal) -> Result<(), Failure> {
        let running = self.voters[id - 1].running.as_ref().ok_or("it does not run")?;
        running.signal(signal)
    }

    /// Ends all of them.
    pub(super) fn stop(mut self) -> Result<Vec<String>, Failure> {
        for voter in &self.voters {
            if let Some(running) = &voter.running {
                running.signal(Signal::TERM)?;
            }
        }
        for voter in &mut self.voters {
            if let Some(running) = voter.running.take() {
                running.stop(STOP_LIMIT)?;
            }
        }
        self.voters.iter().map(|voter| self.stdout(voter.id)).collect()
    }
}

fn write_properties(
    folder: &Path,
    id: usize,
    place: &Place,
    linger_ms: u32,
    load: Load,
    settings: &str,
) -> Result<(), Failure> {
    let text = format!(
        "process.roles=controller\nnode.id={id}\nlog.dirs={}\ncontroller.listener.names=CONTROLLER\n\
         listeners=CONTROLLER://{}\n{}controller.quorum.append.linger.ms={linger_ms}\n{settings}{}",
        folder.join("data").display(),
        place.listens,
        place.advertised(),
        if load.snapshots { KEEP_SHORT } else { "" },
    );
    Ok(fs::write(folder.join("server.properties"), text)?)
}

/// A leader that has committed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Led {
    pub(super) leader: usize,
    pub(super) epoch: i64,
    /// Time of day.
    pub(super) leads_at: Duration,
    /// Time of day.
    pub(super) committed_at: Duration,
}

impl Voter {
    /// Nothing, where it has not been started yet.
    fn stderr(&self) -> Result<String, Failure> {
        match fs::read_to_string(self.folder.join("stderr")) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
            read => Ok(read?),
        }
    }
}

/// No voter has it.
const OBSERVER_ID: usize = 1000;
const DIRECTORY_IDS: [&str; 3] = [
    "AAAAAAAAAAAAAAAAAAAAZA",
    "AAAAAAAAAAAAAAAAAAAAZQ",
    "AAAAAAAAAAAAAAAAAAAAZg",
];
/// Some snapshots and segments a minute at 5,000 records a second.
const KEEP_SHORT: &str = "metadata.log.max.record.bytes.between.snapshots=20000000\n\
                          metadata.max.retention.bytes=64000000\nmetadata.log.segment.bytes=16777216\n";
const LEADER_LIMIT: Duration = Duration::from_secs(90);
const STOP_LIMIT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);
