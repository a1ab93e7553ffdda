//! ConfigRecord (type 4).

use kraft_wire::{Message, UnknownTags};

/// The resource type of brokers; the resource with the empty name stands for all of them.
pub const BROKER_RESOURCE: i8 = 4;

/// Sets a key of a resource, or removes it.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 4, versions = 0, flexible = 0)]
pub struct ConfigRecord {
    /// The kind of resource.
    pub resource_type: i8,
    /// Which one of that kind.
    pub resource_name: String,
    /// The key.
    pub name: String,
    /// The value; null removes the key.
    pub value: Option<String>,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}
