//! What the core is told of a batch.

use kraft_core::{BatchInfo, Epoch};
use kraft_snapshot::control::from_wire;
use kraft_wire::{
    batch::BatchView,
    control::{ControlError, control_records},
};

/// Checks a batch, checksum and records included, and describes it.
///
/// # Errors
/// The batch is not one that may stand in a metadata log.
pub fn batch_info(batch: &BatchView) -> Result<BatchInfo, ControlError> {
    let control = if batch.is_control() {
        // Header and footer of a snapshot, the other control records that there are, have no place in a log.
        let record = |(_, record): (i64, _)| {
            from_wire(&record)?.ok_or(ControlError::UnknownType {
                control_type: record.control_type(),
            })
        };
        let records = control_records(batch)?.into_iter().map(record);
        Some(records.collect::<Result<_, _>>()?)
    } else {
        batch.validate()?;
        None
    };
    Ok(BatchInfo {
        base: batch.base_offset(),
        last: batch.last_offset(),
        epoch: Epoch(batch.leader_epoch()),
        bytes: u32::try_from(batch.size()).expect("the length of a batch is an int32"),
        control,
    })
}
