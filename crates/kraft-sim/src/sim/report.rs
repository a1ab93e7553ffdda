//! What a simulation amounted to.

use crate::checker::Violation;
use std::fmt;

/// Something that is counted in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// Turns of engines: the events of a simulation.
    Turns,
    /// A node became leader.
    Elections,
    /// A client was told that its records are committed.
    Commits,
    /// A client was told that its records are not in the log.
    Refusals,
    /// A client was told that the fate of its records is not known.
    Unknown,
    /// A fetched snapshot took the place of a log.
    SnapshotInstalls,
    /// A leader put another voter set in force.
    VoterChanges,
    /// A quorum went to kraft.version 1.
    Upgrades,
    /// A leader gave its leadership up when it was asked to.
    Resignations,
    /// A node crashed.
    Crashes,
    /// A crash came in the middle of a round of writing.
    TornRounds,
    /// All nodes crashed at once.
    PowerCuts,
    /// A node was stopped gracefully.
    Stops,
    /// A disk failed.
    DiskErrors,
    /// A disk was full.
    FullDisks,
    /// A disk became slow for a while.
    SlowDisks,
    /// A disk was lost with everything on it.
    LostDisks,
    /// A node stood still for a while.
    Pauses,
    /// The wall time of a node jumped.
    ClockJumps,
    /// A node came back at another address.
    Moves,
    /// A group of nodes was cut off from the rest.
    GroupCuts,
    /// One way between two nodes was cut.
    OneWayCuts,
    /// A client, an operator, a reader or a peer went away before it was answered.
    Left,
    /// A message was lost.
    Lost,
    /// A message arrived twice.
    Doubled,
    /// A message arrived before one that was sent earlier on the same way.
    Overtaken,
}

impl Count {
    /// All of them, and how they are called.
    pub const ALL: [(Self, &'static str); 26] = [
        (Self::Turns, "events"),
        (Self::Elections, "elections"),
        (Self::Commits, "commits"),
        (Self::Refusals, "refusals"),
        (Self::Unknown, "unknown outcomes"),
        (Self::SnapshotInstalls, "snapshot installs"),
        (Self::VoterChanges, "voter changes"),
        (Self::Upgrades, "upgrades"),
        (Self::Resignations, "resignations"),
        (Self::Crashes, "crashes"),
        (Self::TornRounds, "torn rounds"),
        (Self::PowerCuts, "power cuts"),
        (Self::Stops, "stops"),
        (Self::DiskErrors, "disk errors"),
        (Self::FullDisks, "full disks"),
        (Self::SlowDisks, "slow disks"),
        (Self::LostDisks, "lost disks"),
        (Self::Pauses, "pauses"),
        (Self::ClockJumps, "clock jumps"),
        (Self::Moves, "moves"),
        (Self::GroupCuts, "group cuts"),
        (Self::OneWayCuts, "one-way cuts"),
        (Self::Left, "callers that left"),
        (Self::Lost, "lost messages"),
        (Self::Doubled, "doubled messages"),
        (Self::Overtaken, "overtaken messages"),
    ];

    /// Whether it is something that goes wrong, and not what comes of it.
    #[must_use]
    pub fn is_fault(self) -> bool {
        self as usize >= Self::Resignations as usize
    }
}

/// Counts of one run, or of several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts([u64; Count::ALL.len()]);

impl Counts {
    /// How often.
    #[must_use]
    pub fn of(&self, what: Count) -> u64 {
        self.0[what as usize]
    }

    pub(crate) fn add(&mut self, what: Count) {
        self.0[what as usize] += 1;
    }
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        for (own, more) in self.0.iter_mut().zip(other.0) {
            *own += more;
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (what, name)) in Count::ALL.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{} {name}", self.of(*what))?;
        }
        Ok(())
    }
}

/// A run that went wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("seed {seed}, {at_ms} ms: {violation}")]
pub struct Failure {
    /// The seed that replays the run.
    pub seed: u64,
    /// When, in virtual time.
    pub at_ms: u64,
    /// What was wrong.
    pub violation: Violation,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_has_its_place() {
        for (place, (what, _)) in Count::ALL.iter().enumerate() {
            assert_eq!(*what as usize, place);
        }
        let mut counts = Counts::default();
        counts.add(Count::Moves);
        counts += counts;
        assert_eq!(counts.of(Count::Moves), 2);
        assert!(Count::Moves.is_fault());
        assert!(!Count::Commits.is_fault());
    }
}
