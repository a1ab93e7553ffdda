//! The stage of a single-replica scenario: one replica, a model of its log, a clock.

use super::{
    command::{Command, CommandError, bad},
    model_log::{Directory, ModelLog, Snapshot, key},
    names, records, requests, responses,
    show::{self, role_name, show_log_end, watermark},
};
use kraft_core::{
    Action, Config, Event, Instant, LogView as _, NodeId, PayloadId, PeerRequest, Recovered, Replica,
    ReplicaKey, ReplyId, RequestId, SupportedVersions, Ticket, Time, VoterSet,
};
use std::{collections::BTreeMap, time::Duration};

/// A request that the replica has sent.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) to: ReplicaKey,
    pub(crate) body: PeerRequest,
}

/// The replica and everything around it.
#[derive(Debug)]
pub(crate) struct Stage {
    config: Config,
    replica: Option<Replica>,
    log: ModelLog,
    now: Instant,
    /// Whether operations become durable by themselves as soon as the replica has taken its step.
    disk_follows: bool,
    durable: Ticket,
    sent: BTreeMap<RequestId, Sent>,
    replies: u64,
    payloads: u64,
    transitions: u64,
    output: Vec<String>,
}

/// More steps than this without the clock moving are a replica that spins.
const STEPS_AT_ONE_MOMENT: usize = 50;

/// A role that lasts for more deadlines than this is not going to change.
const DEADLINES_TO_A_TRANSITION: usize = 1000;

impl Stage {
    pub(crate) fn new() -> Self {
        Self {
            config: default_config(),
            replica: None,
            log: ModelLog::default(),
            now: Instant(0),
            disk_follows: true,
            durable: Ticket::NONE,
            sent: BTreeMap::new(),
            replies: 0,
            payloads: 0,
            transitions: 0,
            output: Vec::new(),
        }
    }

    /// Carries a command out. Returns whether there is such a command.
    pub(crate) fn run(&mut self, command: &Command) -> Result<bool, CommandError> {
        match command.name.as_str() {
            "replica" => self.set_up(command)?,
            "restart" => self.restart()?,
            "wait" => self.wait(command.word()?)?,
            "pause" => self.now = self.now.after(millis(command.word()?)?),
            "disk" => self.disk_follows = disk_mode(command.word()?)?,
            "durable" => self.complete_disk(command.number("up-to")?.map(Ticket))?,
            "state" => self.show_state()?,
            "stored" => self.show_stored(),
            "voters" => self.show_voters()?,
            "changes" => self.show_changes()?,
            "answer" | "fail" => {
                let request = self.request(command.word()?)?;
                let event = responses::event(command, request, self)?;
                self.step(event)?;
            }
            _ => match requests::event(command, self)? {
                Some(event) => self.step(event)?,
                None => return Ok(false),
            },
        }
        Ok(true)
    }

    /// What was printed since the last call.
    pub(crate) fn take_lines(&mut self) -> Vec<String> {
        std::mem::take(&mut self.output)
    }

    /// `replica`: sets up configuration and log directory, and starts.
    fn set_up(&mut self, command: &Command) -> Result<(), CommandError> {
        *self = Self::new();
        configure(&mut self.config, command)?;
        let directory = directory(command)?;
        if let Some(mode) = command.text("disk") {
            self.disk_follows = disk_mode(mode)?;
        }
        self.log = ModelLog::open(directory);
        self.start()
    }

    /// `restart`: a crash, which loses what is not durable, and a new start.
    fn restart(&mut self) -> Result<(), CommandError> {
        self.log = ModelLog::open(self.log.durable.clone());
        self.sent.clear();
        self.durable = Ticket::NONE;
        self.start()
    }

    fn start(&mut self) -> Result<(), CommandError> {
        let recovered: Recovered = self.log.durable.recovered();
        let mut actions = Vec::new();
        let opened = Replica::open(
            self.config.clone(),
            recovered,
            &self.log,
            self.time(),
            &mut actions,
        );
        match opened {
            Ok(replica) => {
                self.replica = Some(replica);
                self.perform(actions)?;
                self.follow_disk()
            }
            Err(error) => {
                self.replica = None;
                self.output.push(format!("refuses to start: {error}"));
                Ok(())
            }
        }
    }

