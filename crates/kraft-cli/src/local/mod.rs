//! Quorums of `kraft run` processes on this machine: what the demo and the process tests share.
//!
//! In call order: [`LocalQuorum::create`] formats the directories, [`LocalQuorum::start`] starts a node and returns
//! when its listener accepts, [`Load::start`] commits records through the leader and notes which were acknowledged,
//! [`LocalQuorum::kill`] and [`LocalQuorum::stop`] end nodes, [`contents_of`] reads a directory. Dropping a quorum
//! kills what still runs.

mod contents;
mod load;
mod port;
mod quorum;

pub use contents::{Contents, LoggedRecord, contents_of};
pub use load::{Load, Loaded};
pub use port::HeldPort;
pub use quorum::{Leadership, LocalError, LocalNode, LocalQuorum};
