//! Clients that write and read all the time, and go on with whoever seems to lead.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::history::{What, value};
use super::recorder::Recorder;
use super::rng::Rng;
use super::voters::Seats;

/// The clients of a quorum.
pub(crate) struct Clients {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared {
    seats: Arc<Seats>,
    recorder: Arc<Recorder>,
    /// Who has acknowledged something last.
    leader: AtomicUsize,
    over: AtomicBool,
}

impl Clients {
    pub(crate) fn start(seats: Arc<Seats>, recorder: Arc<Recorder>, seed: u64) -> Clients {
        let shared = Arc::new(Shared {
            seats,
            recorder,
            leader: AtomicUsize::new(1),
            over: AtomicBool::new(false),
        });
        let start = |client| {
            let shared = Arc::clone(&shared);
            let mut rng = Rng::new(seed ^ (client << 32));
            thread::spawn(move || shared.work(&mut rng))
        };
        let threads = Mutex::new((1..=CLIENTS).map(start).collect());
        Clients { shared, threads }
    }

    /// Who leads, as far as clients have been told.
    pub(crate) fn leader(&self) -> usize {
        self.shared.leader.load(Ordering::Relaxed)
    }

    /// Begins nothing any more, and waits for what is under way.
    pub(crate) fn stop(&self) {
        self.shared.over.store(true, Ordering::Relaxed);
        let mut threads = self.threads.lock().expect("nobody panics with the lock");
        for thread in threads.drain(..) {
            thread.join().expect("a client does not panic");
        }
    }
}

impl Shared {
    fn work(&self, rng: &mut Rng) {
        let mut target = rng.voter();
        while !self.over.load(Ordering::Relaxed) {
            // Now and then somebody else is asked: that one may not act as if it led.
            let asked = if rng.percent(10) { rng.voter() } else { target };
            match self.operation(rng, asked) {
                Answer::Done => target = asked,
                Answer::Elsewhere(Some(leader)) => target = leader,
                Answer::Elsewhere(None) => {
                    target = rng.voter();
                    thread::sleep(rng.millis(10..50));
                }
            }
            thread::sleep(rng.millis(2..10));
        }
    }

    fn operation(&self, rng: &mut Rng, asked: usize) -> Answer {
        let what = if rng.percent(25) {
            What::Read
        } else {
            let padding = if rng.percent(5) { 4096 } else { rng.within(0..100) };
            What::Write {
                records: usize::try_from(rng.within(1..4)).expect("a few"),
                padding: usize::try_from(padding).expect("a few"),
            }
        };
        let Some(voter) = self.seats.of(asked) else {
            return Answer::Elsewhere(None);
        };
        let operation = self.recorder.begin(what);
        let question = match what {
            What::Read => "read".to_owned(),
            What::Write { records, padding } => {
                let values: Vec<_> = (0..records)
                    .map(|index| value(operation, index, padding))
                    .collect();
                format!("put {}", values.join(" "))
            }
        };
        // Of what cannot be asked, and of what is not answered, nobody knows whether it happens. It may be answered later.
        let Ok(answer) = voter.ask(&operation.to_string(), &question) else {
            return Answer::Elsewhere(None);
        };
        match answer.recv_timeout(PATIENCE) {
            Ok(answer) => self.answered(asked, &answer),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Answer::Elsewhere(None),
        }
    }

    fn answered(&self, asked: usize, answer: &str) -> Answer {
        match answer.split_once(' ') {
            Some(("ok" | "saw", _)) => {
                self.leader.store(asked, Ordering::Relaxed);
                Answer::Done
            }
            Some(("refused", leader)) => Answer::Elsewhere(leader.parse().ok().filter(|leader| *leader > 0)),
            _ => Answer::Elsewhere(None),
        }
    }
}

enum Answer {
    Done,
    /// Ask this one, or anybody.
    Elsewhere(Option<usize>),
}

const CLIENTS: u64 = 6;
const PATIENCE: Duration = Duration::from_secs(1);
