//! Waiting for processes: looking again and again, with a deadline.

use std::thread;
use std::time::{Duration, Instant};

use crate::interop::Failure;

/// Looks ten times a second until `check` gives something, or fails after `limit`.
pub(crate) fn eventually<T>(
    what: &str,
    limit: Duration,
    check: impl FnMut() -> Result<Option<T>, Failure>,
) -> Result<T, Failure> {
    eventually_every(Duration::from_millis(100), what, limit, check)
}

/// Looks after each `pause` until `check` gives something, or fails after `limit`.
pub(crate) fn eventually_every<T>(
    pause: Duration,
    what: &str,
    limit: Duration,
    mut check: impl FnMut() -> Result<Option<T>, Failure>,
) -> Result<T, Failure> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(value) = check()? {
            return Ok(value);
        }
        if Instant::now() >= deadline {
            return Err(format!("not within {} s: {what}", limit.as_secs()).into());
        }
        thread::sleep(pause);
    }
}
