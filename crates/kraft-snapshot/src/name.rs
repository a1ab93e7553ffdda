//! The file names of snapshots.

use kraft_core::{Epoch, SnapshotId};
use thiserror::Error;

/// What a file name says of the snapshot behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SnapshotFileState {
    /// Complete and immutable.
    Frozen,
    /// Being written or fetched, or a leftover of that.
    Partial,
    /// Waiting for its deletion.
    Deleted,
}

/// A file name that belongs to a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SnapshotFileName {
    /// Which snapshot.
    pub id: SnapshotId,
    /// What the suffix says.
    pub state: SnapshotFileState,
}

/// A file that has the suffix of a snapshot but not its name. It stops a start, as it does in Kafka: it may be one.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{name} does not begin with the 20 digits of an offset, a dash and the 10 digits of an epoch")]
pub struct SnapshotNameError {
    /// The name.
    pub name: String,
}

/// The name of a complete snapshot.
#[must_use]
pub fn frozen_name(id: SnapshotId) -> String {
    format!("{}{FROZEN}", stem(id))
}

/// The name of a snapshot that is being written; `number` keeps several of one id apart.
#[must_use]
pub fn partial_name(id: SnapshotId, number: u64) -> String {
    format!("{}-{number}{PARTIAL}", stem(id))
}

/// The name of a snapshot that waits for its deletion.
#[must_use]
pub fn deleted_name(id: SnapshotId) -> String {
    format!("{}{DELETED}", stem(id))
}

/// What a file name says; `None` for files that are no snapshots.
///
/// # Errors
/// A snapshot's suffix behind something else than a snapshot's id.
pub fn parse_name(name: &str) -> Result<Option<SnapshotFileName>, SnapshotNameError> {
    let suffixes = [
        (FROZEN, SnapshotFileState::Frozen),
        (PARTIAL, SnapshotFileState::Partial),
        (DELETED, SnapshotFileState::Deleted),
    ];
    let stem = suffixes
        .into_iter()
        .find_map(|(suffix, state)| Some((name.strip_suffix(suffix)?, state)));
    let Some((stem, state)) = stem else {
        return Ok(None);
    };
    match parse_stem(stem) {
        Some((id, rest))
            if rest.is_empty() || (state == SnapshotFileState::Partial && rest.starts_with('-')) =>
        {
            Ok(Some(SnapshotFileName { id, state }))
        }
        _ => Err(SnapshotNameError {
            name: name.to_owned(),
        }),
    }
}

fn stem(id: SnapshotId) -> String {
    format!("{:0OFFSET_DIGITS$}-{:0EPOCH_DIGITS$}", id.end_offset, id.epoch.0)
}

fn parse_stem(stem: &str) -> Option<(SnapshotId, &str)> {
    let (offset, rest) = stem.split_at_checked(OFFSET_DIGITS)?;
    let (epoch, rest) = rest.strip_prefix('-')?.split_at_checked(EPOCH_DIGITS)?;
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(offset) || !all_digits(epoch) {
        return None;
    }
    let id = SnapshotId {
        end_offset: offset.parse().ok()?,
        epoch: Epoch(epoch.parse().ok()?),
    };
    Some((id, rest))
}

const OFFSET_DIGITS: usize = 20;
const EPOCH_DIGITS: usize = 10;
const FROZEN: &str = ".checkpoint";
const PARTIAL: &str = ".checkpoint.part";
const DELETED: &str = ".checkpoint.deleted";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ID: SnapshotId = SnapshotId {
        end_offset: 29,
        epoch: Epoch(2),
    };

    #[test]
    fn names_are_those_of_kafka() {
        assert_eq!(frozen_name(ID), "00000000000000000029-0000000002.checkpoint");
        assert_eq!(
            partial_name(ID, 7),
            "00000000000000000029-0000000002-7.checkpoint.part"
        );
        assert_eq!(
            deleted_name(ID),
            "00000000000000000029-0000000002.checkpoint.deleted"
        );
        assert_eq!(
            frozen_name(SnapshotId::BOOTSTRAP),
            "00000000000000000000-0000000000.checkpoint"
        );
    }

    #[test]
    fn other_files_are_none_and_broken_names_an_error() {
        assert_eq!(parse_name("00000000000000000029.log"), Ok(None));
        assert_eq!(parse_name("leader-epoch-checkpoint"), Ok(None));
        assert_eq!(
            parse_name("00000000000000000029-0000000002.checkpoint.tmp"),
            Ok(None)
        );
        for broken in [
            "bootstrap.checkpoint",
            ".checkpoint",
            "0000000000000000002x-0000000002.checkpoint",
            "-0000000000000000029-0000000002.checkpoint",
            "00000000000000000029_0000000002.checkpoint",
            "00000000000000000029-9999999999.checkpoint",
            "99999999999999999999-0000000002.checkpoint",
            "00000000000000000029-0000000002-7.checkpoint",
            "0000000000000000002\u{e9}-000000002.checkpoint",
        ] {
            assert!(parse_name(broken).is_err(), "{broken}");
        }
    }

    proptest! {
        #[test]
        fn round_trip(end_offset in 0..=i64::MAX, epoch in 0..=i32::MAX, number: u64) {
            let id = SnapshotId { end_offset, epoch: Epoch(epoch) };
            for (name, state) in [
                (frozen_name(id), SnapshotFileState::Frozen),
                (partial_name(id, number), SnapshotFileState::Partial),
                (deleted_name(id), SnapshotFileState::Deleted),
            ] {
                prop_assert_eq!(parse_name(&name), Ok(Some(SnapshotFileName { id, state })));
            }
        }

        #[test]
        fn no_name_panics(stem in "[0-9\\-]{0,40}|.*") {
            let _ = parse_name(&format!("{stem}.checkpoint"));
        }
    }
}
