//! The engine's turn without a runtime: time is a number, the disk is memory, the log thread runs when it is told to.

mod append;
#[path = "../common/mod.rs"]
mod common;
mod consensus_reports;
mod disk;
mod harness;
mod listener;
mod log_lines;
mod metrics;
mod offsets;
mod reads;
mod reports;
mod snapshots;
mod tokens;
mod turns;
mod views;
mod voter_reports;
mod voter_sets;
