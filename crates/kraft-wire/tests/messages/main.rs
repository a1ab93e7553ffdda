//! Messages made at random from an account of the format: right ones, and wrong ones.

mod hostile;
mod layouts;
mod support;

/// Where the layouts and the recorded frames are.
const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors");
