//! The properties that every decoder has to keep under arbitrary bytes: it never panics, and what it accepts it can
//! write again.
#![forbid(unsafe_code)]

mod corpus;
mod mutation;
mod run;
mod targets;

pub use corpus::corpus;
pub use run::{Input, run};
pub use targets::{TARGETS, Target};
