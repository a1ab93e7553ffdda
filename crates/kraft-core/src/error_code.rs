//! The error codes that consensus answers with and understands.

use core::fmt::Write as _;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal,)*) => {
        /// A Kafka error code, as far as consensus has an opinion on it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum ErrorCode {
            $($(#[$doc])* $name,)*
            /// A code that consensus does not tell apart.
            Other(i16),
        }

        impl ErrorCode {
            /// The number on the wire.
            #[must_use]
            pub fn code(self) -> i16 {
                match self {
                    $(Self::$name => $code,)*
                    Self::Other(code) => code,
                }
            }

            /// The error of a number from the wire.
            #[must_use]
            pub fn from_code(code: i16) -> Self {
                match code {
                    $($code => Self::$name,)*
                    other => Self::Other(other),
                }
            }
        }
    };
}

codes! {
    /// No error.
    None = 0,
    /// The server failed in a way that it has no code for.
    UnknownServerError = -1,
    /// The partition is not the metadata partition.
    UnknownTopicOrPartition = 3,
    /// The asked replica does not lead.
    NotLeaderOrFollower = 6,
    /// Not done in time; the outcome is open.
    RequestTimedOut = 7,
    /// The node cannot be reached or is about to end.
    BrokerNotAvailable = 8,
    /// Connection or authentication failed.
    NetworkException = 13,
    /// The peer may not act on the cluster.
    ClusterAuthorizationFailed = 31,
    /// The peer does not know the version.
    UnsupportedVersion = 35,
    /// The node is not the active controller.
    NotController = 41,
    /// The request contradicts itself or the protocol.
    InvalidRequest = 42,
    /// The request's epoch is older than ours.
    FencedLeaderEpoch = 74,
    /// The request's epoch is newer than ours.
    UnknownLeaderEpoch = 75,
    /// The feature level cannot be changed so.
    InvalidUpdateVersion = 95,
    /// The snapshot does not exist here.
    SnapshotNotFound = 98,
    /// The position lies outside the snapshot.
    PositionOutOfRange = 99,
    /// The peer belongs to another cluster.
    InconsistentClusterId = 104,
    /// The request is addressed to another voter.
    InvalidVoterKey = 125,
    /// The voter exists already.
    DuplicateVoter = 126,
    /// There is no such voter.
    VoterNotFound = 127,
}

/// The name in Kafka's spelling; the number of a code that consensus does not tell apart.
impl core::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if let Self::Other(code) = self {
            return write!(f, "{code}");
        }
        let name = alloc::format!("{self:?}");
        for (place, letter) in name.char_indices() {
            if place > 0 && letter.is_ascii_uppercase() {
                f.write_char('_')?;
            }
            f.write_char(letter.to_ascii_uppercase())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn errors_are_named_as_kafka_names_them() {
        assert_eq!(ErrorCode::BrokerNotAvailable.to_string(), "BROKER_NOT_AVAILABLE");
        assert_eq!(ErrorCode::Other(29).to_string(), "29");
    }
}
