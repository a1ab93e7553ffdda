//! Fetch, as a leader serves it (KIP-595, KIP-1166).

use super::{Replica, turn::Turn};
use crate::{
    answer::{Answer, FetchPlan, PartitionAnswer},
    error_code::ErrorCode,
    event::{ClusterMatch, Event, Listener, PartitionMatch},
    fetch_validation::{FetchPosition, validate_fetch},
    ids::{Epoch, ReplicaKey},
    offsets::LogEnd,
    parked_fetches::ParkedFetch,
    role::Role,
};
use core::time::Duration;

/// What a fetcher asks for.
pub(super) struct FetchRequest<'a> {
    pub(super) from: &'a ReplicaKey,
    pub(super) epoch: Epoch,
    pub(super) offset: i64,
    pub(super) last_epoch: Epoch,
    pub(super) high_watermark: i64,
    pub(super) max_wait_ms: i32,
    pub(super) max_bytes: i32,
}

impl FetchRequest<'_> {
    fn is_valid(&self) -> bool {
        self.max_wait_ms >= 0
            && self.offset >= 0
            && self.last_epoch >= Epoch(0)
            && self.last_epoch <= self.epoch
    }
}

impl Replica {
    /// The event is looked at where it lies: Fetches come with every record.
    pub(super) fn handle_fetch(&mut self, event: &Event, turn: &mut Turn<'_>) {
        let Event::ReceiveFetch {
            context,
            from,
            cluster,
            fetch_epoch,
            fetch_offset,
            last_fetched_epoch,
            high_watermark,
            max_wait_ms,
            max_bytes,
        } = event
        else {
            unreachable!("only a Fetch comes here");
        };
        let fetch = &FetchRequest {
            from,
            epoch: *fetch_epoch,
            offset: *fetch_offset,
            last_epoch: *last_fetched_epoch,
            high_watermark: *high_watermark,
            max_wait_ms: *max_wait_ms,
            max_bytes: *max_bytes,
        };
        if *cluster != ClusterMatch::Ours {
            let answer = Answer::TopLevel(ErrorCode::InconsistentClusterId);
            return self.reply(context.reply, answer, turn);
        }
        if context.partition != PartitionMatch::Metadata {
            return self.reply(context.reply, Answer::TopLevel(ErrorCode::InvalidRequest), turn);
        }
        let plan = match self.plan_fetch(fetch, turn) {
            Ok(plan) => plan,
            Err(error) => {
                let answer = self.fetch_error(error, &context.listener, turn);
                return self.reply(context.reply, answer, turn);
            }
        };
        let known = self.high_watermark.unwrap_or(-1);
        let answer_now = plan != FetchPlan::Empty || fetch.max_wait_ms == 0 || fetch.high_watermark < known;
        if answer_now || self.parked.is_full() {
            let answer = self.fetch_answer(plan, &context.listener, turn.log_start);
            return self.reply(context.reply, answer, turn);
        }
        let wait = Duration::from_millis(u64::try_from(fetch.max_wait_ms).unwrap_or(0));
        let until = turn.mono().after(wait);
        self.wake = self.wake.or(until);
        let parked = ParkedFetch {
            reply: context.reply,
            listener: context.listener.clone(),
            from: *fetch.from,
            epoch: fetch.epoch,
            offset: fetch.offset,
            max_bytes: fetch.max_bytes,
            until,
            log_start: turn.log_start,
        };
        self.parked.park(parked, self.is_voter_here(fetch.from));
    }

    #[inline(always)]
    fn plan_fetch(&mut self, fetch: &FetchRequest<'_>, turn: &mut Turn<'_>) -> Result<FetchPlan, ErrorCode> {
        if !fetch.is_valid() {
            return Err(ErrorCode::InvalidRequest);
        }
        self.check_leader_epoch(fetch.epoch)?;
        match self.place_fetch(fetch, turn) {
            FetchPosition::Valid => {
                let is_ourselves = fetch.from.id.known() == Some(self.config.local.id);
                if fetch.max_bytes < 0 || is_ourselves {
                    return Err(ErrorCode::UnknownServerError);
                }
                self.note_fetch(fetch.from, fetch.offset, turn);
                Ok(self.read_plan(fetch.from, fetch.offset, fetch.max_bytes, turn))
            }
            FetchPosition::Diverging(at) => Ok(FetchPlan::Diverging(at)),
            FetchPosition::Snapshot(snapshot) => Ok(FetchPlan::Snapshot(snapshot)),
            FetchPosition::Unanswerable => Err(ErrorCode::UnknownServerError),
        }
    }

