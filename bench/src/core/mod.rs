//! kraft-core at work: replicas that talk to each other in one thread, with logs that keep nothing.

mod cluster;
mod log;
mod member;
mod observed;
mod peer;
mod quorum;

pub use cluster::Cluster;
pub use observed::Observed;
pub use peer::Peer;
pub use quorum::{Quorum, Step, Unwatched, Watch};
