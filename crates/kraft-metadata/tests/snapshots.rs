//! What it costs to change an image and to take a snapshot of it, and what is in that.

// A failing unwrap is how a test fails, in its helpers too.
#![allow(clippy::unwrap_used)]

use kraft_core::{Epoch, SnapshotId, StateMachine, state_machine::CommittedBatch};
use kraft_metadata::{
    MetadataMachine, MetadataRecord, MetadataSettings,
    record::{ConfigRecord, FeatureLevelRecord},
};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use tracing::{
    Event, Level, Metadata, Subscriber,
    span::{Attributes, Id, Record},
};

const BROKER: i8 = 4;

fn setting(name: &str, value: &str) -> MetadataRecord {
    let record = ConfigRecord {
        resource_type: BROKER,
        resource_name: "7".to_owned(),
        name: name.to_owned(),
        value: Some(value.to_owned()),
        ..ConfigRecord::default()
    };
    record.into()
}

fn encoded(record: &MetadataRecord) -> Vec<u8> {
    record.encode().unwrap()
}

/// A machine that has loaded a level and so many settings, and their values.
fn machine_with(settings: usize) -> (MetadataMachine, Vec<Vec<u8>>) {
    let level = FeatureLevelRecord {
        name: "metadata.version".to_owned(),
        feature_level: 33,
        ..FeatureLevelRecord::default()
    };
    let settings = (0..settings).map(|n| setting(&format!("key.{n:06}"), "a value"));
    let records = std::iter::once(level.into()).chain(settings);
    let values: Vec<_> = records.map(|record| encoded(&record)).collect();
    let mut machine = MetadataMachine::new(MetadataSettings::default());
    let id = SnapshotId {
        end_offset: 100,
        epoch: Epoch(3),
    };
    machine
        .load(id, 0, &mut values.iter().map(Vec::as_slice))
        .unwrap();
    (machine, values)
}

fn apply(machine: &mut MetadataMachine, offset: i64, value: &[u8]) {
    let batch = CommittedBatch {
        base: offset,
        last: offset,
        epoch: Epoch(3),
        timestamp_ms: 0,
        values: &[value],
    };
    machine.apply(batch).unwrap();
}

#[test]
fn records_are_encoded_when_they_are_drawn_and_not_when_the_snapshot_is_taken() {
    let mut to_take = Vec::new();
    for settings in [10, 5_000] {
        let (machine, values) = machine_with(settings);
        let mut snapshot = None;
        let taken = allocation_counter::measure(|| snapshot = machine.snapshot());
        to_take.push(taken.count_total);
        let mut snapshot = snapshot.unwrap();
        let mut first = None;
        let one = allocation_counter::measure(|| first = snapshot.next());
        assert!(one.bytes_total < 1_000, "{one:?}");
        let mut rest = Vec::new();
        let drawn = allocation_counter::measure(|| rest.extend(&mut snapshot));
        assert!(drawn.count_total > settings as u64, "{drawn:?}");
        assert!(first.into_iter().chain(rest).eq(values));
    }
    assert_eq!(to_take[0], to_take[1], "it costs the same however much there is");
}

#[test]
fn a_snapshot_shows_nothing_of_what_is_committed_while_it_is_drawn() {
    let (mut machine, values) = machine_with(100);
    let mut snapshot = machine.snapshot().unwrap();
    let mut drawn: Vec<_> = snapshot.by_ref().take(50).collect();
    for (offset, name) in (100..).zip(["key.000000", "key.000070", "key.0000705", "zzz"]) {
        apply(&mut machine, offset, &encoded(&setting(name, "another value")));
    }
    drawn.extend(snapshot);
    assert_eq!(drawn, values);
    assert_eq!(machine.snapshot().unwrap().count(), values.len() + 2);
}

#[test]
fn a_change_costs_what_it_changes_however_large_the_image_is() {
    for settings in [10, 5_000] {
        let (mut machine, _) = machine_with(settings);
        let none = ConfigRecord {
            resource_type: BROKER,
            resource_name: "7".to_owned(),
            name: "key.000007".to_owned(),
            value: None,
            ..ConfigRecord::default()
        };
        let changes = [
            setting("key.000005", "another value"),
            setting("key", "new"),
            none.into(),
        ];
        // A reader still has the image from before.
        let before = machine.image();
        for (offset, change) in (100..).zip(&changes) {
            let value = encoded(change);
            let cost = allocation_counter::measure(|| apply(&mut machine, offset, &value));
            assert!(cost.bytes_total < 10_000, "{settings} settings: {cost:?}");
        }
        let after = machine.image();
        for (name, was, is) in [
            ("key.000005", Some("a value"), Some("another value")),
            ("key", None, Some("new")),
            ("key.000007", Some("a value"), None),
        ] {
            assert_eq!(
                (before.broker_config("7", name), after.broker_config("7", name)),
                (was, is)
            );
        }
    }
}

/// Counts the warnings.
#[derive(Clone, Default)]
struct Warnings(Arc<AtomicUsize>);

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }

    fn event(&self, _: &Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Nobody would know why the log grows.
#[test]
fn that_there_will_be_no_snapshots_is_said_once() {
    let warnings = Warnings::default();
    tracing::subscriber::with_default(warnings.clone(), || {
        let (mut machine, _) = machine_with(3);
        // A topic: version 1 of the frame, type 2, version 0.
        let topic = [&[1, 2, 0][..], b"\x04foo", &[7; 16], &[0]].concat();
        for offset in 100..110 {
            apply(&mut machine, offset, &topic);
            assert!(machine.snapshot().is_none());
        }
    });
    assert_eq!(warnings.0.load(Ordering::Relaxed), 1);
}

/// A foreign writer's text, each broken character of which becomes three bytes.
#[test]
fn where_a_record_cannot_be_written_again_there_is_no_snapshot() {
    let (mut machine, values) = machine_with(3);
    let marker = "x".repeat(32_767);
    let mut broken = encoded(&setting("key", &marker));
    let at = broken
        .windows(100)
        .position(|window| window.iter().all(|byte| *byte == b'x'));
    broken[at.unwrap()..][..32_767].fill(0xff);
    apply(&mut machine, 100, &broken);
    assert!(!machine.image().is_complete());
    assert!(machine.snapshot().is_none());
    let id = SnapshotId {
        end_offset: 200,
        epoch: Epoch(3),
    };
    machine
        .load(id, 0, &mut values.iter().map(Vec::as_slice))
        .unwrap();
    assert!(
        machine.snapshot().unwrap().eq(values),
        "a snapshot replaces everything"
    );
}
