//! Which snapshots retention lets go of, and the log before them (Kafka's `maybeClean`).

use kraft_core::SnapshotId;

/// How much is kept. Only with a second snapshot does anything go, and the newest one never does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// `metadata.max.retention.bytes`: the most that log and snapshots should take; `None` for any size.
    pub bytes: Option<u64>,
    /// `metadata.max.retention.ms`: the age of a snapshot's last record beyond which it goes; `None` for any age.
    pub age_ms: Option<i64>,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            bytes: Some(100 << 20),
            age_ms: Some(7 * 24 * 60 * 60 * 1000),
        }
    }
}

/// What a cleaning has removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cleaned {
    /// The oldest snapshot that is left. The log starts where it ends.
    pub oldest: SnapshotId,
}

/// A snapshot as retention sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate {
    pub(crate) id: SnapshotId,
    pub(crate) size: u64,
}

/// The log as retention sees it.
#[derive(Debug)]
pub(crate) struct Extent {
    /// Where it starts.
    pub(crate) start: i64,
    /// Base offset and size of each segment.
    pub(crate) segments: Vec<(i64, u64)>,
    pub(crate) high_watermark: i64,
    /// In their order.
    pub(crate) snapshots: Vec<Candidate>,
}

impl Extent {
    /// Lets go of snapshots, the oldest first, while they are `due`, and says why; the argument is the snapshot and the
    /// bytes of log and snapshots together.
    pub(crate) fn shrink<E>(
        &mut self,
        reason: &'static str,
        mut due: impl FnMut(SnapshotId, u64) -> Result<bool, E>,
    ) -> Result<(), E> {
        while let [oldest, next, ..] = self.snapshots[..] {
            let log: u64 = self.segments.iter().map(|(_, size)| size).sum();
            let snapshots: u64 = self.snapshots.iter().map(|candidate| candidate.size).sum();
            if !due(oldest.id, log + snapshots)? || !self.start_at(next.id) {
                break;
            }
            tracing::info!(
                end_offset = oldest.id.end_offset,
                epoch = oldest.id.epoch.0,
                log_start = self.start,
                "a snapshot goes, and the log before the next one: {reason}"
            );
        }
        Ok(())
    }

    /// The log starts where a snapshot ends; whole segments before it go, and the snapshots before it.
    fn start_at(&mut self, id: SnapshotId) -> bool {
        let newest = self.snapshots.last().map_or(0, |newest| newest.id.end_offset);
        if id.end_offset <= self.start || id.end_offset > newest || id.end_offset > self.high_watermark {
            return false;
        }
        self.start = id.end_offset;
        while let [_, (next, _), ..] = self.segments[..]
            && next <= self.start
        {
            self.segments.remove(0);
        }
        self.snapshots
            .retain(|known| (known.id.epoch, known.id.end_offset) >= (id.epoch, id.end_offset));
        true
    }
}
