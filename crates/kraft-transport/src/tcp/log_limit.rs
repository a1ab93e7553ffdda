//! Keeps a flood of bad connections from becoming a flood of lines in the log.

use std::{sync::Mutex, time::Duration};
use tokio::time::Instant;

/// Lines that whoever reaches the port can cause. So many of them are written at a time; of the others it is said how
/// many there were.
#[derive(Debug)]
pub(crate) struct LogLimit(Mutex<Window>);

#[derive(Debug)]
struct Window {
    began: Instant,
    written: u32,
    left_out: u64,
}

/// What to do with a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// Write it, and say that so many before it were not, unless it is none.
    Write {
        /// Lines that were left out since the last one that was written.
        left_out: u64,
    },
    /// Leave it out.
    LeaveOut,
}

impl LogLimit {
    /// Nothing has been written yet.
    pub(crate) fn new(now: Instant) -> Self {
        Self(Mutex::new(Window {
            began: now,
            written: 0,
            left_out: 0,
        }))
    }

    /// Asks for a line.
    pub(crate) fn line(&self, now: Instant) -> Line {
        let mut window = self.0.lock().expect("nobody panics while counting lines");
        if now.saturating_duration_since(window.began) >= WINDOW {
            (window.began, window.written) = (now, 0);
        }
        if window.written == LINES_MAX {
            window.left_out += 1;
            return Line::LeaveOut;
        }
        window.written += 1;
        Line::Write {
            left_out: std::mem::take(&mut window.left_out),
        }
    }
}

/// Enough to name each connection of a burst, few enough to keep a flood from filling the disk.
const LINES_MAX: u32 = 1_000;

const WINDOW: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_counted_and_not_written() {
        let start = Instant::now();
        let limit = LogLimit::new(start);
        for _ in 0..LINES_MAX {
            assert_eq!(limit.line(start), Line::Write { left_out: 0 });
        }
        for _ in 0..1000 {
            assert_eq!(limit.line(start + WINDOW / 2), Line::LeaveOut);
        }
        assert_eq!(limit.line(start + WINDOW), Line::Write { left_out: 1000 });
        assert_eq!(limit.line(start + WINDOW), Line::Write { left_out: 0 });
    }
}
