//! What a change costs where the image is large: `cargo run --release -p kraft-metadata --example large_image [SETTINGS]`.
//!
//! Loads a snapshot with that many settings of brokers, 100,000 unless it is said otherwise, and then applies 1,000 batches of
//! one record each, while a reader keeps the image from before each of them. `valgrind --tool=callgrind` counts the
//! instructions, with 0 settings for what does not depend on the image.

use kraft_core::{Epoch, SnapshotId, StateMachine, state_machine::CommittedBatch};
use kraft_metadata::{
    MetadataMachine, MetadataRecord, MetadataSettings,
    record::{ConfigRecord, FeatureLevelRecord},
};
use std::{error::Error, time::Instant};

fn setting(number: usize, value: &str) -> MetadataRecord {
    let record = ConfigRecord {
        resource_type: BROKER,
        resource_name: (number % 100).to_string(),
        name: format!("a.setting.number.{number}"),
        value: Some(value.to_owned()),
        ..ConfigRecord::default()
    };
    record.into()
}

fn main() -> Result<(), Box<dyn Error>> {
    let settings = std::env::args()
        .nth(1)
        .map_or(Ok(100_000), |number| number.parse())?;
    let level = FeatureLevelRecord {
        name: "metadata.version".to_owned(),
        feature_level: 33,
        ..FeatureLevelRecord::default()
    };
    let records = std::iter::once(level.into()).chain((0..settings).map(|number| setting(number, "before")));
    let values = records
        .map(|record| record.encode())
        .collect::<Result<Vec<_>, _>>()?;
    let mut machine = MetadataMachine::new(MetadataSettings::default());
    let id = SnapshotId {
        end_offset: 100,
        epoch: Epoch(1),
    };
    let began = Instant::now();
    machine.load(id, 0, &mut values.iter().map(Vec::as_slice))?;
    println!("loading {settings} settings: {:.1?}", began.elapsed());

    let changes = (0..BATCHES).map(|batch| setting(batch * 97, "after").encode());
    let changes = changes.collect::<Result<Vec<_>, _>>()?;
    let mut reader = machine.image();
    let began = Instant::now();
    for (offset, value) in (100..).zip(&changes) {
        machine.apply(CommittedBatch {
            base: offset,
            last: offset,
            epoch: Epoch(1),
            timestamp_ms: 0,
            values: &[value],
        })?;
        reader = machine.image();
    }
    println!(
        "{BATCHES} batches of one record: {:.1?} each",
        began.elapsed() / BATCHES as u32
    );
    assert_eq!(reader.provenance().last_offset, 99 + BATCHES as i64);
    Ok(())
}

const BATCHES: usize = 1_000;

/// The type of the resource.
const BROKER: i8 = 4;
