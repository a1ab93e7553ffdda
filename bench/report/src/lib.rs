//! What the benches say of their figures, and on which machine: `cargo xtask bench log` and `memory-quorum`.
#![forbid(unsafe_code)]

mod host;
mod median;
mod report;

pub use host::facts;
pub use median::{median, median_ratio};
pub use report::{Figure, Goal, Report};
