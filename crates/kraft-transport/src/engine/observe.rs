//! What others may know of the engine.

use super::Engine;
use crate::{
    network::Network,
    storage::Storage,
    views::{NotReady, ObserverReplica, QuorumStateSnapshot},
};
use kraft_core::{LogView, RoleName, StateMachine, Time};
use std::time::Duration;
use tracing::{info, warn};

impl<S, L, N> Engine<S, L, N>
where
    S: StateMachine,
    L: Storage,
    N: Network,
{
    /// Tells watchers what has changed.
    pub(super) fn publish(&mut self, now: Time) {
        // There is a turn soon enough without one for this: no role is without a timer for longer than it takes.
        let since = self.index.oldest_unfinished();
        let disk_stalled = since.is_some_and(|since| since.after(STALLED) <= now.mono);
        let reason = self.reason;
        let not_ready = self.not_ready(disk_stalled);
        let replica = &self.replica;
        let (applied, leading) = (self.applied.next(), self.proposals.leading().is_some());
        self.state.send_if_modified(|state| {
            let changed = state.epoch != replica.epoch()
                || state.leader != replica.leader()
                || state.leader_endpoint.as_ref() != replica.leader_endpoint()
                || state.role != replica.role()
                || state.high_watermark != replica.high_watermark()
                || state.applied != applied
                || state.leading != leading
                || state.reason != reason
                || state.not_ready != not_ready
                || state.disk_stalled != disk_stalled;
            if changed {
                state.role = replica.role();
                state.epoch = replica.epoch();
                state.leader = replica.leader();
                state.high_watermark = replica.high_watermark();
                state.applied = applied;
                state.leading = leading;
                state.reason = reason;
                state.not_ready = not_ready;
                if state.disk_stalled != disk_stalled {
                    tell_of_disk(disk_stalled);
                    state.disk_stalled = disk_stalled;
                }
                state.leader_endpoint = replica.leader_endpoint().cloned();
            }
            changed
        });
    }

    fn not_ready(&mut self, disk_stalled: bool) -> Option<NotReady> {
        let replica = &self.replica;
        match &self.ended {
            Some(Ok(())) => return Some(NotReady::Ended),
            Some(Err(_)) => return Some(NotReady::Failed),
            None if replica.shutting_down() => return Some(NotReady::ShuttingDown),
            None if disk_stalled => return Some(NotReady::DiskStalled),
            None => {}
        }
        match replica.role() {
            RoleName::Leader => self.proposals.leading().is_none().then_some(NotReady::Activating),
            RoleName::Follower => {
                if self.applied.next() >= self.applied.quorum_high_watermark() {
                    self.currency.reached();
                }
                let current = self.currency.is_current() && !self.snapshots.is_installing();
                (!current || replica.abstains()).then_some(NotReady::CatchingUp)
            }
            RoleName::Unattached | RoleName::Prospective | RoleName::Candidate | RoleName::Resigned => {
                Some(NotReady::NoLeader)
            }
        }
    }

    pub(super) fn publish_image(&mut self) {
        self.image.send_replace(self.machine.image());
    }

    pub(super) fn quorum_state(&self, now: Time) -> QuorumStateSnapshot {
        let replica = &self.replica;
        let description = replica.describe(&self.index, now);
        let voters = description
            .as_ref()
            .map(|d| d.voters.as_slice())
            .unwrap_or_default();
        let observers = description
            .as_ref()
            .map(|d| d.observers.as_slice())
            .unwrap_or_default();
        let (average, maximum) = self.applied.pass_times();
        QuorumStateSnapshot {
            leader_id: replica.leader(),
            leader_epoch: replica.epoch(),
            high_watermark: replica.high_watermark().unwrap_or(-1),
            last_applied_record_timestamp_ms: self.applied.timestamp_ms(),
            pending_record_processing_time_us_avg: average,
            pending_record_processing_time_us_max: maximum,
            quorum_high_watermark: self.applied.quorum_high_watermark(),
            log_end_offset: self.log_end(),
            log_start_offset: self.index.start(),
            voters: replica.voters().clone(),
            voted_directory_id: replica.election_state().voted.and_then(|key| key.directory_id),
            observers: observers
                .iter()
                .map(|observer| ObserverReplica {
                    id: observer.key.id,
                    directory_id: observer.key.directory_or_nil(),
                    log_end_offset: observer.log_end_offset,
                    last_fetch_ms: observer.last_fetch_ms,
                    last_caught_up_ms: observer.last_caught_up_ms,
                })
                .collect(),
            per_replica_fetch_offset: voters.iter().map(|v| (v.key.id, v.log_end_offset)).collect(),
            per_replica_last_fetch_ms: voters.iter().map(|v| (v.key.id, v.last_fetch_ms)).collect(),
            per_replica_last_caught_up_ms: voters.iter().map(|v| (v.key.id, v.last_caught_up_ms)).collect(),
            is_leader: replica.role() == RoleName::Leader,
            current_state: replica.metric_state(),
        }
    }
}

/// Whether a follower has, since it follows its leader, once applied everything that the leader told to be committed.
/// That it is a little behind again at every moment of a busy quorum is no news.
#[derive(Debug, Default)]
pub(super) struct Currency {
    heard: bool,
    reached: bool,
}

impl Currency {
    /// The leader has told its high watermark.
    pub(super) fn heard(&mut self) {
        self.heard = true;
    }

    /// All that anybody told to be committed is applied.
    fn reached(&mut self) {
        self.reached |= self.heard;
    }

    fn is_current(&self) -> bool {
        self.reached
    }
}

fn tell_of_disk(stalled: bool) {
    if stalled {
        warn!("the disk has been silent for {STALLED:?}");
    } else {
        info!("the disk answers again");
    }
}

/// A disk that is silent for so long is told of. Elections and announcements take as long.
const STALLED: Duration = Duration::from_secs(1);
