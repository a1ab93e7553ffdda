//! Offsets that no replica starts on.

use crate::{directory::Contents, names::log_file, open_error::OpenError};
use kraft_core::MAX_OFFSET;
use kraft_snapshot::frozen_name;
use std::path::Path;

/// Refuses names whose offset is further than any log comes: a leader could not append behind it, and no checksum covers a
/// name.
pub(crate) fn require_offsets_in_range(dir: &Path, contents: &Contents) -> Result<(), OpenError> {
    let segments = contents.segments.keys().map(|base| (*base, log_file(*base)));
    let snapshots = contents.snapshots.iter();
    let snapshots = snapshots.map(|(id, _)| (id.end_offset, frozen_name(id)));
    match segments.chain(snapshots).find(|(offset, _)| *offset > MAX_OFFSET) {
        Some((offset, name)) => Err(OpenError::OffsetOutOfRange {
            path: dir.join(name),
            offset,
        }),
        None => Ok(()),
    }
}
