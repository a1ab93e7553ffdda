//! How long a quorum is without a leader when the one that it has is killed, stopped, held or cut off.

use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use kraft_bench_report::{Figure, Goal, quantile};
use rustix::process::Signal;
use serde_json::json;

use super::commit::OPEN;
use super::printed::Event;
use super::voters::{Load, Program, Voter, Voters};
use super::{SYNC, Session, is_wanted};
use crate::eventually::eventually;
use crate::interop::Failure;
use crate::torture::{self, Network};

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// SIGKILL
    Kill,
    /// SIGTERM: the leader hands over
    Stop,
    /// SIGSTOP for five seconds
    Hold,
    /// Nothing reaches it and nothing leaves it for five seconds; needs root and iproute2
    Cut,
}

/// The settings of the voters.
#[derive(Clone, Copy)]
pub(super) struct Timers {
    pub(super) fetch_ms: u32,
    pub(super) election_ms: u32,
}

/// What the rounds of one side came to.
#[derive(Default)]
struct Rounds {
    /// From the fault to the first commit of the next leader, in milliseconds.
    committed_ms: Vec<f64>,
    /// From the fault until there is a leader that takes records, in milliseconds.
    leads_ms: Vec<f64>,
    /// The same of the rounds in which one of the survivors had more of the log than the other. The one that has less is
    /// refused, the other one where its peer still believes in the leader, and both wait for the election timeout.
    unequal_ms: Vec<f64>,
    /// How many epochs there were beside the one that was needed.
    epochs_burned: Vec<f64>,
    /// Epochs that a leader that was held or cut off began when it went on.
    epochs_after: Vec<f64>,
}

impl Rounds {
    /// From the fault to the first commit, whatever the survivors had.
    fn all_ms(&self) -> Vec<f64> {
        [self.committed_ms.as_slice(), &self.unequal_ms].concat()
    }
}

pub(super) fn run(
    session: &mut Session,
    only: &[Fault],
    rounds: usize,
    timers: Timers,
) -> Result<(), Failure> {
    for fault in [Fault::Kill, Fault::Stop, Fault::Hold, Fault::Cut] {
        if !is_wanted(only, &fault) {
            continue;
        }
        let mut ours = Rounds::default();
        let mut theirs = session.kafka(25).map(|kafka| (kafka, Rounds::default()));
        for turn in 0..session.turns {
            // As many in each turn, but for what is left over.
            let rounds = rounds / session.turns + usize::from(turn < rounds % session.turns);
            if rounds == 0 {
                continue;
            }
            measure(session, &session.ours, fault, rounds, timers, &mut ours)?;
            if let Some((kafka, theirs)) = &mut theirs {
                measure(session, kafka, fault, rounds, timers, theirs)?;
            }
        }
        let theirs = theirs.as_ref().map(|(_, rounds)| rounds);
        report(session, fault, &ours, theirs, timers);
    }
    Ok(())
}

