//! ClientQuotaRecord (type 14).

use kraft_wire::{Message, UnknownTags};

/// Sets a quota of an entity, or removes it.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 14, versions = 0, flexible = 0)]
pub struct ClientQuotaRecord {
    /// Whom it is for: all of these at once.
    pub entity: Vec<QuotaEntity>,
    /// Which quota.
    pub key: String,
    /// Its value.
    pub value: f64,
    /// Whether it is removed.
    pub remove: bool,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}

/// One of `entity` of [`ClientQuotaRecord`].
#[derive(Clone, Debug, PartialEq, Message)]
pub struct QuotaEntity {
    /// `user`, `client-id` or `ip`.
    pub entity_type: String,
    /// Which one; null for all that have no quota of their own.
    pub entity_name: Option<String>,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}
