//! What the engine notes for its metrics. Everything else is looked up when somebody asks.

use super::Engine;
use crate::{
    metrics::{EngineMetrics, LeaderMetrics, latency::Latency, sampled::Sampled},
    network::Network,
    storage::Storage,
};
use kraft_core::{Epoch, Instant, NodeId, RoleName, StateMachine, Ticket, Time};
use std::collections::{BTreeMap, VecDeque};

/// Notes of what has happened, on the engine's own clock.
#[derive(Debug)]
pub(super) struct Observations {
    /// The end of the log after the last append.
    log_end: (i64, Epoch),
    /// When this node appended last as the leader, in wall-clock milliseconds.
    appended_ms: i64,
    /// Batches of this leader that are not committed: last offset, number of records, moment of the append. Bounded like
    /// the proposals that they hold.
    uncommitted: VecDeque<(i64, i64, Instant)>,
    commit_latency: Sampled,
    campaign_since: Option<Instant>,
    election_latency: Sampled,
    fetched: Sampled,
    appended: Sampled,
    /// The newest epoch of which a leader is known.
    led: Option<Epoch>,
    new_leaders: u64,
    transitions: BTreeMap<(RoleName, &'static str), u64>,
    pub(super) abandoned: u64,
    pub(super) metadata_errors: u64,
    pub(super) snapshots_loaded: u64,
    snapshot: (u64, Instant),
    /// Operations that are not durable, with the moment at which the log thread was given them.
    unfinished: VecDeque<(Ticket, Instant)>,
    disk: Latency,
}

impl Observations {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            log_end: (0, Epoch(0)),
            appended_ms: -1,
            uncommitted: VecDeque::new(),
            commit_latency: Sampled::default(),
            campaign_since: None,
            election_latency: Sampled::default(),
            fetched: Sampled::default(),
            appended: Sampled::default(),
            led: None,
            new_leaders: 0,
            transitions: BTreeMap::new(),
            abandoned: 0,
            metadata_errors: 0,
            snapshots_loaded: 0,
            snapshot: (0, now),
            unfinished: VecDeque::new(),
            disk: Latency::default(),
        }
    }

    pub(super) fn transition(
        &mut self,
        (role, reason): (RoleName, &'static str),
        epoch: Epoch,
        leader: Option<NodeId>,
        now: Instant,
    ) {
        *self.transitions.entry((role, reason)).or_default() += 1;
        match role {
            RoleName::Prospective | RoleName::Candidate => self.campaign_since = Some(now),
            RoleName::Leader | RoleName::Follower => {
                if let Some(since) = self.campaign_since.take() {
                    self.election_latency.record(millis(since, now), now);
                }
            }
            RoleName::Unattached | RoleName::Resigned => {}
        }
        if leader.is_some() && self.led < Some(epoch) {
            self.led = Some(epoch);
            self.new_leaders += 1;
        }
    }

    /// Records from `base` up to and including `last` go to the log.
    pub(super) fn append(&mut self, base: i64, last: i64, epoch: Epoch, leading: bool, now: Time) {
        self.log_end = (last + 1, epoch);
        let records = last - base + 1;
        if leading {
            self.appended_ms = now.wall_ms;
            self.appended.record(records as f64, now.mono);
            self.uncommitted.push_back((last, records, now.mono));
        } else {
            self.fetched.record(records as f64, now.mono);
        }
    }

    pub(super) fn commit(&mut self, high_watermark: i64, now: Instant) {
        while let Some((last, records, appended)) = self.uncommitted.front().copied()
            && last < high_watermark
        {
            self.uncommitted.pop_front();
            let latency = millis(appended, now) / records as f64;
            self.commit_latency.record(latency, now);
        }
    }

    /// The leadership is gone, and with it whatever would have been learnt of its batches.
    pub(super) fn unlead(&mut self) {
        self.uncommitted.clear();
    }

    pub(super) fn snapshot_written(&mut self, bytes: u64, now: Instant) {
        self.snapshot = (bytes, now);
    }

    pub(super) fn submitted(&mut self, ticket: Ticket, now: Instant) {
        self.unfinished.push_back((ticket, now));
    }

    pub(super) fn durable(&mut self, up_to: Ticket, now: Instant) {
        while let Some((ticket, since)) = self.unfinished.front().copied()
            && ticket <= up_to
        {
            self.unfinished.pop_front();
            self.disk.record(now.since(since), now);
        }
    }
}

