//! Three voters that commit one record after the other.

use super::{
    cluster::{Cluster, asker, reply_to},
    member::{Member, fetch_event, fetch_response_event, key, time},
};
use kraft_core::{Action, Answer, Event, FetchPlan, PayloadId, ReplicaKey, ReplyId, Time};

/// What a step is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The leader appends a proposal.
    Propose,
    /// The leader is asked for what it has just appended.
    Fetch,
    /// The leader is asked by somebody who has everything, and so shows it.
    AcknowledgingFetch,
    /// A Fetch arrives that has to wait.
    WaitingFetch,
    /// A follower gets a batch.
    FetchResponse,
    /// A follower hears that the batch is committed.
    CommittedResponse,
    /// The leader's disk is done.
    LeaderDurable,
    /// A follower's disk is done.
    FollowerDurable,
}

/// Whoever wants to know of each step.
pub trait Watch {
    /// A step begins.
    fn before(&mut self);

    /// It is over.
    fn after(&mut self, step: Step);
}

/// Does not look.
pub struct Unwatched;

impl Watch for Unwatched {
    fn before(&mut self) {}

    fn after(&mut self, _: Step) {}
}

/// A leader and two followers in steady state. What one sends the other gets at once.
///
/// The driver is as thin as one can be: actions are performed where they lie, and an event is made from what the other
/// one has sent, without a copy in between.
pub struct Quorum {
    leader: Member,
    leader_key: ReplicaKey,
    /// The last action of each is the Fetch that it has sent, if that has not arrived yet.
    followers: Vec<Member>,
    now: Time,
    proposals: u64,
    /// Whether Fetches arrive before there is something to fetch.
    fetches_wait: bool,
}

impl Quorum {
    /// Three voters after an election. If `fetches_wait`, the leader has their Fetches when it appends, as a quorum at
    /// rest; else they come after it, as in one that is busy.
    ///
    /// # Panics
    /// If the three do not come into steady state.
    #[must_use]
    pub fn new(fetches_wait: bool) -> Self {
        let mut cluster = Cluster::new(3);
        cluster.elect();
        let leader_place = cluster.leader();
        let now = cluster.now;
        let mut followers = cluster.members;
        let leader = followers.remove(leader_place);
        let mut quorum = Self {
            leader,
            leader_key: key(leader_place),
            followers,
            now,
            proposals: 0,
            fetches_wait,
        };
        if !fetches_wait {
            // The Fetches that wait since the election are answered, and the next ones do not arrive before the record.
            quorum.now = time(quorum.now.mono.0 + 1_000_000);
            quorum.step_leader(Step::WaitingFetch, Event::Tick, &mut Unwatched);
            quorum.perform(&mut Unwatched);
        }
        for _ in 0..10 {
            quorum.round(&mut Unwatched);
        }
        quorum
    }

    /// One record from the proposal until everybody knows that it is committed.
    ///
    /// # Panics
    /// If anything else happens.
    pub fn round(&mut self, watch: &mut impl Watch) {
        self.commit(watch);
        self.tell(watch);
    }

    /// One record until it is committed: up to the second of the Fetches that acknowledge it.
    pub fn commit(&mut self, watch: &mut impl Watch) {
        self.now = time(self.now.mono.0 + 100);
        self.proposals += 1;
        let propose = Event::Propose {
            reply: ReplyId(self.proposals),
            epoch: None,
            records: 1,
            bytes: 256,
            payload: PayloadId(self.proposals),
        };
        self.step_leader(Step::Propose, propose, watch);
        self.perform(watch);
        if !self.fetches_wait {
            self.fetch_all(Step::Fetch, watch);
            self.perform(watch);
        }
        if let Some(up_to) = self.leader.log.flush() {
            self.step_leader(Step::LeaderDurable, Event::Durable { up_to }, watch);
        }
        self.fetch_all(Step::AcknowledgingFetch, watch);
    }

    /// The rest of the round: the answers to those Fetches tell the followers.
    ///
    /// # Panics
    /// If anybody does not know then.
    pub fn tell(&mut self, watch: &mut impl Watch) {
        self.perform(watch);
        if self.fetches_wait {
            self.fetch_all(Step::WaitingFetch, watch);
            self.perform(watch);
        }
        let end = self.leader.replica.high_watermark();
        for follower in &self.followers {
            assert!(
                follower.replica.high_watermark() == end,
                "all know what is committed"
            );
        }
    }

    /// The Fetches that are under way arrive.
    fn fetch_all(&mut self, step: Step, watch: &mut impl Watch) {
        let Self {
            leader,
            followers,
            now,
            ..
        } = self;
        for (place, follower) in followers.iter_mut().enumerate() {
            if let Some(Action::Send { request, body, .. }) = follower.out.last() {
                let fetch = fetch_event(reply_to(place, *request), body);
                watch.before();
                leader.step(fetch, *now);
                watch.after(step);
                follower.out.clear();
            }
        }
    }

    #[inline(always)]
    fn step_leader(&mut self, step: Step, event: Event, watch: &mut impl Watch) {
        watch.before();
        self.leader.step(event, self.now);
        watch.after(step);
    }

    /// Does what the leader wants done. Its answers arrive, and what is written becomes durable.
    fn perform(&mut self, watch: &mut impl Watch) {
        let Self {
            leader,
            followers,
            now,
            ..
        } = self;
        for action in &leader.out {
            match action {
                Action::Disk { ticket, op } => leader.log.order(*ticket, op),
                Action::Reply {
                    reply,
                    answer:
                        Answer::Fetch {
                            partition,
                            high_watermark,
                            plan,
                            log_start: _,
                        },
                    ..
                } => {
                    let (place, request) = asker(*reply);
                    let newest = leader.log.newest();
                    let event = fetch_response_event(
                        request,
                        self.leader_key,
                        partition,
                        *high_watermark,
                        plan,
                        newest,
                    );
                    let step = match plan {
                        FetchPlan::Read { .. } => Step::FetchResponse,
                        _ => Step::CommittedResponse,
                    };
                    answered(&mut followers[place], step, event, *now, watch);
                }
                Action::Accept { .. } | Action::Outcome { .. } | Action::Commit { .. } => {}
                other => panic!("{other:?} in steady state"),
            }
        }
        leader.out.clear();
    }
}

/// A follower gets its answer, and what it writes becomes durable.
#[inline(always)]
fn answered(member: &mut Member, step: Step, event: Event, now: Time, watch: &mut impl Watch) {
    watch.before();
    member.step(event, now);
    watch.after(step);
    for action in &member.out {
        match action {
            Action::Disk { ticket, op } => member.log.order(*ticket, op),
            // The Fetch leaves once the disk is done, which is before the leader is asked.
            Action::Send { .. } | Action::Commit { .. } => {}
            other => panic!("{other:?} in steady state"),
        }
    }
    if let Some(up_to) = member.log.flush() {
        let actions = member.out.len();
        watch.before();
        member.step(Event::Durable { up_to }, now);
        watch.after(Step::FollowerDurable);
        assert!(
            member.out.len() == actions,
            "a follower waits for its Fetch alone"
        );
    }
}
