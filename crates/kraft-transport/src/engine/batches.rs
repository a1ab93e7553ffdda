//! Record batches between bytes and what core and state machine see of them.

use bytes::Bytes;
use kraft_core::{BatchInfo, ControlRecord, Epoch};
use kraft_log::batch_info;
use kraft_snapshot::control::to_wire;
use kraft_wire::{
    EncodeError,
    batch::{BatchBuilder, BatchError, Batches},
    control::{ControlError, control_batch},
};
use thiserror::Error;

/// Why fetched records are not taken.
#[derive(Debug, Error)]
pub(super) enum BatchesFault {
    /// A batch fails its checks.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// Its records fail theirs.
    #[error(transparent)]
    Records(#[from] ControlError),
    /// A batch does not follow the one before it.
    #[error("a batch at offset {found}, {expected} is next")]
    Gap {
        /// The offset that is next.
        expected: i64,
        /// The offset of the batch.
        found: i64,
    },
    /// There is no whole batch.
    #[error("no whole batch")]
    NoneWhole,
}

/// Checks fetched records. What is cut off at the end is left out.
pub(super) fn checked(records: Bytes) -> Result<(Vec<BatchInfo>, Bytes), BatchesFault> {
    let mut infos: Vec<BatchInfo> = Vec::new();
    let mut size = 0;
    for batch in Batches::new(records.clone()) {
        let batch = batch?;
        let info = batch_info(&batch)?;
        if let Some(expected) = infos.last().map(|before| before.last + 1)
            && info.base != expected
        {
            return Err(BatchesFault::Gap {
                expected,
                found: info.base,
            });
        }
        size += batch.size();
        infos.push(info);
    }
    if infos.is_empty() {
        return Err(BatchesFault::NoneWhole);
    }
    Ok((infos, records.slice(..size)))
}

/// One batch of data records, in memory of exactly its size: it is kept for those who read at the end of the log.
pub(super) fn data_batch(
    values: &[Vec<u8>],
    base: i64,
    epoch: Epoch,
    timestamp_ms: i64,
) -> Result<Bytes, EncodeError> {
    let mut builder = BatchBuilder::data_of(timestamp_ms, values.iter().map(Vec::len));
    for value in values {
        builder.push(value)?;
    }
    Ok(builder.build(base, epoch.0))
}

/// One batch of control records.
pub(super) fn own_control_batch(
    records: &[ControlRecord],
    base: i64,
    epoch: Epoch,
    timestamp_ms: i64,
) -> Result<Bytes, EncodeError> {
    let records: Vec<_> = records.iter().map(to_wire).collect();
    control_batch(&records, base, epoch.0, timestamp_ms)
}

/// Of the batches of an answer those that an append names, which are the first ones, as they lie there: they are not copied.
pub(super) fn selected(mut fetched: Bytes, infos: &[BatchInfo]) -> Bytes {
    let sizes = infos.iter().map(|info| info.bytes as usize);
    fetched.truncate(sizes.clone().sum());
    if mutated!(ReordersBatches) {
        let mut parts: Vec<_> = sizes.map(|size| fetched.split_to(size)).collect();
        parts.reverse();
        return parts.concat().into();
    }
    fetched
}

/// An upper bound of what a record adds to a batch: its value, and its other fields at their largest.
pub(super) fn record_bytes_max(value: &[u8]) -> u64 {
    value.len() as u64 + 32
}

/// What a batch has in front of its records.
pub(super) const BATCH_OVERHEAD: u64 = kraft_wire::batch::HEADER_SIZE as u64;

/// The largest batch that is written.
pub(super) const BATCH_BYTES_MAX: u32 = kraft_wire::batch::BATCH_SIZE_MAX as u32;

#[cfg(test)]
mod tests {
    use super::*;
    use kraft_wire::control::{ControlRecord as WireRecord, SnapshotFooterRecord};
    use proptest::prelude::*;

    fn batch(base: i64) -> Vec<u8> {
        data_batch(&[b"value".to_vec()], base, Epoch(1), 0)
            .expect("a batch")
            .to_vec()
    }

    fn fault(bytes: Vec<u8>) -> BatchesFault {
        checked(bytes.into()).expect_err("nothing of it may be appended")
    }

