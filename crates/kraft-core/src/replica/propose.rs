//! Proposals, and giving up the leadership on request.

use super::{Replica, turn::Turn};
use crate::{
    action::{Action, AppendPayload, DiskOp, Refusal},
    control::{BatchInfo, Batches},
    event::Event,
    handles::{PayloadId, ReplyId},
    ids::Epoch,
    offsets::LogEnd,
    proposals::Proposal,
    role::Role,
};

/// The size that an encoded batch may have, as in Kafka.
const BATCH_BYTES_MAX: u32 = 8 * 1024 * 1024;

/// Records that somebody wants to have appended as one batch.
pub(super) struct Offer {
    pub(super) reply: ReplyId,
    pub(super) epoch: Option<Epoch>,
    pub(super) records: u32,
    pub(super) bytes: u32,
    pub(super) payload: PayloadId,
}

impl Replica {
    pub(super) fn propose(&mut self, offer: Offer, turn: &mut Turn<'_>) {
        let Offer {
            reply,
            records,
            bytes,
            payload,
            ..
        } = offer;
        if let Err(reason) = self.check_offer(&offer) {
            return turn.emit(Action::Refuse { reply, reason });
        }
        if Self::log_is_full(turn) {
            let reason = Refusal::ShuttingDown;
            turn.emit(Action::Refuse { reply, reason });
            return self.offsets_exhausted(turn);
        }
        let base = turn.end.last_offset;
        let end = base + i64::from(records);
        let epoch = self.epoch;
        let batch = BatchInfo {
            base,
            last: end - 1,
            epoch,
            bytes,
            control: None,
        };
        let op = DiskOp::Append {
            base,
            batches: Batches::one(batch),
            payload: AppendPayload::Proposal(payload),
        };
        self.disk(op, turn);
        turn.emit(Action::Accept { reply, base, epoch });
        turn.end = LogEnd {
            last_epoch: epoch,
            last_offset: end,
        };
        self.proposals.add(Proposal {
            reply,
            base,
            last: end - 1,
            epoch,
        });
        self.log_has_grown(turn);
    }

    fn check_offer(&self, offer: &Offer) -> Result<(), Refusal> {
        if self.shutting_down() {
            return Err(Refusal::ShuttingDown);
        }
        let not_leader = || Refusal::NotLeader {
            leader: self.leader(),
            epoch: self.epoch,
        };
        if !matches!(self.role, Role::Leader(_)) {
            return Err(not_leader());
        }
        if offer.records == 0 {
            return Err(Refusal::Empty);
        }
        let epoch = offer.epoch.unwrap_or(self.epoch);
        if epoch < self.epoch {
            return Err(not_leader());
        }
        if epoch > self.epoch {
            return Err(Refusal::EpochFromTheFuture);
        }
        if offer.bytes > BATCH_BYTES_MAX {
            return Err(Refusal::TooLarge { max: BATCH_BYTES_MAX });
        }
        Ok(())
    }

    /// Gives up the leadership of `epoch` at the next opportunity, which comes at once.
    pub(super) fn resign(&mut self, epoch: Epoch) {
        if let Role::Leader(leader) = &mut self.role
            && epoch == self.epoch
        {
            leader.resign_requested = true;
        }
    }

    /// A replica that has ended takes no proposal and no read; everything else is not for it any more.
    pub(super) fn refuse_after_end(event: Event, turn: &mut Turn<'_>) {
        if let Event::Propose { reply, .. } = event {
            let reason = Refusal::ShuttingDown;
            turn.emit(Action::Refuse { reply, reason });
        } else if let Event::ReadBarrier { reply } = event {
            turn.emit(Action::ReadBarrier { reply, applied: None });
        }
    }
}
