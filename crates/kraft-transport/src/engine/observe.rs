//! What others may know of the engine.

use super::Engine;
use crate::{
    network::Network,
    storage::Storage,
    views::{ObserverReplica, QuorumStateSnapshot},
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
                || state.disk_stalled != disk_stalled;
            if changed {
                state.role = replica.role();
                state.epoch = replica.epoch();
                state.leader = replica.leader();
                state.high_watermark = replica.high_watermark();
                state.applied = applied;
                state.leading = leading;
                state.reason = reason;
                if state.disk_stalled != disk_stalled {
                    tell_of_disk(disk_stalled);
                    state.disk_stalled = disk_stalled;
                }
                state.leader_endpoint = replica.leader_endpoint().cloned();
            }
            changed
        });
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

fn tell_of_disk(stalled: bool) {
    if stalled {
        warn!("the disk has been silent for {STALLED:?}");
    } else {
        info!("the disk answers again");
    }
}

/// A disk that is silent for so long is told of. Elections and announcements take as long.
const STALLED: Duration = Duration::from_secs(1);
