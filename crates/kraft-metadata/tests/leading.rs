//! The state machine in the hands of an engine: activation, proposals, transactions, no-ops.

use kraft_core::{
    Endpoint, Endpoints, Epoch, Instant, NodeId, SnapshotId, StateMachine, Time,
    state_machine::{CommittedBatch, Handled, NodeView, ProposeError, Provenance, RecordValues},
};
use kraft_metadata::{
    MetadataMachine, MetadataRecord, MetadataSettings,
    bootstrap::{ScramCredential, ScramMechanism, bootstrap_records},
    feature::{MetadataVersion, supported_features},
    record::{
        AbortTransactionRecord, BeginTransactionRecord, ConfigRecord, EndTransactionRecord,
        FeatureLevelRecord, NoOpRecord, RegisterControllerRecord, UnregisterControllerRecord,
    },
    registration::controller_registration_request,
};
use kraft_wire::{Message, message::ControllerRegistrationResponse};
use std::time::Duration;
use uuid::Uuid;

/// A machine with the log that an engine would keep for it.
struct Node {
    machine: MetadataMachine,
    epoch: Epoch,
    end: i64,
    /// Appended and not committed.
    tail: Vec<(i64, RecordValues)>,
}

#[cfg(test)]
impl Node {
    fn new(bootstrap: &[Vec<u8>]) -> Self {
        let mut machine = MetadataMachine::new(MetadataSettings {
            min_insync_replicas: 2,
            max_idle_interval: Some(Duration::from_millis(500)),
        });
        let mut values = bootstrap.iter().map(Vec::as_slice);
        machine.load(SnapshotId::BOOTSTRAP, 0, &mut values).unwrap();
        Self {
            machine,
            epoch: Epoch(1),
            end: 0,
            tail: Vec::new(),
        }
    }

    /// A batch without records of ours, as each epoch begins.
    fn control_batch(&mut self) {
        self.machine.apply(batch(self.end, self.epoch, &[])).unwrap();
        self.end += 1;
    }

    fn lead(&mut self, now_ms: u64) {
        self.control_batch();
        for values in self.machine.lead(self.epoch, time(now_ms)).unwrap() {
            self.append(values);
        }
    }

    fn append(&mut self, values: RecordValues) {
        self.machine.appended(self.end, self.epoch, &values);
        let base = self.end;
        self.end += i64::try_from(values.len()).unwrap();
        self.tail.push((base, values));
    }

    fn commit(&mut self) {
        for (base, values) in std::mem::take(&mut self.tail) {
            let values: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
            self.machine.apply(batch(base, self.epoch, &values)).unwrap();
        }
    }

    /// Appends and commits what a proposal gives.
    fn change(&mut self, record: impl Into<MetadataRecord>) -> Result<(), ProposeError> {
        let values = self.machine.propose(vec![record.into()], None)?;
        self.append(values);
        self.commit();
        Ok(())
    }

    fn names(&self) -> Vec<Vec<&'static str>> {
        let name = |value: &Vec<u8>| MetadataRecord::decode(value).unwrap().name().unwrap();
        self.tail
            .iter()
            .map(|(_, values)| values.iter().map(name).collect())
            .collect()
    }
}

