//! The image as a tree, under the names that Kafka's tool gives to it. Nodes are made when they are asked for.

use std::borrow::Cow;
use std::collections::BTreeMap;

use kraft_metadata::record::{
    AccessControlEntryRecord, DelegationTokenRecord, RegisterBrokerRecord, RegisterControllerRecord,
    UserScramCredentialRecord,
};
use kraft_wire::uuid_text;

use super::image::{Image, Partition, Topic};
use super::{leaf, names, text::java_order};

/// A place of the tree.
#[derive(Clone, Copy)]
pub(super) enum Node<'a> {
    Directory(&'a Image, Directory<'a>),
    Leaf(Leaf<'a>),
}

/// A place with others below it.
#[derive(Clone, Copy)]
pub(super) enum Directory<'a> {
    Root,
    Local,
    Image,
    Acls,
    AclsById,
    Quotas,
    Quota(&'a BTreeMap<String, f64>),
    Cluster,
    Brokers,
    Controllers,
    Configs,
    Config(&'a BTreeMap<String, String>),
    Tokens,
    Features,
    ProducerIds,
    Scram,
    ScramUsers(i8),
    Topics,
    TopicsById,
    TopicsByName,
    Topic(&'a Topic),
}

/// A place with a text.
#[derive(Clone, Copy)]
pub(super) enum Leaf<'a> {
    Version,
    CommitId,
    Provenance(&'a Image),
    MetadataVersion(&'a Image),
    Level(i16),
    NextProducerId(i64),
    Text(&'a str),
    TopicId(&'a Topic),
    Quota(f64),
    Acl(&'a AccessControlEntryRecord),
    Broker(&'a RegisterBrokerRecord),
    Controller(&'a RegisterControllerRecord),
    Partition(&'a Partition),
    Scram(&'a UserScramCredentialRecord),
    Token(&'a DelegationTokenRecord),
}

impl<'a> Node<'a> {
    pub(super) fn root(image: &'a Image) -> Self {
        Self::Directory(image, Directory::Root)
    }

    pub(super) fn is_directory(&self) -> bool {
        matches!(self, Self::Directory(..))
    }

    /// The text of a leaf.
    pub(super) fn text(&self) -> Option<Cow<'a, str>> {
        match self {
            Self::Directory(..) => None,
            Self::Leaf(leaf) => Some(leaf::text(leaf)),
        }
    }

    /// The names of what is below, in the order of Java's strings.
    pub(super) fn names(&self) -> Vec<Cow<'a, str>> {
        let Self::Directory(image, directory) = self else {
            return Vec::new();
        };
        let mut names = names_in(image, directory);
        names.sort_by(|one, other| java_order(one, other));
        names
    }

    /// What is below under a name.
    pub(super) fn child(&self, name: &str) -> Option<Node<'a>> {
        match self {
            Self::Directory(image, directory) => child_of(image, directory, name),
            Self::Leaf(_) => None,
        }
    }
}

fn names_in<'a>(image: &'a Image, directory: &Directory<'a>) -> Vec<Cow<'a, str>> {
    match directory {
        Directory::Root => fixed(&["image", "local"]),
        Directory::Local => fixed(&["commitId", "version"]),
        Directory::Image => fixed(IMAGE),
        Directory::Acls => fixed(&["byId"]),
        Directory::AclsById => image.acls.keys().map(|id| uuid_text::format(id).into()).collect(),
        Directory::Quotas => keys(&image.quotas),
        Directory::Quota(quotas) => keys(quotas),
        Directory::Cluster => fixed(&["brokers", "controllers"]),
        Directory::Brokers => image.brokers.keys().map(|id| id.to_string().into()).collect(),
        Directory::Controllers => image.controllers.keys().map(|id| id.to_string().into()).collect(),
        Directory::Configs => {
            let resources = image.configs.keys();
            resources
                .map(|(kind, name)| names::of_resource(*kind, name).into())
                .collect()
        }
        Directory::Config(settings) => keys(settings),
        Directory::Tokens => keys(&image.tokens),
        Directory::Features => {
            let levels = image.features.keys();
            let levels = levels.map(|name| Cow::from(format!("{FINALIZED}{name}")));
            levels.chain([METADATA_VERSION.into()]).collect()
        }
        Directory::ProducerIds => fixed(&[NEXT_PRODUCER_ID]),
        Directory::Scram => names::MECHANISMS.iter().map(|(_, name)| (*name).into()).collect(),
        Directory::ScramUsers(mechanism) => image.scram.get(mechanism).map(keys).unwrap_or_default(),
        Directory::Topics => fixed(&["byId", "byName"]),
        Directory::TopicsById => {
            let ids = image.topics.by_id.keys();
            ids.map(|id| uuid_text::format(id).into()).collect()
        }
        Directory::TopicsByName => keys(&image.topics.by_name),
        Directory::Topic(topic) => {
            let numbers = topic
                .partitions
                .keys()
                .map(|number| Cow::from(number.to_string()));
            numbers.chain(["id".into(), "name".into()]).collect()
        }
    }
}

fn child_of<'a>(image: &'a Image, directory: &Directory<'a>, name: &str) -> Option<Node<'a>> {
    let below = |directory| Some(Node::Directory(image, directory));
    let leaf = match (directory, name) {
        (Directory::Root, "image") => return below(Directory::Image),
        (Directory::Root, "local") => return below(Directory::Local),
        (Directory::Local, "commitId") => Leaf::CommitId,
        (Directory::Local, "version") => Leaf::Version,
        (Directory::Image, "acls") => return below(Directory::Acls),
        (Directory::Image, "clientQuotas") => return below(Directory::Quotas),
        (Directory::Image, "cluster") => return below(Directory::Cluster),
        (Directory::Image, "configs") => return below(Directory::Configs),
        (Directory::Image, "delegationToken") => return below(Directory::Tokens),
        (Directory::Image, "features") => return below(Directory::Features),
        (Directory::Image, "producerIds") => return below(Directory::ProducerIds),
        (Directory::Image, "provenance") => Leaf::Provenance(image),
        (Directory::Image, "scram") => return below(Directory::Scram),
        (Directory::Image, "topics") => return below(Directory::Topics),
        (Directory::Acls, "byId") => return below(Directory::AclsById),
        (Directory::AclsById, id) => Leaf::Acl(image.acls.get(&uuid_text::parse(id).ok()?)?),
        (Directory::Quotas, entity) => return below(Directory::Quota(image.quotas.get(entity)?)),
        (Directory::Quota(quotas), key) => Leaf::Quota(*quotas.get(key)?),
        (Directory::Cluster, "brokers") => return below(Directory::Brokers),
        (Directory::Cluster, "controllers") => return below(Directory::Controllers),
        (Directory::Brokers, id) => Leaf::Broker(image.brokers.get(&id.parse().ok()?)?),
        (Directory::Controllers, id) => Leaf::Controller(image.controllers.get(&id.parse().ok()?)?),
        (Directory::Configs, resource) => {
            let settings = image.configs.get(&names::resource(resource)?)?;
            return below(Directory::Config(settings));
        }
        (Directory::Config(settings), key) => Leaf::Text(settings.get(key)?),
        (Directory::Tokens, id) => Leaf::Token(image.tokens.get(id)?),
        (Directory::Features, METADATA_VERSION) => Leaf::MetadataVersion(image),
        (Directory::Features, name) => Leaf::Level(*image.features.get(name.strip_prefix(FINALIZED)?)?),
        (Directory::ProducerIds, NEXT_PRODUCER_ID) => Leaf::NextProducerId(image.next_producer_id),
        (Directory::Scram, name) => {
            let mut mechanisms = names::MECHANISMS.iter();
            let (mechanism, _) = mechanisms.find(|(_, known)| *known == name)?;
            return below(Directory::ScramUsers(*mechanism));
        }
        (Directory::ScramUsers(mechanism), user) => Leaf::Scram(image.scram.get(mechanism)?.get(user)?),
        (Directory::Topics, "byId") => return below(Directory::TopicsById),
        (Directory::Topics, "byName") => return below(Directory::TopicsByName),
        (Directory::TopicsById, id) => {
            let topic = image.topics.by_id.get(&uuid_text::parse(id).ok()?)?;
            return below(Directory::Topic(topic));
        }
        (Directory::TopicsByName, name) => {
            let topic = image.topics.by_id.get(image.topics.by_name.get(name)?)?;
            return below(Directory::Topic(topic));
        }
        (Directory::Topic(topic), "id") => Leaf::TopicId(topic),
        (Directory::Topic(topic), "name") => Leaf::Text(&topic.name),
        (Directory::Topic(topic), number) => Leaf::Partition(topic.partitions.get(&number.parse().ok()?)?),
        (
            Directory::Root
            | Directory::Local
            | Directory::Image
            | Directory::Acls
            | Directory::Cluster
            | Directory::ProducerIds
            | Directory::Topics,
            _,
        ) => return None,
    };
    Some(Node::Leaf(leaf))
}

fn fixed<'a>(names: &[&'static str]) -> Vec<Cow<'a, str>> {
    names.iter().map(|name| Cow::Borrowed(*name)).collect()
}

fn keys<T>(map: &BTreeMap<String, T>) -> Vec<Cow<'_, str>> {
    map.keys().map(|name| name.as_str().into()).collect()
}

const IMAGE: &[&str] = &[
    "acls",
    "clientQuotas",
    "cluster",
    "configs",
    "delegationToken",
    "features",
    "producerIds",
    "provenance",
    "scram",
    "topics",
];
const METADATA_VERSION: &str = "metadataVersion";
const FINALIZED: &str = "finalized_";
const NEXT_PRODUCER_ID: &str = "nextProducerId";
