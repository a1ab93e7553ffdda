//! The machine that joins the roles.

mod abstention;
mod add_voter;
mod auto_join;
mod begin_end;
mod commit;
mod describe;
mod dispatch;
mod fetch;
mod fetch_response;
mod fetch_snapshot;
mod invariants;
mod kraft_version;
mod poll;
mod propose;
mod read_barrier;
mod remove_voter;
mod requests;
mod responses;
mod shutdown;
mod snapshot_response;
mod startup;
mod tickets;
mod transitions;
mod turn;
mod update_voter;
mod vote;
mod voter_change;
mod wake;

#[cfg(test)]
mod tests;

use crate::{
    action::Action,
    answer::{Answer, PartitionAnswer},
    config::Config,
    connections::Connections,
    control_state::ControlState,
    election_state::ElectionState,
    endpoints::{Endpoint, Endpoints},
    error_code::ErrorCode,
    event::{Event, Listener},
    handles::{ReplyId, RequestId, Ticket},
    ids::{Epoch, NodeId, ReplicaKey},
    log_view::LogView,
    parked_fetches::ParkedFetches,
    proposals::Proposals,
    rng::Rng,
    role::{Role, RoleName},
    text::Text,
    time::{Instant, Span, Time},
    timer::{Timer, earlier},
    voter_set::{VoterNode, VoterSet},
};
use abstention::Abstention;
use alloc::{collections::BTreeSet, format, string::String, sync::Arc, vec::Vec};
use core::time::Duration;
use snapshot_response::Installing;
use tickets::Tickets;
use turn::Turn;
use wake::Wake;

/// The last epoch. None follows it: that would leave the range of the wire.
pub const MAX_EPOCH: Epoch = Epoch(i32::MAX - 1);

/// Above it no peer is believed, or one forged number would use up all epochs there will ever be. What is left above it is
/// for the elections of a quorum that was brought as far as this.
const BELIEVED_EPOCH: Epoch = Epoch(2_000_000_000);

/// How many elections a replica can have missed that is beyond the epoch up to which peers are believed.
const MISSED_ELECTIONS: i32 = 1000;

/// No log of ours ends behind it. A peer or a file that goes further is not believed: a leader could not append behind that.
pub const MAX_OFFSET: i64 = i64::MAX / 2;

/// So far before [`MAX_OFFSET`] a leader appends nothing any more. No batch has so many records.
const LAST_ROOM: i64 = 1 << 32;

/// One replica of the metadata quorum.
///
/// [`open`](Self::open) starts it, [`step`](Self::step) is the only entrance after that; both append what has to be done
/// to a list of actions, in order. Everything else only reads.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Replica {
    /// Shared by the copies of a replica: it never changes.
    config: Arc<Config>,
    /// Whom to ask for the leader: bootstrap servers, or the static voters when there are none.
    bootstrap: Vec<NodeId>,
    bootstrap_endpoints: Vec<Endpoint>,
    /// How long a leader may wait with its answer to a Fetch, as the request says it.
    fetch_max_wait_ms: i32,
    /// As configured.
    fetch_timeout: Span,
    rng: Rng,
    control: ControlState,
    epoch: Epoch,
    role: Role,
    connections: Connections,
    /// The high watermark that the role knows. A new leader knows none.
    high_watermark: Option<i64>,
    /// The largest high watermark that was ever known here: nothing below it may be cut.
    committed: i64,
    parked: ParkedFetches,
    proposals: Proposals,
    tickets: Tickets,
    /// The log was cut by this operation; nothing is fetched before it is durable.
    truncation: Ticket,
    /// What an observer had ordered when it sent its last Fetch: the next one waits for that.
    observed: Ticket,
    /// The snapshot that the log is being replaced by.
    installing: Option<Installing>,
    /// Set while a voter that has lost its log takes no part in elections.
    abstention: Option<Abstention>,
    /// The end of the graceful shutdown, once it has begun.
    shutdown: Timer,
    /// Who could not be reached since then, when it was asked last.
    unreachable: BTreeSet<NodeId>,
    /// Nothing happens any more.
    ended: bool,
    /// When the role has something to do by itself, at the earliest.
    wake: Wake,
}

