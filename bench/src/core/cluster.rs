//! Voters that elect a leader: every message arrives, in order, and every disk is quick.

use super::member::{LISTENER, Member, answer_event, key, place, time};
use kraft_core::{Action, Event, ReplyId, RequestId, RoleName, Time, exchange};
use std::collections::VecDeque;

/// All voters of a quorum and what is under way between them.
#[derive(Clone)]
pub struct Cluster {
    pub(super) members: Vec<Member>,
    pub(super) now: Time,
    under_way: VecDeque<(usize, Event)>,
}

impl Cluster {
    /// Fresh voters, of which the first to lose patience is about to campaign.
    #[must_use]
    pub fn new(voters: usize) -> Self {
        let mut now = time(1000);
        let mut members: Vec<_> = (0..voters)
            .map(|place| Member::open(place, voters, now))
            .collect();
        // Nobody answers the requests for a leader that a fresh start sends.
        for member in &mut members {
            member.out.clear();
        }
        let first = members
            .iter()
            .filter_map(|member| Self::patience(member, now))
            .min()
            .expect("voters lose patience");
        now = time(first);
        Self {
            members,
            now,
            under_way: VecDeque::new(),
        }
    }

    /// When a fresh voter campaigns, in microseconds: found by asking a copy.
    fn patience(member: &Member, mut now: Time) -> Option<u64> {
        let mut copy = member.clone();
        while copy.replica.role() == RoleName::Unattached {
            now = time(copy.replica.next_deadline()?.0);
            copy.step(Event::Tick, now);
            copy.out.clear();
        }
        Some(now.mono.0)
    }

    /// One campaigns and is elected, with pre-vote; its first batch is committed and everybody knows.
    ///
    /// # Panics
    /// If nobody leads, or not everybody follows.
    pub fn elect(&mut self) {
        for place in 0..self.members.len() {
            self.step(place, Event::Tick);
        }
        while let Some((place, event)) = self.under_way.pop_front() {
            self.step(place, event);
        }
        let leader = self.leader();
        let end = self.members[leader].replica.high_watermark();
        assert!(end.is_some_and(|end| end > 0), "the first batch is committed");
        assert!(
            self.members
                .iter()
                .all(|member| member.replica.high_watermark() == end),
            "everybody knows what is committed"
        );
    }

    pub(super) fn leader(&self) -> usize {
        self.members
            .iter()
            .position(|member| member.replica.role() == RoleName::Leader)
            .expect("somebody leads")
    }

    fn step(&mut self, at: usize, event: Event) {
        let member = &mut self.members[at];
        member.step(event, self.now);
        for action in &member.out {
            match action {
                Action::Disk { ticket, op } => member.log.order(*ticket, op),
                // Everything is durable by the time that a message arrives.
                Action::Send {
                    request, to, body, ..
                } if to.id.known().is_some() => {
                    let reply = reply_to(at, *request);
                    let event = exchange::request_event(reply, LISTENER.into(), key(at), to, body.clone())
                        .expect("nobody is asked what it supports");
                    self.under_way.push_back((place(to.id), event));
                }
                Action::Reply { reply, answer, .. } => {
                    let (to, request) = asker(*reply);
                    let event = answer_event(request, key(at), answer, member.log.newest());
                    self.under_way.push_back((to, event));
                }
                Action::Send { .. }
                | Action::Commit { .. }
                | Action::Transition { .. }
                | Action::Lead { .. } => {}
                other => panic!("{other:?} in an election without faults"),
            }
        }
        member.out.clear();
        if let Some(up_to) = member.log.flush() {
            self.under_way.push_front((at, Event::Durable { up_to }));
        }
    }
}

/// Who waits for an answer is part of the number under which it waits.
pub(super) fn reply_to(place: usize, request: RequestId) -> ReplyId {
    ReplyId(((place as u64) << 40) | request.0)
}

pub(super) fn asker(reply: ReplyId) -> (usize, RequestId) {
    let place = usize::try_from(reply.0 >> 40).expect("few replicas");
    (place, RequestId(reply.0 & ((1 << 40) - 1)))
}
