//! Record batches between bytes and what core and state machine see of them.

use bytes::{Bytes, BytesMut};
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

/// Batches by their base offsets.
pub(super) type FetchedBatches = Vec<(i64, Bytes)>;

/// Checks fetched records. What is cut off at the end is left out.
pub(super) fn checked(records: Bytes) -> Result<(Vec<BatchInfo>, FetchedBatches), BatchesFault> {
    let mut infos: Vec<BatchInfo> = Vec::new();
    let mut bytes = Vec::new();
    for batch in Batches::new(records) {
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
        bytes.push((info.base, batch.bytes().clone()));
        infos.push(info);
    }
    if infos.is_empty() {
        return Err(BatchesFault::NoneWhole);
    }
    Ok((infos, bytes))
}

/// One batch of data records.
pub(super) fn data_batch(
    values: &[Vec<u8>],
    base: i64,
    epoch: Epoch,
    timestamp_ms: i64,
) -> Result<Bytes, EncodeError> {
    let mut builder = BatchBuilder::data(timestamp_ms);
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

/// The fetched batches that an append names, one behind the other.
///
/// # Panics
/// If the append names a batch that was not fetched.
pub(super) fn selected(fetched: &[(i64, Bytes)], infos: &[BatchInfo]) -> Bytes {
    let chosen = |info: &BatchInfo| {
        let at = fetched.binary_search_by_key(&info.base, |(base, _)| *base);
        &fetched[at.expect("the core appends batches that it was shown")].1
    };
    match infos {
        [one] => chosen(one).clone(),
        many => {
            let size = many.iter().map(|info| info.bytes as usize).sum();
            let mut joined = BytesMut::with_capacity(size);
            if mutated!(ReordersBatches) {
                many.iter()
                    .rev()
                    .for_each(|info| joined.extend_from_slice(chosen(info)));
                return joined.freeze();
            }
            many.iter()
                .for_each(|info| joined.extend_from_slice(chosen(info)));
            joined.freeze()
        }
    }
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
        assert_eq!((kept[0].0, kept[0].1.len()), (0, whole));
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
