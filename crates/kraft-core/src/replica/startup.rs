//! How a replica starts.

use super::{
    MAX_EPOCH, MAX_OFFSET, Replica, abstention::Abstention, tickets::Tickets, turn::Turn, wake::Wake,
};
use crate::{
    action::Action,
    config::{Config, Recovered},
    connections::Connections,
    control::ControlRecord,
    control_state::ControlState,
    election_state::ElectionState,
    endpoints::Endpoint,
    event::Event,
    handles::Ticket,
    ids::{Epoch, NodeId},
    log_history::BOOTSTRAP_OFFSET,
    log_view::LogView,
    open_error::OpenError,
    parked_fetches::ParkedFetches,
    proposals::Proposals,
    rng::Rng,
    role::{Role, candidate::Candidate, is_vote_for, resigned::Resigned, unattached::Unattached},
    time::Time,
    timer::Timer,
};
use alloc::{collections::BTreeSet, sync::Arc, vec::Vec};
use core::time::Duration;

impl Replica {
    /// Starts a replica from what storage found, in the role that follows from it.
    ///
    /// The actions are those of a first step: the role is stored, and whatever it can send it sends. A lone voter leads
    /// at once.
    ///
    /// # Errors
    /// Configuration and storage contradict each other.
    pub fn open(
        config: Config,
        recovered: Recovered,
        log: &impl LogView,
        now: Time,
        out: &mut Vec<Action>,
    ) -> Result<Self, OpenError> {
        if config.local.directory_id.is_none_or(|id| id.is_nil()) {
            return Err(OpenError::NoDirectoryId(config.local.id));
        }
        let config = with_timers_that_move(config);
        let (bootstrap, bootstrap_endpoints) = bootstrap_servers(&config)?;
        let control = control_state(&config, &recovered)?;
        let abstention = recovered.abstains.then_some(Abstention::UntilTold);
        let mut turn = Turn::new(log, now, out);
        let snapshot_end = log.latest_snapshot().map_or(0, |snapshot| snapshot.end_offset);
        let mut replica = Self {
            bootstrap,
            bootstrap_endpoints,
            fetch_max_wait_ms: i32::try_from(config.fetch_max_wait.as_millis()).unwrap_or(i32::MAX),
            fetch_timeout: config.fetch_timeout.into(),
            rng: Rng::new(config.seed),
            control,
            epoch: Epoch(0),
            role: Role::Unattached(Unattached {
                leader: None,
                voted: None,
                election: Timer::NEVER,
            }),
            connections: Connections::new(config.request_timeout, config.retry_backoff),
            high_watermark: None,
            committed: log.start().max(snapshot_end),
            parked: ParkedFetches::default(),
            proposals: Proposals::default(),
            tickets: Tickets::default(),
            truncation: Ticket::NONE,
            observed: Ticket::NONE,
            installing: None,
            abstention,
            shutdown: Timer::NEVER,
            unreachable: BTreeSet::new(),
            ended: false,
            wake: Wake::NOW,
            config: Arc::new(config),
        };
        let (epoch, role) = replica.initial_role(recovered.election, &turn)?;
        replica.switch(role, epoch, true, "started", &mut turn);
        replica.shortcut_of_lone_voter(&mut turn);
        replica.handle_rare(Event::Tick, &mut turn);
        replica.poll(&mut turn);
        if cfg!(debug_assertions) {
            replica.check(turn.end);
        }
        Ok(replica)
    }

