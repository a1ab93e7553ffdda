//! What one step works with.

use crate::{
    action::Action,
    log_view::LogView,
    offsets::LogEnd,
    time::{Instant, Time},
};
use alloc::vec::Vec;

/// The surroundings of one step.
///
/// The log view does not show what this step has emitted, so the end of the log is kept here and moves with it.
pub(crate) struct Turn<'a> {
    pub(crate) log: &'a dyn LogView,
    pub(crate) now: Time,
    out: &'a mut Vec<Action>,
    /// The end of the log after everything that this step has emitted.
    pub(crate) end: LogEnd,
    /// The start of the log before this step.
    pub(crate) log_start: i64,
    /// What was durable of it.
    flushed: i64,
    /// When the oldest disk operation that is not finished was submitted.
    pub(crate) unfinished: Option<Instant>,
    /// Whether the role has changed since this was last cleared.
    pub(crate) changed: bool,
    /// Whether this step cuts the log, so that the epoch of its end is not known before the next one.
    pub(crate) cut: bool,
}

impl<'a> Turn<'a> {
    /// What nearly every step looks at is read here, where it is known which log it is.
    #[inline]
    pub(crate) fn new(log: &'a impl LogView, now: Time, out: &'a mut Vec<Action>) -> Self {
        Self {
            log,
            now,
            out,
            end: log.end(),
            log_start: log.start(),
            flushed: log.flushed_end(),
            unfinished: log.oldest_unfinished(),
            changed: false,
            cut: false,
        }
    }

    /// Inlined, so that an action is made where it is going to lie.
    #[inline(always)]
    pub(crate) fn emit(&mut self, action: Action) {
        self.out.push(action);
    }

    pub(crate) fn mono(&self) -> Instant {
        self.now.mono
    }

    /// What is durable of the log. A step only adds what is not durable yet, and a truncation may take some away.
    pub(crate) fn flushed_end(&self) -> i64 {
        if mutated!(LeaderNotFlushed) {
            return self.end.last_offset;
        }
        self.flushed.min(self.end.last_offset)
    }
}
