//! Records without an effect: NoOpRecord (type 20) and ZkMigrationStateRecord (type 21).

use kraft_wire::{Message, UnknownTags};

/// Moves the end of the log while nothing changes, so that lag and age can be told.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 20, versions = 0, flexible = 0)]
pub struct NoOpRecord {
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}

/// Left over from the migration away from ZooKeeper; never written any more.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 21, versions = 0, flexible = 0)]
pub struct ZkMigrationStateRecord {
    /// Ignored.
    pub zk_migration_state: i8,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}
