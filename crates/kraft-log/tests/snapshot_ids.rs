//! Which snapshots may be taken of a log: the entries of the reference's tests, whose ids the tests carry.

use kraft_core::{Epoch, Instant, LogOffsetMetadata, LogView, SnapshotId, Ticket};
use kraft_fs::MemFs;
use kraft_log::{Cleaned, LogIndex, LogOptions, SnapshotIdError, StorageOp, batch_info, open};
use kraft_wire::batch::{BatchBuilder, BatchView};
use std::path::Path;

struct History {
    index: LogIndex,
}

impl History {
    /// A log of one batch for each epoch and number of records.
    fn of(batches: &[(i32, usize)]) -> Self {
        let fresh = open(MemFs::new(), Path::new("/log"), LogOptions::default());
        let mut index = fresh.expect("a new log").index;
        for (ticket, (epoch, records)) in (1..).map(Ticket).zip(batches) {
            let mut builder = BatchBuilder::data(1);
            for _ in 0..*records {
                builder.push(b"a record").expect("it fits");
            }
            let batches = builder.build(index.end().last_offset, *epoch);
            let infos =
                vec![batch_info(&BatchView::parse(batches.clone()).expect("a batch")).expect("valid")];
            index.submit(ticket, &StorageOp::Append { batches, infos }, Instant(0));
        }
        Self { index }
    }

    /// The log now begins where the newest snapshot ends.
    fn clean(&mut self, end: i64) {
        let oldest = self.index.latest_snapshot().expect("a snapshot");
        assert_eq!(oldest.end_offset, end);
        self.index.cleaned(Cleaned { oldest });
    }
}

fn id(end_offset: i64, epoch: i32) -> SnapshotId {
    SnapshotId {
        end_offset,
        epoch: Epoch(epoch),
    }
}

fn diverging(epoch: i32, (offset, at): (i64, i32)) -> SnapshotIdError {
    SnapshotIdError::Diverging {
        epoch: Epoch(epoch),
        at: LogOffsetMetadata {
            offset,
            epoch: Epoch(at),
        },
    }
}

#[test]
fn log_009_snapshots_at_the_end_of_each_epoch_are_fine() {
    let log = History::of(&[(1, 10), (3, 10)]);
    for end in [id(10, 1), id(20, 3)] {
        assert_eq!(log.index.check_snapshot_id(end, Some(20)), Ok(()), "{end:?}");
    }
}

#[test]
fn log_010_a_snapshot_inside_a_batch_is_refused() {
    let log = History::of(&[(1, 10)]);
    assert_eq!(
        log.index.check_snapshot_id(id(9, 1), Some(10)),
        Err(SnapshotIdError::InsideBatch { end: 9, batch: 0 })
    );
}

#[test]
fn log_011_a_snapshot_of_an_epoch_above_the_logs_is_refused() {
    let log = History::of(&[(1, 10)]);
    assert_eq!(
        log.index.check_snapshot_id(id(10, 2), Some(10)),
        Err(diverging(2, (10, 1)))
    );
}

#[test]
fn log_012_a_snapshot_of_an_epoch_below_the_logs_is_refused() {
    let mut log = History::of(&[(2, 10)]);
    assert_eq!(
        log.index.check_snapshot_id(id(10, 1), Some(10)),
        Err(diverging(1, (0, 1)))
    );
    log.index.snapshot_stored(id(10, 2), 1000);
    assert_eq!(
        log.index.check_snapshot_id(id(10, 1), Some(10)),
        Err(diverging(1, (10, 2)))
    );
}

#[test]
fn log_013_a_snapshot_of_an_epoch_that_the_log_lacks_is_refused() {
    let log = History::of(&[(1, 5), (3, 5)]);
    for end in [id(1, 2), id(5, 2)] {
        assert_eq!(
            log.index.check_snapshot_id(end, Some(10)),
            Err(diverging(2, (5, 1))),
            "{end:?}"
        );
    }
}

#[test]
fn snapshot_020_what_a_leader_takes_no_snapshot_of() {
    // Three records of epoch 2, then the leader's of epoch 3 and three in one batch.
    let log = History::of(&[(2, 3), (3, 1), (3, 3)]);
    let refused = |end, high_watermark| log.index.check_snapshot_id(end, high_watermark);
    let not_committed = |end, high_watermark| Err(SnapshotIdError::NotCommitted { end, high_watermark });
    assert_eq!(refused(id(4, 2), None), not_committed(4, 0));
    assert_eq!(refused(id(7, 3), Some(4)), not_committed(7, 4));
    assert_eq!(refused(id(4, 4), Some(4)), Err(diverging(4, (7, 3))));
    assert_eq!(refused(id(4, 2), Some(4)), Err(diverging(2, (3, 2))));
    assert_eq!(
        refused(id(6, 3), Some(7)),
        Err(SnapshotIdError::InsideBatch { end: 6, batch: 4 })
    );
}

#[test]
fn snapshot_021_what_a_follower_takes_no_snapshot_of() {
    let log = History::of(&[(1, 1), (3, 2), (4, 3)]);
    let refused = |end, high_watermark| log.index.check_snapshot_id(end, high_watermark);
    let not_committed = |end, high_watermark| Err(SnapshotIdError::NotCommitted { end, high_watermark });
    assert_eq!(refused(id(1, 1), None), not_committed(1, 0));
    assert_eq!(refused(id(1, 5), Some(0)), not_committed(1, 0));
    assert_eq!(refused(id(6, 6), Some(6)), Err(diverging(6, (6, 4))));
    assert_eq!(refused(id(6, 3), Some(6)), Err(diverging(3, (3, 3))));
    assert_eq!(
        refused(id(5, 4), Some(6)),
        Err(SnapshotIdError::InsideBatch { end: 5, batch: 3 })
    );
}

/// A snapshot is the state at a place where a batch ends: whoever loads it goes on with whole batches.
#[test]
fn field_h22_a_snapshot_ends_where_a_batch_does() {
    let log = History::of(&[(1, 1), (1, 7), (1, 4)]);
    let fine: Vec<i64> = (0..=12)
        .filter(|end| log.index.check_snapshot_id(id(*end, 1), Some(12)).is_ok())
        .collect();
    assert_eq!(fine, [0, 1, 8, 12]);
}

#[test]
fn a_snapshot_before_the_logs_beginning_is_refused() {
    let mut log = History::of(&[(1, 5), (2, 5)]);
    log.index.snapshot_stored(id(5, 1), 1000);
    log.index.snapshot_stored(id(10, 2), 1000);
    log.clean(10);
    assert_eq!(
        log.index.check_snapshot_id(id(5, 1), Some(10)),
        Err(SnapshotIdError::BeforeStart { end: 5, start: 10 })
    );
    assert_eq!(log.index.check_snapshot_id(id(10, 2), Some(10)), Ok(()));
    assert_eq!(
        log.index.check_snapshot_id(id(10, 1), Some(10)),
        Err(diverging(1, (10, 2)))
    );
}