impl<S, L, N> Engine<S, L, N>
where
    S: StateMachine,
    L: Storage,
    N: Network,
{
    pub(super) fn metrics(&mut self, now: Time) -> EngineMetrics {
        let disk = self.observations.disk.read(now.mono);
        let replica = &self.replica;
        let notes = &self.observations;
        let vote = match replica.role() {
            RoleName::Leader => Some(self.config.core.local),
            RoleName::Unattached
            | RoleName::Prospective
            | RoleName::Candidate
            | RoleName::Follower
            | RoleName::Resigned => replica.election_state().voted,
        };
        let active = self.proposals.leading().is_some();
        let committed = self.applied.next() - 1;
        let (last_applied, timestamp_ms) = if active {
            (self.log_end() - 1, notes.appended_ms)
        } else if committed < 0 {
            (-1, -1)
        } else {
            (committed, self.applied.timestamp_ms())
        };
        EngineMetrics {
            current_state: replica.metric_state(),
            leader: replica.leader(),
            vote: vote.map(|key| key.id),
            vote_directory_id: vote.map(|key| key.directory_or_nil()).unwrap_or_default(),
            epoch: replica.epoch(),
            high_watermark: replica.high_watermark().unwrap_or(-1),
            log_end_offset: notes.log_end.0,
            log_end_epoch: notes.log_end.1,
            voters: replica.voters().len(),
            leading: self.leader_metrics(now),
            commit_latency_average: notes.commit_latency.average(now.mono),
            commit_latency_max: notes.commit_latency.max(now.mono),
            election_latency_average: notes.election_latency.average(now.mono),
            election_latency_max: notes.election_latency.max(now.mono),
            fetch_records_rate: notes.fetched.rate(now.mono),
            append_records_rate: notes.appended.rate(now.mono),
            active,
            last_applied_offset: last_applied,
            last_committed_offset: committed,
            last_applied_timestamp_ms: timestamp_ms,
            last_applied_lag_ms: if timestamp_ms < 0 {
                -1
            } else {
                now.wall_ms - timestamp_ms
            },
            new_leaders: notes.new_leaders,
            operations: self.event_times.processing.count(),
            operations_abandoned: notes.abandoned,
            metadata_errors: notes.metadata_errors,
            ignores_static_voters: !self.config.core.static_voters.is_empty()
                && replica.voters_at(self.log_end()).is_some(),
            snapshots_loaded: notes.snapshots_loaded,
            snapshot_bytes: notes.snapshot.0,
            snapshot_age_ms: u64::try_from(now.mono.since(notes.snapshot.1).as_millis()).unwrap_or(u64::MAX),
            kraft_version: (replica.kraft_version(), self.config.core.kraft_versions),
            features: self.machine.features(),
            disk,
            transitions: notes.transitions.clone(),
        }
    }

    fn leader_metrics(&self, now: Time) -> Option<LeaderMetrics> {
        let description = self.replica.describe(&self.index, now)?;
        let local = self.config.core.local.id;
        let others = description.voters.iter().filter(|voter| voter.key.id != local);
        let age = |last_fetch_ms: i64| {
            if last_fetch_ms < 0 {
                -1
            } else {
                now.wall_ms - last_fetch_ms
            }
        };
        Some(LeaderMetrics {
            observers: self.replica.observer_count()?,
            changes_voters: self.replica.changes_voters()?,
            voter_fetch_age_ms: others
                .map(|voter| (voter.key.id, age(voter.last_fetch_ms)))
                .collect(),
        })
    }
}

fn millis(since: Instant, now: Instant) -> f64 {
    now.since(since).as_secs_f64() * 1e3
}
