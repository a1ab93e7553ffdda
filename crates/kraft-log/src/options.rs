//! The settings of a log.

use crate::clean::Retention;
use kraft_wire::uuid_text::METADATA_TOPIC_ID;
use uuid::Uuid;

/// The settings of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogOptions {
    /// The id of the topic that the log belongs to; a directory that names another one is not opened.
    pub topic_id: Uuid,
    /// `metadata.log.segment.bytes`: a segment that would grow beyond it is followed by a new one.
    pub segment_bytes: u64,
    /// `metadata.log.segment.ms`: a segment whose first batch is older than the newest batch by more than this is
    /// followed by a new one.
    pub segment_age_ms: i64,
    /// What [`StorageOp::Clean`](crate::StorageOp::Clean) keeps.
    pub retention: Retention,
    /// `internal.metadata.delete.delay.millis`: how long a snapshot that is deleted stays under its `.deleted` name, at
    /// least; it goes with the first [`StorageOp::Clean`](crate::StorageOp::Clean) after that. Segments stay a minute.
    pub delete_delay_ms: i64,
    /// How many bytes a [`Preparer`](crate::Preparer) keeps ready, as written zeros, ahead of the batches; it begins
    /// when less than half of them is left. 0 extends the last segment by the bytes of each append alone, which makes
    /// every sync dearer.
    pub prepare_bytes: u64,
    /// How many bytes of batches that are already on disk stay in memory for readers at the tail; four times as many
    /// while they are not committed.
    pub recent_bytes: usize,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self {
            topic_id: METADATA_TOPIC_ID,
            segment_bytes: 1 << 30,
            segment_age_ms: 7 * 24 * 60 * 60 * 1000,
            retention: Retention::default(),
            delete_delay_ms: 60_000,
            prepare_bytes: 4 << 20,
            recent_bytes: 8 << 20,
        }
    }
}
