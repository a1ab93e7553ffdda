//! The leader's view of the quorum (KIP-595, KIP-836).

use super::{Replica, turn::Turn};
use crate::{
    answer::{Answer, DescribeRefusal, QuorumDescription, ReplicaProgress},
    event::{PartitionMatch, RequestContext},
    ids::ReplicaKey,
    log_view::LogView,
    replica_progress::Progress,
    role::{Role, leader::Leader},
    time::Time,
};

impl Replica {
    /// The state of the quorum as this replica knows it; `None` unless it leads.
    #[must_use]
    pub fn describe(&self, log: &impl LogView, now: Time) -> Option<QuorumDescription> {
        self.description(log.end().last_offset, now)
    }

    /// How many replicas that do not vote this leader keeps track of; `None` unless it leads. Those that are silent are
    /// forgotten when somebody asks for a description, as in Kafka.
    #[must_use]
    pub fn observer_count(&self) -> Option<usize> {
        self.led().map(|leader| leader.observers().count())
    }

    /// Whether a change of the voter set is under way, from its acceptance on; `None` unless this replica leads.
    #[must_use]
    pub fn changes_voters(&self) -> Option<bool> {
        self.led().map(|leader| leader.pending_change.is_some())
    }

    fn led(&self) -> Option<&Leader> {
        match &self.role {
            Role::Leader(leader) => Some(leader),
            Role::Unattached(_)
            | Role::Prospective(_)
            | Role::Candidate(_)
            | Role::Follower(_)
            | Role::Resigned(_) => None,
        }
    }

    pub(super) fn handle_describe_quorum(&mut self, context: &RequestContext, turn: &mut Turn<'_>) {
        if let Role::Leader(leader) = &mut self.role {
            leader.expire_observers(self.config.local.id, turn.mono());
        }
        let description = if context.partition == PartitionMatch::Metadata {
            self.description(turn.end.last_offset, turn.now)
                .ok_or(DescribeRefusal::NotLeader)
        } else {
            Err(DescribeRefusal::UnknownPartition)
        };
        self.reply(context.reply, Answer::DescribeQuorum(description), turn);
    }

    fn description(&self, log_end: i64, now: Time) -> Option<QuorumDescription> {
        let leader = self.led()?;
        let local = self.config.local;
        let row = |(key, progress): (ReplicaKey, &Progress)| {
            if key.id == local.id {
                ReplicaProgress {
                    key,
                    log_end_offset: log_end,
                    last_fetch_ms: now.wall_ms,
                    last_caught_up_ms: now.wall_ms,
                }
            } else {
                progress.describe(key)
            }
        };
        let is_here = |(key, progress): &(ReplicaKey, &Progress)| {
            key.id == local.id || !progress.silent_for(Leader::OBSERVER_SESSION, now.mono)
        };
        Some(QuorumDescription {
            leader: local.id,
            epoch: self.epoch,
            high_watermark: self.high_watermark.unwrap_or(-1),
            voters: leader.voters().map(row).collect(),
            observers: leader.observers().filter(is_here).map(row).collect(),
            nodes: self
                .voters()
                .iter()
                .map(|voter| (voter.key.id, voter.endpoints.clone()))
                .collect(),
        })
    }
}
