//! Whole logs of Kafka clusters through the state machine.

use crate::support;
use kraft_core::{Epoch, SnapshotId, StateMachine, state_machine::CommittedBatch};
use kraft_metadata::{
    MetadataImage, MetadataMachine, MetadataRecord, MetadataSettings, record::BROKER_RESOURCE,
};

/// A batch of a recorded log.
#[derive(Debug, Clone)]
struct Batch {
    base: i64,
    last: i64,
    epoch: i32,
    values: Vec<Vec<u8>>,
}

fn log(name: &str) -> Vec<Batch> {
    let batch = |line: &str| {
        let mut words = line.split(' ');
        let mut number = || words.next().unwrap().parse::<i64>().unwrap();
        Batch {
            base: number(),
            last: number(),
            epoch: i32::try_from(number()).unwrap(),
            values: words.map(support::hex).collect(),
        }
    };
    support::read(name).lines().map(batch).collect()
}

fn snapshot(name: &str) -> Vec<Vec<u8>> {
    support::read(name).lines().map(support::hex).collect()
}

fn machine() -> MetadataMachine {
    MetadataMachine::new(MetadataSettings::default())
}

fn apply(machine: &mut MetadataMachine, batch: &Batch) {
    let values: Vec<&[u8]> = batch.values.iter().map(Vec::as_slice).collect();
    machine
        .apply(CommittedBatch {
            base: batch.base,
            last: batch.last,
            epoch: Epoch(batch.epoch),
            timestamp_ms: 0,
            values: &values,
        })
        .unwrap();
}

fn load(machine: &mut MetadataMachine, end_offset: i64, epoch: i32, values: &[Vec<u8>]) {
    let id = SnapshotId {
        end_offset,
        epoch: Epoch(epoch),
    };
    machine
        .load(id, 0, &mut values.iter().map(Vec::as_slice))
        .unwrap();
}

/// Records in an order that does not depend on Kafka's hash tables. Endpoints and features are sorted too.
fn sorted(records: impl Iterator<Item = MetadataRecord>) -> Vec<String> {
    let text = |record: MetadataRecord| match record {
        MetadataRecord::RegisterController(mut record) => {
            record.end_points.sort_by(|a, b| a.name.cmp(&b.name));
            record.features.sort_by(|a, b| a.name.cmp(&b.name));
            format!("{record:?}")
        }
        other => format!("{other:?}"),
    };
    let mut texts: Vec<String> = records.map(text).collect();
    texts.sort();
    texts
}

/// What of a recorded snapshot this crate interprets.
fn interpreted(values: &[Vec<u8>]) -> Vec<String> {
    let keeps = |record: &MetadataRecord| match record {
        MetadataRecord::Carried(_) => false,
        MetadataRecord::Config(record) => record.resource_type == BROKER_RESOURCE,
        _ => true,
    };
    sorted(
        values
            .iter()
            .map(|value| MetadataRecord::decode(value).unwrap())
            .filter(keeps),
    )
}

fn of_image(image: &MetadataImage) -> Vec<String> {
    sorted(image.records().into_iter())
}

#[test]
fn a_log_leads_to_the_images_that_kafka_wrote_on_the_way() {
    type Ids = &'static [(i64, i32)];
    let logs: [(&str, Ids, i64); 2] = [
        ("main", &[(20, 1), (57, 1), (279, 1), (444, 2)], 463),
        ("upgrade", &[(6, 1), (20, 1), (228, 1)], 262),
    ];
    for (name, snapshots, end) in logs {
        let mut machine = machine();
        load(&mut machine, 0, 0, &snapshot(&format!("snapshot-{name}-0-0.txt")));
        let mut met = 0;
        for batch in log(&format!("log-{name}.txt")) {
            apply(&mut machine, &batch);
            let next = batch.last + 1;
            let Some((offset, epoch)) = snapshots.iter().find(|(offset, _)| *offset == next) else {
                continue;
            };
            met += 1;
            let recorded = snapshot(&format!("snapshot-{name}-{offset}-{epoch}.txt"));
            assert_eq!(
                of_image(&machine.image()),
                interpreted(&recorded),
                "{name} at {offset}"
            );

            let mut other = self::machine();
            load(&mut other, *offset, *epoch, &recorded);
            assert_eq!(
                of_image(&other.image()),
                interpreted(&recorded),
                "{name} at {offset}"
            );
            assert_eq!(other.provenance(), machine.provenance(), "{name} at {offset}");
            let whole = other.image().is_complete();
            assert_eq!(other.snapshot().is_some(), whole, "{name} at {offset}");
            if let Some(values) = other.snapshot() {
                assert_eq!(interpreted(&values.collect::<Vec<_>>()), interpreted(&recorded));
            }
        }
        assert_eq!(met, snapshots.len(), "{name}");
        assert_eq!(machine.provenance().last_offset, end - 1, "{name}");
        assert!(!machine.image().is_complete(), "{name} holds brokers and topics");
        assert!(machine.snapshot().is_none());
    }
}

#[test]
fn the_features_are_those_that_kafkas_tool_shows() {
    let mut machine = machine();
    for batch in log("log-main.txt").iter().take(2) {
        apply(&mut machine, batch);
    }
    let image = machine.image();
    let features = image.features();
    let levels: Vec<_> = features.levels().collect();
    assert_eq!(
        features.metadata_version().map(|version| version.name()),
        Some("4.4-IV2")
    );
    assert_eq!(features.epoch(), 12);
    let expected = [
        ("eligible.leader.replicas.version", 1),
        ("group.version", 1),
        ("share.version", 2),
        ("streams.version", 1),
        ("transaction.version", 2),
    ];
    assert_eq!(levels, expected);
    assert_eq!(image.broker_config("", "min.insync.replicas"), Some("1"));
}

#[test]
fn an_empty_snapshot_of_a_new_cluster_is_kept_complete() {
    let mut machine = machine();
    let values = snapshot("snapshot-main-20-1.txt");
    load(&mut machine, 20, 1, &values);
    assert!(machine.image().is_complete());
    let written: Vec<_> = machine.snapshot().unwrap().collect();
    assert_eq!(written.len(), values.len());
    assert_eq!(written[0], values[0], "the metadata version comes first");
}
