//! A voter that has lost its log, and fetches it again, takes no part in elections until it has it.
//!
//! Others may have counted on what it had when they committed: a vote by its shorter log could elect somebody who lacks
//! it. What the first leader that it meets knows to be committed is all that ever rested on its word.

use super::{Replica, turn::Turn};

/// How far a voter without its log has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Abstention {
    /// No leader has said yet what is committed.
    UntilTold,
    /// Until this much is durable here.
    Until(i64),
}

impl Replica {
    /// Whether this replica neither votes nor campaigns because it has lost its log.
    #[must_use]
    pub fn abstains(&self) -> bool {
        self.abstention.is_some()
    }

    /// Whether this replica takes part in elections.
    pub(super) fn may_campaign(&self) -> bool {
        self.is_voter() && !self.abstains()
    }

    /// The leader that is followed has named its high watermark; the first one counts.
    pub(super) fn abstain_until(&mut self, high_watermark: i64, turn: &Turn<'_>) {
        if self.abstention == Some(Abstention::UntilTold) && high_watermark >= 0 {
            self.abstention = Some(Abstention::Until(high_watermark));
        }
        self.end_abstention(turn);
    }

    /// Ends it once everything that may have rested on this replica's word is durable here again.
    pub(super) fn end_abstention(&mut self, turn: &Turn<'_>) {
        if let Some(Abstention::Until(end)) = self.abstention
            && turn.flushed_end() >= end
        {
            self.abstention = None;
        }
    }
}
