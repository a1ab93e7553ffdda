//! One checker for each invariant of a quorum, fed with facts after every step of a simulation.
//!
//! Checkers know nothing of the simulator: a fact is plain data, so that a trace from anywhere else can be checked too, and
//! a trace that is wrong shows that the checker fires.

mod applied_in_order;
mod change_by_one;
mod changes_as_told;
mod committed;
mod committed_not_cut;
mod durable_first;
mod fact;
mod history;
mod leader_never_loads;
mod log_ends;
mod log_matching;
mod majority_reached;
mod monotonic_epoch;
mod monotonic_high_watermark;
mod one_leader;
mod one_log;
mod one_vote;
mod same_state;
mod served_is_committed;
mod snapshot_at_log_start;
mod stable_leadership;

pub use applied_in_order::AppliedInOrder;
pub use change_by_one::ChangeByOne;
pub use changes_as_told::ChangesAsTold;
pub use committed::CommittedStays;
pub use committed_not_cut::CommittedNotCut;
pub use durable_first::DurableFirst;
pub use fact::{BatchMark, Fact, Fate, OpId, VoterMove};
pub use history::History;
pub use leader_never_loads::LeaderNeverLoads;
pub use log_matching::LogMatching;
pub use majority_reached::MajorityReached;
pub use monotonic_epoch::MonotonicEpoch;
pub use monotonic_high_watermark::MonotonicHighWatermark;
pub use one_leader::OneLeader;
pub use one_log::OneLog;
pub use one_vote::OneVote;
pub use same_state::SameState;
pub use served_is_committed::ServedIsCommitted;
pub use snapshot_at_log_start::SnapshotAtLogStart;
pub use stable_leadership::StableLeadership;

/// An invariant that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{invariant}: {detail}")]
pub struct Violation {
    /// Which invariant.
    pub invariant: &'static str,
    /// What was seen.
    pub detail: String,
}

/// Watches one invariant.
pub trait Checker {
    /// The invariant, in a few words.
    fn invariant(&self) -> &'static str;

    /// Takes a fact in.
    ///
    /// # Errors
    /// It contradicts the invariant.
    fn observe(&mut self, fact: &Fact) -> Result<(), Violation>;

    /// Is told that the run is over.
    ///
    /// # Errors
    /// Something that had to happen by now did not.
    fn finish(&self) -> Result<(), Violation> {
        Ok(())
    }

    /// A violation of this invariant.
    fn violated(&self, detail: String) -> Violation {
        Violation {
            invariant: self.invariant(),
            detail,
        }
    }
}

/// All checkers of what always holds. [`StableLeadership`] is not among them: it holds only where nothing cuts a leader off.
#[must_use]
pub fn all() -> Vec<Box<dyn Checker>> {
    vec![
        Box::new(OneLeader::default()),
        Box::new(OneLog::default()),
        Box::new(OneVote::default()),
        Box::new(CommittedStays::default()),
        Box::new(CommittedNotCut::default()),
        Box::new(AppliedInOrder::default()),
        Box::new(LogMatching::default()),
        Box::new(MonotonicEpoch::default()),
        Box::new(MonotonicHighWatermark::default()),
        Box::new(MajorityReached::default()),
        Box::new(SnapshotAtLogStart::default()),
        Box::new(LeaderNeverLoads::default()),
        Box::new(DurableFirst::default()),
        Box::new(ChangeByOne::default()),
        Box::new(ChangesAsTold::default()),
        Box::new(ServedIsCommitted::default()),
        Box::new(SameState::default()),
        Box::new(History::default()),
    ]
}
