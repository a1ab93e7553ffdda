//! Three voters as real processes on real disks, each in a network of its own, under load: in every round something
//! happens to them, after every round they have to go on, and at the end their logs have to explain all that any client
//! was told.

mod clients;
mod faults;
mod guardian;
mod history;
pub(crate) mod log;
mod network;
mod recorder;
mod rng;
mod voters;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use clients::Clients;
use faults::{Kind, Met};
pub(crate) use guardian::Guardian;
use history::{Told, What};
use log::Log;
pub(crate) use network::Network;
use recorder::{Recorder, longest_silence};
use rng::Rng;
use voters::Voters;

use crate::eventually::eventually_every;
use crate::interop::{Failure, kraft};
use crate::part::Outcome;
use crate::{ci, part, workspace};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// How many rounds
    #[arg(long, default_value_t = 200)]
    rounds: u64,
    /// What the faults and what clients do is drawn from; by default the time
    #[arg(long)]
    seed: Option<u64>,
    /// Leave the directories in place also when all is well
    #[arg(long)]
    keep: bool,
    /// Loopback only, without root: nothing is cut off and no link is slow
    #[arg(long)]
    no_partitions: bool,
}

/// Where the voters are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Namespaces,
    NamespacesOrLoopback,
    Loopback,
}

/// The part of `ci`: a few rounds. Where namespaces cannot be made it says so and goes on without partitions.
pub(crate) fn part(name: &'static str) -> Outcome {
    part::check(name, "processes, disks and networks, the short form", || {
        torture(6, SEED_IN_CI, Place::NamespacesOrLoopback, false)
    })
}

pub(crate) fn run(options: &Options) -> bool {
    let build = ci::release_build("release build");
    if !build.passed {
        return part::summarise(&[build]);
    }
    let seed = options.seed.unwrap_or_else(of_the_clock);
    let place = if options.no_partitions {
        Place::Loopback
    } else {
        Place::Namespaces
    };
    part::summarise(&[
        build,
        part::check("torture", "processes, disks and networks", || {
            torture(options.rounds, seed, place, options.keep)
        }),
    ])
}

/// Tortures a quorum in a folder of its own, which stays if something is wrong.
fn torture(rounds: u64, seed: u64, place: Place, keep: bool) -> Result<String, String> {
    // Also a run that failed earlier has left its folder.
    let name = format!("{}-{}", of_the_clock(), std::process::id());
    let folder = workspace::target().join("torture").join(name);
    println!("    {rounds} rounds of seed {seed} in {}", folder.display());
    let summary = prepare(place, &folder)
        .and_then(|prepared| Torture::new(prepared, seed).run(rounds))
        .map_err(|failure| format!("{failure}\n     seed {seed}; its files: {}", folder.display()))?;
    if keep {
        return Ok(format!("{summary}; its files: {}", folder.display()));
    }
    fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(summary)
}

type Prepared = (Voters, Arc<Recorder>);

fn prepare(place: Place, folder: &Path) -> Result<Prepared, Failure> {
    fs::create_dir_all(folder)?;
    let (network, guardian) = match place {
        Place::Namespaces => namespaces()?,
        Place::NamespacesOrLoopback => namespaces().or_else(|failure| {
            println!("    {failure}");
            loopback()
        })?,
        Place::Loopback => loopback()?,
    };
    let recorder = Arc::new(Recorder::new());
    let voters = Voters::new(network, guardian, folder, Arc::clone(&recorder));
    Ok((voters, recorder))
}

/// Needs root and iproute2.
pub(crate) fn namespaces() -> Result<(Network, Guardian), Failure> {
    let names = Network::names();
    let guardian = Guardian::start(&names)?;
    let network = Network::namespaces(names).map_err(|failure| {
        format!("NO PARTITIONS ARE POSSIBLE: {failure}\n     They need root and iproute2; --no-partitions does without them.")
    })?;
    Ok((network, guardian))
}

