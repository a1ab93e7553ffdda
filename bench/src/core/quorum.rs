//! Three voters that commit one record after the other.

use super::{
    cluster::{Cluster, asker, reply_to},
    member::{Member, answer_event, fetch_event, key, time},
};
use kraft_core::{Action, Event, PayloadId, ReplyId, Time};

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

/// Whoever wants to know of each step. `around` has to call what it is given.
pub trait Watch {
    /// One step.
    fn around(&mut self, step: Step, take: impl FnOnce());
}

/// Does not look.
pub struct Unwatched;

impl Watch for Unwatched {
    fn around(&mut self, _: Step, take: impl FnOnce()) {
        take();
    }
}

/// A leader and two followers in steady state. What one sends the other gets at once.
pub struct Quorum {
    leader: Member,
    leader_place: usize,
    followers: Vec<Follower>,
    us: u64,
    proposals: u64,
    /// Whether Fetches arrive before there is something to fetch.
    fetches_wait: bool,
}

struct Follower {
    member: Member,
    place: usize,
    /// The Fetch that it has sent and that has not arrived.
    fetch: Option<Event>,
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
            .map(|(place, member)| Follower {
                member,
                place,
                fetch: None,
            })
            .collect();
        let mut quorum = Self {
            leader,
            leader_place,
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
            if let Some(fetch) = self.followers[place].fetch.take() {
                self.step_leader(step, fetch, now, watch);
            }
        }
    }

    fn step_leader(&mut self, step: Step, event: Event, now: Time, watch: &mut impl Watch) {
        let Self {
            leader, followers, ..
        } = self;
        watch.around(step, || leader.step(event, now));
        for action in leader.out.drain(..) {
            match action {
                Action::Disk { ticket, op } => leader.log.order(ticket, op),
                Action::Reply { reply, answer, .. } => {
                    let (place, request) = asker(reply);
                    let event = answer_event(request, key(self.leader_place), answer, || leader.log.newest());
                    let follower = followers
                        .iter_mut()
                        .find(|follower| follower.place == place)
                        .expect("a follower asked");
                    follower.answered(event, now, watch);
                }
                Action::Accept { .. } | Action::Outcome { .. } | Action::Commit { .. } => {}
                other => panic!("{other:?} in steady state"),
            }
        }
    }
}

impl Follower {
    fn answered(&mut self, event: Event, now: Time, watch: &mut impl Watch) {
        let Self { member, place, fetch } = self;
        let step = if matches!(&event, Event::ReceiveFetchResponse { records, .. } if has_batches(records)) {
            Step::FetchResponse
        } else {
            Step::CommittedResponse
        };
        watch.around(step, || member.step(event, now));
        for action in member.out.drain(..) {
            match action {
                Action::Disk { ticket, op } => member.log.order(ticket, op),
                // It leaves once the disk is done, which is before the leader asks for it.
                Action::Send { request, body, .. } => {
                    *fetch = Some(fetch_event(reply_to(*place, request), body));
                }
                Action::Commit { .. } => {}
                other => panic!("{other:?} in steady state"),
            }
        }
        if let Some(up_to) = member.log.flush() {
            watch.around(Step::FollowerDurable, || {
                member.step(Event::Durable { up_to }, now)
            });
            assert!(member.out.is_empty(), "a follower waits for its Fetch alone");
        }
    }
}

fn has_batches(records: &kraft_core::FetchedRecords) -> bool {
    matches!(records, kraft_core::FetchedRecords::Batches { .. })
}
