//! AccessControlEntryRecord (type 18) and RemoveAccessControlEntryRecord (19).

use kraft_wire::{Message, UnknownTags};
use uuid::Uuid;

/// Somebody is allowed something, or denied it. The numbers are those of Kafka's ACL requests.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 18, versions = 0, flexible = 0)]
pub struct AccessControlEntryRecord {
    /// The entry's id.
    pub id: Uuid,
    /// The kind of resource.
    pub resource_type: i8,
    /// Which one of that kind.
    pub resource_name: String,
    /// 3 literal, 4 prefixed.
    pub pattern_type: i8,
    /// Who.
    pub principal: String,
    /// From where.
    pub host: String,
    /// What.
    pub operation: i8,
    /// 2 denied, 3 allowed.
    pub permission_type: i8,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}

/// An entry is removed.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 19, versions = 0, flexible = 0)]
pub struct RemoveAccessControlEntryRecord {
    /// The entry's id.
    pub id: Uuid,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}
