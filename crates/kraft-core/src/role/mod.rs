//! The roles of a replica, one file each.

/// The name of a role, as logs and metrics show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RoleName {
    /// Knows no leader that it can fetch from.
    Unattached,
    /// Collects pre-votes.
    Prospective,
    /// Collects votes.
    Candidate,
    /// Leads.
    Leader,
    /// Follows a leader, as a voter or as an observer.
    Follower,
    /// Has led the epoch and given it up.
    Resigned,
}
