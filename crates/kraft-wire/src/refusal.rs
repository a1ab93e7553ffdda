//! What the sender of a request that cannot be read is told.

use crate::api_key::ApiKey;
use crate::error::DecodeErrorKind;
use crate::error_code::ErrorCode;

/// What becomes of a request that cannot be read, as Kafka has it.
///
/// It is about requests only. Whoever cannot read an answer closes the connection too, and has nobody to tell; broken
/// record batches inside a good answer are a [`BatchError`](crate::batch::BatchError) and cost nothing but themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The connection is closed without a word.
    Close,
    /// The request is answered.
    Answer {
        /// The error in the answer.
        code: ErrorCode,
        /// The version of the answer, which is not the one that was asked in.
        version: i16,
    },
}

impl Refusal {
    /// What is due for a request of `api` that is wrong for the reason `kind`, be it in its header or in its body.
    ///
    /// An API that is not known is never answered: nobody could say in which layout.
    ///
    /// ```
    /// use kraft_wire::message::{ApiVersionsRequest, VoteRequest};
    /// use kraft_wire::{ApiKey, ErrorCode, Message, Refusal};
    ///
    /// let error = VoteRequest::from_bytes(&[0].as_slice().into(), 2).expect_err("no whole request");
    /// assert_eq!(Refusal::of(ApiKey::Vote, error.kind), Refusal::Close);
    ///
    /// let error = ApiVersionsRequest::from_bytes(&[].as_slice().into(), 99).expect_err("no such version");
    /// let answer = Refusal::Answer { code: ErrorCode::UnsupportedVersion, version: 0 };
    /// assert_eq!(Refusal::of(ApiKey::ApiVersions, error.kind), answer);
    /// ```
    pub fn of(api: ApiKey, kind: DecodeErrorKind) -> Self {
        match kind {
            // It is by ApiVersions that two sides find the versions that both know. Everybody reads its oldest layout.
            DecodeErrorKind::UnsupportedVersion { .. } if api == ApiKey::ApiVersions => Self::Answer {
                code: ErrorCode::UnsupportedVersion,
                version: 0,
            },
            DecodeErrorKind::UnsupportedVersion { .. }
            | DecodeErrorKind::UnexpectedEnd { .. }
            | DecodeErrorKind::LengthBeyondEnd { .. }
            | DecodeErrorKind::CountBeyondEnd { .. }
            | DecodeErrorKind::VarintTooLong { .. }
            | DecodeErrorKind::StringTooLong { .. }
            | DecodeErrorKind::UnexpectedNull
            | DecodeErrorKind::BadPresence { .. }
            | DecodeErrorKind::TagNotInVersion { .. }
            | DecodeErrorKind::OutOfProportion
            | DecodeErrorKind::TrailingBytes { .. } => Self::Close,
        }
    }
}