    fn time(&self) -> Time {
        Time {
            mono: self.now,
            wall_ms: i64::try_from(self.now.0 / 1000).expect("scenarios are short"),
        }
    }

    fn replica(&self) -> Result<&Replica, CommandError> {
        self.replica
            .as_ref()
            .ok_or_else(|| CommandError::new("there is no replica: start with `replica`"))
    }

    /// Gives the replica an event, performs what it wants and lets the disk follow.
    fn step(&mut self, event: Event) -> Result<(), CommandError> {
        self.step_once(event)?;
        self.follow_disk()
    }

    fn step_once(&mut self, event: Event) -> Result<(), CommandError> {
        let now = self.time();
        let replica = self
            .replica
            .as_mut()
            .ok_or_else(|| CommandError::new("there is no replica: start with `replica`"))?;
        let mut actions = Vec::new();
        replica.step(event, &self.log, now, &mut actions);
        self.perform(actions)
    }

    fn perform(&mut self, actions: Vec<Action>) -> Result<(), CommandError> {
        for action in actions {
            self.output.push(show::action(&action, self.durable));
            match action {
                Action::Disk { ticket, op } => self.log.submit(ticket, op, self.now),
                Action::Send {
                    request, to, body, ..
                } => {
                    self.sent.insert(request, Sent { to, body });
                }
                Action::Transition { .. } => self.transitions += 1,
                Action::Reply { .. }
                | Action::Accept { .. }
                | Action::Refuse { .. }
                | Action::Outcome { .. }
                | Action::ReadBarrier { .. }
                | Action::Commit { .. }
                | Action::Lead { .. }
                | Action::Unlead
                | Action::Discard { .. }
                | Action::AbandonSnapshot { .. }
                | Action::ShutdownComplete { .. }
                | Action::Fatal { .. } => {}
            }
        }
        self.replica()?.check_invariants(&self.log);
        Ok(())
    }

    fn follow_disk(&mut self) -> Result<(), CommandError> {
        for _ in 0..STEPS_AT_ONE_MOMENT {
            if !self.disk_follows || self.log.newest_pending().is_none() {
                return Ok(());
            }
            self.complete_disk(None)?;
        }
        Err(CommandError::new("the disk never comes to rest"))
    }

    /// `durable`: makes operations durable, all that are submitted or those up to a ticket.
    fn complete_disk(&mut self, up_to: Option<Ticket>) -> Result<(), CommandError> {
        let newest = self
            .log
            .newest_pending()
            .ok_or_else(|| CommandError::new("no disk operation waits"))?;
        let up_to = up_to.unwrap_or(newest);
        if up_to > newest || self.log.oldest_pending().is_some_and(|oldest| up_to < oldest) {
            return Err(CommandError::new(format!("no disk operation #{} waits", up_to.0)));
        }
        self.log.complete(up_to);
        self.durable = up_to;
        self.step_once(Event::Durable { up_to })
    }

    /// The request that a word means: its number, or a replica for the newest request to it.
    fn request(&self, word: &str) -> Result<RequestId, CommandError> {
        if let Ok(number) = word.parse() {
            return Ok(RequestId(number));
        }
        let to = names::node(word)?;
        let newest = self.sent.iter().rfind(|(_, sent)| sent.to.id == to);
        newest
            .map(|(request, _)| *request)
            .ok_or_else(|| CommandError::new(format!("nothing has been sent to {word}")))
    }

    /// `wait 500`, `wait deadline`, `wait transition`: lets time pass, with a tick at each deadline.
    fn wait(&mut self, text: &str) -> Result<(), CommandError> {
        match text {
            "transition" => self.wait_for_transition(),
            "deadline" => self.wait_until(self.next_deadline()?),
            _ => self.wait_until(self.now.after(millis(text)?)),
        }
    }

    fn wait_for_transition(&mut self) -> Result<(), CommandError> {
        let before = self.transitions;
        for _ in 0..DEADLINES_TO_A_TRANSITION {
            self.wait_until(self.next_deadline()?)?;
            if before != self.transitions {
                return Ok(());
            }
        }
        Err(CommandError::new("no transition comes"))
    }

