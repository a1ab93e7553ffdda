//! How long encoding and decoding of each sample takes, for us and for the peer, one JSON line each. Fails where we are
//! less than twice as fast with a full message: one that carries records or long lists. A small message is mostly its
//! allocations, of which we make as many: our strings are owned.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use kraft_bench::{pair::Pair, samples};

fn main() -> ExitCode {
    let mut enough = true;
    for pair in samples::all() {
        let (ours, peer) = measure(pair.as_ref());
        let ratio = peer / ours;
        let (name, bytes) = (pair.name(), pair.encoded().len());
        let full = bytes >= FULL_SIZE_MIN;
        enough &= ratio >= RATIO_MIN || !full;
        println!(
            "{{\"bench\":\"wire\",\"message\":\"{name}\",\"bytes\":{bytes},\"full\":{full},\"ours_ns\":{ours:.1},\
             \"peer_ns\":{peer:.1},\"ratio\":{ratio:.2}}}"
        );
    }
    if enough {
        ExitCode::SUCCESS
    } else {
        eprintln!("a full message is less than {RATIO_MIN} times as fast as with kafka-protocol");
        ExitCode::FAILURE
    }
}

/// Nanoseconds for encoding and decoding once: the best of several rounds, in which both take turns, so that another
/// load of the machine meets both.
fn measure(pair: &dyn Pair) -> (f64, f64) {
    let calls = calls_in(ROUND, || pair.peer());
    let (mut ours, mut peer) = (f64::MAX, f64::MAX);
    for _ in 0..ROUNDS {
        ours = ours.min(nanoseconds(calls, || pair.ours()));
        peer = peer.min(nanoseconds(calls, || pair.peer()));
    }
    (ours, peer)
}

fn calls_in(time: Duration, call: impl Fn()) -> u32 {
    let started = Instant::now();
    let mut calls = 0;
    while started.elapsed() < time {
        call();
        calls += 1;
    }
    calls
}

fn nanoseconds(calls: u32, call: impl Fn()) -> f64 {
    let started = Instant::now();
    for _ in 0..calls {
        call();
    }
    started.elapsed().as_nanos() as f64 / f64::from(calls)
}

const RATIO_MIN: f64 = 2.0;
const FULL_SIZE_MIN: usize = 4096;
const ROUNDS: usize = 15;
const ROUND: Duration = Duration::from_millis(10);
