//! Collects votes.

use crate::{epoch_election::EpochElection, timer::Timer};

/// A voter that has raised the epoch and voted for itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Candidate {
    /// The votes.
    pub(crate) tally: EpochElection,
    /// When it tries again. A lost election is waited out until then, which is the whole back-off.
    pub(crate) election: Timer,
}
