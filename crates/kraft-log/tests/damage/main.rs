//! Damaged directories, as in the tables that were recorded from Kafka: what becomes of each of them.
//!
//! The tables in `vectors/expected` name for each case Kafka's outcome, ours, and the kind of difference, which
//! docs/differences.md explains.

#[path = "../common/mod.rs"]
mod common;

mod edits;
mod flips;
mod outcome;
mod pairs;
mod quorum_states;
mod recovery;
mod table;
