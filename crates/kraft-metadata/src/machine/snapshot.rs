//! The state as a snapshot.

use crate::{image::MetadataImage, image_records::ImageRecords};

/// The values of a snapshot's records. Each is encoded when it is asked for, which is the work of whoever writes the
/// snapshot: to take one costs the same however much metadata there is.
#[derive(Debug)]
pub struct SnapshotValues(ImageRecords);

impl SnapshotValues {
    /// Of an image that is complete: all of its records can be written.
    pub(super) fn new(image: &MetadataImage) -> Self {
        assert!(image.complete, "a snapshot of a part loses the rest");
        Self(ImageRecords::new(image))
    }
}

impl Iterator for SnapshotValues {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let record = self.0.next()?;
        Some(
            record
                .encode()
                .expect("a complete image holds what can be written"),
        )
    }
}
