//! What can be wrong with bytes that are read, and with a value that is to be written.

use thiserror::Error;

/// Bytes that are not what they claim to be: the reason, and where in the input it was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("byte {position}: {kind}")]
pub struct DecodeError {
    /// The reason.
    pub kind: DecodeErrorKind,
    /// Offset in the decoded buffer at which the offending item begins.
    pub position: usize,
}

/// The reasons for which a decoder refuses its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The input ends inside an item of fixed size or inside a varint.
    #[error("{needed} bytes needed, {remaining} left")]
    UnexpectedEnd {
        /// Bytes that the item takes.
        needed: usize,
        /// Bytes that are left.
        remaining: usize,
    },
    /// A length prefix points beyond the end of the input.
    #[error("length {length} is beyond the {remaining} bytes left")]
    LengthBeyondEnd {
        /// The announced length in bytes.
        length: u64,
        /// Bytes that are left.
        remaining: usize,
    },
    /// An array announces more elements than there are bytes left.
    #[error("{count} elements are announced in {remaining} bytes")]
    CountBeyondEnd {
        /// The announced number of elements.
        count: u64,
        /// Bytes that are left.
        remaining: usize,
    },
    /// A varint goes on after its last permitted byte.
    #[error("varint longer than {max_bytes} bytes")]
    VarintTooLong {
        /// The most bytes that this kind of varint may take.
        max_bytes: usize,
    },
    /// A string longer than Kafka permits.
    #[error("string of {length} bytes, at most 32767 are permitted")]
    StringTooLong {
        /// The announced length in bytes.
        length: usize,
    },
    /// Null where the version does not permit it.
    #[error("null where a value is required")]
    UnexpectedNull,
    /// The presence byte of a nullable struct is neither -1 nor 1.
    #[error("presence byte {marker} of a nullable struct")]
    BadPresence {
        /// The byte that was found.
        marker: i8,
    },
    /// A tag that the schema knows, in a version that does not have it.
    #[error("tag {tag} does not exist in version {version}")]
    TagNotInVersion {
        /// The tag.
        tag: u32,
        /// The version of the message.
        version: i16,
    },
    /// A message in a version that this build does not know.
    #[error("version {version} is not known")]
    UnsupportedVersion {
        /// The version asked for.
        version: i16,
    },
    /// The decoded form would take more than four times the input and 4 KiB.
    #[error("the decoded form is out of all proportion to the input")]
    OutOfProportion,
    /// Bytes are left behind the last field where none may be.
    #[error("{remaining} bytes behind the end")]
    TrailingBytes {
        /// How many.
        remaining: usize,
    },
}

impl DecodeErrorKind {
    /// The name of the reason, for tools.
    pub fn name(&self) -> &'static str {
        match self {
            Self::UnexpectedEnd { .. } => "UnexpectedEnd",
            Self::LengthBeyondEnd { .. } => "LengthBeyondEnd",
            Self::CountBeyondEnd { .. } => "CountBeyondEnd",
            Self::VarintTooLong { .. } => "VarintTooLong",
            Self::StringTooLong { .. } => "StringTooLong",
            Self::UnexpectedNull => "UnexpectedNull",
            Self::BadPresence { .. } => "BadPresence",
            Self::TagNotInVersion { .. } => "TagNotInVersion",
            Self::UnsupportedVersion { .. } => "UnsupportedVersion",
            Self::OutOfProportion => "OutOfProportion",
            Self::TrailingBytes { .. } => "TrailingBytes",
        }
    }
}

/// A value that cannot be written in the version asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The message does not have this version.
    #[error("{message} has no version {version}")]
    UnsupportedVersion {
        /// Name of the message.
        message: &'static str,
        /// The version asked for.
        version: i16,
    },
    /// A field that the version lacks holds something other than its default and may not be dropped.
    #[error("{message} version {version} cannot carry {field}")]
    FieldNotInVersion {
        /// Name of the struct.
        message: &'static str,
        /// Name of the field.
        field: &'static str,
        /// The version asked for.
        version: i16,
    },
    /// Null in a field that the version does not let be null.
    #[error("{message} version {version}: {field} is null")]
    NullNotAllowed {
        /// Name of the struct.
        message: &'static str,
        /// Name of the field.
        field: &'static str,
        /// The version asked for.
        version: i16,
    },
    /// Unknown tagged fields in a version that has no tagged fields.
    #[error("{message} version {version} has no tagged fields")]
    TagsNotInVersion {
        /// Name of the struct.
        message: &'static str,
        /// The version asked for.
        version: i16,
    },
    /// A string, byte string or array too long for its length prefix.
    #[error("a length of {length} does not fit its prefix")]
    TooLong {
        /// Bytes of the string, or elements of the array.
        length: usize,
    },
}
