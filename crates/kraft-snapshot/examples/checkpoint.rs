//! Writes a snapshot of records that mean nothing: `checkpoint DIR END_OFFSET EPOCH RECORDS RECORD_BYTES`. `cargo xtask bench
//! catchup` has it fetched.

use kraft_core::{Epoch, SnapshotId};
use kraft_fs::RealFs;
use kraft_snapshot::{SnapshotHeader, SnapshotWriter};
use std::{error::Error, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    let usage = "usage: checkpoint DIR END_OFFSET EPOCH RECORDS RECORD_BYTES";
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dir, end_offset, epoch, records, record_bytes] = arguments.as_slice() else {
        return Err(usage.into());
    };
    let id = SnapshotId {
        end_offset: end_offset.parse()?,
        epoch: Epoch(epoch.parse()?),
    };
    let header = SnapshotHeader {
        last_contained_log_timestamp: 0,
        kraft_version: 0,
        voters: None,
    };
    let mut writer = SnapshotWriter::create(&RealFs, Path::new(dir), id, &header, || 0)?;
    let record = vec![7; record_bytes.parse()?];
    for _ in 0..records.parse::<u64>()? {
        writer.append(&record)?;
    }
    println!("{}", writer.freeze()?);
    Ok(())
}
