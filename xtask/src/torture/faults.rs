//! What happens to the quorum in a round, drawn from the seed.

use std::fmt;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::VOTERS;
use super::clients::Clients;
use super::rng::Rng;
use super::voters::Voters;
use crate::interop::Failure;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Kind {
    /// SIGKILL, and started again.
    Kill,
    /// SIGKILL of all at once, and started again.
    KillAll,
    /// SIGTERM, and started again.
    Terminate,
    /// SIGSTOP, and SIGCONT.
    Pause,
    /// The leader is asked to give the leadership away.
    Resign,
    /// Neither reaches anybody nor is reached.
    CutOff,
    /// Reaches others and is not reached.
    Deaf,
    /// Is reached and reaches nobody.
    Mute,
    /// One link is cut; the third voter sees both.
    LinkCut,
    /// One direction of one link is cut.
    LinkMute,
    /// Little gets through, late, and the rest is lost.
    Slow,
}

impl Kind {
    const LOOPBACK: &[Kind] = &[
        Kind::Kill,
        Kind::KillAll,
        Kind::Terminate,
        Kind::Pause,
        Kind::Resign,
    ];
    const NETWORK: &[Kind] = &[
        Kind::CutOff,
        Kind::Deaf,
        Kind::Mute,
        Kind::LinkCut,
        Kind::LinkMute,
        Kind::Slow,
    ];

    fn of_process(self) -> bool {
        Kind::LOOPBACK.contains(&self) && self != Kind::Resign
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Kill => "kill",
            Kind::KillAll => "kill all",
            Kind::Terminate => "stop",
            Kind::Pause => "pause",
            Kind::Resign => "resign",
            Kind::CutOff => "cut off",
            Kind::Deaf => "deaf",
            Kind::Mute => "mute",
            Kind::LinkCut => "link cut",
            Kind::LinkMute => "link mute",
            Kind::Slow => "slow",
        }
    }

    fn lasts(self, rng: &mut Rng) -> Duration {
        match self {
            Kind::Kill | Kind::Terminate => rng.millis(0..1500),
            Kind::KillAll => rng.millis(0..500),
            Kind::Resign => Duration::ZERO,
            Kind::Pause
            | Kind::CutOff
            | Kind::Deaf
            | Kind::Mute
            | Kind::LinkCut
            | Kind::LinkMute
            | Kind::Slow => rng.millis(200..3000),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A fault as it is drawn: who leads then is not known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) kind: Kind,
    /// Whom it meets; the leader of the moment if nobody is named.
    victim: Option<usize>,
    /// Which of the two others has the link that is cut.
    other: usize,
    kilobits: u64,
    begins: Duration,
    lasts: Duration,
}

/// One fault, or two at a time.
pub(crate) fn draw(rng: &mut Rng, partitions: bool) -> Vec<Fault> {
    let count = if rng.percent(35) { 2 } else { 1 };
    let mut faults: Vec<Fault> = Vec::new();
    while faults.len() < count {
        let kinds = if partitions && rng.percent(60) {
            Kind::NETWORK
        } else {
            Kind::LOOPBACK
        };
        let last = u64::try_from(kinds.len()).expect("a few");
        let kind = kinds[usize::try_from(rng.within(0..last)).expect("a few")];
        let leader = rng.percent(50) || kind == Kind::Resign;
        let fault = Fault {
            kind,
            victim: (!leader).then(|| rng.voter()),
            other: usize::try_from(rng.within(1..3)).expect("one or two"),
            kilobits: rng.within(64..512),
            begins: rng.millis(50..400),
            lasts: kind.lasts(rng),
        };
        // A process that is ended is in no state for a second fault, and all at once leave nobody for one.
        let processes = |fault: &Fault| fault.kind.of_process();
        let clash = |other: &Fault| other.kind == kind || processes(other) && processes(&fault);
        if !faults.iter().any(clash) {
            faults.push(fault);
        }
    }
    faults
}

/// A fault that has met somebody.
pub(crate) struct Met {
    pub(crate) kind: Kind,
    victim: usize,
    pub(crate) leader: bool,
    fault: Fault,
}

impl fmt::Display for Met {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Met {
            kind,
            victim,
            leader,
            fault,
        } = self;
        write!(f, "{kind}")?;
        if *kind != Kind::KillAll {
            write!(f, " {}{victim}", if *leader { "leader " } else { "" })?;
        }
        if matches!(kind, Kind::LinkCut | Kind::LinkMute) {
            write!(f, " to {}", self.other())?;
        }
        if *kind != Kind::Resign {
            write!(f, " {} ms", fault.lasts.as_millis())?;
        }
        Ok(())
    }
}