    /// As [`validate_fetch`], which says the same of a log that goes on in the leader's own epoch: this leader has written
    /// in it, so it ends with the log.
    #[inline(always)]
    fn place_fetch(&self, fetch: &FetchRequest<'_>, turn: &Turn<'_>) -> FetchPosition {
        let LogEnd {
            last_epoch,
            last_offset,
        } = turn.end;
        let of_this_epoch = fetch.last_epoch == self.epoch && last_epoch == self.epoch;
        if of_this_epoch && fetch.offset <= last_offset && fetch.offset > turn.log_start {
            return FetchPosition::Valid;
        }
        validate_fetch(turn.log, fetch.offset, fetch.last_epoch)
    }

    /// The check of all requests that only a leader of the very epoch may answer. One that hands over serves fetches to
    /// the last, as it waits for them; what else it is asked for it refuses (`check_leads_on`).
    #[inline(always)]
    pub(super) fn check_leader_epoch(&self, epoch: Epoch) -> Result<(), ErrorCode> {
        if epoch < self.epoch {
            return Err(ErrorCode::FencedLeaderEpoch);
        }
        if epoch > self.epoch {
            return Err(ErrorCode::UnknownLeaderEpoch);
        }
        if !matches!(self.role, Role::Leader(_)) {
            return Err(ErrorCode::NotLeaderOrFollower);
        }
        Ok(())
    }

    /// Whether the leader that this is counts the fetcher among the voters.
    fn is_voter_here(&self, from: &ReplicaKey) -> bool {
        matches!(&self.role, Role::Leader(leader) if leader.is_voter(from))
    }

    /// A replica has everything before `offset`, and is alive.
    #[inline(always)]
    fn note_fetch(&mut self, from: &ReplicaKey, offset: i64, turn: &mut Turn<'_>) {
        let Role::Leader(leader) = &mut self.role else {
            return;
        };
        if from.id.known().is_none() {
            return;
        }
        if leader.fetched(from, offset, turn.end.last_offset, turn.now) {
            self.share_has_grown(offset, turn);
        }
    }

    /// The answer of a leader: nobody else has fetches to answer without an error.
    #[inline(always)]
    fn fetch_answer(&self, plan: FetchPlan, listener: &Listener, log_start: i64) -> Answer {
        Answer::Fetch {
            partition: PartitionAnswer {
                error: ErrorCode::None,
                leader: Some(self.config.local.id),
                epoch: self.epoch,
                endpoint: self.config.listeners.own(listener).cloned(),
            },
            high_watermark: self.high_watermark.unwrap_or(-1),
            log_start,
            plan,
        }
    }

    fn fetch_error(&self, error: ErrorCode, listener: &Listener, turn: &Turn<'_>) -> Answer {
        Answer::Fetch {
            partition: self.partition_answer(error, listener),
            high_watermark: -1,
            log_start: turn.log_start,
            plan: FetchPlan::Empty,
        }
    }

    /// Records have been appended. Voters are told at once, unless they may not have them yet. Observers have no use for
    /// records that are not committed, and there may be a thousand of them: they are told of the records and of their commit
    /// with one answer in place of two, and not before the voters. Only where the commit takes its time do they get the
    /// records without it.
    pub(super) fn log_has_grown(&mut self, turn: &mut Turn<'_>) {
        if self.unserved(Fetcher::Voter, turn).is_some() {
            return;
        }
        let due = turn.mono().after(OBSERVER_PATIENCE);
        self.parked.tell_observers_by(due);
        self.wake = self.wake.or(due);
        while let Some(fetch) = &self.parked.take_of_voter() {
            self.complete_fetch(fetch, turn);
        }
    }

    /// More of the log may be served, or the high watermark has moved, which is what all parked fetches wait for: they wait
    /// at the end of what may be served only. They are evaluated anew; a leader's log only grows, so their offsets are as
    /// valid as they were.
    pub(super) fn complete_fetches(&mut self, turn: &mut Turn<'_>) {
        self.parked.observers_told();
        while let Some(fetch) = &self.parked.take_first() {
            self.complete_fetch(fetch, turn);
        }
    }

    fn complete_fetch(&mut self, fetch: &ParkedFetch, turn: &mut Turn<'_>) {
        if let Err(error) = self.check_leader_epoch(fetch.epoch) {
            let answer = self.fetch_error(error, &fetch.listener, turn);
            return self.reply(fetch.reply, answer, turn);
        }
        self.note_fetch(&fetch.from, fetch.offset, turn);
        let plan = self.read_plan(&fetch.from, fetch.offset, fetch.max_bytes, turn);
        let answer = self.fetch_answer(plan, &fetch.listener, turn.log_start);
        self.reply(fetch.reply, answer, turn);
    }

