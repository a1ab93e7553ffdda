//! TopicRecord (type 2), RemoveTopicRecord (9) and ClearElrRecord (28).

use kraft_wire::{Message, UnknownTags};
use uuid::Uuid;

/// A topic is created; its partitions follow.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 2, versions = 0, flexible = 0)]
pub struct TopicRecord {
    /// Its name.
    pub name: String,
    /// Its id.
    pub topic_id: Uuid,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}

/// A topic is deleted with its partitions and settings.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 9, versions = 0, flexible = 0)]
pub struct RemoveTopicRecord {
    /// Its id.
    pub topic_id: Uuid,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}

/// The eligible leader replicas of a topic are forgotten.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 28, versions = 0, flexible = 0)]
pub struct ClearElrRecord {
    /// The name of the topic; empty for all topics.
    pub topic_name: String,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}