impl Replica {
    /// The only entrance: one event in, actions out.
    ///
    /// `log` shows everything that earlier steps have ordered. Time never goes back.
    // Whoever calls it knows which event it is, and then nothing is left of it here but the call of that event's handler.
    #[inline(always)]
    pub fn step(&mut self, event: Event, log: &impl LogView, now: Time, out: &mut Vec<Action>) {
        let turn = &mut Turn::new(log, now, out);
        if self.ended {
            return Self::refuse_after_end(event, turn);
        }
        self.handle(event, turn);
        let waits_for_disk = turn.unfinished.is_some() && matches!(self.role, Role::Leader(_));
        if waits_for_disk || !self.wake.is_ahead(turn.mono()) {
            self.look_after_itself(turn);
        }
        if cfg!(debug_assertions) {
            self.check(turn.end);
            self.check_rest(turn);
        }
    }

    /// When the next [`Event::Tick`] is due, if nothing else happens before.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        if self.ended {
            return None;
        }
        let role = self.role_deadline();
        let waiting = earlier(self.parked.next_deadline(), self.proposals.patience().deadline());
        earlier(earlier(role, waiting), self.shutdown.deadline())
    }

    /// The role.
    #[must_use]
    pub fn role(&self) -> RoleName {
        self.role.name()
    }

    /// The epoch.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The leader of the epoch, if known. A resigned leader still names itself.
    #[must_use]
    pub fn leader(&self) -> Option<NodeId> {
        match &self.role {
            Role::Unattached(unattached) => unattached.leader,
            Role::Prospective(prospective) => prospective.leader,
            Role::Candidate(_) => None,
            Role::Leader(_) | Role::Resigned(_) => Some(self.config.local.id),
            Role::Follower(follower) => Some(follower.leader),
        }
    }

    /// Where the leader listens, as far as it is known.
    #[must_use]
    pub fn leader_endpoints(&self) -> Endpoints {
        self.known_endpoints().cloned().unwrap_or_default()
    }

    /// Where the leader listens for this replica: on the default listener.
    #[must_use]
    pub fn leader_endpoint(&self) -> Option<&Endpoint> {
        self.known_endpoints()?.at(&self.config.default_listener)
    }

    /// Everything below it is committed; `None` while it is not known.
    #[must_use]
    pub fn high_watermark(&self) -> Option<i64> {
        self.high_watermark
    }

    /// Everything below it was committed, as far as this replica has known since it started, in whatever role.
    #[must_use]
    pub fn committed(&self) -> i64 {
        self.committed
    }

    /// The voters in force, committed or not.
    #[must_use]
    pub fn voters(&self) -> &VoterSet {
        self.control.voters()
    }

    /// The voters that the record in force at `offset` names; `None` where no record does.
    ///
    /// A snapshot of everything below `end` asks for `end - 1`.
    #[must_use]
    pub fn voters_at(&self, offset: i64) -> Option<&VoterSet> {
        self.control.voters_at(offset)
    }

    /// The kraft.version in force, committed or not.
    #[must_use]
    pub fn kraft_version(&self) -> i16 {
        self.control.kraft_version()
    }

    /// The kraft.version in force at `offset`.
    #[must_use]
    pub fn kraft_version_at(&self, offset: i64) -> i16 {
        self.control.kraft_version_at(offset)
    }

    /// Whether this replica is a voter; otherwise it is an observer.
    #[must_use]
    pub fn is_voter(&self) -> bool {
        self.config.local.id.known().is_some() && self.voters().is_voter(&self.config.local)
    }

    /// Whether an answer to this request is still awaited. Any other is ignored, so nobody need bring it.
    #[must_use]
    pub fn awaits(&self, request: RequestId) -> bool {
        !self.ended && self.connections.expected_from(request).is_some()
    }

    fn is_only_voter(&self) -> bool {
        self.voters().len() == 1 && self.is_voter()
    }

    /// The facts of the election as the role knows them, which are those that are stored or about to be.
    #[must_use]
    pub fn election_state(&self) -> ElectionState {
        let kraft_version = self.kraft_version();
        ElectionState {
            epoch: self.epoch,
            leader: self.leader(),
            voted: self.voted(),
            voters: if kraft_version == 0 {
                self.voters().ids().collect()
            } else {
                Vec::new()
            },
            kraft_version,
        }
    }

    /// The role under the name of Kafka's `current-state` metric.
    #[must_use]
    pub fn metric_state(&self) -> &'static str {
        match &self.role {
            Role::Unattached(unattached) if unattached.voted.is_some() => "unattached-voted",
            Role::Unattached(_) | Role::Resigned(_) => "unattached",
            Role::Prospective(prospective) if prospective.voted.is_some() => "prospective-voted",
            Role::Prospective(_) => "prospective",
            Role::Candidate(_) => "candidate",
            Role::Leader(_) => "leader",
            Role::Follower(_) if self.is_voter() => "follower",
            Role::Follower(_) => "observer",
        }
    }

    /// Asserts what always holds.
    ///
    /// # Panics
    /// If something does not hold, which is an error of this crate.
    pub fn check_invariants(&self, log: &impl LogView) {
        self.check(log.end());
    }

    /// Answers once the epoch and vote that the answer reveals are durable.
    #[inline(always)]
    fn reply(&self, reply: ReplyId, answer: Answer, turn: &mut Turn<'_>) {
        let mut after = self.tickets.election();
        if mutated!(AnswersBeforeDurable) {
            after = self.tickets.durable();
        }
        turn.emit(Action::Reply { reply, answer, after });
    }

    /// What every answer says of the partition, with the leader's endpoint on the listener of the request.
    fn partition_answer(&self, error: ErrorCode, listener: &Listener) -> PartitionAnswer {
        let leader = self.leader();
        PartitionAnswer {
            error,
            leader,
            epoch: self.epoch,
            endpoint: leader
                .and(self.known_endpoints())
                .and_then(|endpoints| endpoints.corresponding(listener, &self.config.listeners))
                .cloned(),
        }
    }

    fn known_endpoints(&self) -> Option<&Endpoints> {
        match &self.role {
            Role::Unattached(_) | Role::Candidate(_) => None,
            Role::Prospective(prospective) => Some(&prospective.endpoints),
            Role::Leader(_) | Role::Resigned(_) => Some(&self.config.listeners),
            Role::Follower(follower) => Some(&follower.endpoints),
        }
    }

    /// Whom this replica voted for in its epoch, itself included.
    fn voted(&self) -> Option<ReplicaKey> {
        match &self.role {
            Role::Unattached(unattached) => unattached.voted,
            Role::Prospective(prospective) => prospective.voted,
            Role::Candidate(_) => Some(self.config.local),
            Role::Follower(follower) => follower.voted,
            Role::Leader(_) | Role::Resigned(_) => None,
        }
    }

    fn is_same_cluster(&self, cluster_id: Option<&Text>) -> bool {
        cluster_id.is_none_or(|id| *id == self.config.cluster_id)
    }

    fn is_addressed(&self, key: &ReplicaKey) -> bool {
        let local = &self.config.local;
        key.id.known().is_none()
            || (key.id == local.id && (key.directory_id.is_none() || key.directory_id == local.directory_id))
    }

    /// This replica as a voter.
    fn local_node(&self) -> VoterNode {
        VoterNode {
            key: self.config.local,
            endpoints: self.config.listeners.clone(),
            kraft_versions: self.config.kraft_versions,
        }
    }

    /// Whether an epoch can be what a peer says it is.
    fn believes(&self, epoch: Epoch) -> bool {
        let nearby = self.epoch >= BELIEVED_EPOCH && epoch.0 <= self.epoch.0.saturating_add(MISSED_ELECTIONS);
        epoch <= BELIEVED_EPOCH || (nearby && epoch <= MAX_EPOCH)
    }

    /// Whether a graceful shutdown has begun: nothing new is taken any more, also while it still leads.
    #[must_use]
    pub fn shutting_down(&self) -> bool {
        self.shutdown != Timer::NEVER
    }

    /// The time until a campaign: the configured one and up to as much again, in whole milliseconds.
    fn election_timer(&mut self, now: Instant) -> Timer {
        let base = self.config.election_timeout;
        let jitter = self
            .rng
            .below(u64::try_from(base.as_millis()).unwrap_or(u64::MAX));
        Timer::at(now.after(base.saturating_add(Duration::from_millis(jitter))))
    }

    fn fetch_timer(&self, now: Instant) -> Timer {
        Timer::at(now.plus(self.fetch_timeout))
    }

    /// Half the fetch timeout in whole milliseconds, as Kafka divides.
    fn heartbeat_period(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.config.fetch_timeout.as_millis() / 2).unwrap_or(u64::MAX))
    }

    /// Whether a leader that appended to its log might make one that nobody opens.
    fn log_is_full(turn: &Turn<'_>) -> bool {
        turn.end.last_offset > MAX_OFFSET - LAST_ROOM
    }

    fn offsets_exhausted(&mut self, turn: &mut Turn<'_>) {
        let reason = format!(
            "the log ends at offset {}: a leader can append nothing behind it",
            turn.end.last_offset
        );
        self.fatal(reason, turn);
    }

    /// What was stored contradicts what a peer says, and going on could lose what is committed.
    fn fatal(&mut self, reason: String, turn: &mut Turn<'_>) {
        self.ended = true;
        self.abandon_proposals(turn);
        turn.emit(Action::Fatal { reason });
    }
}