fn batch<'a>(base: i64, epoch: Epoch, values: &'a [&'a [u8]]) -> CommittedBatch<'a> {
    let count = i64::try_from(values.len().max(1)).expect("few");
    CommittedBatch {
        base,
        last: base + count - 1,
        epoch,
        timestamp_ms: 0,
        values,
    }
}

fn time(ms: u64) -> Time {
    Time {
        mono: Instant::from_millis(ms),
        wall_ms: 0,
    }
}

#[cfg(test)]
fn bootstrap(release: &str) -> Vec<Vec<u8>> {
    let version = MetadataVersion::from_name(release).unwrap();
    bootstrap_records(version, &[].into(), &[]).unwrap()
}

fn config(broker: &str, key: &str, value: Option<&str>) -> ConfigRecord {
    ConfigRecord {
        resource_type: 4,
        resource_name: broker.to_owned(),
        name: key.to_owned(),
        value: value.map(str::to_owned),
        ..ConfigRecord::default()
    }
}

fn level(name: &str, level: i16) -> FeatureLevelRecord {
    FeatureLevelRecord {
        name: name.to_owned(),
        feature_level: level,
        ..FeatureLevelRecord::default()
    }
}

fn at(last_offset: i64, last_epoch: i32) -> Provenance {
    Provenance {
        last_offset,
        last_epoch: Epoch(last_epoch),
    }
}

#[test]
fn a_new_cluster_starts_with_its_bootstrap_records() {
    let mut node = Node::new(&bootstrap("4.4"));
    node.lead(0);
    let names: Vec<usize> = node.tail.iter().map(|(_, values)| values.len()).collect();
    assert_eq!(names, [9]);
    assert!(
        node.machine.image().features().metadata_version().is_none(),
        "nothing shows before the commit"
    );
    node.commit();
    let image = node.machine.image();
    assert_eq!(
        image.features().metadata_version(),
        Some(MetadataVersion::LATEST_PRODUCTION)
    );
    assert_eq!(image.broker_config("", "min.insync.replicas"), Some("2"));
    assert_eq!(image.provenance(), at(9, 1));
    assert_eq!(node.machine.features().finalized_epoch, 9);

    // The next leader finds a log that is not empty.
    node.machine.unlead();
    node.epoch = Epoch(2);
    node.lead(0);
    assert!(node.tail.is_empty());
}

#[test]
fn a_directory_without_bootstrap_records_must_not_lead_an_empty_log() {
    let mut node = Node::new(&[]);
    assert!(node.machine.lead(Epoch(1), time(0)).is_err());
}

#[test]
fn features_are_told_once_there_is_a_metadata_version() {
    let mut node = Node::new(&bootstrap("3.9"));
    let before = node.machine.features();
    assert_eq!(before.finalized_epoch, -1);
    assert!(before.features.iter().all(|feature| feature.finalized == 0));
    node.lead(0);
    node.commit();
    let after = node.machine.features();
    let told: Vec<_> = after
        .features
        .iter()
        .map(|feature| {
            (
                feature.name.as_str(),
                feature.supported.min,
                feature.supported.max,
                feature.finalized,
            )
        })
        .collect();
    let expected = [
        ("metadata.version", 7, 33, 21),
        ("transaction.version", 0, 2, 0),
        ("group.version", 0, 1, 0),
        ("eligible.leader.replicas.version", 0, 1, 0),
        ("share.version", 0, 2, 0),
        ("streams.version", 0, 1, 0),
    ];
    assert_eq!(told, expected);
}

#[test]
fn an_open_transaction_is_aborted_first_and_leaves_nothing() {
    let mut node = Node::new(&bootstrap("4.4"));
    node.lead(0);
    node.commit();
    let before = node.machine.image();
    node.append(vec![
        MetadataRecord::from(BeginTransactionRecord::default())
            .encode()
            .unwrap(),
    ]);
    node.append(vec![
        MetadataRecord::from(config("1", "a", Some("1")))
            .encode()
            .unwrap(),
    ]);
    node.commit();
    assert_eq!(
        *node.machine.image(),
        *before,
        "an open transaction does not show"
    );
    assert!(node.machine.snapshot().is_none());

    node.machine.unlead();
    node.epoch = Epoch(2);
    node.lead(0);
    assert_eq!(node.names(), [vec![AbortTransactionRecord::NAME]]);
    let refused = node.machine.propose(vec![config("1", "b", None).into()], None);
    assert!(
        matches!(refused, Err(ProposeError::Invalid { code: 41, .. })),
        "{refused:?}"
    );
    assert_eq!(
        node.machine.poll(time(10_000)),
        None,
        "nothing follows before the abort is committed"
    );
    node.commit();
    let image = node.machine.image();
    assert_eq!(image.broker_config("1", "a"), None);
    assert_eq!(image.provenance(), at(node.end - 1, 2));
    assert!(node.machine.snapshot().is_some());
    node.change(config("1", "b", Some("2"))).unwrap();
    assert_eq!(node.machine.image().broker_config("1", "b"), Some("2"));
}

#[test]
fn a_transaction_shows_when_it_ends_and_dates_the_features() {
    let mut node = Node::new(&bootstrap("4.4"));
    node.lead(0);
    node.commit();
    let dated = node.machine.features().finalized_epoch;
    node.change(BeginTransactionRecord::default()).unwrap();
    node.change(level("group.version", 0)).unwrap();
    assert_eq!(node.machine.image().features().level("group.version"), 1);
    assert_eq!(node.machine.features().finalized_epoch, dated);
    node.change(EndTransactionRecord::default()).unwrap();
    assert_eq!(node.machine.image().features().level("group.version"), 0);
    assert_eq!(node.machine.features().finalized_epoch, node.end - 1);
}

#[test]
fn no_ops_come_at_the_interval_and_never_before_a_metadata_version() {
    let mut node = Node::new(&bootstrap("4.4"));
    assert_eq!(node.machine.next_poll(), None);
    node.lead(1000);
    assert_eq!(node.machine.next_poll(), Some(Instant::from_millis(1500)));
    assert_eq!(
        node.machine.poll(time(1500)),
        None,
        "the bootstrap records are not committed"
    );
    node.commit();
    assert_eq!(node.machine.next_poll(), Some(Instant::from_millis(2000)));
    assert_eq!(node.machine.poll(time(1999)), None);
    let values = node.machine.poll(time(2000)).unwrap();
    assert_eq!(
        values,
        [MetadataRecord::from(NoOpRecord::default()).encode().unwrap()]
    );
    assert_eq!(node.machine.poll(time(2000)), None);
    node.append(values);
    node.commit();
    assert_eq!(node.machine.provenance(), at(node.end - 1, 1));
    node.machine.unlead();
    assert_eq!(
        (node.machine.next_poll(), node.machine.poll(time(9999))),
        (None, None)
    );

    let mut silent = MetadataMachine::new(MetadataSettings {
        max_idle_interval: None,
        ..MetadataSettings::default()
    });
    let values = bootstrap("4.4");
    silent
        .load(SnapshotId::BOOTSTRAP, 0, &mut values.iter().map(Vec::as_slice))
        .unwrap();
    silent.lead(Epoch(1), time(0)).unwrap();
    assert_eq!((silent.next_poll(), silent.poll(time(9999))), (None, None));
}

#[test]
fn proposals_are_compared_with_the_image_that_they_were_made_for() {
    let mut node = Node::new(&bootstrap("4.4"));
    node.lead(0);
    node.commit();
    let seen = node.machine.provenance();
    let record = || vec![MetadataRecord::from(config("", "a", Some("1")))];
    // A no-op in between changes nothing.
    let no_op = node.machine.poll(time(500)).unwrap();
    node.append(no_op);
    let values = node.machine.propose(record(), Some(seen)).unwrap();
    node.append(values);
    // Nor does a control batch, once it is committed.
    let mut other = Node::new(&bootstrap("4.4"));
    other.lead(0);
    other.commit();
    other.control_batch();
    let seen_behind = other.machine.provenance();
    assert_eq!(seen_behind, at(other.end - 1, 1));
    assert!(other.machine.propose(record(), Some(seen_behind)).is_ok());
    // The image counts what is appended, committed or not.
    let current = at(node.end - 1, 1);
    assert_eq!(
        node.machine.propose(record(), Some(seen)),
        Err(ProposeError::Conflict { current })
    );
    assert!(node.machine.propose(record(), Some(current)).is_ok());
    assert!(
        node.machine.propose(record(), Some(at(node.end, 1))).is_err(),
        "an image from the future"
    );
    assert!(node.machine.propose(record(), None).is_ok());
}

#[test]
fn what_a_kafka_controller_would_halt_at_is_not_appended() {
    let mut node = Node::new(&bootstrap("3.6-IV0"));
    node.lead(0);
    node.commit();
    let registration = RegisterControllerRecord::default();
    let unregistration = UnregisterControllerRecord::default();
    let long = "x".repeat(32_768);
    let cases: Vec<(&str, Vec<MetadataRecord>)> = vec![
        ("nothing", vec![]),
        ("too new: 15", vec![registration.clone().into()]),
        ("too new: 33", vec![unregistration.clone().into()]),
        ("too new: 13", vec![BeginTransactionRecord::default().into()]),
        (
            "a level that is not known",
            vec![level("metadata.version", 99).into()],
        ),
        (
            "a level that is not for production",
            vec![level("metadata.version", 34).into()],
        ),
        ("a lower level", vec![level("metadata.version", 11).into()]),
        (
            "a feature that is not known",
            vec![level("nonsense.version", 1).into()],
        ),
        (
            "a level above the highest",
            vec![level("group.version", 2).into()],
        ),
        ("kraft.version", vec![level("kraft.version", 1).into()]),
        ("no broker", vec![config("one", "a", None).into()]),
        ("too long", vec![config("1", &long, None).into()]),
        (
            "one good, one bad",
            vec![config("1", "a", None).into(), config("one", "a", None).into()],
        ),
        (
            "not interpreted",
            vec![MetadataRecord::decode(&[1, 2, 0, 1]).unwrap()],
        ),
    ];
    for (name, records) in cases {
        let refused = node.machine.propose(records, None);
        assert!(
            matches!(refused, Err(ProposeError::Invalid { code: 42, .. })),
            "{name}: {refused:?}"
        );
    }

    let mut node = Node::new(&bootstrap("4.4"));
    node.lead(0);
    node.commit();
    node.change(unregistration.clone()).unwrap_err();
    node.change(EndTransactionRecord::default()).unwrap_err();
    node.change(registration).unwrap();
    node.change(unregistration).unwrap();
    node.change(BeginTransactionRecord::default()).unwrap();
    node.change(BeginTransactionRecord::default()).unwrap_err();
}

#[test]
fn a_follower_appends_nothing() {
    let mut node = Node::new(&bootstrap("4.4"));
    let refused = node.machine.propose(vec![config("", "a", None).into()], None);
    assert!(
        matches!(refused, Err(ProposeError::Invalid { code: 41, .. })),
        "{refused:?}"
    );
    assert!(node.machine.mutate(vec![], time(0)).is_err());
}

#[test]
fn a_fault_leaves_the_image_where_it_was() {
    let mut node = Node::new(&bootstrap("4.4"));
    node.lead(0);
    node.commit();
    let before = node.machine.image();
    let good = MetadataRecord::from(config("", "a", Some("1"))).encode().unwrap();
    let bad = MetadataRecord::from(UnregisterControllerRecord::default())
        .encode()
        .unwrap();
    let fault = node
        .machine
        .apply(batch(node.end, node.epoch, &[&good, &bad]))
        .unwrap_err();
    assert_eq!(fault.offset, node.end + 1);
    assert_eq!(*node.machine.image(), *before);
    for (values, offset) in [(vec![&good[..], b"\x02"], 1), (vec![b"" as &[u8]], 0)] {
        let fault = node
            .machine
            .apply(batch(node.end, node.epoch, &values))
            .unwrap_err();
        assert_eq!(fault.offset, node.end + offset);
    }
    let mut wrong = batch(node.end, node.epoch, &[]);
    let values = [&good[..]];
    wrong.values = &values;
    wrong.last += 1;
    assert!(node.machine.apply(wrong).is_err(), "a record without a place");
    assert_eq!(*node.machine.image(), *before);
}

#[test]
fn a_snapshot_carries_everything_that_was_interpreted() {
    let scram = ScramCredential {
        name: "admin".to_owned(),
        mechanism: ScramMechanism::Sha512,
        salt: vec![1, 2],
        stored_key: vec![3],
        server_key: vec![4],
        iterations: 4096,
    };
    let records = bootstrap_records(MetadataVersion::LATEST_PRODUCTION, &[].into(), &[scram]).unwrap();
    let mut node = Node::new(&records);
    node.lead(0);
    node.commit();
    node.change(RegisterControllerRecord::default()).unwrap();
    let values: Vec<_> = node.machine.snapshot().unwrap().collect();
    assert_eq!(
        values.len(),
        9,
        "six levels, a controller, a setting, a credential"
    );

    let mut other = MetadataMachine::new(MetadataSettings::default());
    let id = SnapshotId {
        end_offset: node.end,
        epoch: node.epoch,
    };
    other.load(id, 0, &mut values.iter().map(Vec::as_slice)).unwrap();
    let written: Vec<_> = other.snapshot().unwrap().collect();
    assert_eq!(written, values);
    assert_eq!(other.provenance(), node.machine.provenance());

    // A topic is carried: its records would be missing from a snapshot of ours.
    let topic = [
        1, 2, 0, 4, b'f', b'o', b'o', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0,
    ];
    let topic = [&topic[..]];
    other.apply(batch(node.end, node.epoch, &topic)).unwrap();
    assert!(!other.image().is_complete());
    assert!(other.snapshot().is_none());
    other.load(id, 0, &mut values.iter().map(Vec::as_slice)).unwrap();
    assert!(other.snapshot().is_some(), "a snapshot replaces everything");

    let transaction = MetadataRecord::from(BeginTransactionRecord::default())
        .encode()
        .unwrap();
    let refused = other.load(id, 0, &mut std::iter::once(&transaction[..]));
    assert!(refused.is_err(), "a snapshot holds no transactions");
    assert!(other.snapshot().is_some());
}

#[test]
fn a_controller_registers_once_per_process() {
    let mut node = Node::new(&bootstrap("4.4"));
    let (id, incarnation) = (NodeId(3), Uuid::from_u128(9));
    assert!(
        !node.machine.image().wants_registration(id, incarnation),
        "no metadata version"
    );
    node.lead(0);
    node.commit();
    assert!(node.machine.image().wants_registration(id, incarnation));

    let listeners = Endpoints::single(
        "CONTROLLER",
        Endpoint {
            host: "c3".into(),
            port: 9093,
        },
    );
    let request = controller_registration_request(id, incarnation, &listeners, &supported_features());
    let view = NodeView {
        node_id: NodeId(1),
        cluster_id: "cluster",
        leader: Some(NodeId(1)),
        epoch: node.epoch,
        leading: true,
        listener: "CONTROLLER",
    };
    let handled = node.machine.handle(70, 0, &request.to_bytes(0).unwrap(), view);
    let Handled::Propose {
        values,
        reply,
        failed,
    } = handled
    else {
        panic!("{handled:?}");
    };
    let code = |body: Vec<u8>| {
        ControllerRegistrationResponse::from_bytes(&body.into(), 0)
            .unwrap()
            .error_code
    };
    assert_eq!((code(reply), code(failed)), (0, 41));
    node.append(values);
    assert!(
        node.machine.image().wants_registration(id, incarnation),
        "not committed"
    );
    node.commit();
    let image = node.machine.image();
    assert!(image.is_registered(id, incarnation));
    assert!(!image.wants_registration(id, incarnation));
    assert!(
        image.wants_registration(id, Uuid::from_u128(10)),
        "another process"
    );
    let record = image.controller(id).unwrap();
    assert_eq!(
        record.listener("CONTROLLER").map(|endpoint| endpoint.port),
        Some(9093)
    );
    assert!(record.supports("metadata.version", 33));
    assert!(!record.supports("metadata.version", 34));
    assert!(record.supports("unheard.of", 0));
}
