//! A state machine that counts.

use std::io;

use futures_util::{Stream, TryStreamExt};
use openraft::entry::RaftEntry;
use openraft::storage::{EntryResponder, RaftStateMachine};
use openraft::type_config::alias::{LogIdOf, SnapshotMetaOf, SnapshotOf, StoredMembershipOf};
use openraft::{EntryPayload, OptionalSend, RaftSnapshotBuilder, Snapshot, SnapshotMeta, StoredMembership};

use super::Types;

/// What is committed, counted. It is its own snapshot.
#[derive(Debug, Clone, Default)]
pub struct Count {
    records: u64,
    bytes: u64,
    at: Option<LogIdOf<Types>>,
    membership: StoredMembershipOf<Types>,
}

impl Count {
    /// How many records were applied.
    pub fn records(&self) -> u64 {
        self.records
    }

    fn as_snapshot(&self) -> SnapshotOf<Types, Count> {
        Snapshot {
            meta: SnapshotMeta {
                last_log_id: self.at.clone(),
                last_membership: self.membership.clone(),
            },
            snapshot: self.clone(),
        }
    }
}

impl RaftSnapshotBuilder<Types> for Count {
    type SnapshotData = Count;

    async fn build_snapshot(&mut self) -> io::Result<SnapshotOf<Types, Count>> {
        Ok(self.as_snapshot())
    }
}

impl RaftStateMachine<Types> for Count {
    type SnapshotData = Count;
    type SnapshotBuilder = Count;

    async fn applied_state(&mut self) -> io::Result<(Option<LogIdOf<Types>>, StoredMembershipOf<Types>)> {
        Ok((self.at.clone(), self.membership.clone()))
    }

    async fn apply<S>(&mut self, mut entries: S) -> io::Result<()>
    where
        S: Stream<Item = io::Result<EntryResponder<Types>>> + Unpin + OptionalSend,
    {
        while let Some((entry, responder)) = entries.try_next().await? {
            self.at = Some(entry.log_id());
            match entry.payload {
                EntryPayload::Normal(record) => {
                    self.records += 1;
                    self.bytes += record.0.len() as u64;
                }
                EntryPayload::Membership(membership) => {
                    self.membership = StoredMembership::new(self.at.clone(), membership);
                }
                EntryPayload::Blank => {}
            }
            if let Some(responder) = responder {
                responder.send(());
            }
        }
        Ok(())
    }

    async fn get_snapshot_builder(&mut self) -> Count {
        self.clone()
    }

    async fn install_snapshot(&mut self, _: &SnapshotMetaOf<Types>, snapshot: Count) -> io::Result<()> {
        *self = snapshot;
        Ok(())
    }

    async fn get_current_snapshot(&mut self) -> io::Result<Option<SnapshotOf<Types, Count>>> {
        Ok(self.at.is_some().then(|| self.as_snapshot()))
    }
}