    fn wait_until(&mut self, until: Instant) -> Result<(), CommandError> {
        let mut steps = 0;
        while let Some(deadline) = self
            .replica()?
            .next_deadline()
            .filter(|deadline| *deadline <= until)
        {
            steps = if deadline > self.now { 0 } else { steps + 1 };
            if steps > STEPS_AT_ONE_MOMENT {
                return Err(CommandError::new("the replica spins: its deadline never moves"));
            }
            self.now = self.now.max(deadline);
            let printed_before = self.output.len();
            self.step(Event::Tick)?;
            if self.output.len() > printed_before {
                let line = format!("at {} ms", self.now.0 / 1000);
                self.output.insert(printed_before, line);
            }
        }
        self.now = self.now.max(until);
        Ok(())
    }

    fn next_deadline(&self) -> Result<Instant, CommandError> {
        self.replica()?
            .next_deadline()
            .ok_or_else(|| CommandError::new("there is no deadline"))
    }

    fn show_state(&mut self) -> Result<(), CommandError> {
        let replica = self.replica()?;
        let voted = replica
            .election_state()
            .voted
            .map_or_else(String::new, |key| format!(", vote {}", names::show_key(&key)));
        let deadline = replica.next_deadline().map_or_else(
            || "no deadline".to_owned(),
            |at| format!("next deadline in {} ms", at.since(self.now).as_millis()),
        );
        let lines = [
            format!(
                "{}, epoch {}, {}{voted}",
                role_name(replica.role()),
                replica.epoch(),
                names::show_leader(replica.leader())
            ),
            format!(
                "log {}..{}, flushed to {}, hw {}",
                self.log.start(),
                show_log_end(self.log.end()),
                self.log.flushed_end(),
                watermark(replica.high_watermark().unwrap_or(-1))
            ),
            deadline,
        ];
        self.output.extend(lines);
        Ok(())
    }

    fn show_stored(&mut self) {
        let text = self
            .log
            .durable
            .election
            .as_ref()
            .map_or_else(|| "nothing".to_owned(), show::election_state);
        self.output.push(format!("stored: {text}"));
    }

    fn show_voters(&mut self) -> Result<(), CommandError> {
        let text = records::show_voters(self.replica()?.voters());
        self.output.push(format!("voters: {text}"));
        Ok(())
    }

    fn show_changes(&mut self) -> Result<(), CommandError> {
        let replica = self.replica()?;
        let change = if replica.voter_change_under_way() {
            "a voter change is under way"
        } else {
            "no voter change is under way"
        };
        let text = format!("kraft.version {}, {change}", replica.kraft_version());
        self.output.push(text);
        Ok(())
    }

    pub(crate) fn next_reply(&mut self) -> ReplyId {
        self.replies += 1;
        ReplyId(self.replies)
    }

    pub(crate) fn next_payload(&mut self) -> PayloadId {
        self.payloads += 1;
        PayloadId(self.payloads)
    }

    pub(crate) fn sent(&self, request: RequestId) -> Result<&Sent, CommandError> {
        self.sent
            .get(&request)
            .ok_or_else(|| CommandError::new(format!("request {} has not been sent", request.0)))
    }

