//! Which snapshots may be taken of a log (Kafka's `createNewSnapshot`).

use crate::LogIndex;
use kraft_core::{Epoch, LogOffsetMetadata, LogView, SnapshotId};
use thiserror::Error;

/// Why no snapshot of that id may be taken: it would not be the state at a place that every replica knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SnapshotIdError {
    /// The log that leads there is gone.
    #[error("it ends at offset {end}, and the log begins at {start}")]
    BeforeStart {
        /// Where the snapshot would end.
        end: i64,
        /// Where the log begins.
        start: i64,
    },
    /// What it would hold is not committed.
    #[error("it ends at offset {end}, and only what is below {high_watermark} is committed")]
    NotCommitted {
        /// Where the snapshot would end.
        end: i64,
        /// The high watermark; the log's beginning where none is known.
        high_watermark: i64,
    },
    /// The log has no record of that epoch before that offset.
    #[error("epoch {epoch} ends at offset {}, with epoch {} before it", at.offset, at.epoch)]
    Diverging {
        /// The epoch of the id.
        epoch: Epoch,
        /// Where the log leaves what the id says.
        at: LogOffsetMetadata,
    },
    /// Replicas would receive the rest of a batch of which the snapshot has the beginning.
    #[error("it ends at offset {end}, inside of the batch that begins at {batch}")]
    InsideBatch {
        /// Where the snapshot would end.
        end: i64,
        /// The batch.
        batch: i64,
    },
}

impl LogIndex {
    /// Checks, in Kafka's order, whether a snapshot of the state at `id` may be taken: between the log's beginning and the
    /// high watermark, at the end of a batch, with the epoch of the record before.
    ///
    /// # Errors
    /// [`SnapshotIdError`].
    pub fn check_snapshot_id(
        &self,
        id: SnapshotId,
        high_watermark: Option<i64>,
    ) -> Result<(), SnapshotIdError> {
        let (start, end) = (self.start(), id.end_offset);
        if end < start {
            return Err(SnapshotIdError::BeforeStart { end, start });
        }
        let high_watermark = high_watermark.unwrap_or(start);
        if end > high_watermark {
            return Err(SnapshotIdError::NotCommitted { end, high_watermark });
        }
        self.check_epoch(id)?;
        let batch = self.batch_end_at_or_before(end);
        if batch != end {
            return Err(SnapshotIdError::InsideBatch { end, batch });
        }
        Ok(())
    }

    fn check_epoch(&self, id: SnapshotId) -> Result<(), SnapshotIdError> {
        let SnapshotId { end_offset, epoch } = id;
        if end_offset == 0 && self.start() == 0 {
            return Ok(());
        }
        if let Some(earliest) = self.earliest_snapshot()
            && (epoch < earliest.epoch || (end_offset == self.start() && epoch != earliest.epoch))
        {
            let at = LogOffsetMetadata {
                epoch: earliest.epoch,
                offset: earliest.end_offset,
            };
            return Err(SnapshotIdError::Diverging { epoch, at });
        }
        let at = self.end_for_epoch(epoch);
        if at.epoch != epoch || at.offset < end_offset {
            return Err(SnapshotIdError::Diverging { epoch, at });
        }
        Ok(())
    }
}
