//! How long the steps of kraft-core take, beside the crate `raft` where it has a counterpart: `core [SECONDS]`. JSON lines
//! on the standard output, the same as text on the other one. Fails where a goal is missed.

use kraft_bench::core::{Cluster, Observed, Peer, Quorum, Step, Unwatched, Watch};
use kraft_bench::host;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    let seconds = std::env::args()
        .nth(1)
        .map_or(10.0, |text| text.parse().expect("seconds"));
    // The time is spent in slices, in which all take turns.
    let slice = Duration::from_secs_f64(seconds / (PAIRS as f64 * 8.0));
    let mut report = Report {
        host: host::facts(),
        missed: Vec::new(),
    };
    rounds(&mut report, slice);
    steps(&mut report, slice);
    observers(&mut report, slice);
    elections(&mut report, slice);
    if report.missed.is_empty() {
        return ExitCode::SUCCESS;
    }
    for missed in report.missed {
        eprintln!("missed: {missed}");
    }
    ExitCode::FAILURE
}

fn rounds(report: &mut Report, slice: Duration) {
    // Of a few quorums at once, so that the clock is not looked at after each.
    let mut ours: Vec<_> = (0..ABREAST).map(|_| Quorum::new(false)).collect();
    let mut peers: Vec<_> = (0..ABREAST).map(|_| Peer::new(3)).collect();
    peers.iter_mut().for_each(Peer::elect);
    let until_committed = pairs(
        || {
            per_part(
                slice,
                &mut ours,
                |quorum| quorum.commit(&mut Unwatched),
                |quorum| quorum.tell(&mut Unwatched),
            )
        },
        || per_part(slice, &mut peers, Peer::commit, Peer::tell),
    );
    let (value, ratio) = report.beside("round, until it is committed", "3 voters", &until_committed);
    report.round_goal("round, until it is committed", value, ratio);
    for (name, fetches_wait) in [("round", false), ("round, fetches wait", true)] {
        let mut ours = Quorum::new(fetches_wait);
        let mut peer = Peer::new(3);
        peer.elect();
        let pairs = pairs(
            || per_call(slice, || ours.round(&mut Unwatched)),
            || per_call(slice, || peer.round()),
        );
        let (value, ratio) = report.beside(name, "3 voters", &pairs);
        report.round_goal(name, value, ratio);
    }
}

/// Each kind of step alone. The clock itself takes about as long as a step, so what it takes is found out and subtracted.
fn steps(report: &mut Report, slice: Duration) {
    let mut stopwatch = Stopwatch::new();
    for fetches_wait in [false, true] {
        let mut quorum = Quorum::new(fetches_wait);
        let started = Instant::now();
        while started.elapsed() < slice * 4 {
            quorum.round(&mut stopwatch);
        }
    }
    let clock = Stopwatch::clock();
    let mut all = Vec::new();
    for (step, times) in &mut stopwatch.times {
        let value = middle_of(times) - clock;
        report.alone("step", &format!("{step:?}"), value);
        all.extend(times.iter().map(|_| value));
    }
    let value = median_of(&mut all);
    report.alone("step", "median of all", value);
    report.goal(value <= STEP_MAX, || {
        format!("median step: {value:.0} ns, the goal is {STEP_MAX} ns")
    });
}

fn observers(report: &mut Report, slice: Duration) {
    let (mut few, mut many) = (Observed::new(FEW), Observed::new(MANY));
    let pairs = pairs(
        || per_call(slice, || many.fetch()),
        || per_call(slice, || few.fetch()),
    );
    let few = median_of(&mut pairs.iter().map(|(_, few)| *few).collect::<Vec<_>>());
    let many = median_of(&mut pairs.iter().map(|(many, _)| *many).collect::<Vec<_>>());
    let ratio = median_of(&mut pairs.iter().map(|(many, few)| many / few).collect::<Vec<_>>());
    report.alone("fetch", &format!("{FEW} observers"), few);
    report.alone("fetch", &format!("{MANY} observers"), many);
    eprintln!("fetch among {MANY} observers: {ratio:.2} times one among {FEW}");
    report.goal(ratio <= SPREAD_MAX, || {
        format!("fetch among {MANY} observers: {ratio:.2} times one among {FEW}, the goal is {SPREAD_MAX}")
    });
}

fn elections(report: &mut Report, slice: Duration) {
    for voters in [3, 5, 7] {
        let fresh = Cluster::new(voters);
        let pairs = pairs(
            || per_batch(slice, || fresh.clone(), Cluster::elect),
            || per_batch(slice, || Peer::new(voters), Peer::elect),
        );
        report.beside("election", &format!("{voters} voters"), &pairs);
    }
}

struct Report {
    host: String,
    missed: Vec<String>,
}

