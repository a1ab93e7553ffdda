//! Fetches that wait for data.

use crate::{
    event::Listener,
    handles::ReplyId,
    ids::{Epoch, ReplicaKey},
    time::Instant,
};
use alloc::{collections::VecDeque, vec::Vec};

/// A Fetch that may be answered later.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ParkedFetch {
    /// Who waits.
    pub(crate) reply: ReplyId,
    /// The listener that the request arrived on.
    pub(crate) listener: Listener,
    /// Who fetches.
    pub(crate) from: ReplicaKey,
    /// In which epoch.
    pub(crate) epoch: Epoch,
    /// From where on: the end of the log, or of what may be served of it.
    pub(crate) offset: i64,
    /// The most bytes.
    pub(crate) max_bytes: i32,
    /// When the wait is over.
    pub(crate) until: Instant,
    /// The start of the log when the fetch was parked: what is answered when the wait is over was true then, as in Kafka.
    pub(crate) log_start: i64,
}

/// The fetches that wait: voters, without whom nothing is committed, and everybody else.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct ParkedFetches {
    voters: Queue,
    observers: Queue,
    /// When observers are told of what was appended, should it not be committed before.
    observers_due: Option<Instant>,
}

/// Fetches in the order in which their waits end, which is nearly always that of their arrival.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Queue(VecDeque<ParkedFetch>);

impl ParkedFetches {
    /// A fetch beyond this many is answered at once, without data, so that no peer can fill the memory.
    pub(crate) const MAX: usize = 10_000;

    pub(crate) fn is_full(&self) -> bool {
        self.voters.0.len() + self.observers.0.len() >= Self::MAX
    }

    #[inline(always)]
    pub(crate) fn park(&mut self, fetch: ParkedFetch, of_voter: bool) {
        assert!(!self.is_full(), "the caller answers fetches that do not fit");
        if of_voter {
            self.voters.park(fetch);
        } else {
            self.observers.park(fetch);
        }
    }

    pub(crate) fn forget(&mut self, reply: ReplyId) {
        self.voters.0.retain(|fetch| fetch.reply != reply);
        self.observers.0.retain(|fetch| fetch.reply != reply);
    }

    /// Takes out a fetch, those of voters first.
    pub(crate) fn take_first(&mut self) -> Option<ParkedFetch> {
        self.take_of_voter().or_else(|| self.observers.0.pop_front())
    }

    /// Takes out a fetch of a voter.
    pub(crate) fn take_of_voter(&mut self) -> Option<ParkedFetch> {
        self.voters.0.pop_front()
    }

    /// Takes out a fetch whose wait is over.
    pub(crate) fn take_expired(&mut self, now: Instant) -> Option<ParkedFetch> {
        let voter = self.voters.take_expired(now);
        voter.or_else(|| self.observers.take_expired(now))
    }

    /// Observers are told of what was appended at the latest then.
    pub(crate) fn tell_observers_by(&mut self, due: Instant) {
        if !self.observers.0.is_empty() {
            self.observers_due.get_or_insert(due);
        }
    }

    /// Whether observers have waited long enough for a commit.
    pub(crate) fn observers_are_due(&self, now: Instant) -> bool {
        self.observers_due.is_some_and(|due| due <= now)
    }

    /// Takes out the fetches of voters that wait before `end`.
    pub(crate) fn take_voters_before(&mut self, end: i64) -> Vec<ParkedFetch> {
        self.voters.take_before(end)
    }

    /// Takes out the fetches of observers that wait before `end`. Those of observers stay that have everything.
    pub(crate) fn take_observers_before(&mut self, end: i64) -> Vec<ParkedFetch> {
        self.observers_due = None;
        self.observers.take_before(end)
    }

    /// Somebody has become a voter, or is none any more.
    pub(crate) fn regroup(&mut self, is_voter: impl Fn(&ReplicaKey) -> bool) {
        let voters = core::mem::take(&mut self.voters.0);
        let observers = core::mem::take(&mut self.observers.0);
        for fetch in voters.into_iter().chain(observers) {
            let of_voter = is_voter(&fetch.from);
            self.park(fetch, of_voter);
        }
    }

    /// Observers have been told of all there is.
    pub(crate) fn observers_told(&mut self) {
        self.observers_due = None;
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let ends = [
            self.voters.next_end(),
            self.observers.next_end(),
            self.observers_due,
        ];
        ends.into_iter().flatten().min()
    }
}

