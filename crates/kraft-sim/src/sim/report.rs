//! What a simulation amounted to.

use crate::checker::Violation;
use std::fmt;

/// Counts of one run, or of several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Happenings that were played.
    pub events: u64,
    /// How often a node became leader.
    pub elections: u64,
    /// How often a node crashed.
    pub crashes: u64,
    /// How often a node was stopped gracefully.
    pub stops: u64,
    /// How often the disk of a node failed.
    pub disk_failures: u64,
    /// How often the network was cut.
    pub partitions: u64,
    /// How many proposals were acknowledged.
    pub commits: u64,
    /// How often a state machine was replaced by a snapshot.
    pub loads: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.events += other.events;
        self.elections += other.elections;
        self.crashes += other.crashes;
        self.stops += other.stops;
        self.disk_failures += other.disk_failures;
        self.partitions += other.partitions;
        self.commits += other.commits;
        self.loads += other.loads;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            events,
            elections,
            crashes,
            stops,
            disk_failures,
            partitions,
            commits,
            loads,
        } = self;
        write!(
            f,
            "{events} events, {elections} elections, {crashes} crashes, {stops} stops, {disk_failures} disk failures, \
             {partitions} partitions, {commits} commits, {loads} snapshot loads"
        )
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
