//! The `metadata.*` keys: the metadata log, its snapshots and their retention.

use super::{error::ConfigError, values::Values};
use std::time::Duration;

/// The settings of the metadata log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataLogSettings {
    /// `metadata.log.segment.bytes`, or `internal.metadata.log.segment.bytes` where that is set.
    pub segment_bytes: i32,
    /// `metadata.log.segment.ms`.
    pub segment_age: Duration,
    /// `metadata.log.max.record.bytes.between.snapshots`.
    pub snapshot_max_new_bytes: u64,
    /// `metadata.log.max.snapshot.interval.ms`; absent where it is 0.
    pub snapshot_max_interval: Option<Duration>,
    /// `metadata.max.retention.bytes`; absent where it is negative.
    pub retention_bytes: Option<u64>,
    /// `metadata.max.retention.ms`; absent where it is negative.
    pub retention_age: Option<Duration>,
    /// `metadata.max.idle.interval.ms`: how often a leading controller writes a no-op record; absent where it is 0.
    pub max_idle_interval: Option<Duration>,
    /// `internal.metadata.delete.delay.millis`: how long a deleted file stays under its `.deleted` name.
    pub delete_delay: Duration,
}

impl MetadataLogSettings {
    pub(super) fn from_values(values: Values<'_>) -> Result<Self, ConfigError> {
        const DAY_MS: i64 = 24 * 60 * 60 * 1000;
        let unless_zero = |duration: Duration| (!duration.is_zero()).then_some(duration);
        let signed = i64::MIN..=i64::MAX;
        let retention_bytes = values.integer("metadata.max.retention.bytes", 100 << 20, signed.clone())?;
        let retention_ms = values.integer("metadata.max.retention.ms", 7 * DAY_MS, signed)?;
        let snapshot_interval =
            values.long_millis("metadata.log.max.snapshot.interval.ms", 60 * 60 * 1000, 0)?;
        let new_bytes = values.integer(
            "metadata.log.max.record.bytes.between.snapshots",
            20 << 20,
            1..=i64::MAX,
        )?;
        Ok(Self {
            segment_bytes: segment_bytes(values)?,
            segment_age: values.long_millis("metadata.log.segment.ms", 7 * DAY_MS, 1)?,
            snapshot_max_new_bytes: new_bytes.unsigned_abs(),
            snapshot_max_interval: unless_zero(snapshot_interval),
            retention_bytes: u64::try_from(retention_bytes).ok(),
            retention_age: u64::try_from(retention_ms).ok().map(Duration::from_millis),
            max_idle_interval: unless_zero(values.int_millis("metadata.max.idle.interval.ms", 500)?),
            delete_delay: values.long_millis("internal.metadata.delete.delay.millis", 60_000, 0)?,
        })
    }
}

/// The internal key is there so that tests may go below the bound of the public one.
fn segment_bytes(values: Values<'_>) -> Result<i32, ConfigError> {
    let public = values.int("metadata.log.segment.bytes", 1 << 30, 8 << 20)?;
    values.int("internal.metadata.log.segment.bytes", public, 1)
}
