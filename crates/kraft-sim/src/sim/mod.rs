//! Whole quorums in virtual time.
//!
//! A [`Simulation`] runs as many engines as it is told, each one the engine of production, over a network in memory and
//! disks in memory. One seed decides everything: how long messages take and whether they arrive, who is cut off from
//! whom, when nodes crash and what their disks keep, and how much of its queue each round of a log thread sees. After
//! every turn of every engine the [checkers](crate::checker) are told what can be seen, and the core's own invariants
//! are asserted.
//!
//! At the end the network heals and all nodes are up; then the quorum has to make progress, so that a run in which
//! nothing ever happens does not pass.
//!
//! What is done to the quorum is decided before the run: a [`Plan`] of a seed, which is a text. [`shrink`] makes the plan of
//! a run that fails as short as it can.

mod agenda;
mod clients;
mod clock;
mod delivery;
mod disk;
mod done;
mod draw;
mod happening;
mod journal;
#[cfg(feature = "metadata")]
mod metadata;
mod network;
mod node;
mod op;
mod outbox;
mod plan;
mod quorum;
mod recorded;
mod report;
mod rng;
mod settings;
mod setup;
mod shrink;
mod sight;
mod threads;
mod weakness;

#[cfg(test)]
mod disk_failures;

pub use journal::Journal;
pub use network::Faults;
pub(crate) use node::Node;
pub(crate) use op::Op;
pub use plan::{Plan, PlanError};
pub use quorum::Simulation;
pub use report::{Count, Counts, Failure};
pub use settings::{Lie, Settings};
pub use shrink::{Shrunk, shrink};
pub use sight::Sight;
