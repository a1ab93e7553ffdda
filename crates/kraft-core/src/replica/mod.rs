//! The machine that joins the roles.

use crate::{
    action::Action,
    answer::QuorumDescription,
    config::{Config, Recovered},
    election_state::ElectionState,
    endpoints::Endpoints,
    event::Event,
    ids::{Epoch, NodeId},
    log_view::LogView,
    open_error::OpenError,
    role::RoleName,
    time::{Instant, Time},
    voter_set::VoterSet,
};
use alloc::vec::Vec;

/// One replica of the metadata quorum.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Replica {
    config: Config,
    voters: VoterSet,
}

impl Replica {
    /// Starts a replica from what storage found.
    ///
    /// # Errors
    /// Configuration and storage contradict each other.
    pub fn open(
        config: Config,
        _recovered: Recovered,
        _log: &impl LogView,
        _now: Time,
        _out: &mut Vec<Action>,
    ) -> Result<Self, OpenError> {
        let voters = config.static_voters.clone();
        Ok(Self { config, voters })
    }

    /// The only entrance: one event in, actions out.
    pub fn step(&mut self, _event: Event, _log: &impl LogView, _now: Time, _out: &mut Vec<Action>) {}

    /// When something becomes due without an event.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        None
    }

    /// The role.
    #[must_use]
    pub fn role(&self) -> RoleName {
        RoleName::Unattached
    }

    /// The epoch.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        Epoch(0)
    }

    /// The leader, if known.
    #[must_use]
    pub fn leader(&self) -> Option<NodeId> {
        None
    }

    /// Where the leader listens.
    #[must_use]
    pub fn leader_endpoints(&self) -> Endpoints {
        Endpoints::empty()
    }

    /// Everything below it is committed.
    #[must_use]
    pub fn high_watermark(&self) -> Option<i64> {
        None
    }

    /// The voters in force.
    #[must_use]
    pub fn voters(&self) -> &VoterSet {
        &self.voters
    }

    /// The kraft.version in force.
    #[must_use]
    pub fn kraft_version(&self) -> i16 {
        0
    }

    /// Whether this replica is a voter.
    #[must_use]
    pub fn is_voter(&self) -> bool {
        self.voters.is_voter(&self.config.local)
    }

    /// What is stored of the election.
    #[must_use]
    pub fn election_state(&self) -> ElectionState {
        ElectionState {
            epoch: self.epoch(),
            leader: None,
            voted: None,
            voters: self.voters.ids().collect(),
            kraft_version: self.kraft_version(),
        }
    }

    /// The voters in force at an offset, for a snapshot that contains everything up to and including it.
    #[must_use]
    pub fn voters_at(&self, _offset: i64) -> Option<&VoterSet> {
        None
    }

    /// The kraft.version in force at an offset.
    #[must_use]
    pub fn kraft_version_at(&self, _offset: i64) -> i16 {
        0
    }

    /// The leader's view of the quorum; `None` on anybody else.
    #[must_use]
    pub fn describe(&self, _log: &impl LogView, _now: Time) -> Option<QuorumDescription> {
        None
    }

    /// The role under the name of Kafka's `current-state` metric.
    #[must_use]
    pub fn metric_state(&self) -> &'static str {
        "unattached"
    }

    /// Asserts what always holds.
    pub fn check_invariants(&self, _log: &impl LogView) {}
}