impl Report {
    /// One line with the median of ours, of the peer's and of the ratios of each pair. Returns ours and the ratio.
    fn beside(&self, name: &str, parameters: &str, pairs: &[(f64, f64)]) -> (f64, f64) {
        let ours = median_of(&mut pairs.iter().map(|(ours, _)| *ours).collect::<Vec<_>>());
        let peer = median_of(&mut pairs.iter().map(|(_, peer)| *peer).collect::<Vec<_>>());
        let ratio = median_of(&mut pairs.iter().map(|(ours, peer)| peer / ours).collect::<Vec<_>>());
        let raw = |values: Vec<f64>| {
            let texts: Vec<_> = values.iter().map(|value| format!("{value:.1}")).collect();
            texts.join(",")
        };
        println!(
            "{{\"bench\":\"core\",\"name\":\"{name}\",\"version\":\"{VERSION}\",\"parameters\":\"{parameters}\",\
             \"value\":{ours:.1},\"unit\":\"ns\",\"peer\":\"raft 0.7.0\",\"peer_value\":{peer:.1},\"ratio\":{ratio:.2},\
             \"values\":[{}],\"peer_values\":[{}],{}}}",
            raw(pairs.iter().map(|(ours, _)| *ours).collect()),
            raw(pairs.iter().map(|(_, peer)| *peer).collect()),
            self.host
        );
        eprintln!("{name}, {parameters}: {ours:.0} ns, raft 0.7.0 {peer:.0} ns, {ratio:.1} times as fast");
        (ours, ratio)
    }

    fn alone(&self, name: &str, parameters: &str, value: f64) {
        println!(
            "{{\"bench\":\"core\",\"name\":\"{name}\",\"version\":\"{VERSION}\",\"parameters\":\"{parameters}\",\
             \"value\":{value:.1},\"unit\":\"ns\",{}}}",
            self.host
        );
        eprintln!("{name}, {parameters}: {value:.0} ns");
    }

    fn round_goal(&mut self, name: &str, value: f64, ratio: f64) {
        self.goal(value <= ROUND_MAX, || {
            format!("{name}: {value:.0} ns, the goal is {ROUND_MAX} ns")
        });
        self.goal(ratio >= RATIO_MIN, || {
            format!("{name}: {ratio:.1} times as fast as the peer, the goal is {RATIO_MIN}")
        });
    }

    fn goal(&mut self, reached: bool, missed: impl FnOnce() -> String) {
        if !reached {
            self.missed.push(missed());
        }
    }
}

/// Both in turn, so that another load of the machine meets both.
fn pairs(mut ours: impl FnMut() -> f64, mut peer: impl FnMut() -> f64) -> Vec<(f64, f64)> {
    (0..PAIRS).map(|_| (ours(), peer())).collect()
}

/// Nanoseconds of one call: the median of many short runs, so that those do not count in which something else ran.
fn per_call(time: Duration, mut call: impl FnMut()) -> f64 {
    let mut runs = Vec::new();
    let end = Instant::now() + time;
    while Instant::now() < end {
        let started = Instant::now();
        for _ in 0..CALLS {
            call();
        }
        runs.push(started.elapsed().as_nanos() as f64 / f64::from(CALLS));
    }
    median_of(&mut runs)
}

/// The same for a part of what is done over and over: the rest of it is done outside of the time.
fn per_part<T>(time: Duration, all: &mut [T], part: impl Fn(&mut T), rest: impl Fn(&mut T)) -> f64 {
    let mut runs = Vec::new();
    let end = Instant::now() + time;
    while Instant::now() < end {
        let started = Instant::now();
        all.iter_mut().for_each(&part);
        runs.push(started.elapsed().as_nanos() as f64 / all.len() as f64);
        all.iter_mut().for_each(&rest);
    }
    median_of(&mut runs)
}

/// The same where each call needs something fresh, which is made and dropped outside of the time.
fn per_batch<T>(time: Duration, fresh: impl Fn() -> T, call: impl Fn(&mut T)) -> f64 {
    let mut runs = Vec::new();
    let end = Instant::now() + time;
    while Instant::now() < end {
        let mut batch: Vec<T> = (0..FRESH).map(|_| fresh()).collect();
        let started = Instant::now();
        batch.iter_mut().for_each(&call);
        runs.push(started.elapsed().as_nanos() as f64 / FRESH as f64);
    }
    median_of(&mut runs)
}

struct Stopwatch {
    times: BTreeMap<Step, Vec<f64>>,
    started: Instant,
}

impl Stopwatch {
    fn new() -> Self {
        Self {
            times: BTreeMap::new(),
            started: Instant::now(),
        }
    }

    /// What looking at the clock adds to a time.
    fn clock() -> f64 {
        let nothing = || {
            let started = Instant::now();
            started.elapsed().as_nanos() as f64
        };
        middle_of(&mut (0..100_000).map(|_| nothing()).collect::<Vec<_>>())
    }
}

impl Watch for Stopwatch {
    fn before(&mut self) {
        self.started = Instant::now();
    }

    fn after(&mut self, step: Step) {
        let time = self.started.elapsed().as_nanos() as f64;
        self.times.entry(step).or_default().push(time);
    }
}

/// The mean of the middle half. A median would be as coarse as the clock, which may count in tens of nanoseconds.
fn middle_of(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = &values[values.len() / 4..values.len() - values.len() / 4];
    middle.iter().sum::<f64>() / middle.len() as f64
}

fn median_of(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

const PAIRS: usize = 7;
const CALLS: u32 = 100;
const FRESH: usize = 20;
const ABREAST: usize = 8;
const ROUND_MAX: f64 = 300.0;
const STEP_MAX: f64 = 40.0;
const RATIO_MIN: f64 = 9.0;
const SPREAD_MAX: f64 = 1.5;
const FEW: usize = 10;
const MANY: usize = 1000;
const VERSION: &str = env!("CARGO_PKG_VERSION");
