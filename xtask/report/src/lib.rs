//! What the benches say of their figures, and on which machine: `cargo xtask bench log`, `memory-quorum`, and those of three
//! voters.
#![forbid(unsafe_code)]

mod host;
mod report;
mod statistics;

pub use report::{Figure, Goal, Report};
pub use statistics::{median, quantile};
