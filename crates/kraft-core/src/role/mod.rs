//! The roles of a replica, one file each.

pub(crate) mod candidate;
pub(crate) mod follower;
pub(crate) mod leader;
pub(crate) mod prospective;
pub(crate) mod resigned;
pub(crate) mod unattached;

use crate::ids::ReplicaKey;
use alloc::boxed::Box;
use candidate::Candidate;
use follower::Follower;
use leader::Leader;
use prospective::Prospective;
use resigned::Resigned;
use unattached::Unattached;

/// The name of a role, as logs and metrics show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
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

/// A role with what it needs to remember.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Role {
    Unattached(Unattached),
    Prospective(Prospective),
    Candidate(Candidate),
    Leader(Box<Leader>),
    Follower(Follower),
    Resigned(Resigned),
}

impl Role {
    pub(crate) fn name(&self) -> RoleName {
        match self {
            Self::Unattached(_) => RoleName::Unattached,
            Self::Prospective(_) => RoleName::Prospective,
            Self::Candidate(_) => RoleName::Candidate,
            Self::Leader(_) => RoleName::Leader,
            Self::Follower(_) => RoleName::Follower,
            Self::Resigned(_) => RoleName::Resigned,
        }
    }
}

/// Whether a stored vote is for `nominee`: same id, and same directory unless the vote names none.
pub(crate) fn is_vote_for(voted: &ReplicaKey, nominee: &ReplicaKey) -> bool {
    voted.id == nominee.id && (voted.directory_id.is_none() || voted.directory_id == nominee.directory_id)
}

/// How a replica that has no leader to serve decides on a Vote: an earlier vote binds whatever the log says, a known
/// leader forbids one, and else the log decides.
pub(crate) fn grants_vote(
    voted: Option<&ReplicaKey>,
    leader_known: bool,
    nominee: &ReplicaKey,
    log_is_up_to_date: bool,
) -> bool {
    match voted {
        Some(voted) => is_vote_for(voted, nominee) || mutated!(TwoVotes),
        None => !leader_known && log_is_up_to_date,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::NodeId;
    use uuid::Uuid;

    #[test]
    fn a_vote_binds_to_the_directory_it_names() {
        let key = |id, directory| ReplicaKey::new(NodeId(id), Uuid::from_u128(directory));
        for (voted, nominee, granted) in [
            (key(1, 11), key(1, 11), true),
            (key(1, 11), key(1, 12), false),
            (key(1, 11), key(1, 0), false),
            (key(1, 0), key(1, 12), true),
            (key(1, 0), key(1, 0), true),
            (key(1, 0), key(2, 0), false),
        ] {
            for up_to_date in [false, true] {
                assert_eq!(
                    grants_vote(Some(&voted), false, &nominee, up_to_date),
                    granted,
                    "{voted:?} {nominee:?}"
                );
            }
        }
        assert!(grants_vote(None, false, &key(1, 11), true));
        assert!(!grants_vote(None, false, &key(1, 11), false));
        assert!(!grants_vote(None, true, &key(1, 11), true));
    }
}
