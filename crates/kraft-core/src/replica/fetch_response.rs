//! The answer to our Fetch.

use super::{MAX_OFFSET, Replica, turn::Turn, wake::Wake};
use crate::{
    action::{Action, AppendPayload, DiskOp},
    control::{BatchInfo, Batches, ControlRecord},
    error_code::ErrorCode,
    event::{Event, FetchedRecords},
    handles::PayloadId,
    ids::Epoch,
    offsets::{LogEnd, LogOffsetMetadata, SnapshotId},
    role::{Role, follower::Download},
};
use alloc::format;

impl Replica {
    /// The event is looked at where it lies: such answers come with every record.
    pub(super) fn handle_fetch_response(&mut self, event: &mut Event, turn: &mut Turn<'_>) {
        let Event::ReceiveFetchResponse {
            answer,
            from: _,
            leader_id,
            leader_epoch,
            high_watermark,
            diverging,
            snapshot,
            records,
        } = event
        else {
            unreachable!("only the answer to a Fetch comes here");
        };
        if answer.leader.is_none() {
            answer.leader = leader_id.known();
        }
        if self.screen(answer, *leader_epoch, turn).is_none() {
            self.wake = Wake::NOW;
            return discard(records, turn);
        }
        let high_watermark = *high_watermark;
        let follows = matches!(self.role, Role::Follower(_));
        let success = if !follows {
            // The leader serves us, but nobody says where it listens. Asking on and on would not change that.
            discard(records, turn);
            false
        } else if answer.error != ErrorCode::None {
            discard(records, turn);
            false
        } else if let Some(at) = diverging.filter(|at| at.epoch >= Epoch(0)) {
            discard(records, turn);
            self.truncate_to(at, turn)
        } else if let Some(id) = snapshot.filter(|id| id.epoch >= Epoch(0) || id.end_offset >= 0) {
            discard(records, turn);
            self.begin_download(id, turn)
        } else {
            self.append_fetched(records, high_watermark, turn)
        };
        if self.ended {
            return;
        }
        if success {
            self.leader_has_answered(turn);
            self.abstain_until(high_watermark, turn);
        }
        self.connections.finish(answer.request, success, turn.mono());
        self.fetch_on(success, turn);
    }

    /// The leader has answered: on with the next Fetch, which is all that there is to do if nothing else is due.
    fn fetch_on(&mut self, success: bool, turn: &mut Turn<'_>) {
        let only_that = success && !turn.cut && self.wake.is_ahead(turn.mono()) && self.connections.is_idle();
        if !only_that || self.may_not_fetch() {
            self.wake = Wake::NOW;
            return;
        }
        let wake = if self.send_fetch_to_leader(turn) {
            self.wake.or(self.connections.given_up_at(turn.mono()))
        } else {
            Wake::NOW
        };
        self.wake = wake;
    }

    /// The leader is alive and serves this replica.
    pub(super) fn leader_has_answered(&mut self, turn: &Turn<'_>) {
        let fetch = self.fetch_timer(turn.mono());
        if let Role::Follower(follower) = &mut self.role {
            follower.fetch = fetch;
            follower.has_fetched = true;
        }
    }

    /// Cuts the log back to where it still agrees with the leader's. The epoch cache may hold an epoch without records at
    /// the very end, so a cut that takes no record away is ordered too.
    fn truncate_to(&mut self, diverging: LogOffsetMetadata, turn: &mut Turn<'_>) -> bool {
        if diverging.offset < 0 {
            return false;
        }
        let end = turn.end.last_offset;
        let agreed = if diverging.epoch == Epoch(0) {
            diverging.offset.min(end)
        } else {
            let own = turn.log.end_for_epoch(diverging.epoch);
            if own.epoch == diverging.epoch {
                own.offset.min(diverging.offset)
            } else {
                own.offset
            }
        };
        let to = turn.log.batch_end_at_or_before(agreed.min(end)).min(end);
        let known = self.high_watermark.unwrap_or(0).max(self.committed);
        if agreed.min(diverging.offset) < known || to < known {
            let reason = format!(
                "the leader of epoch {} says that our log leaves its own at offset {} (epoch {}), but everything below \
                 {known} is committed",
                self.epoch, diverging.offset, diverging.epoch
            );
            self.fatal(reason, turn);
            return false;
        }
        self.truncation = self.disk(DiskOp::Truncate { to }, turn);
        self.control.truncate_newer(to);
        self.voters_may_have_changed();
        self.proposals.truncated(to);
        turn.end.last_offset = to;
        turn.cut = true;
        true
    }

