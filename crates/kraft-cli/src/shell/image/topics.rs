//! Topics and their partitions.

use std::collections::BTreeMap;

use kraft_metadata::record::{PartitionChangeRecord, PartitionRecord, TopicRecord};
use kraft_wire::uuid_text::{self, DIRECTORY_MIGRATING};
use uuid::Uuid;

use super::NotShown;

/// The topics, by id and by name.
#[derive(Debug, Default)]
pub(in crate::shell) struct Topics {
    pub(in crate::shell) by_id: BTreeMap<Uuid, Topic>,
    pub(in crate::shell) by_name: BTreeMap<String, Uuid>,
}

/// A topic.
#[derive(Debug)]
pub(in crate::shell) struct Topic {
    pub(in crate::shell) name: String,
    pub(in crate::shell) id: Uuid,
    /// In boxes, because a map with few entries has room for many.
    pub(in crate::shell) partitions: BTreeMap<i32, Box<Partition>>,
}

/// A partition. There can be millions: lists without an element take no memory of their own.
#[derive(Clone, Debug)]
pub(in crate::shell) struct Partition {
    pub(in crate::shell) replicas: Box<[i32]>,
    pub(in crate::shell) directories: Box<[Uuid]>,
    pub(in crate::shell) isr: Box<[i32]>,
    pub(in crate::shell) removing: Box<[i32]>,
    pub(in crate::shell) adding: Box<[i32]>,
    pub(in crate::shell) elr: Box<[i32]>,
    pub(in crate::shell) last_known_elr: Box<[i32]>,
    pub(in crate::shell) leader: i32,
    pub(in crate::shell) recovering: bool,
    pub(in crate::shell) leader_epoch: i32,
    pub(in crate::shell) partition_epoch: i32,
}

impl Topics {
    /// A topic without partitions, in the place of one with the same id.
    pub(super) fn create(&mut self, record: TopicRecord) {
        let topic = Topic {
            name: record.name.clone(),
            id: record.topic_id,
            partitions: BTreeMap::new(),
        };
        self.by_id.insert(record.topic_id, topic);
        self.by_name.insert(record.name, record.topic_id);
    }

    /// Removes a topic; returns its name.
    pub(super) fn remove(&mut self, id: Uuid) -> Result<String, NotShown> {
        let topic = self.by_id.remove(&id).ok_or_else(|| no_topic(id))?;
        if self.by_name.get(&topic.name) == Some(&id) {
            self.by_name.remove(&topic.name);
        }
        Ok(topic.name)
    }

    pub(super) fn partition(&mut self, record: PartitionRecord) -> Result<(), NotShown> {
        let topic = self.topic(record.topic_id)?;
        let number = record.partition_id;
        let partition = Partition {
            recovering: recovery_state(record.leader_recovery_state)?,
            directories: directories(record.directories.into(), record.replicas.len())?,
            replicas: record.replicas.into(),
            isr: record.isr.into(),
            removing: record.removing_replicas.into(),
            adding: record.adding_replicas.into(),
            elr: record.eligible_leader_replicas.unwrap_or_default().into(),
            last_known_elr: record.last_known_elr.unwrap_or_default().into(),
            leader: record.leader,
            leader_epoch: record.leader_epoch,
            partition_epoch: record.partition_epoch,
        };
        topic.partitions.insert(number, Box::new(partition));
        Ok(())
    }

    pub(super) fn change_partition(&mut self, record: PartitionChangeRecord) -> Result<(), NotShown> {
        let (id, number) = (record.topic_id, record.partition_id);
        let partition = self.topic(id)?.partitions.get_mut(&number);
        let partition = partition
            .ok_or_else(|| NotShown::NotThere(format!("partition {}:{number}", uuid_text::format(&id))))?;
        partition.change(record)
    }

    /// Forgets the eligible leader replicas of a topic, or of all.
    pub(super) fn clear_elr(&mut self, name: &str) -> Result<(), NotShown> {
        if name.is_empty() {
            self.by_id.values_mut().for_each(Topic::clear_elr);
            return Ok(());
        }
        let topic = self.by_name.get(name).and_then(|id| self.by_id.get_mut(id));
        topic
            .map(Topic::clear_elr)
            .ok_or_else(|| NotShown::NotThere(format!("topic {name}")))
    }

    fn topic(&mut self, id: Uuid) -> Result<&mut Topic, NotShown> {
        self.by_id.get_mut(&id).ok_or_else(|| no_topic(id))
    }
}

impl Topic {
    fn clear_elr(&mut self) {
        for partition in self.partitions.values_mut() {
            if !partition.elr.is_empty() || !partition.last_known_elr.is_empty() {
                partition.elr = Box::default();
                partition.last_known_elr = Box::default();
                partition.partition_epoch = partition.partition_epoch.wrapping_add(1);
            }
        }
    }
}

impl Partition {
    /// All of the change, or nothing of it.
    fn change(&mut self, record: PartitionChangeRecord) -> Result<(), NotShown> {
        let replicas = record.replicas.map(Box::from);
        let count = replicas.as_ref().unwrap_or(&self.replicas).len();
        let given = record.directories.map(Box::from);
        let directories = directories(given.unwrap_or_else(|| self.directories.clone()), count)?;
        let recovering = match record.leader_recovery_state {
            UNCHANGED => self.recovering,
            state => recovery_state(state)?,
        };
        self.directories = directories;
        self.recovering = recovering;
        set(&mut self.replicas, replicas);
        set(&mut self.isr, record.isr.map(Box::from));
        set(&mut self.removing, record.removing_replicas.map(Box::from));
        set(&mut self.adding, record.adding_replicas.map(Box::from));
        set(&mut self.elr, record.eligible_leader_replicas.map(Box::from));
        set(&mut self.last_known_elr, record.last_known_elr.map(Box::from));
        if record.leader != SAME_LEADER {
            self.leader = record.leader;
            self.leader_epoch = self.leader_epoch.wrapping_add(1);
        }
        self.partition_epoch = self.partition_epoch.wrapping_add(1);
        Ok(())
    }
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

/// One directory for each replica; those of a partition that has none are being migrated.
fn directories(given: Box<[Uuid]>, replicas: usize) -> Result<Box<[Uuid]>, NotShown> {
    if given.iter().all(|directory| *directory == DIRECTORY_MIGRATING) {
        return Ok(vec![DIRECTORY_MIGRATING; replicas].into());
    }
    if given.len() != replicas {
        let what = format!(
            "a partition has {} directories for {replicas} replicas",
            given.len()
        );
        return Err(NotShown::Contradiction(what));
    }
    Ok(given)
}

fn recovery_state(state: i8) -> Result<bool, NotShown> {
    match state {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(NotShown::Contradiction(format!(
            "there is no leader recovery state {other}"
        ))),
    }
}

fn no_topic(id: Uuid) -> NotShown {
    NotShown::NotThere(format!("topic {}", uuid_text::format(&id)))
}

/// The leader of a change that leaves it, and with it the leader epoch.
const SAME_LEADER: i32 = -2;
/// The recovery state of a change that leaves it.
const UNCHANGED: i8 = -1;
