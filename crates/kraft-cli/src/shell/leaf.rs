//! What the leaves of the tree say, in Kafka's words.

use std::borrow::Cow;
use std::fmt::Display;

use kraft_log::java_date::iso;
use kraft_metadata::record::{
    AccessControlEntryRecord, DelegationTokenRecord, RegisterBrokerRecord, RegisterControllerRecord,
    UserScramCredentialRecord,
};
use kraft_wire::uuid_text;
use std::collections::BTreeMap;
use uuid::Uuid;

use super::image::{Image, Partition};
use super::node::Leaf;
use super::text::java_double;

/// The text of a leaf.
pub(super) fn text<'a>(leaf: &Leaf<'a>) -> Cow<'a, str> {
    match leaf {
        Leaf::Version => env!("CARGO_PKG_VERSION").into(),
        Leaf::CommitId => "unknown".into(),
        Leaf::Provenance(image) => provenance(image).into(),
        Leaf::MetadataVersion(image) => optional(image.metadata_version).into(),
        Leaf::Level(level) => level.to_string().into(),
        Leaf::NextProducerId(id) => id.to_string().into(),
        Leaf::Text(text) => (*text).into(),
        Leaf::TopicId(topic) => uuid_text::format(&topic.id).into(),
        Leaf::Quota(value) => java_double(*value).into(),
        Leaf::Acl(acl) => acl_text(acl).into(),
        Leaf::Broker(broker) => broker_text(broker).into(),
        Leaf::Controller(controller) => controller_text(controller).into(),
        Leaf::Partition(partition) => partition_text(partition).into(),
        Leaf::Scram(credential) => scram_text(credential).into(),
        Leaf::Token(token) => token_text(token).into(),
    }
}

fn provenance(image: &Image) -> String {
    let at = image.provenance;
    format!(
        "offset {}, epoch {}, time {}",
        at.offset,
        at.epoch,
        iso(at.time_ms)
    )
}

fn broker_text(broker: &RegisterBrokerRecord) -> String {
    let endpoints = broker.end_points.iter();
    let endpoints = endpoints.map(|at| {
        (
            at.name.as_str(),
            endpoint(&at.name, at.security_protocol, &at.host, at.port),
        )
    });
    let features = broker.features.iter();
    let features = features.map(|range| {
        let (min, max) = (range.min_supported_version, range.max_supported_version);
        (range.name.as_str(), levels(min, max))
    });
    // Kafka keeps these in the order in which Java compares ids: two signed halves.
    let mut directories = broker.log_dirs.clone();
    directories.sort_by_key(|id| {
        let (high, low) = id.as_u64_pair();
        (high.cast_signed(), low.cast_signed())
    });
    let cordoned = broker.cordoned_log_dirs.as_deref();
    format!(
        "BrokerRegistration(id={}, epoch={}, incarnationId={}, listeners=[{}], supportedFeatures={{{}}}, rack={}, \
         fenced={}, inControlledShutdown={}, isMigratingZkBroker={}, directories={}, cordonedDirectories={})",
        broker.broker_id,
        broker.broker_epoch,
        uuid_text::format(&broker.incarnation_id),
        listed(endpoints),
        features_text(features),
        optional(broker.rack.as_deref()),
        broker.fenced,
        broker.in_controlled_shutdown,
        broker.is_migrating_zk_broker,
        ids(&directories),
        cordoned.map_or_else(|| "null".to_owned(), ids),
    )
}

fn controller_text(controller: &RegisterControllerRecord) -> String {
    let endpoints = controller.end_points.iter();
    let endpoints = endpoints.map(|at| {
        (
            at.name.as_str(),
            endpoint(&at.name, at.security_protocol, &at.host, at.port),
        )
    });
    let features = controller.features.iter();
    let features = features.map(|range| {
        let (min, max) = (range.min_supported_version, range.max_supported_version);
        (range.name.as_str(), levels(min, max))
    });
    format!(
        "ControllerRegistration(id={}, incarnationId={}, zkMigrationReady={}, listeners=[{}], supportedFeatures={{{}}})",
        controller.controller_id,
        uuid_text::format(&controller.incarnation_id),
        controller.zk_migration_ready,
        listed(endpoints),
        features_text(features),
    )
}

/// The values in the order of their names. Of a repeated name the last counts.
fn listed<'a>(values: impl Iterator<Item = (&'a str, String)>) -> String {
    let sorted: BTreeMap<_, _> = values.collect();
    joined(sorted.into_values())
}

fn features_text<'a>(levels: impl Iterator<Item = (&'a str, String)>) -> String {
    let sorted: BTreeMap<_, _> = levels.collect();
    joined(
        sorted
            .into_iter()
            .map(|(name, levels)| format!("{name}: {levels}")),
    )
}

