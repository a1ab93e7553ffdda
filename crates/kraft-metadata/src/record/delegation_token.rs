//! DelegationTokenRecord (type 10) and RemoveDelegationTokenRecord (26).

use kraft_wire::{Message, UnknownTags};

/// A delegation token, without its secret.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 10, versions = 0, flexible = 0)]
pub struct DelegationTokenRecord {
    /// Whom it stands for.
    pub owner: String,
    /// Who asked for it.
    pub requester: String,
    /// Who may renew it.
    pub renewers: Vec<String>,
    /// When it was issued, in milliseconds since 1970.
    pub issue_timestamp: i64,
    /// Until when it can be renewed.
    pub max_timestamp: i64,
    /// Until when it is valid unless it is renewed.
    pub expiration_timestamp: i64,
    /// Its id.
    pub token_id: String,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}

/// A token is removed.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 26, versions = 0, flexible = 0)]
pub struct RemoveDelegationTokenRecord {
    /// Its id.
    pub token_id: String,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}
