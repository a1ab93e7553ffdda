//! The records that a cluster starts with where its zero checkpoint names none: from the file that Kafka's tools wrote
//! up to 4.3, or the newest metadata version alone.

use std::error::Error;
use std::path::Path;

use kraft_core::SnapshotId;
use kraft_fs::RealFs;
use kraft_metadata::feature::{METADATA_VERSION, MetadataVersion};
use kraft_metadata::record::{FeatureLevelRecord, MetadataRecord};
use kraft_snapshot::SnapshotReader;

/// The values of the records.
pub(super) fn values(metadata_dir: &Path) -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    let path = metadata_dir.join(FILE_NAME);
    let Some(mut reader) = SnapshotReader::open_file(&RealFs, &path, SnapshotId::BOOTSTRAP)? else {
        return Ok(vec![newest_version()]);
    };
    let mut values = Vec::new();
    while let Some(batch) = reader.next_batch()? {
        values.extend(batch.values().map(Vec::from));
    }
    Ok(values)
}

fn newest_version() -> Vec<u8> {
    let record = FeatureLevelRecord {
        name: METADATA_VERSION.to_owned(),
        feature_level: MetadataVersion::LATEST_PRODUCTION.level(),
        ..FeatureLevelRecord::default()
    };
    MetadataRecord::from(record)
        .encode()
        .expect("a short name can be written")
}

const FILE_NAME: &str = "bootstrap.checkpoint";
