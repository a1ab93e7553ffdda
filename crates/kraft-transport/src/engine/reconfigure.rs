//! Whoever waits for a change of the voter set or of kraft.version that did not come as a peer's request.

use super::Engine;
use crate::{
    codec::update_features::{About, KRaftVersionUpdate, about, answer, first},
    error::RaftError,
    network::Network,
    storage::Storage,
};
use bytes::Bytes;
use kraft_core::{
    Answer, ChangeRefusal, ErrorCode, Event, ReconfigOutcome, ReplyId, StateMachine, Time, UpgradeOutcome,
    VoterChange,
};
use kraft_wire::ApiKey;
use std::collections::BTreeMap;
use tokio::sync::oneshot;
use tracing::warn;

/// The callers. The core answers each of them: by commit, by its time limit, or when it loses the leadership.
#[derive(Debug, Default)]
pub(super) struct Changes {
    voters: BTreeMap<ReplyId, oneshot::Sender<Result<ReconfigOutcome, RaftError>>>,
    upgrades: BTreeMap<ReplyId, Upgrade>,
}

/// Somebody who asked by UpdateFeatures.
#[derive(Debug)]
struct Upgrade {
    version: i16,
    reply: oneshot::Sender<Bytes>,
}

impl Changes {
    /// Those who wait no more.
    pub(super) fn gone(&self) -> impl Iterator<Item = ReplyId> + '_ {
        let voters = self
            .voters
            .iter()
            .map(|(reply, sender)| (reply, sender.is_closed()));
        let upgrades = self.upgrades.iter();
        let upgrades = upgrades.map(|(reply, caller)| (reply, caller.reply.is_closed()));
        let gone = voters.chain(upgrades).filter(|(_, gone)| *gone);
        gone.map(|(reply, _)| *reply)
    }

    pub(super) fn forget(&mut self, reply: ReplyId) {
        self.voters.remove(&reply);
        self.upgrades.remove(&reply);
    }

    pub(super) fn knows(&self, reply: ReplyId) -> bool {
        self.voters.contains_key(&reply) || self.upgrades.contains_key(&reply)
    }
}

impl<S, L, N> Engine<S, L, N>
where
    S: StateMachine,
    L: Storage,
    N: Network,
{
    /// The embedder changes the voter set.
    pub(super) fn reconfigure(
        &mut self,
        change: VoterChange,
        sender: oneshot::Sender<Result<ReconfigOutcome, RaftError>>,
        now: Time,
    ) {
        let reply = self.replies.next_id();
        self.changes.voters.insert(reply, sender);
        self.step(Event::Reconfigure { reply, change }, now);
    }

    /// An UpdateFeatures that speaks of kraft.version goes to the core; one of other features is refused where the state
    /// machine has none. Returns the caller of every other one.
    pub(super) fn update_kraft_version(
        &mut self,
        version: i16,
        body: &Bytes,
        reply: oneshot::Sender<Bytes>,
        now: Time,
    ) -> Option<oneshot::Sender<Bytes>> {
        let caller = Upgrade { version, reply };
        let update = match about(version, body) {
            About::StateMachine => {
                let Some(refusal) = self.no_such_feature(version, body) else {
                    return Some(caller.reply);
                };
                self.answer_upgrade(caller, &Err(refusal));
                return None;
            }
            About::KRaftVersion(update) => update,
            About::Unanswerable(why) => {
                self.answer_upgrade(caller, &Err(invalid(why.to_owned())));
                return None;
            }
        };
        if let Some(refusal) = self.no_downgrade(update) {
            self.answer_upgrade(caller, &refusal);
            return None;
        }
        let reply = self.replies.next_id();
        self.changes.upgrades.insert(reply, caller);
        let event = Event::UpgradeKRaftVersion {
            reply,
            epoch: None,
            level: update.level,
            validate_only: update.validate_only,
        };
        self.step(event, now);
        None
    }

    /// The listener lists UpdateFeatures for the sake of kraft.version, so there is an answer without a state machine that
    /// handles it.
    fn no_such_feature(&self, version: i16, body: &Bytes) -> Option<ChangeRefusal> {
        let key = ApiKey::UpdateFeatures.key();
        if self.machine.apis().iter().any(|api| api.key == key) {
            return None;
        }
        let (name, level) = first(version, body)?;
        if self.replica.role() != kraft_core::RoleName::Leader {
            return Some(ChangeRefusal {
                error: ErrorCode::NotLeaderOrFollower,
                ..invalid(String::new())
            });
        }
        // A name may be as long as the whole text.
        let name: String = name.chars().take(NAME_SHOWN_MAX).collect();
        let local = self.config.core.local.id;
        Some(invalid(format!(
            "Invalid update version {level} for feature {name}. Local controller {local} does not support this feature."
        )))
    }

    /// A downgrade changes nothing: to the level in force it has happened, to any other it cannot.
    fn no_downgrade(&self, update: KRaftVersionUpdate) -> Option<Result<UpgradeOutcome, ChangeRefusal>> {
        let level = update.level;
        let supported = self.config.core.kraft_versions.contains(level);
        if !update.downgrade || !supported || self.replica.role() != kraft_core::RoleName::Leader {
            return None;
        }
        Some(if level == self.replica.kraft_version() {
            Ok(UpgradeOutcome::Possible)
        } else {
            Err(invalid(format!(
                "Invalid update version {level} for feature kraft.version. Can't downgrade the version of this feature."
            )))
        })
    }

    /// Answers a caller that is known here. Returns the answer if it is for somebody else.
    pub(super) fn answer_change(&mut self, reply: ReplyId, answer: Answer) -> Option<Answer> {
        match answer {
            Answer::VoterChange(outcome) => match self.changes.voters.remove(&reply) {
                Some(sender) => {
                    let outcome = outcome.map_err(|refusal| self.refused(refusal));
                    let outcome = outcome.map(|done| match done {
                        ReconfigOutcome::Appended { offset } if mutated!(CallsAppendedCommitted) => {
                            ReconfigOutcome::Committed { offset }
                        }
                        done => done,
                    });
                    // A caller that is gone learns nothing.
                    let _ = sender.send(outcome);
                    None
                }
                None => Some(Answer::VoterChange(outcome)),
            },
            Answer::UpgradeKRaftVersion(outcome) => {
                if let Some(caller) = self.changes.upgrades.remove(&reply) {
                    self.answer_upgrade(caller, &outcome);
                }
                None
            }
            other => Some(other),
        }
    }

    fn answer_upgrade(&self, caller: Upgrade, outcome: &Result<UpgradeOutcome, ChangeRefusal>) {
        match answer(caller.version, outcome, self.replica.leader()) {
            Ok(body) => {
                let _ = caller.reply.send(body);
            }
            Err(error) => warn!(%error, "UpdateFeatures cannot be answered"),
        }
    }

    fn refused(&self, refusal: ChangeRefusal) -> RaftError {
        match refusal.error {
            _ if refusal.open => RaftError::Open {
                reason: refusal.message,
            },
            ErrorCode::NotLeaderOrFollower => RaftError::NotLeader {
                leader: self.replica.leader(),
                epoch: self.replica.epoch(),
            },
            ErrorCode::BrokerNotAvailable => RaftError::ShuttingDown,
            error => RaftError::Invalid {
                code: error.code(),
                reason: refusal.message,
            },
        }
    }
}

fn invalid(message: String) -> ChangeRefusal {
    ChangeRefusal {
        error: ErrorCode::InvalidUpdateVersion,
        message,
        open: false,
    }
}

const NAME_SHOWN_MAX: usize = 249;