fn loopback() -> Result<(Network, Guardian), Failure> {
    println!("    WITHOUT PARTITIONS: no voter is cut off, deaf or mute, and no link is slow");
    Ok((Network::loopback()?, Guardian::start(&[])?))
}

struct Torture {
    voters: Voters,
    recorder: Arc<Recorder>,
    clients: Clients,
    rng: Rng,
    /// How often each kind of fault has met anybody, and how often the leader.
    counts: BTreeMap<Kind, (usize, usize)>,
    slowest: Duration,
}

impl Torture {
    fn new((voters, recorder): Prepared, seed: u64) -> Torture {
        let clients = Clients::start(Arc::clone(&voters.seats), Arc::clone(&recorder), seed);
        Torture {
            voters,
            recorder,
            clients,
            rng: Rng::new(seed),
            counts: BTreeMap::new(),
            slowest: Duration::ZERO,
        }
    }

    fn run(mut self, rounds: u64) -> Result<String, Failure> {
        let began = Instant::now();
        let outcome = self.rounds(rounds);
        self.clients.stop();
        if let Err(failure) = outcome {
            return Err(format!("{failure}{}", self.voters.last_words()).into());
        }
        let end = self.write_the_end()?;
        self.voters.all_apply(end, RECOVERY)?;
        let (agreed, digests) = self.agreed(end)?;
        for voter in 1..=VOTERS {
            self.voters.signal(voter, Signal::TERM)?;
            self.voters.wait(voter, Signal::TERM)?;
        }
        let (elections, summary) = self.check(agreed, &digests)?;
        self.print_faults();
        let minutes = began.elapsed().as_secs_f64() / 60.0;
        Ok(format!(
            "summary: {rounds} rounds in {minutes:.1} min, {elections} elections, {summary}"
        ))
    }

    fn rounds(&mut self, rounds: u64) -> Result<(), Failure> {
        for voter in 1..=VOTERS {
            self.voters.start(voter)?;
        }
        self.progress("start")?;
        let partitions = self.voters.network.has_partitions();
        for round in 1..=rounds {
            let faults = faults::draw(&mut self.rng, partitions);
            let round_failed = |failure| format!("round {round}, {faults:?}: {failure}");
            let met = faults::play(&faults, &mut self.voters, &self.clients).map_err(round_failed)?;
            let whole = Instant::now();
            let shown: Vec<_> = met.iter().map(Met::to_string).collect();
            self.progress(&format!("round {round}: {}", shown.join(", ")))
                .map_err(round_failed)?;
            self.slowest = self.slowest.max(whole.elapsed());
            for met in met {
                let (times, leader) = self.counts.entry(met.kind).or_default();
                *times += 1;
                *leader += usize::from(met.leader);
            }
        }
        Ok(())
    }

    /// Waits for a write that begins now and is acknowledged, and for all voters to have it.
    fn progress(&mut self, what: &str) -> Result<(), Failure> {
        let (now, began) = (self.recorder.now(), Instant::now());
        let offset = eventually_every(POLL, "something new is acknowledged", RECOVERY, || {
            self.voters.expect_running()?;
            Ok(self.recorder.written_after(now))
        })?;
        let written = began.elapsed();
        self.voters.all_apply(offset, RECOVERY)?;
        println!(
            "    {what}: a write after {} ms, on all after {} ms",
            written.as_millis(),
            began.elapsed().as_millis()
        );
        Ok(())
    }

    /// Writes one more thing, whoever leads, behind all that clients wrote. Where it stands is returned.
    fn write_the_end(&mut self) -> Result<i64, Failure> {
        let (voters, recorder) = (&mut self.voters, &self.recorder);
        eventually_every(POLL, "the last write is acknowledged", RECOVERY, || {
            voters.expect_running()?;
            for voter in 1..=VOTERS {
                let leads = voters.state(voter)?.is_some_and(|state| state.leads);
                let Some(connection) = voters.seats.of(voter).filter(|_| leads) else {
                    continue;
                };
                let now = recorder.now();
                let last = What::Write {
                    records: 1,
                    padding: 0,
                };
                let operation = recorder.begin(last);
                let put = format!("put {}", history::value(operation, 0, 0));
                let answer = connection.ask(&operation.to_string(), &put)?;
                // Whatever is answered, the recorder has it.
                answer.recv_timeout(Duration::from_secs(5)).ok();
                if let Some(offset) = recorder.written_after(now) {
                    return Ok(Some(offset));
                }
            }
            Ok(None)
        })
    }

