//! What leaves a member, and what becomes of it on the way.

use super::*;

impl Quorum {
    pub(super) fn read(&mut self, at: usize, answer: &Answer) -> Vec<BatchInfo> {
        let Answer::Fetch {
            plan: FetchPlan::Read { from, up_to, .. },
            ..
        } = answer
        else {
            return Vec::new();
        };
        let limit = 1 + self.random.below(4);
        let batches = &self.members[at].disk.seen.batches;
        let asked = |batch: &&BatchInfo| batch.base >= *from && up_to.is_none_or(|end| batch.last < end);
        let read = batches.iter().filter(asked).take(limit);
        let read: Vec<_> = read.cloned().collect();
        assert_eq!(
            read.first().map(|batch| batch.base),
            Some(*from),
            "a plan can be read"
        );
        read
    }

    /// Lets go of what has become durable.
    pub(super) fn release(&mut self, at: usize) {
        for (action, batches) in core::mem::take(&mut self.members[at].held) {
            let durable = self.members[at].durable;
            match action {
                Action::Send {
                    request,
                    endpoint,
                    body,
                    after,
                    ..
                } if after <= durable => {
                    let to = endpoint.host.strip_prefix("host-").expect("as in the settings");
                    let vote = match &body {
                        PeerRequest::Vote {
                            epoch,
                            candidate,
                            pre_vote: false,
                            ..
                        } => Some((*epoch, candidate.id)),
                        _ => None,
                    };
                    if let Some((epoch, candidate)) = vote {
                        self.voted(at, epoch, candidate);
                    }
                    let asker = Asker {
                        member: at,
                        incarnation: self.members[at].incarnation,
                        request,
                        vote,
                    };
                    let to = to.parse().expect("a number");
                    self.network.push((to, Message::Request { asker, body }));
                }
                Action::Reply { reply, answer, after } if after <= durable => {
                    let Some(asker) = self.members[at].askers.remove(&reply) else {
                        panic!("reply {reply:?} is given twice");
                    };
                    if let (Answer::Vote { granted: true, .. }, Some((epoch, candidate))) =
                        (&answer, asker.vote)
                    {
                        self.voted(at, epoch, candidate);
                    }
                    self.written(&batches);
                    let message = Message::Answer {
                        from: at,
                        asker: asker.clone(),
                        answer,
                        batches,
                    };
                    self.network.push((asker.member, message));
                }
                waiting => self.members[at].held.push((waiting, batches)),
            }
        }
    }

    pub(super) fn deliver(&mut self, to: usize, message: Message) {
        let local = key(i32::try_from(to).expect("small"));
        match message {
            Message::Request { asker, body } => {
                if self.members[to].ended {
                    return self.network.push((asker.member, Message::Lost { asker }));
                }
                let reply = ReplyId(self.next_reply);
                self.next_reply += 1;
                let from = key(i32::try_from(asker.member).expect("small"));
                self.members[to].askers.insert(reply, asker);
                let event = request_event(reply, LISTENER.into(), from, &local, body);
                self.step(to, event.expect("nobody here changes the voters"));
            }
            Message::Answer {
                from,
                asker,
                answer,
                batches,
            } => {
                if self.members[to].incarnation == asker.incarnation {
                    let from = key(i32::try_from(from).expect("small"));
                    let event = answer_event(asker.request, from, answer, batches.into(), PayloadId(0));
                    self.step(to, event.expect("nobody here changes the voters"));
                }
            }
            Message::Lost { asker } => {
                if self.members[to].incarnation == asker.incarnation {
                    let fault = RequestFault::Disconnected;
                    let request = asker.request;
                    self.step(to, Event::RequestFailed { request, fault });
                }
            }
        }
    }

    pub(super) fn carry(&mut self, faults: bool) {
        if self.network.is_empty() {
            return;
        }
        let which = self.random.below(self.network.len());
        let (to, message) = self.network.swap_remove(which);
        let (Message::Request { asker, .. } | Message::Answer { asker, .. } | Message::Lost { asker }) =
            &message;
        let from = match &message {
            Message::Request { .. } => asker.member,
            Message::Answer { from, .. } => *from,
            Message::Lost { .. } => to,
        };
        let cut = self.cut_off.is_some_and(|cut| cut == to || cut == from);
        let asker = asker.clone();
        if faults && (cut && from != to || self.random.one_in(20)) {
            if self.random.one_in(2) {
                self.network.push((asker.member, Message::Lost { asker }));
            }
            return;
        }
        if faults && self.random.one_in(15) {
            self.network.push((to, message.clone()));
        }
        self.deliver(to, message);
    }
}
