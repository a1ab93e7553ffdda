//! Quorums of Kafka's own metadata.

use super::{quorum::Simulation, settings::Settings};
use kraft_metadata::{
    MetadataMachine, MetadataRecord, MetadataSettings,
    bootstrap::bootstrap_records,
    feature::MetadataVersion,
    record::{BROKER_RESOURCE, ConfigRecord},
};
use kraft_wire::UnknownTags;
use std::collections::BTreeMap;

impl Simulation<MetadataMachine> {
    /// A quorum of controllers that Kafka 4.4 has formatted, with clients that change a setting of all brokers.
    ///
    /// # Panics
    /// If that release is not known any more.
    #[must_use]
    pub fn of_metadata(seed: u64, settings: Settings) -> Self {
        let release = MetadataVersion::from_name("4.4").expect("the release that this project answers to");
        let bootstrap = bootstrap_records(release, &BTreeMap::new(), &[]).expect("no feature is asked for");
        let machine = || MetadataMachine::new(MetadataSettings::default());
        Self::new(seed, settings, machine, setting).with_bootstrap(&bootstrap)
    }
}

fn setting(number: u64) -> MetadataRecord {
    let record = ConfigRecord {
        resource_type: BROKER_RESOURCE,
        resource_name: String::new(),
        name: "message.max.bytes".to_owned(),
        value: Some(number.to_string()),
        unknown_tags: UnknownTags::default(),
    };
    record.into()
}
