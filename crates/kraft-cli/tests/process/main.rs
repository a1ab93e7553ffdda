//! One `kraft run` process and what its surroundings do to it.

// A failing unwrap is how a test fails, in its helpers too.
#![allow(clippy::unwrap_used)]

mod nobody_reads;
mod node;
mod signals;
