//! The APIs that replicas speak among themselves.

use kraft_core::PeerRequest;
use kraft_wire::ApiKey;
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
    /// A voter is added.
    AddRaftVoter,
    /// A voter is removed.
    RemoveRaftVoter,
    /// A voter tells its endpoints and levels.
    UpdateRaftVoter,
    /// A new voter is asked for its features. To be asked that, a node need not trouble consensus.
    ApiVersions,
}

impl PeerApi {
    /// All that consensus answers, by rising api key.
    pub const ALL: [Self; 9] = [
        Self::Fetch,
        Self::Vote,
        Self::BeginQuorumEpoch,
        Self::EndQuorumEpoch,
        Self::DescribeQuorum,
        Self::FetchSnapshot,
        Self::AddRaftVoter,
        Self::RemoveRaftVoter,
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
            Self::AddRaftVoter => 80,
            Self::RemoveRaftVoter => 81,
            Self::UpdateRaftVoter => 82,
            Self::ApiVersions => 18,
        }
    }

    /// The API of a number, if it is one that consensus answers.
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
            PeerRequest::AddRaftVoter { .. } => Self::AddRaftVoter,
            PeerRequest::RemoveRaftVoter { .. } => Self::RemoveRaftVoter,
            PeerRequest::UpdateRaftVoter { .. } => Self::UpdateRaftVoter,
            PeerRequest::ApiVersions => Self::ApiVersions,
        }
    }

    /// The versions that this node serves and sends.
    #[must_use]
    pub fn versions(self) -> RangeInclusive<i16> {
        match self {
            Self::Fetch => 4..=18,
            Self::Vote | Self::DescribeQuorum => 0..=2,
            Self::BeginQuorumEpoch | Self::EndQuorumEpoch | Self::FetchSnapshot | Self::AddRaftVoter => 0..=1,
            Self::RemoveRaftVoter | Self::UpdateRaftVoter => 0..=0,
            Self::ApiVersions => ApiKey::ApiVersions.versions(),
        }
    }

    /// Whether a request of which nobody waits for the answer may be dropped unseen. Fetches and reads ask for
    /// something; the others also tell something.
    #[must_use]
    pub fn only_reads(self) -> bool {
        match self {
            Self::Fetch | Self::FetchSnapshot | Self::DescribeQuorum | Self::ApiVersions => true,
            Self::Vote
            | Self::BeginQuorumEpoch
            | Self::EndQuorumEpoch
            | Self::AddRaftVoter
            | Self::RemoveRaftVoter
            | Self::UpdateRaftVoter => false,
        }
    }
}