    /// The least offset up to which a voter has applied everything, and the digest of what each has applied. As nobody
    /// writes any more, the digests are those of the same records, also where a voter is ahead.
    fn agreed(&mut self, end: i64) -> Result<(i64, Vec<u64>), Failure> {
        let (mut agreed, mut digests) = (i64::MAX, Vec::new());
        for voter in 1..=VOTERS {
            let voters = &mut self.voters;
            let state = eventually_every(POLL, "a voter says how far it is", RECOVERY, || {
                voters.expect_running()?;
                voters.state(voter)
            })?;
            agreed = agreed.min(state.applied);
            digests.push(state.digest);
        }
        if agreed < end {
            return Err(format!("what was applied up to {end} is applied up to {agreed} now").into());
        }
        Ok((agreed, digests))
    }

    /// Compares the logs up to `agreed` with each other, with what was applied and with the history. Returns how many elections they tell of.
    fn check(&self, agreed: i64, digests: &[u64]) -> Result<(usize, String), Failure> {
        let mut logs = Vec::new();
        for voter in 1..=VOTERS {
            let data = self.voters.data(voter);
            let verified = kraft(&["verify", &data.to_string_lossy()])?;
            verified.expect_success(&format!("kraft verify of voter {voter}"))?;
            logs.push(Log::read(&data.join("__cluster_metadata-0"))?);
        }
        let whole = logs.iter().find(|log| log.start() == 0);
        let whole = whole.ok_or("no voter has the whole log")?;
        let bytes = whole.between(0, agreed)?;
        for (voter, log) in (1..).zip(&logs) {
            if log.between(log.start(), agreed)? != whole.between(log.start(), agreed)? {
                return Err(format!("the log of voter {voter} is another below {agreed}").into());
            }
        }
        let (history, records) = (self.recorder.history(), whole.records(agreed)?);
        for (voter, digest) in (1..).zip(digests) {
            if history::digest(&records) != *digest {
                return Err(format!("what voter {voter} has applied is not what its log says").into());
            }
        }
        let violations = history::check(&history, &records);
        if !violations.is_empty() {
            let lines: Vec<_> = violations.iter().take(20).map(ToString::to_string).collect();
            return Err(format!("{} VIOLATIONS:\n     {}", violations.len(), lines.join("\n     ")).into());
        }
        let count =
            |told: fn(&Told) -> bool| history.iter().filter(|operation| told(&operation.told)).count();
        let written = count(|told| matches!(told, Told::Written { .. }));
        let seen = count(|told| matches!(told, Told::Saw { .. }));
        let refused = count(|told| *told == Told::Refused);
        let open = count(|told| *told == Told::Open);
        let summary = format!(
            "{written} writes acknowledged, {seen} reads, {refused} refused, {open} open; logs equal for {} bytes; \
             longest time without an acknowledged write {:.1} s, from the end of a fault to all voters {:.1} s at most",
            bytes.len(),
            longest_silence(&history).as_secs_f64(),
            self.slowest.as_secs_f64(),
        );
        Ok((whole.epochs(), summary))
    }

    fn print_faults(&self) {
        for (kind, (times, leader)) in &self.counts {
            println!("    {kind:<10} {times:>4} times, of the leader {leader:>4}");
        }
    }
}

fn of_the_clock() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

const VOTERS: usize = 3;
/// How often somebody looks whether the voters go on: what is waited for takes milliseconds.
const POLL: Duration = Duration::from_millis(10);
/// One whose six rounds have a kill, a pause, a slow link, and voters cut off from each other.
const SEED_IN_CI: u64 = 1;
const RECOVERY: Duration = Duration::from_secs(120);
