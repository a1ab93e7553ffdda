//! ProducerIdsRecord (type 15).

use kraft_wire::{Message, UnknownTags};

/// A block of producer ids is given to a broker.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 15, versions = 0, flexible = 0)]
pub struct ProducerIdsRecord {
    /// The broker.
    pub broker_id: i32,
    /// The epoch of its registration.
    #[kafka(default = -1)]
    pub broker_epoch: i64,
    /// The first id behind the block.
    pub next_producer_id: i64,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}