impl Queue {
    #[inline(always)]
    fn park(&mut self, fetch: ParkedFetch) {
        if self.0.back().is_none_or(|last| last.until <= fetch.until) {
            self.0.push_back(fetch);
        } else {
            let place = self.0.partition_point(|other| other.until <= fetch.until);
            self.0.insert(place, fetch);
        }
    }

    fn take_expired(&mut self, now: Instant) -> Option<ParkedFetch> {
        if self.next_end()? > now {
            return None;
        }
        self.0.pop_front()
    }

    fn take_before(&mut self, end: i64) -> Vec<ParkedFetch> {
        let fetches = core::mem::take(&mut self.0).into_iter();
        let (taken, waiting): (Vec<_>, Vec<_>) = fetches.partition(|fetch| fetch.offset < end);
        self.0 = waiting.into();
        taken
    }

    fn next_end(&self) -> Option<Instant> {
        self.0.front().map(|fetch| fetch.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::NodeId;

    fn fetch(reply: u64, until: u64) -> ParkedFetch {
        ParkedFetch {
            reply: ReplyId(reply),
            listener: Listener::Advertised(0),
            from: ReplicaKey::without_directory(NodeId(1)),
            epoch: Epoch(1),
            offset: 1,
            max_bytes: 1,
            until: Instant(until),
            log_start: 0,
        }
    }

    fn replies(parked: &mut ParkedFetches, now: u64) -> alloc::vec::Vec<u64> {
        core::iter::from_fn(|| parked.take_expired(Instant(now)))
            .map(|fetch| fetch.reply.0)
            .collect()
    }

    #[test]
    fn fetches_leave_when_their_waits_end_and_those_of_one_moment_in_the_order_of_arrival() {
        let mut parked = ParkedFetches::default();
        for (reply, until) in [(1, 50), (2, 40), (3, 60), (4, 70), (5, 50)] {
            parked.park(fetch(reply, until), false);
        }
        assert_eq!(parked.next_deadline(), Some(Instant(40)));
        assert_eq!(replies(&mut parked, 39), []);
        assert_eq!(replies(&mut parked, 50), [2, 1, 5]);
        parked.forget(ReplyId(3));
        assert_eq!(parked.take_first().map(|fetch| fetch.reply), Some(ReplyId(4)));
        assert_eq!(parked.take_first(), None);
        assert_eq!(parked.next_deadline(), None);
    }

    #[test]
    fn voters_come_first_and_only_observers_wait_for_a_commit() {
        let mut parked = ParkedFetches::default();
        parked.tell_observers_by(Instant(10));
        assert_eq!(parked.next_deadline(), None, "there are none");
        parked.park(fetch(1, 50), false);
        parked.park(fetch(2, 60), true);
        parked.tell_observers_by(Instant(20));
        parked.tell_observers_by(Instant(30));
        assert_eq!(parked.next_deadline(), Some(Instant(20)));
        assert!(!parked.observers_are_due(Instant(19)));
        assert!(parked.observers_are_due(Instant(20)));
        assert_eq!(parked.take_of_voter().map(|fetch| fetch.reply), Some(ReplyId(2)));
        assert_eq!(parked.take_of_voter(), None);
        parked.observers_told();
        assert_eq!(parked.next_deadline(), Some(Instant(50)));
        parked.park(fetch(3, 60), true);
        let order = core::iter::from_fn(|| parked.take_first()).map(|fetch| fetch.reply.0);
        assert_eq!(order.collect::<alloc::vec::Vec<_>>(), [3, 1]);
    }

    #[test]
    fn who_becomes_a_voter_waits_among_voters_and_who_waits_at_the_end_goes_on_waiting() {
        let mut parked = ParkedFetches::default();
        let of = |id: i32, until| ParkedFetch {
            from: ReplicaKey::without_directory(NodeId(id)),
            offset: i64::from(id),
            ..fetch(u64::from(id.unsigned_abs()), until)
        };
        for (id, of_voter) in [(1, true), (2, false), (3, true), (4, false)] {
            parked.park(of(id, 100), of_voter);
        }
        parked.regroup(|from| from.id.0 <= 2);
        let ids = |fetches: Vec<ParkedFetch>| fetches.iter().map(|fetch| fetch.from.id.0).collect::<Vec<_>>();
        assert_eq!(ids(parked.take_voters_before(2)), [1]);
        assert_eq!(ids(parked.take_observers_before(4)), [3]);
        assert_eq!(ids(core::iter::from_fn(|| parked.take_first()).collect()), [2, 4]);
    }
}
