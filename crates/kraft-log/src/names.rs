//! The file names of a log directory.

/// The private file that says how far the log was last known to be synced.
pub(crate) const SYNCED_FILE: &str = "kraft-synced";

/// The private file that keeps a node from voting until it has its log again.
pub(crate) const NO_VOTE_FILE: &str = "kraft-no-vote";

/// The private file of zeros that becomes the next segment.
pub(crate) const SPARE_FILE: &str = "kraft-spare";

/// What a damaged snapshot is renamed to, which means nothing to anyone.
pub(crate) fn set_aside_name(name: &str) -> String {
    format!("{name}.damaged")
}

/// What belongs to a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SegmentFile {
    /// The batches.
    Log,
    /// The offset index.
    OffsetIndex,
    /// The time index.
    TimeIndex,
    /// Indexes and producer states that a metadata log has no use for.
    Unused,
}

/// What a name means in a log directory, snapshots aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogName {
    /// A part of the segment with this base offset.
    Segment(SegmentFile, i64),
    /// Waits for its deletion, or was left by a log cleaner: may be removed, is never obeyed.
    Leftover,
    /// Ends like a part of a segment, but its start is no offset.
    Strange,
    /// Not ours.
    Other,
}

pub(crate) fn log_file(base: i64) -> String {
    format!("{base:020}.log")
}

pub(crate) fn offset_index_file(base: i64) -> String {
    format!("{base:020}.index")
}

pub(crate) fn time_index_file(base: i64) -> String {
    format!("{base:020}.timeindex")
}

/// Classifies a name by Kafka's rules: the suffix decides, and what stands before the first dot is the base offset.
pub(crate) fn classify(name: &str) -> LogName {
    if name == SPARE_FILE {
        return LogName::Leftover;
    }
    let suffix = name.rsplit_once('.').map(|(_, suffix)| suffix);
    let part = match suffix {
        Some("deleted") => return LogName::Leftover,
        Some("log") => Some(SegmentFile::Log),
        Some("index") => Some(SegmentFile::OffsetIndex),
        Some("timeindex") => Some(SegmentFile::TimeIndex),
        Some("txnindex" | "snapshot") => Some(SegmentFile::Unused),
        Some("cleaned" | "swap") => None,
        _ => return LogName::Other,
    };
    let (base, _) = name.split_once('.').expect("there is a suffix");
    match (base.parse::<i64>(), part) {
        (Ok(_), None) => LogName::Leftover,
        // Only one spelling names a segment: two files with one base would be two owners of its offsets.
        (Ok(base), Some(SegmentFile::Log)) if base < 0 || name != log_file(base) => LogName::Strange,
        (Ok(base), Some(part)) => LogName::Segment(part, base),
        (Err(_), _) => LogName::Strange,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_mean_what_they_mean_to_kafka() {
        let cases = [
            ("00000000000000000029.log", LogName::Segment(SegmentFile::Log, 29)),
            (
                "00000000000000000029.index",
                LogName::Segment(SegmentFile::OffsetIndex, 29),
            ),
            (
                "00000000000000000029.timeindex",
                LogName::Segment(SegmentFile::TimeIndex, 29),
            ),
            (
                "00000000000000000029.snapshot",
                LogName::Segment(SegmentFile::Unused, 29),
            ),
            ("00000000000000000029.log.deleted", LogName::Leftover),
            ("00000000000000000029.log.cleaned", LogName::Leftover),
            ("00000000000000000029.log.swap", LogName::Leftover),
            ("foo.log", LogName::Strange),
            ("29.log", LogName::Strange),
            ("-0000000000000000001.log", LogName::Strange),
            ("x.cleaned", LogName::Strange),
            ("foo.snapshot", LogName::Strange),
            ("quorum-state", LogName::Other),
            ("kraft-synced", LogName::Other),
            ("kraft-spare", LogName::Leftover),
            ("leader-epoch-checkpoint.tmp", LogName::Other),
            ("log", LogName::Other),
        ];
        for (name, meaning) in cases {
            assert_eq!(classify(name), meaning, "{name}");
        }
    }
}
