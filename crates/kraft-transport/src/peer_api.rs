//! The APIs that replicas speak among themselves.

use kraft_core::PeerRequest;
use std::ops::RangeInclusive;

/// An API whose requests go through the consensus core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PeerApi {
    /// Records of the metadata log.
    Fetch,
    /// Vote and pre-vote.
    Vote,
    /// A leader announces itself.
    BeginQuorumEpoch,
    /// A leader resigns.
    EndQuorumEpoch,
    /// State of the quorum.
    DescribeQuorum,
    /// A piece of a snapshot.
    FetchSnapshot,
    /// A voter tells its endpoints and levels.
    UpdateRaftVoter,
}

impl PeerApi {
    /// All of them, by rising api key.
    pub const ALL: [Self; 7] = [
        Self::Fetch,
        Self::Vote,
        Self::BeginQuorumEpoch,
        Self::EndQuorumEpoch,
        Self::DescribeQuorum,
        Self::FetchSnapshot,
        Self::UpdateRaftVoter,
    ];

    /// Kafka's number for it.
    #[must_use]
    pub fn key(self) -> i16 {
        match self {
            Self::Fetch => 1,
            Self::Vote => 52,
            Self::BeginQuorumEpoch => 53,
            Self::EndQuorumEpoch => 54,
            Self::DescribeQuorum => 55,
            Self::FetchSnapshot => 59,
            Self::UpdateRaftVoter => 82,
        }
    }

    /// The API of a number, if it is one of these.
    #[must_use]
    pub fn from_key(key: i16) -> Option<Self> {
        Self::ALL.into_iter().find(|api| api.key() == key)
    }

    /// The API that a request of the core belongs to.
    #[must_use]
    pub fn of(request: &PeerRequest) -> Self {
        match request {
            PeerRequest::Vote { .. } => Self::Vote,
            PeerRequest::BeginQuorumEpoch { .. } => Self::BeginQuorumEpoch,
            PeerRequest::EndQuorumEpoch { .. } => Self::EndQuorumEpoch,
            PeerRequest::Fetch { .. } => Self::Fetch,
            PeerRequest::FetchSnapshot { .. } => Self::FetchSnapshot,
            PeerRequest::UpdateRaftVoter { .. } => Self::UpdateRaftVoter,
        }
    }

    /// The versions that this node serves and sends.
    #[must_use]
    pub fn versions(self) -> RangeInclusive<i16> {
        match self {
            Self::Fetch => 4..=18,
            Self::Vote | Self::DescribeQuorum => 0..=2,
            Self::BeginQuorumEpoch | Self::EndQuorumEpoch | Self::FetchSnapshot => 0..=1,
            Self::UpdateRaftVoter => 0..=0,
        }
    }

    /// Whether a request of which nobody waits for the answer may be dropped unseen. Fetches and reads ask for
    /// something; the others also tell something.
    #[must_use]
    pub fn only_reads(self) -> bool {
        match self {
            Self::Fetch | Self::FetchSnapshot | Self::DescribeQuorum => true,
            Self::Vote | Self::BeginQuorumEpoch | Self::EndQuorumEpoch | Self::UpdateRaftVoter => false,
        }
    }
}
