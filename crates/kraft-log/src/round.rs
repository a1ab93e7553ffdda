//! What a round of the log thread reports.

use crate::clean::Cleaned;
use kraft_core::{SnapshotId, Ticket};
use kraft_snapshot::FetchedSnapshotError;

/// What a round has done.
#[derive(Debug)]
pub struct Round {
    /// Everything up to this ticket is durable.
    pub up_to: Ticket,
    /// A fetched snapshot that was not taken. Everything else is as it was; the core has to hear of it before it
    /// hears of the ticket.
    pub rejected: Option<RejectedSnapshot>,
    /// What a cleaning has removed, if anything.
    pub cleaned: Option<Cleaned>,
}

/// A fetched snapshot that failed its checks. There is nothing of it left in the directory.
#[derive(Debug)]
pub struct RejectedSnapshot {
    /// Which one.
    pub snapshot: SnapshotId,
    /// What is wrong with it; never an error of the disk.
    pub reason: FetchedSnapshotError,
}
