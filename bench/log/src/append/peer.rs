//! The same bytes in `raft-engine`, synced each time and not compressed.

use std::path::Path;

use protobuf::well_known_types::BytesValue;
use raft_engine::{Config, Engine, LogBatch, MessageExt, ReadableSize};

use super::{Load, SEGMENT_BYTES};
use crate::{Error, measure::Times};

/// Entries that are bytes; the first eight of them are the index.
struct Entries;

impl MessageExt for Entries {
    type Entry = BytesValue;

    fn index(entry: &BytesValue) -> u64 {
        let head = entry
            .get_value()
            .first_chunk()
            .expect("an entry begins with its index");
        u64::from_be_bytes(*head)
    }
}

pub fn append(dir: &Path, load: &Load) -> Result<Times, Error> {
    let engine = Engine::open(Config {
        dir: dir
            .to_str()
            .ok_or("the directory has no name in UTF-8")?
            .to_owned(),
        target_file_size: ReadableSize(SEGMENT_BYTES),
        batch_compression_threshold: ReadableSize(0),
        ..Config::default()
    })?;
    let mut times = Times::with_capacity(load.operations);
    for operation in 0..load.operations {
        let mut bytes = load.batch_of(operation).to_vec();
        bytes[..8].copy_from_slice(&(operation as u64 + 1).to_be_bytes());
        let mut entry = BytesValue::new();
        entry.set_value(bytes);
        times.take(|| {
            let mut batch = LogBatch::default();
            batch.add_entries::<Entries>(1, &[entry])?;
            engine.write(&mut batch, true)
        })?;
    }
    Ok(times)
}
