//! PartitionRecord (type 3) and PartitionChangeRecord (5).

use kraft_wire::{Message, UnknownTags};
use uuid::Uuid;

/// A partition, whole.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 3, versions = 0..=2, flexible = 0)]
pub struct PartitionRecord {
    /// Its number.
    #[kafka(default = -1)]
    pub partition_id: i32,
    /// The topic.
    pub topic_id: Uuid,
    /// The brokers that have it, the preferred leader first.
    pub replicas: Vec<i32>,
    /// Those of them that have everything.
    pub isr: Vec<i32>,
    /// Those that will no longer have it.
    pub removing_replicas: Vec<i32>,
    /// Those that are getting it.
    pub adding_replicas: Vec<i32>,
    /// The leader; -1 none.
    #[kafka(default = -1)]
    pub leader: i32,
    /// 0 recovered, 1 recovering from an unclean election.
    #[kafka(tag = 0)]
    pub leader_recovery_state: i8,
    /// Rises with every election.
    #[kafka(default = -1)]
    pub leader_epoch: i32,
    /// Rises with every change.
    #[kafka(default = -1)]
    pub partition_epoch: i32,
    /// The log directory of each replica.
    #[kafka(since = 1)]
    pub directories: Vec<Uuid>,
    /// Brokers that may lead although they are not in sync (KIP-966).
    #[kafka(since = 2, tag = 1, default = null)]
    pub eligible_leader_replicas: Option<Vec<i32>>,
    /// The last that were known to be eligible.
    #[kafka(since = 2, tag = 2, default = null)]
    pub last_known_elr: Option<Vec<i32>>,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}

/// Something about a partition changes; what is null stays.
#[derive(Clone, Debug, PartialEq, Message)]
#[kafka(kind = data, api_key = 5, versions = 0..=2, flexible = 0)]
pub struct PartitionChangeRecord {
    /// Its number.
    #[kafka(default = -1)]
    pub partition_id: i32,
    /// The topic.
    pub topic_id: Uuid,
    /// The replicas in sync.
    #[kafka(tag = 0, default = null)]
    pub isr: Option<Vec<i32>>,
    /// The leader; -1 none, -2 the same and no new leader epoch.
    #[kafka(tag = 1, default = -2)]
    pub leader: i32,
    /// The brokers that have it.
    #[kafka(tag = 2, default = null)]
    pub replicas: Option<Vec<i32>>,
    /// Those that will no longer have it.
    #[kafka(tag = 3, default = null)]
    pub removing_replicas: Option<Vec<i32>>,
    /// Those that are getting it.
    #[kafka(tag = 4, default = null)]
    pub adding_replicas: Option<Vec<i32>>,
    /// -1 as before, 0 recovered, 1 recovering from an unclean election.
    #[kafka(tag = 5, default = -1)]
    pub leader_recovery_state: i8,
    /// The log directory of each replica.
    #[kafka(since = 1, tag = 8, default = null)]
    pub directories: Option<Vec<Uuid>>,
    /// Brokers that may lead although they are not in sync.
    #[kafka(since = 2, tag = 6, default = null)]
    pub eligible_leader_replicas: Option<Vec<i32>>,
    /// The last that were known to be eligible.
    #[kafka(since = 2, tag = 7, default = null)]
    pub last_known_elr: Option<Vec<i32>>,
    /// Tagged fields of a newer writer.
    pub unknown_tags: UnknownTags,
}
