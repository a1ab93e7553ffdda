//! FetchSnapshot, as a leader serves it (KIP-630).

use super::{Replica, turn::Turn};
use crate::{
    answer::{Answer, PartitionAnswer, SnapshotWindow},
    error_code::ErrorCode,
    event::{PartitionMatch, RequestContext},
    ids::{Epoch, ReplicaKey},
    offsets::SnapshotId,
    role::Role,
    text::Text,
};

/// What a fetcher asks for.
pub(super) struct SnapshotRequest {
    pub(super) from: ReplicaKey,
    pub(super) epoch: Epoch,
    pub(super) snapshot: SnapshotId,
    pub(super) position: i64,
    pub(super) max_bytes: i32,
}

impl Replica {
    pub(super) fn handle_fetch_snapshot(
        &mut self,
        context: &RequestContext,
        cluster_id: Option<&Text>,
        request: &SnapshotRequest,
        turn: &mut Turn<'_>,
    ) {
        if !self.is_same_cluster(cluster_id) {
            let answer = Answer::TopLevel(ErrorCode::InconsistentClusterId);
            return self.reply(context.reply, answer, turn);
        }
        let answer = match context.partition {
            PartitionMatch::Malformed => Answer::TopLevel(ErrorCode::InvalidRequest),
            PartitionMatch::Other => Answer::FetchSnapshot {
                partition: PartitionAnswer {
                    error: ErrorCode::UnknownTopicOrPartition,
                    leader: None,
                    epoch: Epoch(0),
                    endpoint: None,
                },
                window: None,
            },
            PartitionMatch::Metadata => {
                let (error, window) = match self.plan_snapshot(request, turn) {
                    Ok(window) => (ErrorCode::None, Some(window)),
                    Err(error) => (error, None),
                };
                let partition = self.partition_answer(error, &context.listener);
                Answer::FetchSnapshot { partition, window }
            }
        };
        self.reply(context.reply, answer, turn);
    }

    fn plan_snapshot(
        &mut self,
        request: &SnapshotRequest,
        turn: &Turn<'_>,
    ) -> Result<SnapshotWindow, ErrorCode> {
        self.check_leader_epoch(request.epoch)?;
        if request.snapshot == SnapshotId::BOOTSTRAP {
            return Err(ErrorCode::SnapshotNotFound);
        }
        let size = turn
            .log
            .snapshot_size(request.snapshot)
            .ok_or(ErrorCode::SnapshotNotFound)?;
        let position = u64::try_from(request.position)
            .ok()
            .filter(|position| *position < size)
            .ok_or(ErrorCode::PositionOutOfRange)?;
        let is_ourselves = request.from.id.known() == Some(self.config.local.id);
        if request.max_bytes < 0 || is_ourselves {
            return Err(ErrorCode::InvalidRequest);
        }
        if let Role::Leader(leader) = &mut self.role
            && request.from.id.known().is_some()
        {
            leader.credit(&request.from, turn.mono());
        }
        Ok(SnapshotWindow {
            snapshot: request.snapshot,
            size,
            position,
            max_bytes: request.max_bytes,
        })
    }
}
