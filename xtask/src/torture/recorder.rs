//! The history while it is made.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::history::{Operation, Told, What};

pub(crate) struct Recorder {
    began: Instant,
    operations: Mutex<Vec<Operation>>,
}

impl Recorder {
    pub(crate) fn new() -> Recorder {
        Recorder {
            began: Instant::now(),
            operations: Mutex::new(Vec::new()),
        }
    }

    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).expect("less than 500 years")
    }

    /// An operation begins. Its number is what is returned.
    pub(crate) fn begin(&self, what: What) -> usize {
        let mut operations = self.operations.lock().expect("nobody panics with the lock");
        operations.push(Operation {
            what,
            began: self.now(),
            ended: None,
            told: Told::Open,
        });
        operations.len() - 1
    }

    /// Its client is told how it ended, which happens once.
    pub(crate) fn end(&self, operation: usize, told: Told) {
        let mut operations = self.operations.lock().expect("nobody panics with the lock");
        let ended = self.now();
        if let Some(operation) = operations.get_mut(operation) {
            operation.told = told;
            operation.ended = Some(ended);
        }
    }

    /// Where a write stands that began after `moment` and is acknowledged, if there is one: the newest.
    pub(crate) fn written_after(&self, moment: u64) -> Option<i64> {
        let operations = self.operations.lock().expect("nobody panics with the lock");
        let since = operations
            .iter()
            .rev()
            .take_while(|operation| operation.began > moment);
        let mut bases = since.filter_map(|operation| match operation.told {
            Told::Written { base } => Some(base),
            _ => None,
        });
        bases.next()
    }

    pub(crate) fn history(&self) -> Vec<Operation> {
        self.operations
            .lock()
            .expect("nobody panics with the lock")
            .clone()
    }
}

/// The longest time between two acknowledged writes.
pub(crate) fn longest_silence(history: &[Operation]) -> Duration {
    let acknowledged = |operation: &Operation| match operation.told {
        Told::Written { .. } => operation.ended,
        _ => None,
    };
    let mut moments: Vec<u64> = history.iter().filter_map(acknowledged).collect();
    moments.sort_unstable();
    let gaps = moments.windows(2).map(|pair| pair[1] - pair[0]);
    Duration::from_nanos(gaps.max().unwrap_or(0))
}