    /// The role in which a replica starts; the first rule that fits.
    fn initial_role(
        &mut self,
        stored: Option<ElectionState>,
        turn: &Turn<'_>,
    ) -> Result<(Epoch, Role), OpenError> {
        let local = self.config.local;
        let (epoch, leader, voted) = stored.map_or((Epoch(0), None, None), |state| {
            (state.epoch, state.leader, state.voted)
        });
        let voted = voted.filter(|_| !mutated!(RestartForgetsVote));
        let leader = leader.filter(|id| *id != local.id || !mutated!(RestartForgetsLeadership));
        let log_epoch = turn.end.last_epoch;
        // A stored epoch below all is older than that of any log, which wins.
        if let Some(stored) = [epoch, log_epoch].into_iter().find(|stored| *stored > MAX_EPOCH) {
            return Err(OpenError::EpochOutOfRange(stored.0));
        }
        if turn.end.last_offset > MAX_OFFSET {
            return Err(OpenError::OffsetOutOfRange(turn.end.last_offset));
        }
        let has_id = local.id.known().is_some();
        if let Some(voted) = voted
            && !has_id
        {
            return Err(OpenError::VoteWithoutIdentity { voted });
        }
        let election = self.election_timer(turn.mono());
        if epoch < log_epoch {
            return Ok((
                log_epoch,
                Role::Unattached(Unattached {
                    leader: None,
                    voted: None,
                    election,
                }),
            ));
        }
        if has_id && leader == Some(local.id) {
            // What this replica had appended and not flushed may be lost, so it must not lead or vote in that epoch.
            let unacknowledged = self.voters_to_tell();
            let resigned = Resigned {
                unacknowledged,
                preferred_successors: Vec::new(),
                election,
            };
            return Ok((epoch, Role::Resigned(resigned)));
        }
        // One that was removed after its vote does not campaign any more; the vote stays its vote in this epoch.
        if self.may_campaign() && voted.is_some_and(|voted| is_vote_for(&voted, &local)) {
            let tally = self.new_tally();
            return Ok((epoch, Role::Candidate(Candidate { tally, election })));
        }
        if let Some(leader) = leader {
            let endpoints = self.voters().endpoints(leader);
            if !endpoints.is_empty() {
                let follower = self.new_follower(leader, endpoints, voted, turn.mono());
                return Ok((epoch, Role::Follower(follower)));
            }
        }
        Ok((
            epoch,
            Role::Unattached(Unattached {
                leader,
                voted,
                election,
            }),
        ))
    }

    /// Nobody else has to be asked by a voter that is alone.
    fn shortcut_of_lone_voter(&mut self, turn: &mut Turn<'_>) {
        let alone = self.is_only_voter() && self.may_campaign();
        match &self.role {
            Role::Unattached(_) | Role::Follower(_) | Role::Resigned(_) if alone => {
                self.become_prospective("the only voter", turn);
            }
            Role::Unattached(_)
            | Role::Prospective(_)
            | Role::Candidate(_)
            | Role::Leader(_)
            | Role::Follower(_)
            | Role::Resigned(_) => {}
        }
    }
}

/// Kafka accepts timers of 0. One that is due in the very moment in which it is set would make a tick follow a tick
/// without any time between them.
fn with_timers_that_move(mut config: Config) -> Config {
    const SHORTEST: Duration = Duration::from_millis(1);
    config.election_timeout = config.election_timeout.max(SHORTEST);
    config.request_timeout = config.request_timeout.max(SHORTEST);
    // Whoever cannot be reached would be asked again in the same moment, and again.
    config.retry_backoff = config.retry_backoff.max(SHORTEST);
    // Half of it is the period of the leader's announcements.
    config.fetch_timeout = config.fetch_timeout.max(SHORTEST * 2);
    config
}

/// Whom to ask for the leader: the bootstrap servers under ids from -2 down, else the other static voters.
fn bootstrap_servers(config: &Config) -> Result<(Vec<NodeId>, Vec<Endpoint>), OpenError> {
    if config.bootstrap_servers.is_empty() && config.static_voters.is_empty() {
        return Err(OpenError::NobodyToAsk);
    }
    if !config.bootstrap_servers.is_empty() {
        let ids = (2..).map(|place: i32| NodeId(-place));
        return Ok(ids.zip(config.bootstrap_servers.iter().cloned()).unzip());
    }
    Ok(config
        .static_voters
        .iter()
        .filter(|voter| voter.key.id != config.local.id)
        .filter_map(|voter| {
            let endpoint = voter.endpoints.of(&config.default_listener)?;
            Some((voter.key.id, endpoint.clone()))
        })
        .unzip())
}

/// What snapshot and log say of voters and kraft.version.
fn control_state(config: &Config, recovered: &Recovered) -> Result<ControlState, OpenError> {
    let mut control = ControlState::new(config.static_voters.clone());
    let check = |offset: i64, record: &ControlRecord| match record {
        ControlRecord::KRaftVersion(level) if !config.kraft_versions.contains(*level) => {
            Err(OpenError::UnsupportedKRaftVersion {
                level: *level,
                offset,
            })
        }
        ControlRecord::KRaftVersion(_) | ControlRecord::LeaderChange { .. } | ControlRecord::Voters(_) => {
            Ok(())
        }
    };
    if let Some((id, records)) = &recovered.snapshot {
        let offset = id.end_offset.saturating_sub(1).max(BOOTSTRAP_OFFSET);
        records.iter().try_for_each(|record| check(offset, record))?;
        control.load(*id, records);
    }
    for (offset, record) in &recovered.log {
        check(*offset, record)?;
        control.apply(*offset, record);
    }
    Ok(control)
}
