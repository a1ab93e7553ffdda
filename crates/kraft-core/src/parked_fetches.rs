//! Fetches that wait for data.

use crate::{
    answer::Answer,
    handles::ReplyId,
    ids::{Epoch, ReplicaKey},
    text::Text,
    time::Instant,
    timer::earlier,
};
use alloc::vec::Vec;

/// A Fetch that may be answered later.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ParkedFetch {
    /// Who waits.
    pub(crate) reply: ReplyId,
    /// The listener that the request arrived on.
    pub(crate) listener: Text,
    /// Who fetches.
    pub(crate) from: ReplicaKey,
    /// In which epoch.
    pub(crate) epoch: Epoch,
    /// From where on.
    pub(crate) offset: i64,
    /// The most bytes.
    pub(crate) max_bytes: i32,
    /// When the wait is over.
    pub(crate) until: Instant,
    /// What is answered then: what was true when the fetch was parked, as Kafka does.
    pub(crate) on_timeout: Answer,
}

/// The fetches that wait, in the order of their arrival.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct ParkedFetches(Vec<ParkedFetch>);

impl ParkedFetches {
    /// A fetch beyond this many is answered at once, without data, so that no peer can fill the memory.
    pub(crate) const MAX: usize = 10_000;

    pub(crate) fn is_full(&self) -> bool {
        self.0.len() >= Self::MAX
    }

    pub(crate) fn park(&mut self, fetch: ParkedFetch) {
        assert!(!self.is_full(), "the caller answers fetches that do not fit");
        self.0.push(fetch);
    }

    pub(crate) fn forget(&mut self, reply: ReplyId) {
        self.0.retain(|fetch| fetch.reply != reply);
    }

    /// Takes out all fetches that wait for data at or before `end`.
    pub(crate) fn take_up_to(&mut self, end: i64) -> Vec<ParkedFetch> {
        self.0.extract_if(.., |fetch| fetch.offset <= end).collect()
    }

    pub(crate) fn take_all(&mut self) -> Vec<ParkedFetch> {
        core::mem::take(&mut self.0)
    }

    pub(crate) fn take_expired(&mut self, now: Instant) -> Vec<ParkedFetch> {
        self.0.extract_if(.., |fetch| now >= fetch.until).collect()
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.0
            .iter()
            .fold(None, |next, fetch| earlier(next, Some(fetch.until)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{error_code::ErrorCode, ids::NodeId};

    fn fetch(reply: u64, offset: i64, until: u64) -> ParkedFetch {
        ParkedFetch {
            reply: ReplyId(reply),
            listener: Text::default(),
            from: ReplicaKey::without_directory(NodeId(1)),
            epoch: Epoch(1),
            offset,
            max_bytes: 1,
            until: Instant(until),
            on_timeout: Answer::TopLevel(ErrorCode::None),
        }
    }

    fn replies(taken: &[ParkedFetch]) -> Vec<u64> {
        taken.iter().map(|fetch| fetch.reply.0).collect()
    }

    #[test]
    fn fetches_leave_by_offset_by_time_or_all_at_once() {
        let mut parked = ParkedFetches::default();
        for (reply, offset, until) in [(1, 3, 50), (2, 1, 40), (3, 5, 60), (4, 9, 70)] {
            parked.park(fetch(reply, offset, until));
        }
        assert_eq!(parked.next_deadline(), Some(Instant(40)));
        assert_eq!(replies(&parked.take_up_to(3)), [1, 2]);
        assert_eq!(replies(&parked.take_expired(Instant(59))), []);
        assert_eq!(replies(&parked.take_expired(Instant(60))), [3]);
        parked.forget(ReplyId(4));
        assert_eq!(replies(&parked.take_all()), []);
    }
}