/// Lets the faults of a round begin and end, each at its time. Afterwards everything is whole again.
pub(crate) fn play(faults: &[Fault], voters: &mut Voters, clients: &Clients) -> Result<Vec<Met>, Failure> {
    let began = Instant::now();
    let mut moments: Vec<(Duration, usize, bool)> = Vec::new();
    for (index, fault) in faults.iter().enumerate() {
        moments.push((fault.begins, index, true));
        moments.push((fault.begins + fault.lasts, index, false));
    }
    // A fault that lasts no time begins before it ends.
    moments.sort_by_key(|(at, index, begins)| (*at, *index, !begins));
    let mut met: Vec<Option<Met>> = faults.iter().map(|_| None).collect();
    for (at, index, begins) in moments {
        thread::sleep(at.saturating_sub(began.elapsed()));
        if begins {
            let fault = faults[index];
            let leader = clients.leader();
            let victim = fault.victim.unwrap_or(leader);
            let found = Met {
                kind: fault.kind,
                victim,
                leader: victim == leader,
                fault,
            };
            found
                .begin(voters)
                .map_err(|failure| format!("{found}: {failure}"))?;
            met[index] = Some(found);
        } else if let Some(found) = &met[index] {
            found
                .end(voters)
                .map_err(|failure| format!("end of {found}: {failure}"))?;
        }
    }
    Ok(met.into_iter().flatten().collect())
}

impl Met {
    fn other(&self) -> usize {
        (self.victim + self.fault.other - 1) % VOTERS + 1
    }

    /// The directions that are cut.
    fn cuts(&self) -> Vec<(usize, usize)> {
        let (victim, other) = (self.victim, self.other());
        let others = (1..=VOTERS).filter(|other| *other != victim);
        let out = others.clone().map(|other| (victim, other));
        let into = others.map(|other| (other, victim));
        match self.kind {
            Kind::CutOff => out.chain(into).collect(),
            Kind::Deaf => into.collect(),
            Kind::Mute => out.collect(),
            Kind::LinkCut => vec![(victim, other), (other, victim)],
            Kind::LinkMute => vec![(victim, other)],
            Kind::Kill | Kind::KillAll | Kind::Terminate | Kind::Pause | Kind::Resign | Kind::Slow => {
                Vec::new()
            }
        }
    }

    fn begin(&self, voters: &mut Voters) -> Result<(), Failure> {
        let victim = self.victim;
        match self.kind {
            Kind::Kill => voters.kill(victim)?,
            Kind::KillAll => {
                for voter in 1..=VOTERS {
                    voters.signal(voter, Signal::KILL)?;
                }
                for voter in 1..=VOTERS {
                    voters.wait(voter, Signal::KILL)?;
                }
            }
            Kind::Terminate => voters.signal(victim, Signal::TERM)?,
            Kind::Pause => voters.signal(victim, Signal::STOP)?,
            Kind::Resign => {
                if let Some(connection) = voters.seats.of(victim) {
                    // Not waited for: it may be paused.
                    thread::spawn(move || connection.question("resign").ok());
                }
            }
            Kind::Slow => voters.network.slow(victim, self.fault.kilobits)?,
            Kind::CutOff | Kind::Deaf | Kind::Mute | Kind::LinkCut | Kind::LinkMute => {
                for (from, to) in self.cuts() {
                    voters.network.cut(from, to)?;
                }
            }
        }
        Ok(())
    }

    fn end(&self, voters: &mut Voters) -> Result<(), Failure> {
        let victim = self.victim;
        match self.kind {
            Kind::Kill => voters.start(victim),
            Kind::KillAll => (1..=VOTERS).try_for_each(|voter| voters.start(voter)),
            Kind::Terminate => voters
                .wait(victim, Signal::TERM)
                .and_then(|()| voters.start(victim)),
            Kind::Pause => voters.signal(victim, Signal::CONT),
            Kind::Resign => Ok(()),
            Kind::Slow => voters.network.hurry(victim),
            Kind::CutOff | Kind::Deaf | Kind::Mute | Kind::LinkCut | Kind::LinkMute => {
                let mut cuts = self.cuts().into_iter();
                cuts.try_for_each(|(from, to)| voters.network.mend(from, to))
            }
        }
    }
}
