//! A leader whom many observers fetch from.

use super::{
    cluster::Cluster,
    member::{Member, fetch_event, key, time},
};
use kraft_core::{Action, Event, LogEnd, LogView as _, PeerRequest, ReplyId};
use std::hint::black_box;

/// The leader of three voters, and observers that have everything and fetch in turn.
///
/// Each has a Fetch that waits at the leader. When it has waited for long enough it is answered, and the observer fetches
/// again, so that one step parks a Fetch and ends the wait of another.
pub struct Observed {
    leader: Member,
    observers: usize,
    us: u64,
    fetches: u64,
}

impl Observed {
    /// A leader that knows this many observers.
    ///
    /// # Panics
    /// If an observer is not answered when it should be.
    #[must_use]
    pub fn new(observers: usize) -> Self {
        let mut cluster = Cluster::new(3);
        cluster.elect();
        let us = cluster.now.mono.0;
        let place = cluster.leader();
        let leader = cluster.members.swap_remove(place);
        let mut observed = Self {
            leader,
            observers,
            us,
            fetches: 0,
        };
        for _ in 0..observers {
            observed.step();
        }
        observed.leader.out.clear();
        // The voters' own Fetches end here, and are not repeated.
        observed.us += 1_000_000;
        observed.leader.step(Event::Tick, time(observed.us));
        observed.leader.out.clear();
        for _ in 0..10 * observers {
            observed.step();
            observed.leader.out.clear();
        }
        observed
    }

    /// The next observer fetches, and the one after it has waited for long enough; the engine asks when to come back.
    ///
    /// # Panics
    /// If anything else happens.
    pub fn fetch(&mut self) {
        self.step();
        let one_answer = matches!(self.leader.out[..], [Action::Reply { .. }]);
        assert!(one_answer, "one waits, one is answered: {:?}", self.leader.out);
        self.leader.out.clear();
    }

    fn step(&mut self) {
        self.us += 1000 * WAIT_MS.unsigned_abs() as u64 / self.observers as u64;
        let place = usize::try_from(self.fetches).expect("a short run") % self.observers;
        self.fetches += 1;
        let end: LogEnd = self.leader.log.end();
        let body = PeerRequest::Fetch {
            cluster_id: "MkU3OEVBNTcwNTJENDM2Qg".into(),
            replica: key(FIRST_OBSERVER + place),
            epoch: end.last_epoch,
            log_end: end,
            high_watermark: self.leader.replica.high_watermark().unwrap_or(-1),
            max_wait_ms: WAIT_MS,
            max_bytes: 1 << 20,
        };
        let event = fetch_event(ReplyId(self.fetches), &body);
        self.leader.step(event, time(self.us));
        black_box(self.leader.replica.next_deadline());
    }
}

/// Short, so that the leader's own timers are far away.
const WAIT_MS: i32 = 1;
const FIRST_OBSERVER: usize = 1000;