fn report(session: &Session, fault: Fault, ours: &Rounds, theirs: Option<&Rounds>, timers: Timers) {
    let timer = fault.timer_ms(timers);
    let rounds = ours.committed_ms.len() + ours.unequal_ms.len();
    let name = fault.name();
    let figure = |what: &str, unit: &str, value: f64, peer: Option<f64>, goal: Option<Goal>| {
        let peer = peer.map(|value| [value]);
        session.report.figure(&Figure {
            name: &format!("failover, {name}, {what}"),
            parameters: json!({
                "rounds": rounds,
                "throughput": LOAD.throughput,
                "fetch_ms": timers.fetch_ms,
                "election_ms": timers.election_ms,
                "sync": SYNC,
            }),
            unit,
            ours: &[value],
            peer: peer.as_ref().map(|peer| ("Kafka", peer.as_slice())),
            goal,
        });
    };
    let (p50_max, p99_max, ratio_max) = match fault {
        Fault::Kill | Fault::Hold | Fault::Cut => (50.0, 150.0, 1.0 / 5.0),
        Fault::Stop => (15.0, 50.0, 1.0 / 10.0),
    };
    for (part, label, goal) in [(0.5, "p50", p50_max), (0.99, "p99", p99_max)] {
        let of = |values: &[f64]| quantile(values, part) - timer;
        let value = of(&ours.committed_ms);
        let what = format!("first commit beyond the timer, {label}");
        figure(&what, "ms", value, None, Some(Goal::Max(goal)));
        if let Some(theirs) = theirs {
            // Kafka's survivors are hardly ever equal.
            let what = format!("first commit beyond the timer, all rounds, {label}");
            let goal = (label == "p50").then_some(Goal::RatioMax(ratio_max));
            figure(&what, "ms", of(&ours.all_ms()), Some(of(&theirs.all_ms())), goal);
        }
        let theirs = theirs.map(|theirs| of(&theirs.leads_ms));
        let what = format!("leader beyond the timer, {label}");
        figure(&what, "ms", of(&ours.leads_ms), theirs, None);
    }
    let one_epoch = |rounds: &Rounds| {
        let one = rounds
            .epochs_burned
            .iter()
            .filter(|burned| **burned == 0.0)
            .count();
        100.0 * one as f64 / rounds.epochs_burned.len() as f64
    };
    let theirs_one = theirs.map(one_epoch);
    let goal = (fault == Fault::Kill).then_some(Goal::Min(95.0));
    figure("rounds with one epoch", "%", one_epoch(ours), None, goal);
    if theirs_one.is_some() {
        figure("rounds with one epoch", "%", one_epoch(ours), theirs_one, None);
    }
    if fault != Fault::Stop {
        let count = |rounds: &Rounds| rounds.unequal_ms.len() as f64;
        figure(
            "rounds with unequal survivors",
            "",
            count(ours),
            theirs.map(count),
            None,
        );
        let of = |rounds: &Rounds| quantile(&rounds.unequal_ms, 0.5) - timer;
        let what = "first commit beyond the timer, unequal survivors, p50";
        figure(what, "ms", of(ours), theirs.map(of), None);
    }
    if fault.ends() {
        let most = |rounds: &Rounds| rounds.epochs_after.iter().copied().fold(0.0, f64::max);
        let goal = Some(Goal::Max(0.0));
        let what = "epochs begun when it goes on, at most";
        figure(what, "", most(ours), theirs.map(most), goal);
    }
}

