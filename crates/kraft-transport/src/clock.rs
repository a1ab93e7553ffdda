//! The clocks of a running process, in the form that the engine takes time in.

use kraft_core::{Instant, Time};
use std::{
    sync::OnceLock,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// What the clocks of this process say now.
///
/// The monotonic part counts from the first call in the process, so that stamps of different threads compare.
#[must_use]
pub fn now() -> Time {
    Time {
        mono: monotonic(),
        wall_ms: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)),
    }
}

/// The monotonic part of [`now`] alone.
#[must_use]
pub fn monotonic() -> Instant {
    Instant(u64::try_from(origin().elapsed().as_micros()).unwrap_or(u64::MAX))
}

/// The moment that `instant` names, for the timers of the runtime.
pub(crate) fn to_std(instant: Instant) -> std::time::Instant {
    let origin = origin();
    origin
        .checked_add(Duration::from_micros(instant.0))
        .unwrap_or_else(|| origin + FAR)
}

fn origin() -> std::time::Instant {
    static ORIGIN: OnceLock<std::time::Instant> = OnceLock::new();
    *ORIGIN.get_or_init(std::time::Instant::now)
}

/// Stands for moments that the platform's clock cannot express.
pub(crate) const FAR: Duration = Duration::from_secs(365 * 24 * 3600);
