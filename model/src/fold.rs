//! Folds states that differ only in numbers which have no meaning by themselves: times are seen relative to the clock of
//! their replica, tickets relative to what is durable, and the numbers of requests not at all.
//!
//! The core only compares times with its clock, tickets with what is durable and request numbers for equality, so states
//! that are folded into one go on alike. A search that folded too much would miss states, which is why whatever
//! `kraft_core::relative` does not list is taken as it is. Random numbers decide nothing here, see `node`.

use kraft_core::relative::{INSTANT, TICKET, split};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A hash of `value` where a replica's clock shows `now` and everything up to `durable` is on disk.
pub(crate) fn fold(value: &impl Hash, now: u64, durable: u64) -> u64 {
    let mut folder = Folder {
        inner: DefaultHasher::new(),
        now,
        durable,
    };
    value.hash(&mut folder);
    folder.finish()
}

struct Folder {
    inner: DefaultHasher,
    now: u64,
    durable: u64,
}

impl Hasher for Folder {
    fn finish(&self) -> u64 {
        self.inner.finish()
    }

    fn write(&mut self, bytes: &[u8]) {
        self.inner.write(bytes);
    }

    fn write_u128(&mut self, number: u128) {
        match split(number) {
            (INSTANT, moment) => self.inner.write_u64(moment.wrapping_sub(self.now)),
            (TICKET, ticket) => self.inner.write_u64(ticket.saturating_sub(self.durable)),
            // Numbers of requests and random numbers.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kraft_core::{Instant, RequestId, Ticket};

    #[test]
    fn only_distances_count() {
        let state = |time, ticket, request| (Instant(time), Ticket(ticket), RequestId(request), 7_u64);
        let folded = fold(&state(105, 9, 3), 100, 8);
        assert_eq!(folded, fold(&state(205, 4, 8), 200, 3));
        assert_ne!(folded, fold(&state(104, 9, 3), 100, 8));
        assert_ne!(folded, fold(&state(105, 10, 3), 100, 8));
        assert_eq!(
            fold(&Ticket(1), 0, 5),
            fold(&Ticket(5), 0, 5),
            "durable is durable"
        );
        assert_ne!(
            fold(&(1_u64, 7), 1, 1),
            fold(&(2_u64, 7), 2, 2),
            "other numbers are taken as they are"
        );
    }
}
