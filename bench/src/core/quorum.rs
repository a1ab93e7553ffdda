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
    followers: Vec<Follower>,
    us: u64,
    proposals: u64,
    /// Whether Fetches arrive before there is something to fetch.
    fetches_wait: bool,
}

struct Follower {
    /// The last of its actions is the Fetch that it has sent, if that has not arrived yet.
    member: Member,
    place: usize,
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
        let us = cluster.now.mono.0;
        let mut members: Vec<_> = cluster.members.into_iter().enumerate().collect();
        let (_, leader) = members.remove(leader_place);
        let followers = members
            .into_iter()
            .map(|(place, member)| Follower { member, place })
            .collect();
        let mut quorum = Self {
            leader,
            leader_key: key(leader_place),
            followers,
            us,
            proposals: 0,
            fetches_wait,
        };
        if !fetches_wait {
            // The Fetches that wait since the election are answered, and the next ones do not arrive before the record.
            quorum.us += 1_000_000;
            quorum.step_leader(Step::WaitingFetch, Event::Tick, time(quorum.us), &mut Unwatched);
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
        self.us += 100;
        let now = time(self.us);
        self.proposals += 1;
        let propose = Event::Propose {
            reply: ReplyId(self.proposals),
            epoch: None,
            records: 1,
            bytes: 256,
            payload: PayloadId(self.proposals),
        };
        self.step_leader(Step::Propose, propose, now, watch);
        if !self.fetches_wait {
            self.fetch_all(Step::Fetch, now, watch);
        }
        if let Some(up_to) = self.leader.log.flush() {
            self.step_leader(Step::LeaderDurable, Event::Durable { up_to }, now, watch);
        }
        self.fetch_all(Step::AcknowledgingFetch, now, watch);
        if self.fetches_wait {
            self.fetch_all(Step::WaitingFetch, now, watch);
        }
        let end = self.leader.replica.high_watermark();
        for follower in &self.followers {
            assert!(
                follower.member.replica.high_watermark() == end,
                "all know what is committed"
            );
        }
    }

    /// The Fetches that are under way arrive, and their answers, and what is written becomes durable.
    fn fetch_all(&mut self, step: Step, now: Time, watch: &mut impl Watch) {
        for place in 0..self.followers.len() {
            let Follower { member, place } = &mut self.followers[place];
            if let Some(Action::Send { request, body, .. }) = member.out.last() {
                let fetch = fetch_event(reply_to(*place, *request), body);
                member.out.clear();
                self.step_leader(step, fetch, now, watch);
            }
        }
    }

    #[inline]
    fn step_leader(&mut self, step: Step, event: Event, now: Time, watch: &mut impl Watch) {
        let Self {
            leader, followers, ..
        } = self;
        watch.before();
        leader.step(event, now);
        watch.after(step);
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
                    let follower = followers
                        .iter_mut()
                        .find(|follower| follower.place == place)
                        .expect("a follower asked");
                    follower.answered(step, event, now, watch);
                }
                Action::Accept { .. } | Action::Outcome { .. } | Action::Commit { .. } => {}
                other => panic!("{other:?} in steady state"),
            }
        }
        leader.out.clear();
    }
}

impl Follower {
    #[inline(always)]
    fn answered(&mut self, step: Step, event: Event, now: Time, watch: &mut impl Watch) {
        let member = &mut self.member;
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
}