    /// Begins to fetch a snapshot that replaces the whole log.
    fn begin_download(&mut self, id: SnapshotId, turn: &mut Turn<'_>) -> bool {
        let fits = (0..=MAX_OFFSET).contains(&id.end_offset) && (Epoch(0)..=self.epoch).contains(&id.epoch);
        if !fits {
            return false;
        }
        let exists = id == SnapshotId::BOOTSTRAP
            || turn.log.latest_snapshot() == Some(id)
            || turn.log.snapshot_size(id).is_some();
        let LogEnd {
            last_epoch,
            last_offset,
        } = turn.end;
        if exists && id.end_offset == last_offset && id.epoch < last_epoch {
            // The log ends where the snapshot does, in an epoch that has begun here and never got a record.
            let end = LogOffsetMetadata {
                epoch: id.epoch,
                offset: id.end_offset,
            };
            return self.truncate_to(end, turn);
        }
        if exists {
            return true;
        }
        if !self.brings_on(id, turn.end) {
            return false;
        }
        let Role::Follower(follower) = &mut self.role else {
            return false;
        };
        if follower.download.is_some_and(|download| download.snapshot == id) {
            return true;
        }
        let old = follower.download.replace(Download {
            snapshot: id,
            position: 0,
        });
        if let Some(old) = old {
            turn.emit(Action::AbandonSnapshot {
                snapshot: old.snapshot,
            });
        }
        true
    }

    /// Whether a snapshot has something that a log with this end lacks, and lacks nothing that is known to be committed.
    pub(super) fn brings_on(&self, id: SnapshotId, end: LogEnd) -> bool {
        let is_ahead = id.end_offset > end.last_offset
            || id.epoch > end.last_epoch
            || (id.end_offset == end.last_offset && id.epoch != end.last_epoch);
        is_ahead && id.end_offset >= self.committed
    }

    #[inline(always)]
    fn append_fetched(
        &mut self,
        records: &mut FetchedRecords,
        high_watermark: i64,
        turn: &mut Turn<'_>,
    ) -> bool {
        if let FetchedRecords::Batches { batches, payload } = records
            && !self.append_batches(batches, *payload, turn)
        {
            return false;
        }
        if high_watermark >= 0 {
            self.follow_high_watermark(high_watermark, turn);
        }
        true
    }

    /// Appends what the leader sent, up to the first batch of an epoch that this replica does not know yet
    /// (KAFKA-18723).
    #[inline(always)]
    fn append_batches(&mut self, batches: &mut Batches, payload: PayloadId, turn: &mut Turn<'_>) -> bool {
        let known = batches
            .iter()
            .position(|batch| batch.epoch > self.epoch)
            .unwrap_or(batches.len());
        if known < batches.len() {
            *batches = batches.iter().take(known).cloned().collect();
        }
        if batches.is_empty() {
            turn.emit(Action::Discard { payload });
            return true;
        }
        let mut end = turn.end;
        for batch in batches.iter() {
            if batch.base != end.last_offset || batch.last < batch.base || batch.last >= MAX_OFFSET {
                let reason = format!(
                    "the leader of epoch {} sent offsets {} to {} where offset {} comes next",
                    self.epoch, batch.base, batch.last, end.last_offset
                );
                turn.emit(Action::Discard { payload });
                self.fatal(reason, turn);
                return false;
            }
            // A leader begins its epoch once: with the record again, no log would open any more. An epoch of which a crash has left
            // the entry in the cache, and no record, has not begun here.
            let has_begun = || turn.log.end_for_epoch(Epoch(batch.epoch.0 - 1)).offset < end.last_offset;
            let begun_again = batch.epoch == end.last_epoch && announces_leader(batch) && has_begun();
            if batch.epoch < end.last_epoch || begun_again {
                turn.emit(Action::Discard { payload });
                return false;
            }
            if let Some(level) = batch
                .control
                .as_deref()
                .and_then(|records| self.unknown_level(records))
            {
                let reason = format!(
                    "kraft.version {level}, recorded at offset {}, is not known to this version",
                    batch.base
                );
                turn.emit(Action::Discard { payload });
                self.fatal(reason, turn);
                return false;
            }
            end = LogEnd {
                last_epoch: batch.epoch,
                last_offset: batch.last + 1,
            };
        }
        for batch in batches.iter() {
            if batch.control.is_some() {
                self.control.append(batch);
                self.control.truncate_older(turn.log_start);
                self.voters_may_have_changed();
            }
            self.proposals.appended(batch);
        }
        let op = DiskOp::Append {
            base: turn.end.last_offset,
            batches: core::mem::take(batches),
            payload: AppendPayload::Fetched(payload),
        };
        self.disk(op, turn);
        turn.end = end;
        true
    }

    /// A kraft.version among `records` that this replica cannot follow.
    pub(super) fn unknown_level(&self, records: &[ControlRecord]) -> Option<i16> {
        records.iter().find_map(|record| match record {
            ControlRecord::KRaftVersion(level) if !self.config.kraft_versions.contains(*level) => {
                Some(*level)
            }
            ControlRecord::KRaftVersion(_)
            | ControlRecord::LeaderChange { .. }
            | ControlRecord::Voters(_) => None,
        })
    }
}

/// Whether a batch has the record with which a leader begins its epoch.
fn announces_leader(batch: &BatchInfo) -> bool {
    let mut control = batch.control.iter().flatten();
    control.any(|record| matches!(record, ControlRecord::LeaderChange { .. }))
}

fn discard(records: &FetchedRecords, turn: &mut Turn<'_>) {
    if let FetchedRecords::Batches { payload, .. } = records {
        turn.emit(Action::Discard { payload: *payload });
    }
}