    #[test]
    fn fetch_007_records_without_a_whole_valid_batch_are_dropped() {
        let good = batch(0);
        let with = |at: usize, bytes: &[u8]| {
            let mut changed = good.clone();
            changed[at..at + bytes.len()].copy_from_slice(bytes);
            changed
        };
        let (length, magic) = (8, 16);
        for bytes in [&good[..11], &good[..16], &good[..good.len() - 1], &[]] {
            assert!(matches!(fault(bytes.to_vec()), BatchesFault::NoneWhole));
        }
        let too_small = fault(with(length, &13_i32.to_be_bytes()));
        assert!(matches!(
            too_small,
            BatchesFault::Batch(BatchError::LengthTooSmall { length: 13 })
        ));
        for unknown in [-1_i8, 3] {
            let found = fault(with(magic, &unknown.to_be_bytes()));
            assert!(matches!(
                found,
                BatchesFault::Batch(BatchError::UnknownMagic { magic }) if magic == unknown
            ));
        }
        let flipped = fault(with(good.len() - 1, &[good[good.len() - 1] ^ 1]));
        assert!(matches!(flipped, BatchesFault::Records(_)), "{flipped}");
    }

    proptest! {
        #[test]
        fn random_bytes_are_no_batches(bytes in prop::collection::vec(any::<u8>(), 1..=128)) {
            prop_assert!(checked(bytes.into()).is_err());
        }
    }

    #[test]
    fn append_018_a_batch_has_its_records_in_order_and_says_what_it_is() {
        let values: Vec<Vec<u8>> = (0..5).map(|number| vec![number; 3]).collect();
        let bytes = data_batch(&values, 57, Epoch(15), 1234).expect("a batch");
        let batches = Batches::collect_all(bytes).expect("whole");
        let [batch] = &batches[..] else {
            panic!("one batch, not {}", batches.len());
        };
        assert!(!batch.is_control());
        assert_eq!((batch.base_offset(), batch.last_offset()), (57, 61));
        assert_eq!(batch.leader_epoch(), 15);
        assert_eq!(batch.header().max_timestamp, 1234);
        let read = batch.records().map(|record| record.expect("whole").value);
        let read: Vec<Vec<u8>> = read.map(|value| value.expect("a value").to_vec()).collect();
        assert_eq!(read, values);
    }

    #[test]
    fn what_is_cut_off_behind_whole_batches_is_left_out() {
        let mut bytes = batch(0);
        let whole = bytes.len();
        bytes.extend_from_slice(&batch(1)[..30]);
        let (infos, kept) = checked(bytes.into()).expect("one batch is whole");
        assert_eq!(infos.len(), 1);
        assert_eq!(kept.len(), whole);
    }

    #[test]
    fn the_first_batches_of_an_answer_are_appended_where_they_lie() {
        let answer: Bytes = [batch(0), batch(1), batch(2)].concat().into();
        let (infos, kept) = checked(answer.clone()).expect("whole batches");
        for taken in 1..=3 {
            let appended = selected(kept.clone(), &infos[..taken]);
            assert_eq!(appended, answer[..answer.len() / 3 * taken]);
            assert_eq!(appended.as_ptr(), answer.as_ptr());
        }
    }

    /// Half of the memory of a batch that is kept would be lost otherwise.
    #[test]
    fn a_batch_has_no_memory_to_spare() {
        for count in [1, 100, 10_000] {
            let values: Vec<Vec<u8>> = (0..count).map(|number| vec![7; 1 + number % 200]).collect();
            let bytes = data_batch(&values, 0, Epoch(1), 0).expect("a batch");
            let size = bytes.len();
            assert_eq!(Vec::from(bytes).capacity(), size, "{count} records");
        }
    }

    #[test]
    fn a_gap_between_batches_spoils_all_of_them() {
        let bytes = [batch(0), batch(2)].concat();
        assert!(matches!(
            fault(bytes),
            BatchesFault::Gap {
                expected: 1,
                found: 2
            }
        ));
    }

    /// A start would refuse a log that holds them.
    #[test]
    fn records_of_a_snapshot_are_no_records_of_a_log() {
        let footer = WireRecord::SnapshotFooter(SnapshotFooterRecord::default());
        let bytes = control_batch(&[footer], 0, 1, 0).expect("a batch");
        let found = fault(bytes.to_vec());
        assert!(
            matches!(found, BatchesFault::Records(ControlError::UnknownType { .. })),
            "{found}"
        );
    }
}
