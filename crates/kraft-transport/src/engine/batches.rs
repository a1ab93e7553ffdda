//! Record batches between bytes and what core and state machine see of them.

use bytes::{Bytes, BytesMut};
use kraft_core::{BatchInfo, ControlRecord, Epoch};
use kraft_snapshot::control::{from_wire, to_wire};
use kraft_wire::{
    EncodeError,
    batch::{BatchBuilder, BatchError, BatchView, Batches},
    control::{ControlError, control_batch, control_records},
};
use thiserror::Error;

/// Why fetched records are not taken.
#[derive(Debug, Error)]
pub(super) enum BatchesFault {
    /// A batch fails its checks.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// A control batch cannot be read.
    #[error(transparent)]
    Control(#[from] ControlError),
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
        let info = info(&batch)?;
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

fn info(batch: &BatchView) -> Result<BatchInfo, BatchesFault> {
    let control = if batch.is_control() {
        let records = control_records(batch)?;
        Some(
            records
                .iter()
                .filter_map(|(_, record)| from_wire(record))
                .collect(),
        )
    } else {
        batch.validate()?;
        None
    };
    Ok(BatchInfo {
        base: batch.base_offset(),
        last: batch.last_offset(),
        epoch: Epoch(batch.leader_epoch()),
        bytes: u32::try_from(batch.size()).expect("a batch length is a positive i32"),
        control,
    })
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
