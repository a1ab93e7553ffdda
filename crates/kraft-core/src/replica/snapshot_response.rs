//! The answer to our FetchSnapshot, and the snapshot's installation (KIP-630).

use super::{Replica, turn::Turn};
use crate::{
    action::{Action, DiskOp},
    control::ControlRecord,
    error_code::ErrorCode,
    event::AnswerContext,
    handles::{PayloadId, Ticket},
    ids::Epoch,
    offsets::SnapshotId,
    role::Role,
};
use alloc::format;

/// A snapshot that has been fetched as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Installing {
    snapshot: SnapshotId,
    /// The ticket of the last piece, until it is durable: the snapshot has then been verified, unless it was
    /// rejected. The log is not touched before.
    unverified: Option<Ticket>,
}

/// A piece of a snapshot.
pub(super) struct Chunk {
    pub(super) snapshot: SnapshotId,
    pub(super) size: i64,
    pub(super) position: i64,
    pub(super) bytes: u32,
    pub(super) payload: PayloadId,
}

impl Replica {
    pub(super) fn handle_fetch_snapshot_response(
        &mut self,
        answer: &AnswerContext,
        epoch: Epoch,
        chunk: Chunk,
        turn: &mut Turn<'_>,
    ) {
        let payload = chunk.payload;
        let success = if self.screen(answer, epoch, turn).is_none() {
            None
        } else if !matches!(self.role, Role::Follower(_)) {
            Some(true)
        } else if answer.error == ErrorCode::SnapshotNotFound
            || chunk.snapshot.end_offset < 0
            || chunk.snapshot.epoch < Epoch(0)
            || self.has_overtaken(turn)
        {
            // The leader has a newer one by now, which the next Fetch will name, or we have come further without it.
            self.abandon_download(turn);
            self.leader_has_answered(turn);
            Some(true)
        } else if answer.error != ErrorCode::None {
            Some(false)
        } else if self.store_chunk(&chunk, turn) {
            self.leader_has_answered(turn);
            self.connections.finish(answer.request, true, turn.mono());
            return;
        } else {
            Some(false)
        };
        turn.emit(Action::Discard { payload });
        if let Some(success) = success {
            self.connections.finish(answer.request, success, turn.mono());
        }
    }

    /// Whether our log has grown beyond the snapshot that is being fetched: a Fetch by way of a bootstrap server, while the
    /// leader did not answer, may have brought records. To install it now would take away what is committed.
    fn has_overtaken(&self, turn: &Turn<'_>) -> bool {
        let Role::Follower(follower) = &self.role else {
            return false;
        };
        follower
            .download
            .is_some_and(|download| !self.brings_on(download.snapshot, turn.end))
    }

    /// Stores a piece that continues the download. Anything else is refused.
    fn store_chunk(&mut self, chunk: &Chunk, turn: &mut Turn<'_>) -> bool {
        let Role::Follower(follower) = &mut self.role else {
            return false;
        };
        let Some(download) = &mut follower.download else {
            return false;
        };
        let (Ok(size), Ok(position)) = (u64::try_from(chunk.size), u64::try_from(chunk.position)) else {
            return false;
        };
        let Some(end) = position.checked_add(u64::from(chunk.bytes)) else {
            return false;
        };
        let continues = download.snapshot == chunk.snapshot && download.position == position;
        if !continues || chunk.bytes == 0 || end > size {
            return false;
        }
        download.position = end;
        let last = end == size;
        let snapshot = chunk.snapshot;
        if last {
            follower.download = None;
        }
        let op = DiskOp::SnapshotChunk {
            snapshot,
            position,
            payload: chunk.payload,
            last,
        };
        let ticket = self.disk(op, turn);
        if last {
            self.installing = Some(Installing {
                snapshot,
                unverified: Some(ticket),
            });
            if mutated!(SnapshotUnverified) {
                self.install_verified(turn);
            }
        }
        true
    }

    /// A snapshot that is whole and verified takes the place of the log.
    pub(super) fn install_verified(&mut self, turn: &mut Turn<'_>) {
        let Some(installing) = &mut self.installing else {
            return;
        };
        if installing
            .unverified
            .take_if(|ticket| *ticket <= self.tickets.durable() || mutated!(SnapshotUnverified))
            .is_none()
        {
            return;
        }
        let snapshot = installing.snapshot;
        if !self.brings_on(snapshot, turn.end) {
            self.installing = None;
            return;
        }
        self.abandon_proposals(turn);
        self.disk(DiskOp::TruncateFully { snapshot }, turn);
    }

    fn abandon_download(&mut self, turn: &mut Turn<'_>) {
        if let Role::Follower(follower) = &mut self.role
            && let Some(download) = follower.download.take()
        {
            turn.emit(Action::AbandonSnapshot {
                snapshot: download.snapshot,
            });
        }
    }

    /// The log is the snapshot now.
    pub(super) fn snapshot_installed(
        &mut self,
        snapshot: SnapshotId,
        control: &[ControlRecord],
        turn: &mut Turn<'_>,
    ) {
        if !self.is_installing(snapshot) {
            return;
        }
        self.installing = None;
        if let Some(level) = self.unknown_level(control) {
            let reason = format!(
                "kraft.version {level}, recorded in snapshot {}-{}, is not known to this version",
                snapshot.end_offset, snapshot.epoch
            );
            return self.fatal(reason, turn);
        }
        self.control.load(snapshot, control);
        self.voters_may_have_changed();
        self.follow_high_watermark(snapshot.end_offset, turn);
        self.may_fetch_again(turn);
    }

    /// The log is a log again. That nothing could be fetched until now says nothing of the leader.
    fn may_fetch_again(&mut self, turn: &Turn<'_>) {
        let fetch = self.fetch_timer(turn.mono());
        if let Role::Follower(follower) = &mut self.role
            && !follower.leader_resigned
        {
            follower.fetch = fetch;
        }
    }

    /// What was fetched is no snapshot. The log is as it was, and after a rest the next Fetch finds the way again.
    pub(super) fn snapshot_rejected(&mut self, snapshot: SnapshotId, turn: &mut Turn<'_>) {
        let whole = self
            .installing
            .take_if(|installing| installing.snapshot == snapshot && installing.unverified.is_some());
        if whole.is_some() {
            self.may_fetch_again(turn);
        }
        if let Role::Follower(follower) = &mut self.role {
            let begun = follower
                .download
                .take_if(|download| download.snapshot == snapshot);
            if whole.is_some() || begun.is_some() {
                self.connections.rest(follower.leader, turn.mono());
            }
        }
    }

    fn is_installing(&self, snapshot: SnapshotId) -> bool {
        self.installing
            .is_some_and(|installing| installing.snapshot == snapshot && installing.unverified.is_none())
    }
}
