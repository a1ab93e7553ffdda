//! The records around a metadata transaction (KIP-868): types 23, 24 and 25.

use kraft_wire::{Message, UnknownTags};

/// Opens a transaction: what follows takes effect at its end.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 23, versions = 0, flexible = 0)]
pub struct BeginTransactionRecord {
    /// Text for people.
    #[kafka(tag = 0, default = null)]
    pub name: Option<String>,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}

/// Ends a transaction: what it holds takes effect.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 24, versions = 0, flexible = 0)]
pub struct EndTransactionRecord {
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}

/// Ends a transaction: what it holds is void.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 25, versions = 0, flexible = 0)]
pub struct AbortTransactionRecord {
    /// Text for people.
    #[kafka(tag = 0, default = null)]
    pub reason: Option<String>,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}