    pub(crate) fn log(&self) -> &ModelLog {
        &self.log
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// The replica's current epoch, which arguments default to.
    pub(crate) fn epoch(&self) -> Result<kraft_core::Epoch, CommandError> {
        Ok(self.replica()?.epoch())
    }
}

fn millis(text: &str) -> Result<Duration, CommandError> {
    text.parse()
        .map(Duration::from_millis)
        .map_err(|_| bad("time", text))
}

fn disk_mode(text: &str) -> Result<bool, CommandError> {
    match text {
        "follows" => Ok(true),
        "waits" => Ok(false),
        _ => Err(bad("disk", text)),
    }
}

/// The settings of the client tests.
fn default_config() -> Config {
    let local = NodeId(0);
    Config {
        local: names::key("L@l").expect("a name"),
        cluster_id: "cluster".into(),
        listeners: names::endpoints(local),
        default_listener: names::LISTENER.into(),
        static_voters: VoterSet::default(),
        bootstrap_servers: Vec::new(),
        can_become_voter: true,
        kraft_versions: SupportedVersions { min: 0, max: 1 },
        election_timeout: Duration::from_millis(10_000),
        fetch_timeout: Duration::from_millis(50_000),
        election_backoff_max: Duration::from_millis(100),
        request_timeout: Duration::from_millis(5_000),
        retry_backoff: Duration::from_millis(50),
        fetch_max_wait: Duration::ZERO,
        fetch_max_bytes: 1_048_576,
        fetch_snapshot_max_bytes: 1_048_576,
        auto_join: false,
        shutdown_timeout: Duration::from_millis(5_000),
        seed: 1,
    }
}

fn configure(config: &mut Config, command: &Command) -> Result<(), CommandError> {
    if let Some(local) = command.key("local")? {
        config.local = local;
        config.listeners = names::endpoints(local.id);
    }
    match command.text("listeners") {
        None => {}
        Some("two") => {
            let second = names::endpoint(config.local.id);
            config.listeners.insert("SECOND", second);
        }
        Some(text) => return Err(bad("listeners", text)),
    }
    if let Some(voters) = command.keys("voters")? {
        config.static_voters = names::voter_set(&voters);
    }
    let usual = usize::from(config.static_voters.is_empty());
    let servers: usize = command.number("bootstrap-servers")?.unwrap_or(usual);
    config.bootstrap_servers = (1..=servers).map(names::bootstrap_endpoint).collect();
    config.can_become_voter = !command.flag("broker");
    config.auto_join = command.flag("auto-join");
    let durations = [
        ("election-timeout", &mut config.election_timeout),
        ("fetch-timeout", &mut config.fetch_timeout),
        ("election-backoff-max", &mut config.election_backoff_max),
        ("request-timeout", &mut config.request_timeout),
        ("retry-backoff", &mut config.retry_backoff),
        ("fetch-max-wait", &mut config.fetch_max_wait),
    ];
    for (name, setting) in durations {
        if let Some(ms) = command.number(name)? {
            *setting = Duration::from_millis(ms);
        }
    }
    if let Some(bytes) = command.number("fetch-max-bytes")? {
        config.fetch_max_bytes = bytes;
    }
    if let Some(bytes) = command.number("fetch-snapshot-max-bytes")? {
        config.fetch_snapshot_max_bytes = bytes;
    }
    if let Some(seed) = command.number("seed")? {
        config.seed = seed;
    }
    Ok(())
}

/// The log directory that the replica starts on.
fn directory(command: &Command) -> Result<Directory, CommandError> {
    let mut directory = Directory::default();
    if let Some(voters) = command.keys("bootstrap-voters")? {
        let control = vec![
            kraft_core::ControlRecord::KRaftVersion(1),
            kraft_core::ControlRecord::Voters(names::voter_set(&voters)),
        ];
        directory.snapshots.insert(
            key(kraft_core::SnapshotId::BOOTSTRAP),
            Snapshot {
                size: 500,
                control,
                complete: true,
            },
        );
    }
    if let Some(id) = command.pair("snapshot")? {
        let control = command
            .text("snapshot-control")
            .map(records::control_records)
            .transpose()?;
        let snapshot = Snapshot {
            size: command.number("snapshot-size")?.unwrap_or(1000),
            control: control.unwrap_or_default(),
            complete: true,
        };
        directory.snapshots.insert(key(id), snapshot);
    }
    directory.start = command.number("log-start")?.unwrap_or(0);
    if let Some(log) = command.text("log") {
        records::batches(log, directory.start)?
            .into_iter()
            .for_each(|batch| directory.append(batch));
    }
    if let Some(epoch) = command.number("begun")? {
        directory
            .epochs
            .insert(kraft_core::Epoch(epoch), directory.end_offset());
    }
    directory.election = stored_election(command)?;
    Ok(directory)
}

fn stored_election(command: &Command) -> Result<Option<kraft_core::ElectionState>, CommandError> {
    let leader = command.node("leader")?;
    let voted = command.key("voted")?;
    let kraft_version = i16::from(command.keys("bootstrap-voters")?.is_some());
    let voters = command.keys("voters")?.unwrap_or_default();
    Ok(command.epoch("epoch")?.map(|epoch| kraft_core::ElectionState {
        epoch,
        leader,
        voted,
        voters: voters.iter().map(|key| key.id).collect(),
        kraft_version,
    }))
}
