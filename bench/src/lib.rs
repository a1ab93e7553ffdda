//! Messages of the wire codec for benches, ours and those of the crate `kafka-protocol`.
//!
//! The peer is used as an oracle and as the one to be faster than, on our own bytes only: it believes what a frame
//! announces.
#![forbid(unsafe_code)]

pub mod core;
pub mod host;
pub mod pair;
pub mod samples;
