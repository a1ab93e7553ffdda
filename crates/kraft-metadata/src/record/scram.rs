//! UserScramCredentialRecord (type 11) and RemoveUserScramCredentialRecord (type 22).

use bytes::Bytes;
use kraft_wire::{Message, UnknownTags};

/// Sets the SCRAM credential of a user for one mechanism.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 11, versions = 0, flexible = 0)]
pub struct UserScramCredentialRecord {
    /// The user.
    pub name: String,
    /// 1 SCRAM-SHA-256, 2 SCRAM-SHA-512. Other numbers are kept as they are.
    pub mechanism: i8,
    /// The salt.
    pub salt: Bytes,
    /// What the server compares the client's proof with.
    pub stored_key: Bytes,
    /// What the server proves itself by.
    pub server_key: Bytes,
    /// How often the password was hashed.
    pub iterations: i32,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}

/// Removes the SCRAM credential of a user for one mechanism.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 22, versions = 0, flexible = 0)]
pub struct RemoveUserScramCredentialRecord {
    /// The user.
    pub name: String,
    /// 1 SCRAM-SHA-256, 2 SCRAM-SHA-512.
    pub mechanism: i8,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}