fn endpoint(name: &str, protocol: i16, host: &str, port: u16) -> String {
    let protocol = match protocol {
        0 => "PLAINTEXT",
        1 => "SSL",
        2 => "SASL_PLAINTEXT",
        3 => "SASL_SSL",
        _ => "null",
    };
    format!("Endpoint(listenerName='{name}', securityProtocol={protocol}, host='{host}', port={port})")
}

fn levels(min: i16, max: i16) -> String {
    if min == max {
        min.to_string()
    } else if max == i16::MAX {
        format!("{min}+")
    } else {
        format!("{min}-{max}")
    }
}

fn partition_text(partition: &Partition) -> String {
    let state = if partition.recovering {
        "RECOVERING"
    } else {
        "RECOVERED"
    };
    format!(
        "PartitionRegistration(replicas={}, directories={}, isr={}, removingReplicas={}, addingReplicas={}, elr={}, \
         lastKnownElr={}, leader={}, leaderRecoveryState={state}, leaderEpoch={}, partitionEpoch={})",
        numbers(&partition.replicas),
        ids(&partition.directories),
        numbers(&partition.isr),
        numbers(&partition.removing),
        numbers(&partition.adding),
        numbers(&partition.elr),
        numbers(&partition.last_known_elr),
        partition.leader,
        partition.leader_epoch,
        partition.partition_epoch,
    )
}

fn acl_text(acl: &AccessControlEntryRecord) -> String {
    format!(
        "StandardAcl[resourceType={}, resourceName={}, patternType={}, principal={}, host={}, operation={}, \
         permissionType={}]",
        named(&RESOURCE_TYPES, acl.resource_type),
        acl.resource_name,
        named(&PATTERN_TYPES, acl.pattern_type),
        acl.principal,
        acl.host,
        named(&OPERATIONS, acl.operation),
        named(&PERMISSIONS, acl.permission_type),
    )
}

/// The brackets are those of Kafka's tool, which opens three and closes one.
fn token_text(token: &DelegationTokenRecord) -> String {
    format!(
        "DelegationTokenDatatokenId={}(owner={}(tokenRequester={}(renewers={}, issueTimestamp={}, maxTimestamp={}), \
         expiryTimestamp={}",
        token.token_id,
        token.owner,
        token.requester,
        token.renewers.join(" "),
        token.issue_timestamp,
        token.max_timestamp,
        token.expiration_timestamp,
    )
}

fn scram_text(credential: &UserScramCredentialRecord) -> String {
    format!(
        "ScramCredentialData(salt={}, storedKey={}, serverKey={}, iterations={})",
        hex(&credential.salt),
        hex(&credential.stored_key),
        hex(&credential.server_key),
        credential.iterations,
    )
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn numbers(numbers: &[i32]) -> String {
    format!("[{}]", joined(numbers.iter()))
}

fn ids(ids: &[Uuid]) -> String {
    format!("[{}]", joined(ids.iter().map(uuid_text::format)))
}

fn joined(values: impl Iterator<Item = impl Display>) -> String {
    values
        .map(|value| value.to_string())
        .collect::<Vec<_>>()
        .join(", ")
}

fn optional(value: Option<impl Display>) -> String {
    value.map_or_else(
        || "Optional.empty".to_owned(),
        |value| format!("Optional[{value}]"),
    )
}

/// Kafka's name of a number; numbers without one are unknown to it, too.
fn named(names: &[&'static str], number: i8) -> &'static str {
    let name = usize::try_from(number).ok().and_then(|number| names.get(number));
    name.copied().unwrap_or("UNKNOWN")
}

const RESOURCE_TYPES: [&str; 8] = [
    "UNKNOWN",
    "ANY",
    "TOPIC",
    "GROUP",
    "CLUSTER",
    "TRANSACTIONAL_ID",
    "DELEGATION_TOKEN",
    "USER",
];
const PATTERN_TYPES: [&str; 5] = ["UNKNOWN", "ANY", "MATCH", "LITERAL", "PREFIXED"];
const OPERATIONS: [&str; 16] = [
    "UNKNOWN",
    "ANY",
    "ALL",
    "READ",
    "WRITE",
    "CREATE",
    "DELETE",
    "ALTER",
    "DESCRIBE",
    "CLUSTER_ACTION",
    "DESCRIBE_CONFIGS",
    "ALTER_CONFIGS",
    "IDEMPOTENT_WRITE",
    "CREATE_TOKENS",
    "DESCRIBE_TOKENS",
    "TWO_PHASE_COMMIT",
];
const PERMISSIONS: [&str; 4] = ["UNKNOWN", "ANY", "DENY", "ALLOW"];
