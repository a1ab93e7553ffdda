//! What the benches measure: the core at work and messages of the wire codec, ours and those of the crates `raft` and
//! `kafka-protocol`.
//!
//! `kafka-protocol` is used as an oracle and as the one to be faster than, on our own bytes only: it believes what a frame
//! announces.
#![forbid(unsafe_code)]

pub mod core;
pub mod host;
pub mod pair;
pub mod samples;
