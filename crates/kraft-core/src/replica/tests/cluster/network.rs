//! What leaves a member, and how it arrives.

use super::*;
use crate::exchange::{answer_event, request_event};

impl Cluster {
    /// Lets go of what has become durable.
    pub(super) fn release(&mut self, index: usize) {
        let member = &mut self.members[index];
        let up_to = member.durable_up_to;
        let held = core::mem::take(&mut member.held);
        for action in held {
            match action {
                Action::Send {
                    request,
                    to,
                    body,
                    after,
                    ..
                } if after <= up_to => {
                    // A bootstrap server has the id -2 - place, a voter 1 + place.
                    let place = if to.id.0 < 0 { -2 - to.id.0 } else { to.id.0 - 1 };
                    let target = usize::try_from(place).expect("a voter");
                    let incarnation = self.members[index].incarnation;
                    self.network.push((
                        target,
                        Message::Request {
                            from: index,
                            incarnation,
                            request,
                            body,
                        },
                    ));
                }
                Action::Reply { reply, answer, after } if after <= up_to => {
                    let Some((to, incarnation, request)) = self.members[index].replies.remove(&reply) else {
                        continue;
                    };
                    let batches = self.read(index, &answer);
                    self.network.push((
                        to,
                        Message::Answer {
                            from: index,
                            incarnation,
                            request,
                            answer,
                            batches,
                        },
                    ));
                }
                waiting => self.members[index].held.push(waiting),
            }
        }
    }

    pub(super) fn read(&mut self, index: usize, answer: &Answer) -> Vec<BatchInfo> {
        let Answer::Fetch {
            plan: FetchPlan::Read { from, up_to, .. },
            ..
        } = answer
        else {
            return Vec::new();
        };
        let limit = 1 + usize::try_from(self.rng.below(3)).expect("small");
        let log = &self.members[index].log;
        log.batches
            .iter()
            .filter(|batch| batch.base >= *from && up_to.is_none_or(|end| batch.last < end))
            .take(limit)
            .cloned()
            .collect()
    }

    pub(super) fn deliver(&mut self, to: usize, message: Message) {
        match message {
            Message::Request {
                from,
                incarnation,
                request,
                body,
            } => {
                if self.members[from].incarnation != incarnation {
                    return;
                }
                if body == PeerRequest::ApiVersions {
                    let features = Message::Features {
                        from: to,
                        incarnation,
                        request,
                    };
                    return self.network.push((from, features));
                }
                let reply = ReplyId(self.next_reply);
                self.next_reply += 1;
                self.members[to]
                    .replies
                    .insert(reply, (from, incarnation, request));
                let (from, local) = (key(self.members[from].id), key(self.members[to].id));
                let event = request_event(reply, LISTENER.into(), from, &local, body);
                self.step(to, event.expect("the network answers what is no event"));
            }
            Message::Answer {
                from,
                incarnation,
                request,
                answer,
                batches,
            } => {
                if self.members[to].incarnation != incarnation {
                    return;
                }
                let from = key(self.members[from].id);
                let event = match answer {
                    // Of those that ask for a change here only additions come as requests.
                    Answer::VoterChange(outcome) => Event::ReceiveAddRaftVoterResponse {
                        request,
                        from,
                        error: outcome.map_or_else(|refusal| refusal.error, |_| ErrorCode::None),
                    },
                    answer => answer_event(request, from, answer, batches.into(), PayloadId(0))
                        .expect("nobody asks for anything else"),
                };
                self.step(to, event);
            }
            Message::Features {
                from,
                incarnation,
                request,
            } => {
                if self.members[to].incarnation == incarnation {
                    let event = Event::ReceiveApiVersionsResponse {
                        request,
                        from: key(self.members[from].id),
                        error: ErrorCode::None,
                        kraft_versions: Some(SupportedVersions { min: 0, max: 1 }),
                    };
                    self.step(to, event);
                }
            }
            Message::Lost { incarnation, request } => {
                if self.members[to].incarnation == incarnation {
                    let fault = RequestFault::Disconnected;
                    self.step(to, Event::RequestFailed { request, fault });
                }
            }
        }
    }
}