fn measure(
    session: &Session,
    program: &Program,
    fault: Fault,
    rounds: usize,
    timers: Timers,
    measured: &mut Rounds,
) -> Result<(), Failure> {
    let folder = session.folder("voters")?;
    // Dropped behind the voters, whose network the guardian removes.
    let (network, _guardian) = match fault {
        Fault::Kill | Fault::Stop | Fault::Hold => (Network::loopback()?, None),
        Fault::Cut => torture::namespaces().map(|(network, guardian)| (network, Some(guardian)))?,
    };
    let settings = format!(
        "controller.quorum.fetch.timeout.ms={}\ncontroller.quorum.election.timeout.ms={}\n",
        timers.fetch_ms, timers.election_ms,
    );
    let mut voters = Voters::start_in(network, program, &folder, LOAD, &settings)?;
    for round in 0..rounds {
        one_round(&mut voters, program, fault, timers, measured)
            .map_err(|failure| format!("{}, round {round}: {failure}", program.name()))?;
    }
    voters.stop()?;
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

fn one_round(
    voters: &mut Voters,
    program: &Program,
    fault: Fault,
    timers: Timers,
    measured: &mut Rounds,
) -> Result<(), Failure> {
    let before = voters.leader()?;
    // In the middle of steady load.
    thread::sleep(STEADY);
    let at = time_of_day()?;
    match fault {
        Fault::Kill => voters.end(before.leader, Signal::KILL)?,
        Fault::Stop => voters.signal(before.leader, Signal::TERM)?,
        Fault::Hold => voters.signal(before.leader, Signal::STOP)?,
        Fault::Cut => voters.cut_off(before.leader)?,
    }
    let held = Instant::now();
    let unequal = fault != Fault::Stop && survivors_differ(voters, before.leader, timers)?;
    let next = voters_but(before.leader, before.epoch);
    let after = match fault {
        // The one that was stopped ends meanwhile.
        Fault::Stop => {
            voters.end(before.leader, Signal::TERM)?;
            voters.first_commit(next)?
        }
        _ => voters.first_commit(next)?,
    };
    let since = |then: Duration| millis_between(at, then);
    eprintln!(
        "{}, {}: first commit after {:.1} ms, epoch {} to {}, survivors {}",
        program.name(),
        fault.name(),
        since(after.committed_at),
        before.epoch,
        after.epoch,
        if unequal { "unequal" } else { "equal" },
    );
    if unequal {
        measured.unequal_ms.push(since(after.committed_at));
    } else {
        measured.committed_ms.push(since(after.committed_at));
        measured.leads_ms.push(since(after.leads_at));
        let burned = after.epoch - before.epoch - 1;
        measured.epochs_burned.push(burned as f64);
    }
    if fault.ends() {
        thread::sleep(HOLD.saturating_sub(held.elapsed()));
        match fault {
            Fault::Cut => voters.reconnect(before.leader)?,
            _ => voters.signal(before.leader, Signal::CONT)?,
        }
        // Longer than a node waits before it campaigns.
        thread::sleep(AFTER_HOLD);
        let newest = voters.newest()?.map_or(after.epoch, |event| event.epoch);
        measured.epochs_after.push((newest - after.epoch) as f64);
    } else {
        voters.start_one(before.leader)?;
    }
    caught_up(voters, before.leader, after.leader)
}

fn voters_but(leader: usize, epoch: i64) -> impl Fn(&Voter, &Event) -> bool {
    move |voter, event| voter.id != leader && event.epoch > epoch
}

/// Whether one of the others has more of the log, once what was under way has come.
fn survivors_differ(voters: &Voters, leader: usize, timers: Timers) -> Result<bool, Failure> {
    // Looked at well before one of them leads.
    thread::sleep(SETTLED.min(Duration::from_millis(u64::from(timers.fetch_ms)) / 4));
    let mut ends = Vec::new();
    for voter in voters.voters.iter().filter(|voter| voter.id != leader) {
        ends.push(voters.log_end(voter.id).read()?);
    }
    Ok(ends.iter().any(|end| *end != ends[0]))
}

/// Waits until a voter has everything that the leader had when it was asked.
fn caught_up(voters: &Voters, id: usize, leader: usize) -> Result<(), Failure> {
    let end = voters.log_end(leader).read()?;
    let mut own = voters.log_end(id);
    eventually("the voter has caught up", CATCH_UP_LIMIT, || {
        Ok((own.read()? >= end).then_some(()))
    })
}

impl Fault {
    fn name(self) -> &'static str {
        match self {
            Fault::Kill => "SIGKILL",
            Fault::Stop => "SIGTERM",
            Fault::Hold => "SIGSTOP",
            Fault::Cut => "cut off",
        }
    }

    /// What has to pass before anybody can know.
    fn timer_ms(self, timers: Timers) -> f64 {
        match self {
            Fault::Kill | Fault::Hold | Fault::Cut => f64::from(timers.fetch_ms),
            Fault::Stop => 0.0,
        }
    }

    /// Whether the leader goes on by itself.
    fn ends(self) -> bool {
        matches!(self, Fault::Hold | Fault::Cut)
    }
}

fn time_of_day() -> Result<Duration, Failure> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH)?;
    Ok(Duration::from_nanos((since.as_nanos() % DAY.as_nanos()) as u64))
}

fn millis_between(from: Duration, to: Duration) -> f64 {
    let midnight = if to < from { DAY } else { Duration::ZERO };
    (to + midnight - from).as_secs_f64() * 1000.0
}

const LOAD: Load = Load {
    throughput: 1000,
    ..OPEN
};
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const STEADY: Duration = Duration::from_secs(1);
const SETTLED: Duration = Duration::from_millis(300);
const HOLD: Duration = Duration::from_secs(5);
const AFTER_HOLD: Duration = Duration::from_secs(4);
const CATCH_UP_LIMIT: Duration = Duration::from_secs(60);