    /// This replica does not lead any more.
    pub(super) fn fail_all_fetches(&mut self, turn: &mut Turn<'_>) {
        self.parked.observers_told();
        while let Some(fetch) = self.parked.take_first() {
            let answer = self.fetch_error(ErrorCode::NotLeaderOrFollower, &fetch.listener, turn);
            self.reply(fetch.reply, answer, turn);
        }
    }

    pub(super) fn expire_fetches(&mut self, turn: &mut Turn<'_>) {
        if self.parked.observers_are_due(turn.mono()) {
            // Nothing new is committed, so whoever has all there is goes on waiting.
            self.serve_observers(turn);
        }
        while let Some(fetch) = self.parked.take_expired(turn.mono()) {
            if fetch.offset < self.served_end(self.fetcher(&fetch.from), turn) {
                self.complete_fetch(&fetch, turn);
                continue;
            }
            let answer = self.fetch_answer(FetchPlan::Empty, &fetch.listener, fetch.log_start);
            self.reply(fetch.reply, answer, turn);
        }
    }

    #[inline(always)]
    fn read_plan(&self, from: &ReplicaKey, offset: i64, max_bytes: i32, turn: &Turn<'_>) -> FetchPlan {
        let up_to = self.unserved(self.fetcher(from), turn);
        if offset < up_to.unwrap_or(turn.end.last_offset) {
            FetchPlan::Read {
                from: offset,
                max_bytes,
                up_to,
            }
        } else {
            FetchPlan::Empty
        }
    }

    /// As what a leader serves a replica. It matters while there is something that is not served to all.
    #[inline(always)]
    fn fetcher(&self, from: &ReplicaKey) -> Fetcher {
        match &self.role {
            Role::Leader(leader) if leader.open_removal.is_some() && !leader.is_voter(from) => {
                Fetcher::Observer
            }
            _ => Fetcher::Voter,
        }
    }

    /// Where a leader's log goes on with what it does not serve yet, as it takes a vote: voters get that once the leader's disk
    /// has it, everybody else, those who lose their vote included, once it is committed.
    #[inline(always)]
    fn unserved(&self, to: Fetcher, turn: &Turn<'_>) -> Option<i64> {
        match &self.role {
            Role::Leader(leader) => self.unserved_removal(leader.open_removal?, to, turn),
            _ => None,
        }
    }

    #[inline(never)]
    fn unserved_removal(&self, base: i64, to: Fetcher, turn: &Turn<'_>) -> Option<i64> {
        if mutated!(ServesUnflushedRemoval) {
            return None;
        }
        let is_served = match to {
            Fetcher::Observer if !mutated!(ServesOpenRemoval) => {
                self.high_watermark.is_some_and(|committed| base < committed)
            }
            Fetcher::Voter | Fetcher::Observer => base < turn.flushed_end(),
        };
        (!is_served).then_some(base)
    }

    /// Where what a leader serves of its log ends.
    fn served_end(&self, to: Fetcher, turn: &Turn<'_>) -> i64 {
        self.unserved(to, turn).unwrap_or(turn.end.last_offset)
    }

    /// The log has grown: whoever waits for more of it than was served before gets it.
    pub(super) fn serve_appended(&mut self, turn: &mut Turn<'_>) {
        self.serve_voters(turn);
        self.serve_observers(turn);
    }

    /// The leader's disk has more than before: voters may have what was kept from them until then.
    pub(super) fn serve_removal(&mut self, turn: &mut Turn<'_>) {
        if matches!(&self.role, Role::Leader(leader) if leader.open_removal.is_some()) {
            self.serve_voters(turn);
        }
    }

    fn serve_voters(&mut self, turn: &mut Turn<'_>) {
        for fetch in self
            .parked
            .take_voters_before(self.served_end(Fetcher::Voter, turn))
        {
            self.complete_fetch(&fetch, turn);
        }
    }

    fn serve_observers(&mut self, turn: &mut Turn<'_>) {
        let end = self.served_end(Fetcher::Observer, turn);
        for fetch in self.parked.take_observers_before(end) {
            self.complete_fetch(&fetch, turn);
        }
    }
}

/// Who fetches, as far as it makes a difference to what he is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fetcher {
    /// A voter by the leader's log.
    Voter,
    /// Everybody else.
    Observer,
}

/// How long observers wait for the commit of what was appended.
const OBSERVER_PATIENCE: Duration = Duration::from_millis(25);
